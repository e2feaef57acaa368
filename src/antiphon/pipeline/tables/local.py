"""Tables in this process: no Java, nothing to start.

Law: a table has one part, but for the numbers at its beginning, which processes of their own may
take (``workers``), if there are some. What a kernel yields goes straight on to the next kernel;
only what is sorted or kept is there as a whole: in memory, or if it is large, in a file that is
mapped into it (``spill``). Memory for a trace in runs of one message: 48
bytes per row for as long as it is judged, 56 while the matrix is made, then 16 per delivery, and
about as much once more while orders are judged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from antiphon.pipeline.tables.chunks import ROWS_PER_BATCH, column, numbers
from antiphon.pipeline.tables.spill import collected
from antiphon.pipeline.tables.table import Executor, Kernel, Table, Types
from antiphon.pipeline.tables.workers import numbered_batch, spread

OnBatch = Callable[[pa.RecordBatch], None]


class LocalTable(Table):
    """Batches, or a function that makes them."""

    def __init__(self, source: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        """Take what computes the batches, each time anew."""
        self._source = source

    def map(self, kernel: Kernel, types: Types) -> "LocalTable":  # noqa: ARG002 - batches tell
        """Return what a kernel makes of all rows."""
        return LocalTable(lambda: kernel(self._source()))

    def together(
        self,
        keys: Sequence[str],
        *,
        order: Sequence[str] = (),
        part_count: int,  # noqa: ARG002 - there is one
    ) -> "LocalTable":
        """Sort all rows."""
        return LocalTable(lambda: _sorted(collected(self._source()), (*keys, *order)))

    def where(self, name: str) -> "LocalTable":
        """Leave rows out, batch by batch."""
        return LocalTable(lambda: _filtered(self._source(), name))

    def having(self, name: str, *others: str) -> "LocalTable":
        """Leave rows out, likewise."""
        return LocalTable(lambda: _valid(self._source(), [name, *others]))

    @contextmanager
    def kept(self) -> Iterator["LocalTable"]:
        """Keep the batches: in memory, or in a file that is mapped into it."""
        batches = collected(self._source())
        try:
            yield LocalTable(lambda: batches)
        finally:
            batches.clear()

    def batches(self) -> Iterable[pa.RecordBatch]:
        """Return the batches as they are computed."""
        return self._source()


class _Numbers(LocalTable):
    """Numbers, which workers may take, one each."""

    def __init__(self, count: int, worker_count: int, on_batch: OnBatch | None) -> None:
        super().__init__(lambda: [numbered_batch(range(count))])
        self._count, self._worker_count, self._on_batch = count, worker_count, on_batch

    def map(self, kernel: Kernel, types: Types) -> LocalTable:
        if self._worker_count < 2 or self._count < 2:
            made = super().map(kernel, types)
        else:
            made = LocalTable(lambda: spread(kernel, self._count, self._worker_count))
        on_batch = self._on_batch
        return made if on_batch is None else LocalTable(lambda: _told(made.batches(), on_batch))


class LocalExecutor(Executor):
    """Computes tables here and now."""

    name = "local"

    def __init__(self, worker_count: int = 1, on_batch: OnBatch | None = None) -> None:
        """Have files read by so many processes; by this one, if it is one.

        ``on_batch`` is told what comes of numbers, such as the files of a trace, as it comes.
        """
        self._worker_count, self._on_batch = worker_count, on_batch

    @property
    def core_count(self) -> int:
        """Return how many files are read side by side."""
        return self._worker_count

    def numbered(self, count: int) -> LocalTable:
        """Return numbers."""
        return _Numbers(count, self._worker_count, self._on_batch)

    def part_count(self, row_count: int, rows_per_part: int) -> int:  # noqa: ARG002
        """Return 1."""
        return 1


def _told(batches: Iterable[pa.RecordBatch], on_batch: OnBatch) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        on_batch(batch)
        yield batch


def _filtered(batches: Iterable[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        is_wanted = numbers(batch, name)
        if is_wanted.all():
            yield batch
        elif is_wanted.any():
            yield batch.filter(batch.column(name))


def _valid(batches: Iterable[pa.RecordBatch], names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        chosen = batch.select(names)
        if not chosen.column(0).null_count:
            yield chosen
        elif chosen.column(0).null_count < batch.num_rows:
            yield chosen.filter(chosen.column(0).is_valid())


def _sorted(batches: list[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield all rows in order; the batches are forgotten."""
    batches = [batch for batch in batches if batch.num_rows]
    if not batches:
        return
    columns = [np.concatenate([numbers(batch, name) for batch in batches]) for name in names]
    order = np.lexsort(columns[::-1])
    if any(pa.types.is_binary(each) for each in batches[0].schema.types):
        yield from _single_rows(batches, order)
        return
    table = pa.concat_batches(batches)
    batches.clear()
    for begin in range(0, len(order), ROWS_PER_BATCH):
        yield table.take(column(order[begin : begin + ROWS_PER_BATCH]))


def _single_rows(
    batches: list[pa.RecordBatch], order: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Iterator[pa.RecordBatch]:
    """Yield rows that are packs of thousands one by one: nothing is copied."""
    ends = np.cumsum([batch.num_rows for batch in batches])
    which = np.searchsorted(ends, order, side="right")
    for batch, row in zip(which.tolist(), order.tolist(), strict=True):
        yield batches[batch].slice(row - int(ends[batch]) + batches[batch].num_rows, 1)
