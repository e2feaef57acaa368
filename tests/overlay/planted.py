"""Planted bugs of flooding: mistakes that the paper makes, or invites."""

from collections.abc import Callable
from typing import Any

from tests.mutants.registry import Mutant

from antiphon.ordering.overlay.flooding import (
    Broadcast,
    Flooding,
    FloodingEffect,
    HandUp,
    LinkGate,
    LinkItem,
    PutOnLinks,
    Snapshot,
)

BUGS: list[Mutant] = []


def plant(method: str, source: str) -> Callable[[Any], Any]:
    """Register a wrong method of the machine, under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        name = wrong.__name__.replace("_", " ")
        BUGS.append(Mutant(name, "", source, Flooding, method, wrong))
        return wrong

    return register


@plant("_take_message", "002-1, figure 2")
def deliver_before_forward(self: Flooding, link: int, message: Broadcast) -> list[FloodingEffect]:
    """As printed: the application has it before it is on the links."""
    self.marked[message.source] = message.number
    return [HandUp(message), *self._put(message, but=link)]


@plant("broadcast", "002-1, kin")
def origin_delivers_before_it_sends(self: Flooding, payload: bytes = b"") -> list[FloodingEffect]:
    """An answer to one's own message overtakes it."""
    self.marked[self._rank] += 1
    message = Broadcast(self._rank, self.marked[self._rank], payload)
    return [HandUp(message), *self._put(message)]


@plant("_is_new", "002-2")
def gaps_are_taken(self: Flooding, message: Broadcast) -> bool:
    """As printed: whatever is newer than the last is taken, so links that reorder lose messages."""
    return message.number > self.marked[message.source]


@plant("is_open", "002-3")
def new_link_has_no_gate(self: Flooding, peer: int) -> bool:
    """Replaced together with ``add_link`` and the snapshot: see the end of this file."""
    return peer in self._incoming


@plant("_covers", "002-3, kin")
def any_snapshot_opens_the_gate(self: Flooding, gate: LinkGate) -> bool:
    """What it names is not compared with what is here."""
    return gate.need is not None


@plant("_covers", "002-3, kin")
def own_entry_is_enough(self: Flooding, gate: LinkGate) -> bool:
    """Only the newest source of a snapshot is compared."""
    return gate.need is not None and all(
        self.marked[rank] >= count for rank, count in gate.need[-1:]
    )


@plant("_snapshot", "002-3, kin")
def snapshot_is_empty(self: Flooding) -> Snapshot:
    """A new link says nothing of what is behind it."""
    return Snapshot(())


@plant("add_link", "002-3, kin")
def snapshot_comes_too_late(self: Flooding, peer: int) -> list[FloodingEffect]:
    """The link is used, and its gate is opened, by whatever comes first."""
    self._outgoing[peer] = self._incoming[peer] = None
    return []


@plant("_open_gates", "002-3, kin")
def what_waits_at_a_gate_is_dropped(self: Flooding, effects: list[FloodingEffect]) -> None:
    """The gate opens, and forgets."""
    for link in [link for link, gate in self._gates.items() if self._covers(gate)]:
        self._gates.pop(link)


@plant("_open_gates", "002-3, kin")
def gate_gives_back_the_last_first(self: Flooding, effects: list[FloodingEffect]) -> None:
    """What waited is taken in the wrong order."""
    while ready := [link for link, gate in self._gates.items() if self._covers(gate)]:
        for link in ready:
            for item in reversed(self._gates.pop(link).aside):
                effects += self._take(link, item)


@plant("drain_link", "002-4")
def farewell_is_not_waited_for(self: Flooding, peer: int) -> list[FloodingEffect]:
    """Who ends a link takes nothing from it any more."""
    del self._outgoing[peer]
    self._incoming.pop(peer, None)
    return []


@plant("_take_message", "002-5")
def one_link_is_left_out(self: Flooding, link: int, message: Broadcast) -> list[FloodingEffect]:
    """The overlay is less connected than it says."""
    self.marked[message.source] = message.number
    links = tuple(peer for peer in self._outgoing if peer != link)
    return [PutOnLinks(links[1:], message), HandUp(message)]


@plant("_take_message", "002-5, kin")
def only_the_origin_sends(self: Flooding, link: int, message: Broadcast) -> list[FloodingEffect]:
    """Nobody forwards."""
    self.marked[message.source] = message.number
    return [HandUp(message)]


@plant("broadcast", "002-6")
def origin_does_not_deliver(self: Flooding, payload: bytes = b"") -> list[FloodingEffect]:
    """As printed in both figures."""
    self.marked[self._rank] += 1
    return self._put(Broadcast(self._rank, self.marked[self._rank], payload))


@plant("_take_message", "002-7")
def message_goes_back_where_it_came_from(
    self: Flooding, link: int, message: Broadcast
) -> list[FloodingEffect]:
    """Right, but n - 1 copies too many."""
    self.marked[message.source] = message.number
    return [*self._put(message), HandUp(message)]


def _add_link_open(self: Flooding, peer: int) -> list[FloodingEffect]:
    self._outgoing[peer] = self._incoming[peer] = None
    return [PutOnLinks((peer,), self._snapshot())]


def _ignore_snapshot(self: Flooding, link: int, snapshot: LinkItem) -> list[FloodingEffect]:
    return []


BUGS[:] = [
    bug._replace(
        also=((Flooding, "add_link", _add_link_open), (Flooding, "_learn_need", _ignore_snapshot))
    )
    if bug.name == "new link has no gate"
    else bug
    for bug in BUGS
]
