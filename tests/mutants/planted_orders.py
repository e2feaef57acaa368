"""Planted bugs of total order (ISIS 5.2, 5.5): turns, lists, the token, what is left over.

Not here, because it is none: a holder that gives turns to what it RECEIVES, before its past has
been delivered. If a total message is in the past of another, somebody has delivered it, by a turn
that some holder gave before the other was even sent; so its turn is the earlier one all the same,
and a sender's own come in order on its channel. Neither can a turn be waited for in a circle: what
the message lacks has had its turn, or needs none. It only holds up what comes behind it.
"""

from collections.abc import Iterable
from typing import Any

from tests.mutants.registry import plant

from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Order, Run, SetsOrder
from antiphon.core.views import View
from antiphon.ordering.gate import Arrived, Gate
from antiphon.ordering.gated import GatedDomain
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.total import TotalOrder, Turn
from antiphon.ordering.vector_clock import VectorClock

_RIGHT_RECEIVE = MixedDomain._receive_any
_RIGHT_LEARN = TotalOrder.learn
_RIGHT_SAY = TotalOrder.say
_RIGHT_TURN_OF = TotalOrder.turn_of
_RIGHT_ADVANCE = MixedDomain.advance


# Lists and turns.


@plant(MixedDomain, "_receive_any", "000-5, 000-6")
def list_counts_when_delivered(
    self: MixedDomain, group: VectorClock, gate: Gate, run: Run
) -> list[Run]:
    """A sets-order list is an ordinary causal message: it counts when it is delivered."""
    total = gate.total
    if run.sets_order is None:
        return _RIGHT_RECEIVE(self, group, gate, run)
    bare = Run(
        run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads,
        run.byte_count, run.uniform, run.port,
    )  # fmt: skip
    ready = _RIGHT_RECEIVE(self, group, gate, bare)
    if bare in ready:
        total.check(run)
        total.learn(run)
        self._put(gate.look_at_turn())
        self._drain(ready)
    return ready


@plant(TotalOrder, "turn_of", "ISIS 5.2, kin")
def any_turn_is_the_next(self: TotalOrder, run: Run) -> Turn | None:
    """A message that has a turn is delivered, whether or not it is the next one."""
    for place in sorted(self.turns):
        turn = self.turns[place]
        if turn.rank == run.sender and run.first <= turn.last:
            return turn
    return None


@plant(TotalOrder, "turn_of", "000-7, kin")
def own_message_needs_no_turn(self: TotalOrder, run: Run) -> Turn | None:
    """A process delivers its own total messages at once, as it does with causal ones."""
    if run.sender == self.rank:
        return Turn(run.sender, run.last, run.sender, run.last)
    return _RIGHT_TURN_OF(self, run)


@plant(GatedDomain, "is_clear", "000-7")
def own_causal_message_overtakes_own_total_one(self: MixedDomain, group: GroupNumber) -> bool:
    """A plain multicast is delivered here at once, whatever of one's own is still held."""
    gate = self._gates[group]
    return not gate.total.unsaid and not gate.uniform.is_active


# The token.


@plant(Gate, "take_token", "000-9, kin")
def token_is_lost_on_the_way(self: Gate, run: Run) -> list[Arrived]:
    """Whom a list names as holder takes no notice."""
    return []


@plant(Gate, "take_token", "000-9")
def new_holder_looks_at_new_messages_only(self: Gate, run: Run) -> list[Arrived]:
    """What waited for its turn when the token came never gets one."""
    assert run.sets_order is not None
    self.total.take_token(run.sets_order)
    return self.look_at_turn()


@plant(TotalOrder, "say", "token held twice")
def old_holder_goes_on(self: TotalOrder, number: int, *, may_move: bool) -> SetsOrder | None:
    """Who passes the token on keeps it as well."""
    was_holder = self.is_holder
    order = _RIGHT_SAY(self, number, may_move=may_move)
    self.is_holder = was_holder
    return order


@plant(TotalOrder, "say", "000-6, kin")
def token_moves_while_own_messages_wait(
    self: TotalOrder, number: int, *, may_move: bool
) -> SetsOrder | None:
    """The token leaves with a list behind an own message that has no turn, and cannot get one."""
    return _RIGHT_SAY(self, number, may_move=True)


@plant(TotalOrder, "learn", "A.7")
def successor_begins_on_receipt(self: TotalOrder, run: Run) -> None:
    """Whom a list names as holder begins before it knows all the turns given before."""
    _RIGHT_LEARN(self, run)
    order = run.sets_order
    if order is not None and order.successor == self.rank:
        self.take_token(order)


@plant(TotalOrder, "take_token", "A.7, kin")
def successor_counts_turns_from_its_own(self: TotalOrder, order: SetsOrder) -> None:
    """The new holder numbers turns on from those that it has delivered."""
    self.is_holder = not self._is_stopped
    self._next_given = self.next_turn


# Leaving a view.


@plant(MixedDomain, "stop", "000-10 S1")
def last_list_is_not_said(self: MixedDomain, group: GroupNumber) -> list[tuple[Run, list[Run]]]:
    """Turns given and not yet said are forgotten when a newer view is known."""
    if group in self._gates:
        self._gates[group].total.stop()
    return []


@plant(TotalOrder, "stop", "000-10 S2")
def holder_gives_turns_during_the_flush(self: TotalOrder) -> None:
    """A newer view is known, and the holder goes on."""
    self._is_stopped = True


@plant(TotalOrder, "take_token", "000-10 S3")
def token_is_taken_during_the_flush(self: TotalOrder, order: SetsOrder) -> None:
    """A newer view is known, and a process becomes holder all the same."""
    self.is_holder = True
    self._next_given = order.number + len(order.turns)


@plant(MixedDomain, "advance", "000-10, kin", "all-to-all")
def view_begins_with_a_holder_although_it_ends(
    self: MixedDomain,
    group: GroupNumber,
    view: View,
    rank: Rank,
    *,
    has_holder: bool = True,
    token: str | None = None,
) -> list[Run]:
    """The most senior member of a view gives turns in it although a newer one is known."""
    return _RIGHT_ADVANCE(self, group, view, rank, has_holder=True, token=token)


@plant(TotalOrder, "choose_left_over", "000-11, kin")
def left_overs_in_order_of_receipt(self: TotalOrder, runs: Iterable[Run]) -> Run:
    """What is left when a view ends is delivered as it came."""
    return next(iter(runs))


@plant(TotalOrder, "choose_left_over", "000-11, kin")
def own_left_overs_come_first(self: TotalOrder, runs: Iterable[Run]) -> Run:
    """What is left when a view ends is sorted by sender, beginning with oneself."""
    return min(runs, key=lambda run: (run.sender != self.rank, run.sender))


@plant(TotalOrder, "choose_left_over", "000-11, uniform", is_met=False)
def left_overs_ignore_the_turns_that_are_known(self: TotalOrder, runs: Iterable[Run]) -> Run:
    """What comes after a turn that died with its message is sorted by sender, turn or no turn."""
    return min(runs, key=lambda run: run.sender)


@plant(MixedDomain, "finish", "000-11")
def left_overs_by_identifier_alone(self: MixedDomain, group: GroupNumber) -> list[Run]:
    """What is left when a view ends is sorted by sender and number, not after its past."""
    ready: list[Run] = []
    if (gate := self._gates.get(group)) is None:
        return ready
    gate.total.stop()
    self._put(gate.leave())
    self._drain(ready)
    mine = self._groups[group]
    held = self._queue.drop(group) + gate.waiting()
    gate._waiting.clear()
    for run in sorted(held, key=lambda run: (run.sender, run.first)):
        if type(run) is Run and run.order is Order.TOTAL:
            if run.first == mine.delivered[run.sender] + 1:
                mine.delivered[run.sender] = run.last
                ready.append(run)
        elif (lack := mine.lack(run)) is None:
            self._queue.put_ready(self._queue.arrive(), run)
        else:
            self._queue.hold(run, lack)
    self._drain(ready)
    return ready


@plant(Gate, "take_left_over", "000-11, kin")
def lost_turns_are_waited_for(self: Gate) -> Arrived | None:
    """What comes after a turn that died with its message is never delivered."""
    total: Any = self.total
    turn = total.turns.get(total.next_turn)
    if not self._waiting or (turn is not None and turn.rank not in self._waiting):
        return None
    return self._waiting.pop(total.choose_left_over(self.waiting()).sender)
