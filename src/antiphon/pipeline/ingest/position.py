"""Where something happened at a process, as one number.

Law: position = index of the row x STRIDE + place within the row, so positions of one process
compare as its local order does, and a run's messages have consecutive ones. Rows without an
index take the number of their line. Positions of different processes are never compared.
"""

from antiphon.trace.schema import RUN_COUNT_MAX

STRIDE = RUN_COUNT_MAX
"""No row stands for more messages, so rows never overlap."""

NEVER = 2**63 - 1
"""The position of what did not happen: after everything else."""


EXCUSED = -1
"""The position of what a process does not show, and need not: before everything else."""


def row_position(index: int, line: int) -> int:
    """Return the position of a row's first message."""
    return (index if index >= 0 else line) * STRIDE
