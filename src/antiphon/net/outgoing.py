"""What a process has yet to send: runs and letters, in the order in which they were handed over.

Law: program order. What the application and the tools on top of it multicast or send leaves in
that order, whatever its kind, when the group lets it: not between two views, nor while a letter
is not acknowledged. A letter to a process that is gone meanwhile is dropped.
"""

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Order
from antiphon.net.life import Life
from antiphon.net.stream import MESSAGE_BYTES

OUTGOING_BYTES_MAX = 1024 * 1024
"""Bytes that may wait, for a letter to be acknowledged say, before who has more to send waits."""


class How(NamedTuple):
    """The way in which messages are multicast."""

    order: Order
    uniform: bool = False
    port: int = PORT_APPLICATION


how_of = cache(How)
"""The same object for the same way: making one costs more than looking it up."""


class WaitingRun(NamedTuple):
    """Messages that make one run."""

    how: How
    payloads: Sequence[bytes]
    byte_count: int


class WaitingLetter(NamedTuple):
    """A message to one member."""

    to: ProcessId
    payload: bytes
    port: int


class Outgoing:
    """Runs and letters that wait to be sent."""

    __slots__ = ("_byte_count", "waiting")

    def __init__(self) -> None:
        """Nothing waits."""
        self.waiting: deque[WaitingRun | WaitingLetter] = deque()
        self._byte_count = 0

    @property
    def is_full(self) -> bool:
        """Whether so much waits that whoever has more to send should wait too."""
        return self._byte_count > OUTGOING_BYTES_MAX

    def put(self, item: WaitingRun | WaitingLetter) -> None:
        """Let something wait its turn."""
        self.waiting.append(item)
        self._byte_count += _weight(item)

    def withdraw(self, payload: bytes) -> bool:
        """Take out the message of a tool, if it still waits; return whether it did."""
        for item in self.waiting:
            if isinstance(item, WaitingRun) and item.how.port and item.payloads[0] is payload:
                self.waiting.remove(item)
                self._byte_count -= _weight(item)
                return True
        return False

    def _next(self) -> None:
        self._byte_count -= _weight(self.waiting.popleft())

    def drop_tools(self) -> list[WaitingRun | WaitingLetter]:
        """A life has ended: what its tools had to say concerns nobody; return what that was."""
        waiting = list(self.waiting)
        self.waiting = deque(item for item in waiting if _port(item) == PORT_APPLICATION)
        self._byte_count = sum(map(_weight, self.waiting))
        return [item for item in waiting if _port(item) != PORT_APPLICATION]

    def send(self, life: Life) -> bool:
        """Send what may go out now; return whether that is all."""
        while self.waiting:
            item = self.waiting[0]
            if isinstance(item, WaitingRun):
                if not life.may_multicast:
                    return False
                self._next()
                life.multicast(item.payloads, item.how, item.byte_count)
            elif life.has_member(item.to):
                if not life.may_send(item.to, item.port):
                    return False
                self._next()
                life.send_letter(item.to, item.payload, item.port)
            elif life.may_multicast:  # in a view, and one without that process
                self._next()
            else:
                return False
        return True


def _weight(item: WaitingRun | WaitingLetter) -> int:
    """Return about how many bytes something takes in memory; a reply is bounded by who asked."""
    if isinstance(item, WaitingRun):
        return MESSAGE_BYTES * len(item.payloads) + item.byte_count
    return MESSAGE_BYTES + len(item.payload) if item.port == PORT_APPLICATION else 0


def _port(item: WaitingRun | WaitingLetter) -> int:
    return item.how.port if isinstance(item, WaitingRun) else item.port
