"""Agreement on views: at most one decided, whoever proposes, crashes, lags or lies."""

import pytest
from tests.membership.agreement_search import search
from tests.membership.hands import A, B, C, D, E, X, outbox, sent, view_of
from tests.mutants.planted import MUTANTS, planted

from antiphon.core.control import (
    Accept,
    Alive,
    AnyMessage,
    Decide,
    Prepare,
    Promise,
    Propose,
    Reject,
    Want,
)
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.agreement import Agreement

THREE = view_of(A, B, C)
WITHOUT_C = view_of(A, B, number=2, failed=(C,))
WITHOUT_A = view_of(B, C, number=2, failed=(A,))
WITH_X = view_of(A, B, C, X, number=2, joined=(X,))


class Table:
    """Members around a table: messages go when the test says so, FIFO per pair."""

    def __init__(self, latest: View) -> None:
        """Begin with a view that all have agreed on."""
        self.machines = {member: Agreement(outbox(member), latest) for member in latest.members}
        self.under_way: list[tuple[ProcessId, ProcessId, AnyMessage]] = []
        self.dead: dict[ProcessId, None] = {}
        self.decided: dict[ProcessId, list[View]] = {member: [] for member in latest.members}

    def propose(self, who: ProcessId, view: View) -> None:
        """Let somebody propose."""
        self._note(who, self.machines[who].propose(view))

    def _note(self, who: ProcessId, views: list[View]) -> None:
        self.decided[who] += views
        sends = sent(self.machines[who]._out.take())
        self.under_way += [(who, to, message) for to, message in sends]

    def deliver_all(self, at_most: int = 1_000) -> int:
        """Deliver what is under way, and what follows from it; tell how much that was."""
        count = 0
        while self.under_way and count < at_most:
            source, target, message = self.under_way.pop(0)
            if target not in self.dead:
                count += 1
                self._note(target, self.machines[target].receive(source, message))
        return count

    def kill(self, who: ProcessId, arriving: int) -> None:
        """Let somebody die; of all that it had under way, so many messages still arrive."""
        self.dead[who] = None
        own = [item for item in self.under_way if item[0] == who]
        self.under_way = [item for item in self.under_way if item[0] != who] + own[:arriving]


def test_senior_member_decides_in_one_round() -> None:
    """The most senior member's first ballot needs no Prepare: n - 1 proposals, n - 1 accepts."""
    table = Table(THREE)
    table.propose(A, WITHOUT_C)
    assert [message for _, _, message in table.under_way] == [Propose(1, WITHOUT_C)] * 2
    assert table.deliver_all() == 4
    assert table.decided == {A: [WITHOUT_C], B: [], C: []}


def test_other_members_ask_first() -> None:
    """Any other proposer asks for promises, with a ballot that is its own."""
    table = Table(THREE)
    table.propose(B, WITHOUT_A)
    assert [message for _, _, message in table.under_way] == [Prepare(2, 2)] * 2
    table.deliver_all()
    assert table.decided[B] == [WITHOUT_A]


def test_every_order_of_messages_decides_at_most_one_view() -> None:
    """With two proposers and three acceptors, no order of arrival decides two views."""
    states, outcomes = search(THREE, {A: WITHOUT_C, B: WITHOUT_A})
    assert states > 1_000
    assert [] in outcomes
    assert [WITHOUT_C] in outcomes
    assert [WITHOUT_A] in outcomes
    assert all(len(decided) <= 1 for decided in outcomes)


def test_every_order_with_two_juniors_decides_at_most_one_view() -> None:
    """The same with two proposers that both have to ask first."""
    _, outcomes = search(THREE, {B: WITHOUT_A, C: WITH_X})
    assert [WITHOUT_A] in outcomes
    assert [WITH_X] in outcomes
    assert all(len(decided) <= 1 for decided in outcomes)


@pytest.mark.parametrize(
    "name",
    [
        "accepted views are overruled",
        "promises are not kept",
        "every first ballot skips phase one",
        "what was accepted is not told",
        "one member is a quorum",
    ],
)
def test_search_finds_two_views_where_a_rule_is_broken(name: str) -> None:
    """The search is no idle one: with a rule of the agreement broken, two views are decided."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with planted(mutant):
        _, outcomes = search(THREE, {A: WITHOUT_C, B: WITHOUT_A})
    assert any(len(decided) > 1 for decided in outcomes)


@pytest.mark.parametrize("delivered", range(7))
@pytest.mark.parametrize("arriving", range(3))
@pytest.mark.parametrize("proposer", [A, B])
def test_proposer_that_crashes_at_any_step_is_replaced(
    proposer: ProcessId, delivered: int, arriving: int
) -> None:
    """Whenever the proposer dies, the next one decides, and the same if it was decided."""
    table = Table(THREE)
    table.propose(proposer, WITH_X)
    table.deliver_all(delivered)
    table.kill(proposer, arriving)
    table.deliver_all()
    heir = next(member for member in (A, B, C) if member != proposer)
    own = view_of(*(who for who in (A, B, C) if who != proposer), number=2, failed=(proposer,))
    for _ in range(3):  # a ballot may be overtaken by what the dead one still sends
        if not table.decided[heir]:
            table.machines[heir].give_up()
            table.propose(heir, own)
            table.deliver_all()
    decided = [view for views in table.decided.values() for view in views]
    assert table.decided[heir]
    assert len(dict.fromkeys(decided)) == 1


def test_accepted_view_of_the_highest_ballot_is_taken_over() -> None:
    """A proposer that learns of accepted views goes on with the latest of them, not its own."""
    machine = Agreement(outbox(A), view_of(A, B, C, D, E))
    machine._highest = 6
    older = view_of(A, B, C, D, number=2, failed=(E,))
    newer = view_of(A, B, C, E, number=2, failed=(D,))
    machine.propose(view_of(A, B, D, E, number=2, failed=(C,)))
    ballot = machine._ballot
    machine.receive(B, Promise(2, ballot, 2, older))
    machine._out.take()
    machine.receive(C, Promise(2, ballot, 4, newer))
    assert sent(machine._out.take()) == [(who, Propose(ballot, newer)) for who in (B, C, D, E)]


def test_ballots_of_different_members_never_meet() -> None:
    """Every ballot belongs to one member, and is higher than all it has seen."""
    for above in range(20):
        ballots = []
        for member in (A, B, C):
            machine = Agreement(outbox(member), THREE)
            machine._highest = above
            ballots.append(machine._next_ballot())
        assert len(set(ballots)) == 3
        assert min(ballots) > above
        assert [ballot % 3 for ballot in ballots] == [1, 2, 0]


def test_ballot_is_repeated_unchanged_to_who_has_not_answered() -> None:
    """Who was a view behind could not answer; asked again, it says the same as the others."""
    proposer = Agreement(outbox(B), THREE)
    proposer.propose(WITHOUT_C)
    proposer._out.take()
    proposer.receive(C, Want(0))
    assert (C, Prepare(2, 2)) in sent(proposer._out.take())
    proposer.repeat()
    assert sent(proposer._out.take()) == [(A, Prepare(2, 2)), (C, Prepare(2, 2))]
    acceptor = Agreement(outbox(C), THREE)
    for _ in range(2):
        acceptor.receive(B, Prepare(2, 2))
        assert sent(acceptor._out.take()) == [(B, Promise(2, 2, 0, None))]
    proposer.receive(C, Promise(2, 2, 0, None))
    proposer._out.take()
    proposer.repeat()
    assert sent(proposer._out.take()) == [(A, Propose(2, WITHOUT_C)), (C, Propose(2, WITHOUT_C))]


def test_proposal_is_revised_only_while_nobody_knows_it() -> None:
    """One ballot proposes one view, or two members could accept different ones in it."""
    proposer = Agreement(outbox(B), THREE)
    proposer.revise(WITHOUT_C)
    assert not proposer.is_proposing
    proposer.propose(WITHOUT_C)
    alone = view_of(B, number=2, failed=(A, C))
    proposer.revise(alone)
    proposer._out.take()
    proposer.receive(C, Promise(2, 2, 0, None))
    assert (A, Propose(2, alone)) in sent(proposer._out.take())
    proposer.revise(WITHOUT_C)
    proposer.repeat()
    assert (A, Propose(2, alone)) in sent(proposer._out.take())


def test_lower_ballot_is_rejected_and_gives_up() -> None:
    """Who promised a higher ballot says so; the proposer stops, and is higher next time."""
    machine = Agreement(outbox(C), THREE)
    machine.receive(B, Prepare(2, 5))
    machine._out.take()
    for message in (Prepare(2, 4), Prepare(2, 5), Propose(4, WITHOUT_C)):
        machine.receive(A, message)
    assert sent(machine._out.take()) == [(A, Reject(2, 5))] * 3
    proposer = Agreement(outbox(A), THREE)
    proposer.propose(WITHOUT_C)
    proposer.receive(C, Reject(2, 5))
    assert not proposer.is_proposing
    proposer.propose(WITHOUT_C)
    assert proposer._ballot > 5


def test_late_reject_does_not_stop_a_higher_ballot() -> None:
    """A rejection of what was tried before is no reason to stop."""
    proposer = Agreement(outbox(B), THREE)
    proposer.propose(WITHOUT_A)
    proposer.give_up()
    proposer.propose(WITHOUT_A)
    proposer.receive(C, Reject(2, 2))
    assert proposer.is_proposing


@pytest.mark.parametrize(
    ("present", "is_quorum"),
    [((A, B), True), ((A, D), True), ((B, C), False), ((B, C, D), True), ((A,), False)],
)
def test_half_decides_only_with_the_most_senior(
    present: tuple[ProcessId, ...], is_quorum: bool
) -> None:
    """Exactly half of the members is a quorum if the most senior one is among them."""
    latest = view_of(A, B, C, D)
    table = Table(latest)
    for member in latest.members:
        if member not in present:
            table.kill(member, 0)
    gone = tuple(member for member in latest.members if member not in present)
    table.propose(present[0], view_of(*present, number=2, failed=gone))
    table.deliver_all()
    assert bool(table.decided[present[0]]) is is_quorum


def test_laggard_catches_up() -> None:
    """Who hears of a view beyond the next one asks for those between, and gets them in order."""
    second, third = WITH_X, view_of(A, B, C, number=3, failed=(X,))
    ahead = Agreement(outbox(A), THREE)
    assert ahead.receive(B, Decide((second, third))) == [second, third]
    behind = Agreement(outbox(C), THREE)
    fourth = view_of(A, B, number=4, failed=(C,))
    assert behind.receive(A, Propose(1, fourth)) == []
    assert sent(behind._out.take()) == [(A, Want(1))]
    ahead.receive(C, Want(1))
    assert sent(ahead._out.take()) == [(C, Decide((second, third)))]
    assert behind.receive(A, Decide((second, third))) == [second, third]


def test_gap_in_what_is_told_is_not_jumped() -> None:
    """A view is learned only after the one before it."""
    behind = Agreement(outbox(C), THREE)
    third = view_of(A, B, C, number=3, failed=(X,))
    assert behind.receive(A, Decide((third,))) == []
    assert behind.latest == THREE


def test_forgotten_views_are_not_offered() -> None:
    """Who wants views that were forgotten gets none: later ones would not help it."""
    ahead = Agreement(outbox(A), THREE)
    ahead.receive(B, Decide((WITH_X, view_of(A, B, C, number=3, failed=(X,)))))
    ahead.forget_before(3)
    assert [view.number for view in ahead.history] == [3]
    ahead.receive(C, Want(1))
    assert sent(ahead._out.take()) == []
    ahead.forget_before(9)
    assert [view.number for view in ahead.history] == [3]


def test_proposal_for_a_decided_number_is_answered_with_the_decision() -> None:
    """A proposer that comes too late is told what was decided."""
    machine = Agreement(outbox(A), THREE)
    machine.receive(B, Decide((WITH_X,)))
    for message in (Prepare(2, 5), Propose(5, WITHOUT_C), Accept(2, 5), Reject(2, 7)):
        machine.receive(C, message)
    assert sent(machine._out.take()) == [(C, Decide((WITH_X,)))] * 2
    assert machine.latest == WITH_X


def test_joiner_begins_with_the_view_it_joins_in() -> None:
    """A joiner takes no earlier view, asks for the one it joined in, and goes on from there."""
    third = view_of(A, B, X, number=3, failed=(C,))
    joiner = Agreement(outbox(X), None)
    assert joiner.receive(A, Decide((THREE,))) == []
    assert sent(joiner._out.take()) == []
    assert joiner.receive(A, Decide((third,))) == []
    assert sent(joiner._out.take()) == [(A, Want(0))]
    assert joiner.receive(A, Decide((THREE, WITH_X, third))) == [WITH_X, third]
    assert joiner.latest == third


def test_joiner_that_is_asked_to_accept_asks_back() -> None:
    """Before it knows its first view a joiner promises nothing."""
    joiner = Agreement(outbox(X), None)
    joiner.receive(A, Prepare(3, 1))
    assert sent(joiner._out.take()) == [(A, Want(0))]


def test_strangers_have_no_vote() -> None:
    """What comes from outside the last view is not counted and not answered."""
    machine = Agreement(outbox(A), THREE)
    machine.propose(WITHOUT_C)
    machine._out.take()
    assert machine.receive(X, Accept(2, 1)) == []
    assert machine.receive(D, Accept(2, 1)) == []
    machine.receive(X, Prepare(2, 9))
    assert sent(machine._out.take()) == []
    assert machine.receive(B, Accept(2, 1)) == [WITHOUT_C]


@pytest.mark.parametrize(
    "message",
    [
        Propose(1, view_of(B, A, number=2, failed=(C,))),  # seniority changed
        Propose(1, view_of(A, B, number=2)),  # somebody vanished
        Propose(1, view_of(A, B, C, X, number=2)),  # somebody appeared
        Propose(1, View(type(THREE.group)("other"), WITHOUT_C.number, (A, B), failed=(C,))),
        Decide((view_of(A, B, number=2),)),
        Promise(2, 1, 1, view_of(A, B, number=2)),
        Promise(2, 1, 1, view_of(A, B, number=7, failed=(C,))),
        Alive(1, (), 0, 1),
    ],
)
def test_what_no_member_says_is_refused(message: AnyMessage) -> None:
    """A view that does not follow from the one before is the peer's fault, and changes nothing."""
    machine = Agreement(outbox(B), THREE)
    with pytest.raises(PeerError):
        machine.receive(A, message)
    assert machine.latest == THREE
    assert machine._promised == 0
    assert machine.receive(A, Decide((WITHOUT_C,))) == [WITHOUT_C]


@pytest.mark.parametrize("message", [Promise(2, 0, 0, None), Accept(2, 0)])
@pytest.mark.parametrize("has_given_up", [True, False])
def test_votes_for_no_ballot_count_for_nothing(message: AnyMessage, has_given_up: bool) -> None:
    """Ballot 0 is nobody's: votes for it decide nothing, also after giving up."""
    machine = Agreement(outbox(A), THREE)
    if has_given_up:
        machine.propose(WITHOUT_C)
        machine.give_up()
    for peer in (B, C):
        assert machine.receive(peer, message) == []
    assert machine.latest == THREE


def test_decision_with_a_view_at_fault_is_refused_whole() -> None:
    """A right view before a wrong one, in one message, is not learned: it would be lost."""
    machine = Agreement(outbox(B), THREE)
    wrong = view_of(A, C, number=3, failed=(B,))
    with pytest.raises(PeerError):
        machine.receive(A, Decide((WITHOUT_C, wrong)))
    assert machine.latest == THREE
    assert machine.receive(A, Decide((WITHOUT_C,))) == [WITHOUT_C]
