"""What a table of Arrow batches can do, and what whoever computes it must offer.

Law: a table is a recipe: nothing is computed before ``batches`` or ``kept`` is called, and unless
it is kept, a table that is asked twice is computed twice. A kernel sees the rows of a part as a
stream, in order, and must not care where batches begin and end; what it is (a function of a
module, or a partial application of one) may be sent to another process. No verdict depends on
the number of parts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa

Kernel = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

Types = Mapping[str, str]
"""The columns that a kernel yields, with their types, as SQL calls them."""


class Table(ABC):
    """Rows in parts, each of them a stream of batches."""

    @abstractmethod
    def map(self, kernel: Kernel, types: Types) -> "Table":
        """Return what a kernel makes of each part."""

    @abstractmethod
    def together(
        self, keys: Sequence[str], *, order: Sequence[str] = (), part_count: int
    ) -> "Table":
        """Return the rows sorted by keys, then by ``order``; those of equal keys in one part."""

    @abstractmethod
    def where(self, name: str) -> "Table":
        """Return the rows in which a column of truth values says so."""

    @abstractmethod
    def having(self, name: str, *others: str) -> "Table":
        """Return these columns of the rows in which the first of them is not null."""

    @abstractmethod
    def kept(self) -> AbstractContextManager["Table"]:
        """Compute it now, and keep it for as long as it is needed."""

    @abstractmethod
    def batches(self) -> Iterable[pa.RecordBatch]:
        """Compute it, and return all rows: they must be few."""


class Executor(ABC):
    """Computes tables."""

    name: str
    """As verdicts call it."""

    @property
    @abstractmethod
    def core_count(self) -> int:
        """How many kernels run side by side."""

    @abstractmethod
    def numbered(self, count: int) -> Table:
        """Return a table with a column ``id``: 0, 1, ... below ``count``, each in its own part."""

    @abstractmethod
    def part_count(self, row_count: int, rows_per_part: int) -> int:
        """Return in how many parts to bring rows together: for all cores, none too large."""
