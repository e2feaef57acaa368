"""The clock of a simulated process: its own, which need not agree with any other.

Law: a clock runs forward, at a rate and from an offset that the seed and the name decide; machines
see nothing but their own clock, and rows are written with it, as on different computers.
"""

from typing import NamedTuple
from zlib import crc32

_PPM = 1_000_000
_OFFSET_US_MAX = 3_600_000_000
_DRIFT_PPM = 100_000
"""Clocks apart run up to a tenth faster or slower than true time."""


class Clock(NamedTuple):
    """From true time to that of one process, and back."""

    offset_us: int = 0
    rate_ppm: int = _PPM

    def read(self, true_us: int) -> int:
        """Return what the clock shows."""
        return self.offset_us + true_us * self.rate_ppm // _PPM

    def lasts_us(self, shown_us: int) -> int:
        """Return how long it truly takes until the clock shows so much more, and not less."""
        return -(-shown_us * _PPM // self.rate_ppm) + (self.rate_ppm != _PPM)


def clock_apart(seed: int, name: str) -> Clock:
    """Return a clock of its own for a process."""
    dice = crc32(f"{seed}/{name}/clock".encode())
    return Clock(
        offset_us=crc32(f"{dice}".encode()) % _OFFSET_US_MAX,
        rate_ppm=_PPM - _DRIFT_PPM + dice % (2 * _DRIFT_PPM + 1),
    )
