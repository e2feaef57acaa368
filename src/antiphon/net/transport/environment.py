"""The environment of a process: all that a driver gets from outside, in one object.

Law: clock, dice, network and journal come from here and from nowhere else, so with an event loop on
virtual time a whole run is a function of a seed (``antiphon.testing``). This room alone asks the
system for the time, for random bytes and for connections.
"""

import os
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from antiphon.net.transport.interface import DatagramTransport, Transport
from antiphon.net.transport.tcp import TcpTransport
from antiphon.net.transport.udp import UdpTransport
from antiphon.trace.schema import Event

_START_BYTES = 8
_FRACTION_PARTS = 1024


class JournalSink(Protocol):
    """Where the rows of one incarnation go."""

    def append(self, event: Event) -> None:
        """Number a row and take it."""

    def claim(self, name: str) -> None:
        """Keep rows of another name of the process, too; refuse if somebody has."""

    def flush(self) -> None:
        """See to it that the rows survive the process."""

    def close(self) -> None:
        """Nothing more comes."""


OpenJournal = Callable[[Path | None, str, str], JournalSink | None]
"""Given the folder of a run, or None, a process and a group: where its rows go, if anywhere."""


def now_us() -> int:
    """Return the system's monotonic time, as machines are told it."""
    return time.monotonic_ns() // 1000


def _wall_us() -> int:
    return time.time_ns() // 1000


def _open_journal(folder: Path | None, process: str, group: str) -> JournalSink | None:
    del group  # a run folder is of one
    if folder is None:
        return None
    # Imported here: nobody who traces nothing should wait for what tracing needs.
    from antiphon.trace.journal import Journal  # noqa: PLC0415

    return Journal(folder, process)


@dataclass(frozen=True, slots=True)
class Environment:
    """What one process gets from outside."""

    transport: Transport
    now_us: Callable[[], int]
    """Monotonic time in microseconds, as machines are told it."""
    clock_s: Callable[[], float]
    """Monotonic time in seconds, of the same clock: a function of the system's own, for hot loops.
    An event loop's own time may stand still during a turn."""
    wall_us: Callable[[], int]
    """The date, in microseconds since 1970: for journals."""
    draw: Callable[[int], bytes]
    """Random bytes, so many."""
    open_journal: OpenJournal = _open_journal
    datagrams: DatagramTransport = field(default_factory=UdpTransport)
    """For protocols that do without connections."""

    def draw_start(self) -> int:
        """Draw the number of a start of this program, which no other start ever has."""
        return int.from_bytes(self.draw(_START_BYTES)) >> 2 or 1

    def draw_fraction(self) -> float:
        """Return a number from 0 to below 1, to spread what would happen in step."""
        return self.draw_start() % _FRACTION_PARTS / _FRACTION_PARTS


# Dice of the system, and no seed: starts must differ, and secrets must not be possible to repeat.
SYSTEM = Environment(TcpTransport(), now_us, time.monotonic, _wall_us, os.urandom)  # noqa: TID251
"""The real one."""

_current: ContextVar[Environment] = ContextVar("antiphon_environment", default=SYSTEM)


def current_environment() -> Environment:
    """Return the environment of whoever calls: that of the system, but for tests."""
    return _current.get()


def set_environment(environment: Environment) -> None:
    """Let whatever this context starts from now on live in ``environment``."""
    _current.set(environment)
