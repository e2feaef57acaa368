"""ViewFlooding an overlay under views (Overlay 3.2, corrected): each member forwards to few others.

Rule. The members of a view, by rank, are the nodes of an overlay (``ordering.overlay.topologies``),
so a view says who is whose neighbour, and another view rewires it. An own run goes to the
neighbours. A run is taken from any member's channel, not only from its sender's: what is new is
marked, put on the channels of all neighbours but the one it came from, and THEN delivered (002-1).
What is marked already is dropped. Runs carry no stamp: the order of the channels is the causal
order. What comes early, of a view that is still to be installed, is kept in the order in which it
came, and forwarded when that view is entered.

While a view is being left, flooding may have been cut by crashes. So who learns of a newer view
relays all that it has of this one and is not known to be stable, of all senders, in the order in
which it came, to all participants (``membership.relaying_flush``); and what still comes, as well,
instead of to its neighbours.

Invariant. On the channel from u to v, whatever u took before m has been taken by v or is ahead of m
on that channel. So v takes m after all that u took before m, and by induction on the order in which
things happen, after its causal past: its sender took that before it multicast m.

- v is a neighbour: u has put on the channel all that it took in this view, in the order in which it
  took it, but what had come from v.
- Otherwise m is relayed in a flush. Ahead of it on the channel is all that u took before m, but for
  what u knew to be stable, and that everybody has, v included. What u took later it relays when it
  takes it.
- A channel is cut only at its end: what comes from a process that failed in a view agreed on is
  dropped from there on, all of it.

A gap on a channel is therefore the fault of whoever is at its other end.

Fault model. With fewer crashes than the connectivity of the overlay, at any moment, whatever a
survivor delivered reaches all survivors without a view change (002-5). With more, the survivors
may be cut off from each other, but none of them ever takes a message without its past: there is no
hole, only a delay. The crashes lead to a new view; its flush relays, over channels between all,
whatever any participant has, and ends when all have the same (``membership.view_atomic_flush``).

Receipts go up and down a tree of the overlay's links (``receipt_tree``). In calm a member has
channels with its neighbours only (``membership.attention``).

Cost. Copies of a run: sum of degrees - (n - 1), n (log2 n - 1) + 1 in a full cube. Its header does
not grow with n. State: n counts. In a flush each of n participants relays u unstable runs to all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.core.control import Alive
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.attention import Neighbours
from antiphon.membership.effects import Effect, Outbox, SendRun
from antiphon.membership.transition import Transition
from antiphon.ordering.overlay.spanning_tree import spanning_tree
from antiphon.ordering.overlay.topologies import TOPOLOGIES
from antiphon.ordering.stability import Stability
from antiphon.ordering.tree_stability import TreeStability
from antiphon.stack.dissemination import Dissemination, GroupProtocol

_SAME = {"hypercube": "incomplete-hypercube"}
"""A cube has 2, 4, 8, ... members; the incomplete one is the same there, and groups may grow."""


@dataclass(frozen=True, slots=True)
class Overlay(GroupProtocol):
    """Messages flood an overlay of the members: each is sent to few, who send it on.

    ``topology`` is ``incomplete-hypercube`` (about log2 n neighbours for each of n members; also
    called ``hypercube``), ``ring`` (2 log2 n neighbours) or ``tree`` (at most three; a crash
    interrupts it until the next view).
    """

    topology: str = "incomplete-hypercube"

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        if not isinstance(self.topology, str) or self.topology not in TOPOLOGIES:
            names = ", ".join(TOPOLOGIES)
            message = f"there is no topology {self.topology!r:.100}: choose one of {names}"
            raise UsageError(message)

    @property
    def description(self) -> str:
        """What members compare when they meet."""
        return f"overlay {_SAME.get(self.topology, self.topology)}"

    def begin(self, out: Outbox, transition: Transition) -> "ViewFlooding":
        """Begin a process's part in a group, outside any view."""
        return ViewFlooding(out, transition, _SAME.get(self.topology, self.topology))


class ViewFlooding:
    """One process's part in it."""

    __slots__ = ("_marked", "_out", "_rank", "_topology", "_transition", "neighbours")

    def __init__(self, out: Outbox, transition: Transition, topology: str) -> None:
        """Be outside; forward through ``out``."""
        self._out = out
        self._transition = transition
        self._topology = TOPOLOGIES[topology]
        self._rank = 0
        self._marked: list[int] = []  # by sender, how many messages of the view have been taken
        self.neighbours: tuple[ProcessId, ...] = ()
        """The neighbours of this process in the current view."""

    def enter(self, view: View, rank: int) -> None:
        """A view begins: it says who the neighbours are."""
        size = len(view.members)
        self._rank = rank
        self._marked = [0] * size
        ranks = self._topology.neighbours(size, rank)
        self.neighbours = tuple(view.members[neighbour] for neighbour in ranks)

    def begin_receipts(self, size: int, rank: int, delivered: Sequence[int]) -> Stability:
        """Return receipts that are summed up a tree of the overlay's links."""
        return TreeStability(size, rank, delivered, spanning_tree(self._topology.name, size))

    def send(self, run: Run, alive: Alive | None) -> list[Effect]:
        """Return how an own run leaves: to the neighbours, without the stamp that it was given."""
        assert alive is None, "receipts go by the tree"
        assert run.sender == self._rank, "it is a run of this process"
        assert not self._transition.pending, "nothing is multicast while a view is being left"
        self._marked[run.sender] = run.last
        run.stamp = ()
        return [SendRun(run, None, self.neighbours)]

    def take(self, peer: ProcessId, run: Run) -> Run | None:
        """Take a run from whoever brings it; return what is new, which has been forwarded."""
        marked = self._check(peer, run)
        if run.last <= marked:
            return None
        fresh = run if run.first > marked else run.after(marked)
        self._marked[run.sender] = run.last
        self._forward(peer, fresh)
        return fresh

    def _check(self, peer: ProcessId, run: Run) -> int:
        """Return how many messages of its sender came before; refuse what nobody correct sends."""
        size = len(self._marked)
        if run.sender >= size:
            message = f"a run claims sender number {run.sender} in a view of {size}"
            raise PeerError(message)
        if run.is_gated or run.stamp or run.foreign or run.sets_order is not None:
            message = f"a run of member {run.sender} asks for what flooding does not give"
            raise PeerError(message)
        marked = self._marked[run.sender]
        if run.first > marked + 1 or (run.sender == self._rank and run.last > marked):
            message = (
                f"{peer} brings message {run.first} of member {run.sender}, which has brought or "
                f"sent {marked} before"
            )
            raise PeerError(message)
        return marked

    def _forward(self, peer: ProcessId, run: Run) -> None:
        """Put a run on the channels of all who may lack it, but the one that it came from."""
        transition = self._transition
        targets = transition.participants() if transition.pending else self.neighbours
        self._out.relay((who for who in targets if who != peer), [run])


def neighbours_of(way: Dissemination | None) -> Neighbours | None:
    """Return what tells the neighbours of this process, where its group floods an overlay."""
    return (lambda: way.neighbours) if isinstance(way, ViewFlooding) else None
