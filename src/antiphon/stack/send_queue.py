"""The send queue: runs and letters yet to be sent, in the order in which they were handed over.

Rule. Program order: what the application and the tools on top of it multicast or send leaves in
that order, whatever its kind, when the group lets it: not between two views, nor while a letter
is not acknowledged, and after what was handed over before in other groups of the domain
(``program_order``). A letter to a process that is gone meanwhile is dropped. Messages that wait and
follow each other in the same order leave as one run, as long as that stays of moderate size.

A turn for everybody: each letter of the application takes a round trip, so few of them may wait
at a time (``takes_letters``), and whatever is handed over next, a reply say, waits no longer.

Invariant. What is sent ends with its incarnation. It depends on what that one delivered, which the
members of a later view may never get: so it does not go out in a later incarnation, neither what
waits when the one ends nor what the application sends before it has come to the next one; it is
told instead (``tell``). An application belongs to the incarnation whose events it has read last.
The queue outlives them, and counts them from 1.
"""

from bisect import bisect_right
from collections import deque
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Order, Run
from antiphon.stack.program_order import Places

LETTERS_MAX = 1
"""Letters of the application that may wait, besides the one that is on its way, likewise."""

MESSAGE_BYTES = 64
"""What a message costs beyond its payload: so that empty messages fill buffers too."""

RUN_MESSAGES_MAX = 2_048
"""Messages of one run, but for what the application hands over at once."""

RUN_BYTES_MAX = 128 * 1024
"""Payload bytes, likewise: a write costs much the same for 16 KiB and for 100."""


class How(NamedTuple):
    """The way in which messages are multicast."""

    order: Order
    uniform: bool = False
    port: int = PORT_APPLICATION
    priority: int = 0
    """With causal blocks: under pressure the lowest are dropped first, and recovered later."""
    lifetime_us: int | None = None
    """With causal blocks: after so long it is of no use to whoever has not delivered it."""

    @property
    def is_usual(self) -> bool:
        """Whether it has neither priority nor lifetime."""
        return not self.priority and self.lifetime_us is None


how_of = lru_cache(maxsize=1_024)(How)
"""The same object for the same way: making one costs more than looking it up."""


class WaitingRun(NamedTuple):
    """Messages that make one run."""

    how: How
    payloads: list[bytes]
    byte_count: int
    expires_us: int | None = None
    """When its lifetime is over, if it has one."""

    def up_to(self, byte_count: int) -> "tuple[WaitingRun, WaitingRun | None]":
        """Return the first messages, of no more bytes if there are several; and the rest."""
        if self.byte_count <= byte_count:
            return self, None
        payloads = self.payloads
        ends = list(accumulate(map(len, payloads)))
        count = max(1, bisect_right(ends, byte_count))
        if count == len(payloads):
            return self, None
        size = ends[count - 1]
        first = self._replace(payloads=payloads[:count], byte_count=size)
        rest = self._replace(payloads=payloads[count:], byte_count=self.byte_count - size)
        return first, rest


class WaitingLetter(NamedTuple):
    """A message to one member."""

    to: ProcessId
    payload: bytes
    port: int


Item = WaitingRun | WaitingLetter


class SendQueue:
    """Runs and letters of a process that wait to be sent, incarnation after incarnation."""

    __slots__ = (
        "_byte_count", "_bytes_max", "_letter_count", "_unsent", "incarnation", "places", "read",
        "unsent_bytes", "waiting",
    )  # fmt: skip

    def __init__(self, bytes_max: int = 1024 * 1024) -> None:
        """Nothing waits, in the first incarnation; it is full with more than ``bytes_max``."""
        self._bytes_max = bytes_max
        self.waiting: deque[Item] = deque()
        self.places = Places()
        """Their places among what waits in other groups of the domain."""
        self._byte_count = 0
        self._letter_count = 0
        self._unsent: list[Item] = []
        self.unsent_bytes = 0
        """Bytes that were sent in vain and are still to be told."""
        self.incarnation = 1
        """The number of the incarnation that is, or is to come."""
        self.read = 1
        """The incarnation that the application has come to."""

    @property
    def is_full(self) -> bool:
        """Whether so much waits that whoever has more to send should wait too."""
        return self._byte_count > self._bytes_max

    @property
    def takes_letters(self) -> bool:
        """Whether the application may hand over another letter now."""
        return self._letter_count < LETTERS_MAX

    @property
    def is_void(self) -> bool:
        """Whether what the application sends now belongs to an incarnation that has ended."""
        return self.read != self.incarnation

    def put(self, item: Item) -> None:
        """Let something wait its turn; what belongs to an ended incarnation never gets one."""
        if self.read != self.incarnation and _port(item) == PORT_APPLICATION:
            self.drop(item)
            return
        waiting = self.waiting
        if waiting and _go_together(last := waiting[-1], item) and self.places.may_append:
            waiting[-1] = _joined(last, item)
        else:
            waiting.append(item)
            self.places.put()
        self._count(item, 1)

    def drop(self, item: Item) -> None:
        """Do not send something of the application, but tell it."""
        assert _port(item) == PORT_APPLICATION, "tools learn by other ways what was not sent"
        self._unsent.append(item)
        self.unsent_bytes += _weight(item)

    def withdraw(self, payload: bytes) -> bool:
        """Take out the message of a tool, if it still waits; return whether it did."""
        for place, item in enumerate(self.waiting):
            if isinstance(item, WaitingRun) and item.how.port and item.payloads[0] is payload:
                del self.waiting[place]
                self.places.take(place)
                self._count(item, -1)
                return True
        return False

    def take(self) -> Item:
        """Take out what is to be sent next."""
        item = self.waiting.popleft()
        self.places.take()
        self._count(item, -1)
        assert self.waiting or not self._byte_count, "an empty queue weighs nothing"
        return item

    def put_back(self, item: WaitingRun) -> None:
        """Let the rest of what was taken out last be sent next."""
        self.waiting.appendleft(item)
        self._count(item, 1)

    def _count(self, item: Item, sign: int) -> None:
        if isinstance(item, WaitingLetter) and item.port != PORT_APPLICATION:
            return  # a reply, bounded by who asked
        self._byte_count += sign * _weight(item)
        if isinstance(item, WaitingLetter):
            self._letter_count += sign
        assert self._byte_count >= 0, "no more is taken out than was put in"
        assert self._letter_count >= 0, "no more letters are taken out than were put in"

    # Incarnations.

    def end_incarnation(self) -> list[Item]:
        """The incarnation has ended, and what waits ends with it; return what that was.

        What the application sends is void from now on, until it has come to the next one.
        """
        dropped = list(self.waiting)
        self.waiting.clear()
        self.places.leave()
        self._byte_count = self._letter_count = 0
        for item in dropped:
            if _port(item) == PORT_APPLICATION:
                self.drop(item)
        self.incarnation += 1
        assert self.is_void, "the application has still to come to the next incarnation"
        return dropped

    def end_tools(self) -> list[Item]:
        """An incarnation ends that never was a member: what its tools had to say ends with it.

        What the application sends waits for the next one: it has read nothing of this one.
        """
        dropped = [item for item in self.waiting if _port(item) != PORT_APPLICATION]
        self.places.leave()
        for item in dropped:
            self.waiting.remove(item)
            self._count(item, -1)
        return dropped

    def drop_waiting(self) -> None:
        """The application has left: do not send what it sent and still waits, but tell it."""
        tools: list[Item] = []
        for _ in range(len(self.waiting)):
            item = self.waiting[len(tools)]
            if _port(item) != PORT_APPLICATION:
                tools.append(item)
                continue
            del self.waiting[len(tools)]
            self.places.take(len(tools))
            self._count(item, -1)
            self.drop(item)

    def come_to(self, incarnation: int) -> None:
        """The application has read everything of the incarnations before this one."""
        self.read = max(incarnation, self.read)
        assert self.read <= self.incarnation, "nobody reads what has not begun"

    def tell(self) -> list[Item]:
        """Hand over what the application has sent in vain, once, in order."""
        assert self._unsent or not self.unsent_bytes, "what weighs something is there"
        unsent, self._unsent, self.unsent_bytes = self._unsent, [], 0
        return unsent


def _weight(item: Item) -> int:
    """Return about how many bytes something takes in memory."""
    if isinstance(item, WaitingRun):
        return MESSAGE_BYTES * len(item.payloads) + item.byte_count
    return MESSAGE_BYTES + len(item.payload)


def _port(item: Item) -> int:
    return item.how.port if isinstance(item, WaitingRun) else item.port


def _go_together(one: Item, other: Item) -> bool:
    """Tell whether two runs of the application may leave as one."""
    return (
        isinstance(one, WaitingRun)
        and isinstance(other, WaitingRun)
        and one.how == other.how
        and one.how.lifetime_us is None
        and one.how.port == PORT_APPLICATION
        and len(one.payloads) + len(other.payloads) <= RUN_MESSAGES_MAX
        and one.byte_count + other.byte_count <= RUN_BYTES_MAX
    )


def _joined(one: Item, other: Item) -> WaitingRun:
    assert isinstance(one, WaitingRun), "the caller has looked"
    assert isinstance(other, WaitingRun), "the caller has looked"
    one.payloads.extend(other.payloads)
    return WaitingRun(one.how, one.payloads, one.byte_count + other.byte_count)


def weight(run: Run) -> int:
    """Return about how many bytes a run takes in memory."""
    return run.byte_count + MESSAGE_BYTES * run.count
