"""The three ways to leave a view, each machine driven by hand with copies put there by a test."""

import pytest
from tests.membership.hands import A, B, C, D, Shelf, X, Y, outbox, relayed, run_of, sent, view_of

from antiphon.core.control import Alive, Flush, Install, Report
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership import transition as transitions
from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.membership.coordinator_flush import CoordinatorFlush
from antiphon.membership.effects import Outbox
from antiphon.membership.membership import FlushMaker
from antiphon.membership.transition import Transition
from antiphon.membership.view_atomic_flush import ViewAtomicFlush

FOUR = view_of(A, B, C, D)
WITHOUT_D = view_of(A, B, C, number=2, failed=(D,))
WITH_X = view_of(A, B, C, D, X, number=2, joined=(X,))


class Hand:
    """One flush, its transition and its box."""

    def __init__(
        self, make: FlushMaker, me: ProcessId, current: View | None = FOUR, *, counts: str = "0000"
    ) -> None:
        """Begin in a view, having received so many messages of each member."""
        self.out: Outbox = outbox(me)
        self.transition = Transition(current)
        self.shelf = Shelf([int(count) for count in counts])
        self.flush: transitions.Flush = make(self.out, self.transition, self.shelf)

    def learn(self, *views: View) -> "Hand":
        """Let these views be agreed on, one by one."""
        for view in views:
            self.transition.learn(view)
            self.flush.learn()
        return self

    def enter(self) -> "Hand":
        """Let the next view begin."""
        self.transition.enter()
        self.flush.installed()
        return self

    def sent(self) -> list[tuple[ProcessId, object]]:
        """Return what was sent since the last look."""
        return [(to, message) for to, message in sent(self.out.take())]


def atomic(me: ProcessId, current: View | None = FOUR, counts: str = "0000") -> Hand:
    """Return a hand with the default flush."""
    return Hand(ViewAtomicFlush, me, current, counts=counts)


# View-atomic.


def test_participants_report_to_the_most_senior_that_stays() -> None:
    """Who learns of a view tells the coordinator its counts and whom it excludes, in bits."""
    hand = atomic(C, counts="1203").learn(WITHOUT_D)
    assert hand.sent() == [(A, Report(1, (1, 2, 0, 3), (3,)))]
    leaving = view_of(B, C, D, number=2, left=(A,))
    assert atomic(C).learn(leaving).sent() == [(B, Report(1, (0, 0, 0, 0), ()))]


def test_equal_reports_permit_the_view() -> None:
    """When all participants excluded the same and received the same, everybody may install."""
    hand = atomic(A, counts="1203").learn(WITHOUT_D)
    hand.flush.receive(B, Report(1, (1, 2, 0, 3), (3,)))
    assert hand.flush.installable == 1
    hand.flush.receive(C, Report(1, (1, 2, 0, 3), (3,)))
    assert hand.flush.installable == 2
    assert hand.sent() == [(B, Install(2, (3,))), (C, Install(2, (3,)))]


def test_permission_that_did_not_count_a_process_is_none_for_it() -> None:
    """D3 binds all who install, and who failed in a later view was not waited for."""
    hand = atomic(D).learn(WITH_X)
    hand.flush.receive(A, Install(2, (2, 3)))
    assert hand.flush.installable == 1
    hand.flush.receive(B, Report(2, (0, 0, 0, 0), (), (3,)))
    assert hand.flush.installable == 1
    hand.flush.receive(B, Install(2, (2,)))
    assert hand.flush.installable == 2, "another permission counted it"


def test_leaver_of_an_earlier_view_hears_from_a_new_coordinator_what_concerns_it() -> None:
    """The permission of a later view says nothing of the view in which it left."""
    hand = atomic(B).learn(view_of(A, B, C, number=2, left=(D,)))
    hand.flush.receive(A, Install(2, ()))
    hand.shelf.counts = [0, 0, 0]
    hand.enter()
    hand.learn(view_of(A, B, C, X, number=3, joined=(X,)))
    hand.flush.receive(A, Install(3, ()))
    hand.shelf.counts = [0, 0, 0, 0]
    hand.enter()
    hand.out.take()
    hand.learn(view_of(B, C, X, number=4, failed=(A,)))
    assert (D, Install(2, ())) in hand.sent()


@pytest.mark.parametrize(
    "report",
    [
        Report(1, (1, 2, 0, 2), (3,)),  # received less
        Report(1, (1, 2, 0, 4), (3,)),  # received more
        Report(1, (1, 2, 0, 3), ()),  # still listens to the failed
        Report(1, (1, 2, 0, 3, 0), (3,)),  # counts of no such view
    ],
)
def test_unequal_reports_permit_nothing_until_repeated(report: Report) -> None:
    """A report that differs holds the view up; the one that replaces it lets it go on."""
    hand = atomic(A, counts="1203").learn(WITHOUT_D)
    hand.flush.receive(B, Report(1, (1, 2, 0, 3), (3,)))
    hand.flush.receive(C, report)
    assert hand.flush.installable == 1
    hand.flush.receive(C, Report(1, (1, 2, 0, 3), (3,)))
    assert hand.flush.installable == 2


def test_silent_dead_process_is_excluded_by_a_bit_of_its_own() -> None:
    """003-1: a process of which nothing was received can be excluded all the same."""
    hand = atomic(A).learn(WITHOUT_D)
    for peer in (B, C):
        hand.flush.receive(peer, Report(1, (0, 0, 0, 0), (3,)))
    assert hand.flush.installable == 2


def test_unstable_messages_of_the_failed_are_relayed_before_the_report() -> None:
    """What a failed sender told only some goes to all participants, once, ahead of the report."""
    hand = atomic(B, counts="0002")
    run = run_of(3, 1, count=2)
    hand.shelf.by_rank = {3: [run], 2: [run_of(2, 1)]}
    hand.learn(WITHOUT_D)
    effects = hand.out.take()
    assert relayed(effects) == [(A, run), (C, run)]
    assert [type(effect).__name__ for effect in effects] == ["RelayRuns", "SendControl"]
    hand.learn(view_of(A, B, number=3, failed=(C,)))
    again = hand.out.take()
    assert [run for _, run in relayed(again)] == [run_of(2, 1)]


def test_late_receipt_is_relayed_and_reported() -> None:
    """What a relay brings of a failed sender is passed on; any receipt is reported again."""
    hand = atomic(C).learn(WITHOUT_D)
    hand.out.take()
    hand.shelf.counts = [0, 0, 0, 1]
    hand.flush.take_runs([run_of(3, 1)])
    effects = hand.out.take()
    assert relayed(effects) == [(A, run_of(3, 1)), (B, run_of(3, 1))]
    assert sent(effects) == [(A, Report(1, (0, 0, 0, 1), (3,)))]
    hand.shelf.counts = [0, 1, 0, 1]
    hand.flush.take_runs([run_of(1, 1)])
    effects = hand.out.take()
    assert relayed(effects) == []
    assert sent(effects) == [(A, Report(1, (0, 1, 0, 1), (3,)))]


def test_leaver_reports_and_is_waited_for() -> None:
    """A voluntary leaver is a participant until the end."""
    leaving = view_of(A, B, C, number=2, left=(D,))
    assert atomic(D).learn(leaving).sent() == [(A, Report(1, (0, 0, 0, 0), ()))]
    hand = atomic(A).learn(leaving)
    for peer in (B, C):
        hand.flush.receive(peer, Report(1, (0, 0, 0, 0), ()))
    assert hand.flush.installable == 1
    hand.flush.receive(D, Report(1, (0, 0, 0, 0), ()))
    assert hand.sent() == [(peer, Install(2)) for peer in (B, C, D)]


def test_next_round_begins_with_the_view_that_is_installed() -> None:
    """003-2: with a later view pending, installing one starts the round for the next at once."""
    hand = atomic(B).learn(WITHOUT_D, view_of(A, B, C, X, number=3, joined=(X,)))
    hand.out.take()
    hand.shelf.counts = [0, 0, 0]
    hand.enter()
    assert hand.sent() == [(A, Report(2, (0, 0, 0), ()))]


def test_report_on_a_later_view_is_permission() -> None:
    """003-5: who reports on a view has installed it, so it was permitted."""
    hand = atomic(B).learn(WITHOUT_D)
    hand.flush.receive(C, Report(2, (0, 0, 0), ()))
    assert hand.flush.installable == 2


def test_report_on_an_earlier_view_is_answered_with_permission() -> None:
    """003-5: who still reports on a view that was left has missed the permission."""
    hand = atomic(B).learn(WITHOUT_D)
    hand.flush.receive(A, Install(2))
    hand.out.take()
    hand.shelf.counts = [0, 0, 0]
    hand.enter()
    hand.flush.receive(C, Report(1, (0, 0, 0, 0), (3,)))
    assert hand.sent() == [(C, Install(2))]


def test_new_coordinator_repeats_the_permission_of_the_old() -> None:
    """003-5: what a dead coordinator told only some, its heir tells all, before anything else."""
    hand = atomic(B).learn(WITHOUT_D)
    hand.flush.receive(A, Install(2))
    hand.out.take()
    hand.shelf.counts = [0, 0, 0]
    hand.enter()
    assert hand.sent() == []
    hand.learn(view_of(B, C, number=3, failed=(A,)))
    assert hand.sent()[0] == (C, Install(2))


def test_reports_of_another_view_do_not_count() -> None:
    """A report that came early counts when its view has begun, and an old one no longer."""
    third = view_of(A, B, C, X, number=3, joined=(X,))
    hand = atomic(A).learn(WITHOUT_D)
    for peer in (B, C):
        hand.flush.receive(peer, Report(1, (0, 0, 0, 0), (3,)))
    hand.shelf.counts = [0, 0, 0]
    hand.enter()
    hand.flush.receive(B, Report(2, (0, 0, 0), ()))
    hand.learn(third)
    assert hand.flush.installable == 2
    hand.flush.receive(C, Report(2, (0, 0, 0), ()))
    assert hand.flush.installable == 3


def test_coordinator_reports_to_itself_again() -> None:
    """What the coordinator received since its last report counts with the next view."""
    hand = atomic(A).learn(WITHOUT_D)
    hand.shelf.counts = [0, 0, 0, 1]
    hand.learn(view_of(A, B, number=3, failed=(C,)))
    hand.flush.receive(B, Report(1, (0, 0, 0, 1), (2, 3)))
    assert hand.flush.installable == 2


def test_joiner_installs_by_permission_alone() -> None:
    """A process that is in no view yet reports nothing, and needs nothing but the permission."""
    hand = atomic(X, None, counts="").learn(WITH_X)
    assert hand.sent() == []
    hand.flush.receive(A, Install(2))
    assert hand.flush.installable == 2


def test_joiner_needs_no_permission_of_a_dead_view() -> None:
    """When all members of the view before have failed, nobody could give it; not before."""
    joined = view_of(A, B, X, Y, number=2, joined=(X, Y), left=(C,), failed=(D,))
    hand = atomic(X, None, counts="").learn(joined)
    hand.learn(view_of(B, X, Y, number=3, failed=(A,)))
    hand.learn(view_of(X, Y, number=4, failed=(B,)))
    assert hand.flush.installable == 0  # the leaver could
    hand.learn(view_of(X, Y, number=5, failed=(C,)))
    assert hand.flush.installable == 2


def test_joiners_of_a_dead_view_count_nobody() -> None:
    """A member of that view that lives after all, cut off, must not install with them (D3)."""
    joined = view_of(A, B, C, X, Y, number=2, joined=(X, Y), failed=(D,))
    hand = atomic(X, None, counts="").learn(joined, view_of(X, Y, number=3, failed=(A, B, C)))
    hand.shelf.counts = [0] * 5
    messages = hand.enter().sent()
    assert messages == [(Y, Install(2, (0, 1, 2, 3)))]
    cut_off = atomic(C).learn(joined)
    cut_off.flush.receive(Y, messages[0][1])
    assert cut_off.flush.installable == 1


def test_lone_survivor_permits_itself() -> None:
    """Who is left alone waits for nobody."""
    hand = atomic(A, view_of(A, B), counts="00").learn(view_of(A, number=2, failed=(B,)))
    assert hand.flush.installable == 2
    assert hand.sent() == []


# All-to-all.


def all_to_all(me: ProcessId, current: View | None = FOUR) -> Hand:
    """Return a hand with the all-to-all flush."""
    return Hand(AllToAllFlush, me, current)


def test_everybody_tells_everybody() -> None:
    """Whoever learns of a view sends n - 1 Flush messages, joiners included, the failed not."""
    assert all_to_all(B).learn(WITHOUT_D).sent() == [(A, Flush(2)), (C, Flush(2))]
    assert [to for to, _ in all_to_all(B).learn(WITH_X).sent()] == [A, C, D, X]


def test_flush_of_every_participant_permits_the_view() -> None:
    """The view may be installed when Flush has come from all who are left, and not before."""
    hand = all_to_all(B).learn(WITHOUT_D)
    hand.flush.receive(A, Flush(2))
    assert hand.flush.installable == 1
    hand.flush.receive(C, Flush(2))
    assert hand.flush.installable == 2


def test_forwarded_messages_go_ahead_of_the_flush() -> None:
    """Unstable messages of the failed, of this view and of others, come before the Flush."""
    hand = all_to_all(B)
    hand.shelf.by_rank = {3: [run_of(3, 1)], 0: [run_of(0, 1)]}
    hand.shelf.elsewhere = [run_of(1, 7, view=9)]
    hand.learn(WITHOUT_D)
    effects = hand.out.take()
    assert [run for to, run in relayed(effects) if to == A] == [run_of(1, 7, view=9), run_of(3, 1)]
    assert type(effects[-1]).__name__ == "SendControl"


def test_later_round_installs_an_earlier_view() -> None:
    """000-19: a view is installed by any later round that completes, not only by its own."""
    third = view_of(A, B, number=3, failed=(C,))
    hand = all_to_all(B).learn(WITHOUT_D, third)
    hand.flush.receive(A, Flush(3))
    assert hand.flush.installable == 2
    hand.enter()
    assert hand.flush.installable == 3


def test_leaver_flushes_in_every_round_and_is_waited_for() -> None:
    """000-17 (f): a leaver takes part in each later round, until it is through or dead."""
    leaving = view_of(A, B, C, number=2, left=(D,))
    third = view_of(A, B, number=3, failed=(C,))
    assert [to for to, _ in all_to_all(D).learn(leaving, third).sent()] == [A, B, C, A, B]
    hand = all_to_all(B).learn(leaving, third)
    hand.flush.receive(A, Flush(3))
    hand.flush.receive(D, Flush(2))
    assert hand.flush.installable == 1
    hand.flush.receive(D, Flush(3))
    assert hand.flush.installable == 2


def test_early_flush_counts_when_its_view_is_known() -> None:
    """A Flush that overtakes the decision is not lost, and an older one takes nothing back."""
    hand = all_to_all(B)
    hand.flush.receive(A, Flush(2))
    hand.flush.receive(C, Flush(2))
    hand.flush.receive(C, Flush(1))
    assert hand.flush.installable == 1
    hand.learn(WITHOUT_D)
    assert hand.flush.installable == 2


# Coordinator.


def coordinator(me: ProcessId, current: View | None = FOUR) -> Hand:
    """Return a hand with the coordinator flush."""
    return Hand(CoordinatorFlush, me, current)


def test_members_send_copies_then_flush_to_the_coordinator() -> None:
    """Own unstable messages and those of the failed go to the coordinator, then the Flush."""
    hand = coordinator(B)
    hand.shelf.by_rank = {1: [run_of(1, 1)], 2: [run_of(2, 1)], 3: [run_of(3, 1)]}
    hand.learn(WITHOUT_D)
    effects = hand.out.take()
    assert relayed(effects) == [(A, run_of(1, 1)), (A, run_of(3, 1))]
    assert sent(effects) == [(A, Flush(2))]
    assert type(effects[-1]).__name__ == "SendControl"


def test_coordinator_passes_copies_on_and_then_permits() -> None:
    """Copies go to all but who sent them, also if no news here; after all flushes, Install."""
    hand = coordinator(A).learn(WITHOUT_D)
    hand.out.take()
    hand.flush.take_copies(B, [run_of(3, 1)])
    assert relayed(hand.out.take()) == [(C, run_of(3, 1))]
    hand.flush.receive(B, Flush(2))
    assert hand.flush.installable == 1
    hand.flush.receive(C, Flush(2))
    assert hand.flush.installable == 2
    assert hand.sent() == [(B, Install(2)), (C, Install(2))]


def test_copies_that_come_before_the_coordinator_knows_are_passed_on_later() -> None:
    """Who is made coordinator by a view that others learned of earlier loses no copy."""
    hand = coordinator(B)
    hand.flush.take_copies(C, [run_of(3, 1)])
    assert relayed(hand.out.take()) == []
    hand.learn(view_of(B, C, number=2, failed=(A, D)))
    assert (C, run_of(3, 1)) not in relayed(hand.out.effects)
    hand = coordinator(B)
    hand.flush.take_copies(C, [run_of(3, 1)])
    hand.learn(view_of(B, C, D, number=2, failed=(A,)))
    assert relayed(hand.out.take()) == [(D, run_of(3, 1))]


def test_copies_go_again_to_every_new_coordinator() -> None:
    """000-18: what was sent to a coordinator may have died with it."""
    hand = coordinator(C)
    hand.shelf.by_rank = {3: [run_of(3, 1)]}
    hand.learn(WITHOUT_D)
    assert relayed(hand.out.take()) == [(A, run_of(3, 1))]
    hand.learn(view_of(B, C, number=3, failed=(A,)))
    assert relayed(hand.out.take()) == [(B, run_of(3, 1))]


def test_coordinator_of_several_views_permits_one_after_the_other() -> None:
    """A round that completes permits the next view, and when that is entered, the one after."""
    third = view_of(A, B, number=3, failed=(C,))
    hand = coordinator(A).learn(WITHOUT_D, third)
    hand.flush.receive(B, Flush(3))
    assert hand.flush.installable == 2
    hand.enter()
    assert hand.flush.installable == 3
    assert [message for _, message in hand.sent()] == [Install(2), Install(3)]


@pytest.mark.parametrize(
    ("make", "messages"),
    [
        (ViewAtomicFlush, (Flush(2), Alive(1, (), 0, 1), None)),
        (AllToAllFlush, (Install(2), Report(1, (), ()), None)),
        (CoordinatorFlush, (Report(1, (), ()), Alive(1, (), 0, 1), None)),
    ],
)
def test_message_of_another_flush_is_the_peers_fault(
    make: FlushMaker, messages: tuple[object, ...]
) -> None:
    """Members whose settings differ are told apart from members that work."""
    hand = Hand(make, B)
    for message in messages:
        with pytest.raises(PeerError, match="is no message of this flush"):
            hand.flush.receive(A, message)
    assert hand.flush.installable == 1
