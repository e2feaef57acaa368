"""How far a judge has come: which step, how many rows or tasks, and how much time is left.

Law: a bar on standard error, if that is a terminal, gone when done. It never goes back. How long a
step takes beside the others is what was measured of large traces (docs/pipeline.md): so the time
left is a guess, and it is said only when some of the work is done.
"""

import gzip
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from antiphon.cli.screen import progress_output
from antiphon.trace.log import Log
from antiphon.trace.segments import Format, Segment, segments

LINES = {"ingest": 65, "matrix": 22, "orders": 9, "agreement": 2, "explain": 2}
COLUMNS = {"ingest": 25, "matrix": 45, "orders": 24, "agreement": 3, "explain": 3}
SPARK = {
    "starting Spark": 10,
    "ingest": 42,
    "matrix": 30,
    "orders": 14,
    "agreement": 2,
    "explain": 2,
}
"""Hundredths of the time that each step takes, of a large trace: of lines, and of Parquet, in this
process; and on Spark."""

_TOLD_FROM = 0.05
_LOOK_S = 0.5
_SAMPLE_BYTES = 2**16
_SAMPLED_FILES = 8


class JudgingBar:
    """Is told what happens, and shows it."""

    def __init__(
        self, shares: Mapping[str, int], show: Callable[[float, str, str], None], rows: int = 0
    ) -> None:
        """Take what steps take, how to show it, and how many rows there are, if that is known."""
        self._shares, self._show, self._row_count = shares, show, rows
        self._begin_s = time.monotonic()
        self._step, self._before, self._fraction = next(iter(shares)), 0.0, 0.0
        self._rows = 0
        self._said = ""

    def step(self, name: str, _done: int, _total: int) -> None:
        """A step begins; none: all are done."""
        self._before = self._done_before(name)
        self._step, self._said = name, f"{self._rows:,} rows" if self._rows else ""
        self._update(0.0)

    def rows(self, count: int) -> None:
        """So many more rows have been read."""
        self._rows += count
        self._said = f"{self._rows:,} rows"
        if self._row_count:
            self._said = f"{self._rows:,} of about {max(self._row_count, self._rows):,} rows"
        self._update(min(1.0, self._rows / self._row_count) if self._row_count else 0.0)

    def tasks(self, done: int, total: int) -> None:
        """So many tasks of Spark's are done."""
        self._said = f"{done:,} of {total:,} tasks"
        self._update(done / total if total else 0.0)

    def _done_before(self, name: str) -> float:
        names = list(self._shares)
        passed = names[: names.index(name)] if name in names else names
        return sum(self._shares[each] for each in passed) / 100

    def _update(self, within: float) -> None:
        reached = self._before + within * self._shares.get(self._step, 0) / 100
        self._fraction = max(self._fraction, reached)
        left = ""
        if _TOLD_FROM < self._fraction < 1:
            took_s = time.monotonic() - self._begin_s
            left = f"{_clock(took_s * (1 - self._fraction) / self._fraction)} left"
        self._show(self._fraction, f"{self._step} {self._said}".strip(), left)


@contextmanager
def judging_bar(shares: Mapping[str, int], where: Path | Log | None) -> Iterator[JudgingBar]:
    """Show a bar while a log is judged; ``where`` it is, if its rows can be counted here."""
    is_shown = progress_output.is_terminal
    bar = Progress(
        SpinnerColumn("line" if progress_output.options.ascii_only else "dots"),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=progress_output,
        transient=True,
        disable=not is_shown,
    )
    with bar:
        task = bar.add_task(next(iter(shares)), total=1.0, left="")

        def show(fraction: float, said: str, left: str) -> None:
            bar.update(task, completed=fraction, description=said, left=left)

        yield JudgingBar(shares, show, about_rows(where) if where is not None and is_shown else 0)


@contextmanager
def watched_tasks(look: Callable[[], tuple[int, int]], bar: JudgingBar) -> Iterator[None]:
    """Tell the bar from time to time how many tasks of those under way are done."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_S):
            with suppress(Exception):  # it ends, or is busy: the bar stays as it is
                done, total = look()
                if total:
                    bar.tasks(done, total)

    watcher = threading.Thread(target=watch, daemon=True)
    if progress_output.is_terminal:
        watcher.start()
    try:
        yield
    finally:
        is_over.set()
        if watcher.is_alive():
            watcher.join()


def about_rows(where: Path | Log) -> int:
    """Return about how many rows a log has, from a few of its files; 0: that cannot be told."""
    try:
        found = segments(where)
        sampled = found[:: max(1, len(found) // _SAMPLED_FILES)]
        rows_per_byte = [_rows_per_byte(segment) for segment in sampled]
        bytes_in_all = sum(segment.path.stat().st_size for segment in found)
    except Exception:  # noqa: BLE001 - whoever reads it will say what is wrong with it
        return 0
    return int(bytes_in_all * sum(rows_per_byte) / len(rows_per_byte))


def _rows_per_byte(segment: Segment) -> float:
    size = max(1, segment.path.stat().st_size)
    if segment.format is Format.PARQUET:
        from pyarrow import parquet

        row_count: int = parquet.read_metadata(segment.path).num_rows
        return row_count / size
    with segment.path.open("rb") as file:
        begin = file.read(_SAMPLE_BYTES)
        taken = file.tell()
    if segment.path.suffix == ".gz":
        with gzip.open(segment.path) as opened:
            begin = opened.read(_SAMPLE_BYTES)
        taken = min(size, max(1, _SAMPLE_BYTES // 10))  # as much shorter as lines usually get
    return begin.count(b"\n") / taken


def rows_in(batch: Any) -> int:  # noqa: ANN401 - one of Arrow's, which is imported where it is made
    """Return how many rows about messages a batch from a reader has."""
    from antiphon.pipeline.ingest.reading import LINES as NUMBERS

    if "rows" not in batch.schema.names:
        return 0
    packs = batch.column("rows")
    return sum(len(pack.as_buffer()) for pack in packs if pack.is_valid) // (8 * len(NUMBERS))


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
