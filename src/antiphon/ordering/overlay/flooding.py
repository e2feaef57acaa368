"""Causal broadcast by flooding: one member's machine (Overlay 3.2, figure 2; corrected).

Rule. Who broadcasts numbers the message and puts it on all its links. Who receives a message for
the first time marks it, puts it on every link but the one it came from, and THEN delivers it. What
is marked already is dropped. No stamp: the order of the links is the causal order.

Invariant. For an open link from u to v, whatever u has marked is marked by v or on its way on that
link, in the order in which u marked it. So if u delivered m before it broadcast, or forwarded, m',
nobody gets m' from u without having m. In every list of effects a message is put on all links
before it is handed up; the application may answer while the rest of a list is still to be done.

Corrections of figure 2. Mark, forward, deliver, in this order: printed as deliver, forward, mark,
an answer made in the upcall overtakes what it answers (002-1), and survives crashes that lose it
(002-5). The origin delivers its own message (002-6). Links must be FIFO: a message that comes
before its predecessor is refused; the figure would drop the predecessor later, as old (002-2).

New links (002-3). The first item on a link that is added is a snapshot: the counts of what its
opener has marked. The receiver keeps the link's gate shut, and what comes on it aside, until it has
marked all of that itself. Both directions are independent.

Removed links (002-4). Order stays right, but what was on its way is lost (``drop_link``). A link
that is drained (``drain_link``) loses nothing: a farewell is the last item in each direction. That
alone is not enough: a shut gate may wait for what would have come over a drained link. All is
delivered if the links whose gates are open connect everybody without the one to be drained.

Fault model. Reliable FIFO links, membership fixed. Crashes fewer than the overlay's connectivity,
at any moment, with any suffix lost of what the crashed had put on each link: a message that a
survivor delivers reaches all survivors, in causal order, with all its predecessors. What only
crashed members delivered may vanish: not uniform.

Cost. Copies: sum of degrees - (n - 1). Header: source and number, whatever n is. State: n counts. A
snapshot: source and count per non-zero entry. ("No control information", Overlay Table 1: 002-7.)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.core.errors import PeerError, UsageError


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A message on its way through the overlay."""

    source: int
    number: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """First on a new link: what its opener has marked, as counts by source without the zeros."""

    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Farewell:
    """Last on a link that is drained."""


LinkItem = Broadcast | Snapshot | Farewell


@dataclass(frozen=True, slots=True)
class PutOnLinks:
    """Put an item on each of these links."""

    links: tuple[int, ...]
    item: LinkItem


@dataclass(frozen=True, slots=True)
class HandUp:
    """Deliver a message to the application."""

    message: Broadcast


FloodingEffect = PutOnLinks | HandUp


@dataclass(slots=True)
class LinkGate:
    """What came on a link that is still shut."""

    need: tuple[tuple[int, int], ...] | None = None
    """What the snapshot names; None: it has not come."""
    aside: list[LinkItem] = field(default_factory=list)


class Flooding:
    """The flooding machine of one member."""

    __slots__ = ("_gates", "_incoming", "_outgoing", "_rank", "marked")

    def __init__(self, rank: int, size: int, neighbours: Iterable[int]) -> None:
        """Begin in a new group: links of the beginning need no gates."""
        self._rank = rank
        self.marked = [0] * size
        """By source, how many of its messages have been seen: S in the paper."""
        # Dicts, because sets have no order that a second run would repeat.
        self._outgoing = dict.fromkeys(neighbours)
        self._incoming = dict.fromkeys(self._outgoing)
        self._gates: dict[int, LinkGate] = {}

    @property
    def links(self) -> tuple[int, ...]:
        """Whom messages are put on a link to."""
        return tuple(self._outgoing)

    def is_open(self, peer: int) -> bool:
        """Whether what comes from a neighbour is taken at once."""
        return peer in self._incoming and peer not in self._gates

    # Messages.

    def broadcast(self, payload: bytes = b"") -> list[FloodingEffect]:
        """Send a message to everybody."""
        self.marked[self._rank] += 1
        message = Broadcast(self._rank, self.marked[self._rank], payload)
        return [*self._put(message), HandUp(message)]

    def receive(self, link: int, item: LinkItem) -> list[FloodingEffect]:
        """Take the next item of a link."""
        if link not in self._incoming:
            message = f"member {link} sends on a link that is not there"
            raise PeerError(message)
        if isinstance(item, Snapshot):
            return self._learn_need(link, item)
        gate = self._gates.get(link)
        if gate is not None:
            gate.aside.append(item)
            return []
        effects = self._take(link, item)
        if self._gates:
            self._open_gates(effects)
        return effects

    def _take(self, link: int, item: LinkItem) -> list[FloodingEffect]:
        if isinstance(item, Farewell):
            return self._end(link)
        assert isinstance(item, Broadcast), "a snapshot is never put aside"
        return self._take_message(link, item) if self._is_new(item) else []

    def _is_new(self, message: Broadcast) -> bool:
        """Whether a message is seen for the first time."""
        if not 0 <= message.source < len(self.marked):
            said = f"a message of member {message.source}, of {len(self.marked)}"
            raise PeerError(said)
        marked = self.marked[message.source]
        if message.number <= marked:
            return False
        if message.number > marked + 1 or message.source == self._rank:
            said = (
                f"message {message.number} of member {message.source} after message {marked}: the "
                "link is not FIFO, or has been forged"
            )
            raise PeerError(said)
        return True

    def _take_message(self, link: int, message: Broadcast) -> list[FloodingEffect]:
        self.marked[message.source] = message.number
        return [*self._put(message, but=link), HandUp(message)]

    def _put(self, message: Broadcast, but: int | None = None) -> list[FloodingEffect]:
        links = tuple([peer for peer in self._outgoing if peer != but])
        return [PutOnLinks(links, message)] if links else []

    # Links that come and go.

    def add_link(self, peer: int) -> list[FloodingEffect]:
        """Have a link to one more neighbour, which has one to this member from now on, too."""
        if peer in self._outgoing or peer in self._incoming:
            message = f"there is a link to member {peer} already"
            raise UsageError(message)
        if peer == self._rank or not 0 <= peer < len(self.marked):
            message = f"there can be no link to member {peer}"
            raise UsageError(message)
        self._outgoing[peer] = self._incoming[peer] = None
        self._gates[peer] = LinkGate()
        return [PutOnLinks((peer,), self._snapshot())]

    def drop_link(self, peer: int) -> None:
        """Have lost a link, or its other end; what was on its way is lost, too."""
        self._outgoing.pop(peer, None)
        self._incoming.pop(peer, None)
        self._gates.pop(peer, None)

    def drain_link(self, peer: int) -> list[FloodingEffect]:
        """Put nothing more on a link; what still comes is taken until the other end is done."""
        if peer not in self._outgoing:
            message = f"there is no link to member {peer} to be drained"
            raise UsageError(message)
        del self._outgoing[peer]
        return [PutOnLinks((peer,), Farewell())]

    def _end(self, link: int) -> list[FloodingEffect]:
        """The other end puts nothing more on a link."""
        del self._incoming[link]
        return self.drain_link(link) if link in self._outgoing else []

    def _snapshot(self) -> Snapshot:
        return Snapshot(tuple((rank, count) for rank, count in enumerate(self.marked) if count))

    def _learn_need(self, link: int, snapshot: Snapshot) -> list[FloodingEffect]:
        gate = self._gates.get(link)
        if gate is None or gate.need is not None or gate.aside:
            message = f"member {link} sends a snapshot that is not the first item of a new link"
            raise PeerError(message)
        if any(not 0 <= rank < len(self.marked) for rank, _ in snapshot.counts):
            message = f"member {link} sends a snapshot of members that there are not"
            raise PeerError(message)
        gate.need = snapshot.counts
        effects: list[FloodingEffect] = []
        self._open_gates(effects)
        return effects

    def _covers(self, gate: LinkGate) -> bool:
        return gate.need is not None and all(
            self.marked[rank] >= count for rank, count in gate.need
        )

    def _open_gates(self, effects: list[FloodingEffect]) -> None:
        """Take what is behind the gates that nothing is lacking for any more."""
        while ready := [link for link, gate in self._gates.items() if self._covers(gate)]:
            for link in ready:
                for item in self._gates.pop(link).aside:
                    effects += self._take(link, item)
