"""Pacing: a token bucket, so that a burst does not overrun a line or a receiver's buffer.

Rule: bytes may be sent while there are tokens; each byte takes one, and they come back at the rate
of the line, up to a burst. What is sent last may take more tokens than there are, and the debt is
waited for. So a line that was idle sends at once, whatever the size; and in any time t no more is
sent than ``burst_bytes + bytes_per_s * t``, and one datagram.

Time is an argument: microseconds of a clock that does not run backward.
"""

_MILLION = 1_000_000


class Pacer:
    """One line."""

    __slots__ = ("_burst", "_rate", "_time_us", "_tokens")

    def __init__(self, bytes_per_s: int, burst_bytes: int) -> None:
        """Have a full bucket; tokens are counted in millionths of a byte."""
        self._rate = bytes_per_s
        self._burst = burst_bytes * _MILLION
        self._tokens = self._burst
        self._time_us: int | None = None

    def wait_us(self, now_us: int) -> int:
        """Return how long to wait before something is sent; 0: send now."""
        if self._time_us is not None and now_us > self._time_us:
            gained = (now_us - self._time_us) * self._rate
            self._tokens = min(self._burst, self._tokens + gained)
        if self._time_us is None or now_us > self._time_us:
            self._time_us = now_us
        return 0 if self._tokens > 0 else -self._tokens // self._rate + 1

    def take(self, byte_count: int) -> None:
        """So much has been sent."""
        self._tokens -= byte_count * _MILLION
