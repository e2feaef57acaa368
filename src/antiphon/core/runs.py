"""A run: consecutive messages by one sender with no delivery at the sender in between.

Law: by ISIS 5.4 only the first message of a run needs a timestamp; the others follow it by their
number alone. So one header, one readiness check and one trace row serve the whole run, and
per-message work shrinks to one slice. A single message is a run of one.

``stamp`` holds the entries of the sender's vector time that changed since its previous
multicast to the same group in the same view (ISIS 5.4; erratum 000-12), as ``(rank, count)``
in order of rank. A missing entry is no constraint. The sender's own entry is ``first``.
``foreign`` holds the same of other groups of the causality domain (ISIS 6.1).

A token holder's sets-order list (ISIS 5.2) rides on its runs; if it has none to send, on a run of
one empty message on a port of its own. So the list is an ordinary message: counted, kept and
flushed like any other.

Runs are shared between the processes of a simulation, so nobody may change one.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from antiphon.core.ids import GroupNumber, Rank, ViewNumber

Stamp = tuple[tuple[int, int], ...]

Foreign = tuple[tuple[int, int, Stamp], ...]
"""Stamps of other groups: each names a group, a view of it, and entries by rank in that view."""


class Order(IntEnum):
    """The order asked for on the send call; the value is what the wire carries.

    - ``FIFO``: after the sender's own earlier messages.
    - ``CAUSAL``: besides, after everything that the sender had delivered before.
    - ``TOTAL``: besides, in one sequence with all other total messages, the same at every member.
    """

    FIFO = 0
    CAUSAL = 1
    TOTAL = 2


_TOTAL = Order.TOTAL  # an attribute of an enum costs more to look up than a run to check


class SetsOrder(NamedTuple):
    """What comes next in the total order of a group's view, as its token holder says."""

    number: int
    """The number of the first of these turns; turns of a view are numbered from 1."""
    turns: tuple[tuple[int, int], ...]
    """Each names a sender and a number: it is the turn of that sender's messages up to there."""
    successor: int = -1
    """Who holds the token from here on, by rank; -1: who says this."""


PORT_APPLICATION = 0
PORT_CALLS = 1
PORT_COMMIT = 2
PORT_ORDER = 3
"""Messages that only carry a sets-order list."""
PORT_MAX = 255


class Run:
    """Messages ``first`` to ``first + len(payloads) - 1`` of ``sender`` in a group's view.

    A plain slotted class: one is made per run received, and a frozen dataclass costs four times
    as much to make.
    """

    __slots__ = (
        "byte_count", "count", "first", "foreign", "group", "is_gated", "last", "order", "payloads",
        "port", "sender", "sets_order", "stamp", "uniform", "view",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917 - a record of the wire has the fields it has
        self,
        group: GroupNumber,
        view: ViewNumber,
        sender: Rank,
        first: int,
        order: Order,
        stamp: Stamp,
        payloads: Sequence[bytes],
        byte_count: int | None = None,
        uniform: bool = False,  # noqa: FBT001, FBT002 - as above
        port: int = PORT_APPLICATION,
        sets_order: SetsOrder | None = None,
        foreign: Foreign = (),
    ) -> None:
        """Take the fields as they are; the codec and the machines vouch for them.

        ``byte_count``, the size of all payloads, is for who knows it already.
        """
        self.group = group
        self.view = view
        self.sender = sender
        self.first = first
        self.order = order
        self.stamp = stamp
        self.payloads = payloads
        self.count = count = len(payloads)
        self.last = first + count - 1
        # Its last number; asked for more often than runs are made.
        self.byte_count = sum(map(len, payloads)) if byte_count is None else byte_count
        self.uniform = uniform
        self.port = port
        self.sets_order = sets_order
        self.foreign = foreign
        self.is_gated = uniform or order is _TOTAL
        # Whether it may have to wait although its past has been delivered.

    def after(self, number: int) -> "Run":
        """Return the part of the run that follows message ``number``, with the same stamp."""
        assert self.first <= number < self.last, "the cut must leave something on both sides"
        rest = self.payloads[number + 1 - self.first :]
        return type(self)(
            self.group, self.view, self.sender, number + 1, self.order, self.stamp, rest,
            None, self.uniform, self.port, self.sets_order, self.foreign,
        )  # fmt: skip

    def expired(self) -> "ExpiredRun":
        """Return what is left of it when its lifetime is over."""
        payloads = [b""] * self.count
        return ExpiredRun(
            self.group, self.view, self.sender, self.first, self.order, (), payloads, 0
        )

    def __eq__(self, other: object) -> bool:
        """Runs are equal when the wire could not tell them apart."""
        return isinstance(other, Run) and all(
            getattr(self, name) == getattr(other, name) for name in Run.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show what a person debugging needs: who, which numbers, the stamp."""
        return (
            f"Run(group={self.group}, view={self.view}, sender={self.sender}, "
            f"numbers={self.first}..{self.last}, order={self.order.name}, stamp={self.stamp}"
            + (f", foreign={self.foreign})" if self.foreign else ")")
        )


class Letter(Run):
    """A message to one member (ISIS 7.2): stamped like its sender's next multicast, not counted.

    ``first`` is the number that the sender's next multicast would have had: a letter waits for
    all the sender multicast before it.
    """

    __slots__ = ()


class ExpiredRun(Run):
    """Messages that expired before they came here: numbers, and empty payloads.

    They are counted, ordered and relayed like any others; an application is told of them instead.
    """

    __slots__ = ()
