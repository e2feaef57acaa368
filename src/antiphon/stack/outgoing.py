"""What a process has yet to send: runs and letters, in the order in which they were handed over.

Law: program order. What the application and the tools on top of it multicast or send leaves in
that order, whatever its kind, when the group lets it: not between two views, nor while a letter
is not acknowledged. A letter to a process that is gone meanwhile is dropped.

A turn for everybody: each letter of the application takes a round trip, so few of them may wait
at a time (``takes_letters``), and whatever is handed over next, a reply say, waits no longer.

What is sent ends with its life. It depends on what that life delivered, which the members of a
later view may never get: so it does not go out in a later life, neither what waits when the life
ends nor what the application sends before it has come to the next one; it is told instead
(``tell``). An application belongs to the life whose events it has read last.
"""

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Order

OUTGOING_BYTES_MAX = 1024 * 1024
"""Bytes that may wait, for a letter to be acknowledged say, before who has more to send waits."""

LETTERS_MAX = 1
"""Letters of the application that may wait, besides the one that is on its way, likewise."""

MESSAGE_BYTES = 64
"""What a message costs beyond its payload: so that empty messages fill buffers too."""


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


Item = WaitingRun | WaitingLetter


class Life(Protocol):
    """The current life of the process, through which things go out."""

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now."""

    def may_send(self, to: ProcessId, port: int) -> bool:
        """Whether a letter would go out now."""

    def has_member(self, process: ProcessId) -> bool:
        """Whether a process is in the current view."""

    def multicast(self, payloads: Sequence[bytes], how: How, byte_count: int) -> None:
        """Multicast a run; only while it may."""

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a letter; only while it may."""


class Outgoing:
    """Runs and letters of a process, life after life, that wait to be sent."""

    __slots__ = (
        "_byte_count", "_letter_count", "_unsent", "life", "read_life", "unsent_bytes", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        """Nothing waits, in the first life."""
        self.waiting: deque[Item] = deque()
        self._byte_count = 0
        self._letter_count = 0
        self._unsent: list[Item] = []
        self.unsent_bytes = 0
        """Bytes that were sent in vain and are still to be told."""
        self.life = 1
        """The number of the life that is, or is to come."""
        self.read_life = 1
        """The life that the application has come to."""

    @property
    def is_full(self) -> bool:
        """Whether so much waits that whoever has more to send should wait too."""
        return self._byte_count > OUTGOING_BYTES_MAX

    @property
    def takes_letters(self) -> bool:
        """Whether the application may hand over another letter now."""
        return self._letter_count < LETTERS_MAX

    @property
    def is_void(self) -> bool:
        """Whether what the application sends now belongs to a life that has ended."""
        return self.read_life != self.life

    def put(self, item: Item) -> None:
        """Let something wait its turn; what belongs to a life that has ended never gets one."""
        if self.read_life != self.life and _port(item) == PORT_APPLICATION:
            self.drop(item)
        else:
            self.waiting.append(item)
            self._count(item, 1)

    def drop(self, item: Item) -> None:
        """Do not send something of the application, but tell it."""
        self._unsent.append(item)
        self.unsent_bytes += _weight(item)

    def withdraw(self, payload: bytes) -> bool:
        """Take out the message of a tool, if it still waits; return whether it did."""
        for item in self.waiting:
            if isinstance(item, WaitingRun) and item.how.port and item.payloads[0] is payload:
                self.waiting.remove(item)
                self._count(item, -1)
                return True
        return False

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

    def _next(self) -> None:
        self._count(self.waiting.popleft(), -1)

    def _count(self, item: Item, sign: int) -> None:
        self._byte_count += sign * _weight(item)
        if isinstance(item, WaitingLetter) and item.port == PORT_APPLICATION:
            self._letter_count += sign

    # Lives.

    def end_life(self) -> list[Item]:
        """The life has ended, and what waits ends with it; return what that was.

        What the application sends is void from now on, until it has come to the next life.
        """
        dropped = list(self.waiting)
        self.waiting.clear()
        self._byte_count = self._letter_count = 0
        for item in dropped:
            if _port(item) == PORT_APPLICATION:
                self.drop(item)
        self.life += 1
        return dropped

    def come_to(self, life: int) -> None:
        """The application has read everything of the lives before ``life``."""
        self.read_life = life

    def tell(self) -> list[Item]:
        """Hand over what the application has sent in vain, once, in order."""
        unsent, self._unsent, self.unsent_bytes = self._unsent, [], 0
        return unsent


def _weight(item: Item) -> int:
    """Return about how many bytes something takes in memory; a reply is bounded by who asked."""
    if isinstance(item, WaitingRun):
        return MESSAGE_BYTES * len(item.payloads) + item.byte_count
    return MESSAGE_BYTES + len(item.payload) if item.port == PORT_APPLICATION else 0


def _port(item: Item) -> int:
    return item.how.port if isinstance(item, WaitingRun) else item.port
