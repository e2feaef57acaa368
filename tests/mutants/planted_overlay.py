"""Planted bugs of groups that flood an overlay, hunted in random worlds of such groups.

Law: as of the others (``registry``): planted into the machines that ship, and found by exploration.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from tests.mutants.registry import Patch

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.attention import Attention
from antiphon.membership.effects import Effect, RelayRuns
from antiphon.membership.membership import Membership
from antiphon.membership.relaying_flush import RelayingFlush
from antiphon.membership.view_atomic_flush import ViewAtomicFlush
from antiphon.ordering.tree_stability import TreeStability
from antiphon.stack.arrivals import Arrivals
from antiphon.stack.member import Member
from antiphon.stack.overlay import ViewFlooding
from antiphon.stack.receipt_tree import ReceiptTree, Word
from antiphon.stack.receiver import Receiver


class OverlayMutant(NamedTuple):
    """One mistake."""

    name: str
    source: str
    target: type
    method: str
    wrong: Any
    also: tuple[Patch, ...] = ()
    """What belongs to the same mistake, elsewhere."""
    first: int = 0
    """Where the hunt begins: those that are rare are looked for where they are met."""


MUTANTS: list[OverlayMutant] = []


def plant(
    target: type, method: str, source: str, also: tuple[Patch, ...] = (), first: int = 0
) -> Callable[[Any], Any]:
    """Register a wrong method under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        name = wrong.__name__.replace("_", " ")
        MUTANTS.append(OverlayMutant(name, source, target, method, wrong, also, first))
        return wrong

    return register


_enter = ViewFlooding.enter
_take = ViewFlooding.take
_send = ViewFlooding.send
_tick = Member.tick
_take_early = Receiver.take_early


_held: dict[int, list[RelayRuns]] = {}
"""What was delivered and is still to be forwarded, by machine."""


def _forward_later(self: ViewFlooding, peer: ProcessId, run: Run) -> None:
    to = tuple(who for who in self.neighbours if who not in {peer, self._out.me})
    _held.setdefault(id(self), []).append(RelayRuns(to, [run]))


def _take_after_forwarding(self: ViewFlooding, peer: ProcessId, run: Run) -> Run | None:
    self._out.effects += _held.pop(id(self), [])
    return _take(self, peer, run)


def _tick_after_forwarding(self: Member, now_us: int, *, is_due: bool = False) -> list[Effect]:
    self._out.effects += _held.pop(id(self.dissemination), [])
    return _tick(self, now_us, is_due=is_due)


@plant(
    ViewFlooding, "send", "002-1",
    also=(
        (ViewFlooding, "_forward", _forward_later),
        (ViewFlooding, "take", _take_after_forwarding),
        (Member, "tick", _tick_after_forwarding),
    ),
)  # fmt: skip
def runs_are_delivered_before_they_are_forwarded(
    self: ViewFlooding, run: Run, alive: Alive | None
) -> list[Effect]:
    """What is answered in the delivery overtakes what it answers."""
    return [*_send(self, run, alive), *_held.pop(id(self), [])]


@plant(ViewFlooding, "_forward", "Overlay 3.2")
def nothing_is_forwarded_to_the_first_neighbour(
    self: ViewFlooding, peer: ProcessId, run: Run
) -> None:
    """A tree is cut by that, and so is any overlay whose other ways have crashed."""
    targets = [who for who in self.neighbours[1:] if who != peer]
    self._out.relay(targets, [run])


@plant(ViewFlooding, "take", "002-1, kin")
def runs_are_taken_from_their_senders_only(
    self: ViewFlooding, peer: ProcessId, run: Run
) -> Run | None:
    """As if there were channels between all."""
    members = self._transition.current.members  # type: ignore[union-attr]
    return _take(self, peer, run) if members[run.sender] == peer else None


@plant(ViewFlooding, "enter", "a view rewires")
def neighbours_are_those_of_the_first_view(self: ViewFlooding, view: View, rank: int) -> None:
    """Whoever joined is nobody's neighbour, and the place of who is gone is not filled."""
    before = self.neighbours
    _enter(self, view, rank)
    if before:
        self.neighbours = tuple(who for who in before if who in view.members)


@plant(Receiver, "take_early", "002-3, kin")
def what_came_early_is_never_forwarded(self: Receiver, *what: Any) -> None:
    """It is delivered here, and others wait for it."""
    way = self._dissemination
    if not isinstance(way, ViewFlooding):
        _take_early(self, *what)
        return
    neighbours, way.neighbours = way.neighbours, ()
    _take_early(self, *what)
    way.neighbours = neighbours


@plant(RelayingFlush, "_relay", "protocols.md D")
def only_what_failed_senders_sent_is_relayed(self: RelayingFlush) -> None:
    """As where runs come from their senders: what a live one sent may have stopped on the way."""
    ViewAtomicFlush._relay(self)


@plant(Arrivals, "unstable", "protocols.md D: in receipt order")
def runs_are_relayed_sender_by_sender(self: Arrivals) -> list[Run]:
    """An answer is ahead of what it answers."""
    runs = [run for run in self._runs if run.last > self._stable(run.sender)]
    return sorted(runs, key=lambda run: -run.sender)


@plant(ViewFlooding, "_forward", "002-5", first=3_000)
def what_comes_while_the_view_is_left_goes_to_neighbours_only(
    self: ViewFlooding, peer: ProcessId, run: Run
) -> None:
    """Where crashes have cut the overlay, it stops there, and the flush never ends."""
    self._out.relay((who for who in self.neighbours if who != peer), [run])


@plant(RelayingFlush, "installed", "003-2")
def all_is_relayed_in_the_first_flush_only(self: RelayingFlush) -> None:
    """The next view is left without a word about what is in it."""
    ViewAtomicFlush.installed(self)


# Receipts that are summed up a tree.


def _least_of(parts: list[list[int]]) -> list[int]:
    return list(map(min, zip(*parts, strict=True)))


@plant(TreeStability, "_least", "stability: every member")
def root_tells_what_it_has_itself(self: TreeStability) -> list[int]:
    """As if nobody could lack what has come to it."""
    if self.is_root:
        return list(self._delivered)
    return _least_of([part.counts for part in self._parts.values()])


@plant(TreeStability, "_least", "stability: every member")
def inner_member_forgets_its_last_child(self: TreeStability) -> list[int]:
    """Its word is for fewer than it seems."""
    parts = [part.counts for part in self._parts.values()]
    is_inner = not self.is_root and len(parts) > 1
    return _least_of(parts[:-1] if is_inner else parts)


@plant(TreeStability, "_least", "stability: every member")
def child_that_has_said_nothing_does_not_count(self: TreeStability) -> list[int]:
    """As if it had nothing to add."""
    parts = [part.counts for part in self._parts.values()]
    return _least_of([counts for counts in parts if any(counts)] or parts)


_hear = ReceiptTree.hear


@plant(ReceiptTree, "hear", "000-17 c", first=250)
def word_of_an_earlier_view_counts(self: ReceiptTree, peer: ProcessId, word: Word) -> None:
    """Numbers of one view say nothing of another."""
    number = self._membership.transition.number
    if word.number < number:
        word = msgspec.structs.replace(word, number=number)
    _hear(self, peer, word)


@plant(ReceiptTree, "take_early", "000-17 d, kin", first=60)
def words_that_come_early_are_lost(self: ReceiptTree) -> None:
    """They are said once: whoever enters a view late never hears them."""
    self._spoken.clear()
    self._early.clear()


# Channels with neighbours only.


@plant(Membership, "attend", "links: a view that is not everywhere")
def calm_is_who_has_installed_the_view(self: Membership, now_us: int, *, has_reason: bool) -> None:
    """Others may still wait to hear how far this one is, and to be waited for."""
    is_pending = self.transition.current is None or bool(self.transition.pending)
    if self.attention.look(now_us, has_reason=is_pending or has_reason):
        self._watch(now_us)
    self.attention.tell()


@plant(Attention, "watches", "links: everybody is watched")
def only_who_brings_receipts_is_watched(self: Attention, process: ProcessId) -> bool:
    """A neighbour that dies between receipts is missed by nobody."""
    if self.is_alarmed or self._neighbours is None or process == self._out.me:
        return True
    return process in list(self._neighbours())[:1]


@plant(Attention, "meet", "links on demand")
def letter_to_who_is_idle_makes_no_link(
    self: Attention, processes: Iterable[ProcessId], now_us: int
) -> bool:
    """As if there were channels between all."""
    return False
