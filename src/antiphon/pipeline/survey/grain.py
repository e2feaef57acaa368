"""How finely the work is cut.

Law: no verdict depends on these numbers, only memory and speed do; tests make them tiny so that
every border is crossed. With the defaults a Python worker needs a few hundred megabytes at most.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grain:
    """Sizes."""

    cells_per_bucket: int = 2**23
    """Of the matrix: rows of a bucket times processes, if no two rows have the same borders."""
    rows_per_bucket_min: int = 2**16
    """With hundreds of processes rows do share borders: runs are delivered as they were sent."""
    numbers_per_bucket_min: int = 64
    """Of one sender, at least."""
    rows_per_block: int = 0
    """Of a process's own record, which is judged block by block; 0: a task's fair share."""
    rows_per_partition: int = 2**21
    """Of the trace: what one task sorts."""

    def rows_per_bucket(self, column_count: int) -> int:
        """Return how many rows of the trace a bucket should have."""
        return max(self.cells_per_bucket // max(column_count, 1), self.rows_per_bucket_min)
