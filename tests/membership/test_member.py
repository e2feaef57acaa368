"""One member, driven by hand: what it takes, keeps and refuses, and what it says."""

from collections import deque

import pytest
from tests.membership.hands import (
    A,
    B,
    C,
    X,
    delivered,
    kinds,
    member,
    permit,
    run_of,
    sent,
    view_of,
)

from antiphon.core.control import (
    Alive,
    Decide,
    Flush,
    Install,
    StateTaken,
    Want,
)
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order, Run
from antiphon.membership.effects import DeliverRuns, SendRun
from antiphon.membership.failure_detector import Timing
from antiphon.stack.announcer import ALIVE_BYTES
from antiphon.stack.member import Member
from antiphon.stack.receiver import GROUP
from antiphon.stack.settings import Limits, Settings

BEAT = Timing().heartbeat_us
THREE = view_of(A, B, C)
WITH_X = view_of(A, B, C, X, number=2, joined=(X,))
WITHOUT_C = view_of(A, B, number=2, failed=(C,))

# Runs.


def test_run_of_its_sender_is_delivered_the_short_way() -> None:
    """In the common case a run is delivered without further ado."""
    machine = member(B, THREE)
    assert machine.receiver.receive_plain(A, run_of(0, 1))
    assert machine.receiver.received() == [1, 0, 0]


def test_run_from_the_wrong_peer_is_refused() -> None:
    """A run is taken from its sender or as a copy, and from nobody else."""
    machine = member(B, THREE)
    for peer in (C, X):
        assert not machine.receiver.receive_plain(peer, run_of(0, 1))
        with pytest.raises(PeerError, match="comes from another process"):
            machine.take_run(peer, run_of(0, 1), 0)
    assert machine.receiver.receive_plain(A, run_of(0, 1))


@pytest.mark.parametrize(
    "run",
    [
        run_of(7, 1),  # no such member
        run_of(1, 1),  # this process itself
        run_of(0, 2),  # a number skipped
        run_of(0, 1, stamp=((9, 1),)),  # a stamp of another view
        Run(GROUP, THREE.number, 0, 2, Order.TOTAL, (), [b""]),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("is_copy", [True, False])
def test_malformed_run_is_the_peers_fault_and_changes_nothing(run: Run, is_copy: bool) -> None:
    """Whatever is wrong with a run, the next right one is taken."""
    machine = member(B, THREE)
    with pytest.raises(PeerError):
        machine.take_run(A, run, 0, relayed=is_copy)
    assert machine.receiver.received() == [0, 0, 0]
    assert machine.receiver.receive_plain(A, run_of(0, 1))


def test_copy_and_original_are_delivered_once() -> None:
    """Whichever comes first, what is in both is delivered once, and only the rest is new."""
    machine = member(B, THREE)
    assert delivered(machine.take_run(C, run_of(0, 1, count=2), 0, relayed=True)) == [(0, 1)]
    assert not machine.receiver.receive_plain(A, run_of(0, 1))
    assert delivered(machine.take_run(A, run_of(0, 1), 0)) == []
    assert delivered(machine.take_run(A, run_of(0, 1, count=4), 0)) == [(0, 3)]
    assert delivered(machine.take_run(C, run_of(0, 2, count=3), 0, relayed=True)) == []
    assert machine.receiver.received() == [4, 0, 0]


def test_run_of_an_earlier_view_is_dropped() -> None:
    """000-17: what is of a view that was left is of no use any more."""
    machine = member(B, THREE)
    permit(machine, WITH_X)
    assert machine.take_run(A, run_of(0, 1), 0) == []
    assert machine.receiver.received() == [0, 0, 0, 0]


def test_runs_of_the_next_view_are_kept_until_it_begins() -> None:
    """000-17 (d): they are delivered right after the view, in the order in which they came."""
    machine = member(B, THREE)
    for run in (run_of(0, 1, view=2), run_of(2, 1, view=2, stamp=((0, 2),)), run_of(0, 2, view=2)):
        assert delivered(machine.take_run((A, B, C)[run.sender], run, 0)) == []
    effects = permit(machine, WITH_X)
    assert [kind for kind in kinds(effects) if kind in {"InstallView", "DeliverRuns"}] == [
        "InstallView",
        "DeliverRuns",
    ]
    assert delivered(effects) == [(0, 1), (0, 2), (2, 1)]


def test_runs_of_the_view_after_the_next_are_kept_too() -> None:
    """However early a run is, it waits for its own view."""
    machine = member(B, THREE)
    machine.take_run(A, run_of(0, 1, view=3), 0)
    assert delivered(permit(machine, WITH_X)) == []
    third = view_of(A, B, C, number=3, failed=(X,))
    assert delivered(permit(machine, third)) == [(0, 1)]


def test_nonsense_that_came_early_spoils_nothing_else() -> None:
    """What is wrong with early runs and words comes to nothing, and the right ones count."""
    machine = member(B, THREE)
    machine.take_run(A, run_of(77, 1, view=2), 0)
    machine.take_run(A, run_of(77, 1, view=2), 0, relayed=True)
    machine.take_run(A, run_of(0, 5, view=2), 0)  # numbers before it are missing
    machine.take_run(A, run_of(2, 1, view=2), 0)  # forged: it is not its sender
    machine.take_control(A, Alive(2, ((1, 50),), 9, 2), 0)
    machine.take_run(C, run_of(2, 1, view=2, data=b"true"), 0)
    effects = permit(machine, WITH_X)
    assert DeliverRuns([run_of(2, 1, view=2, data=b"true")]) in effects
    assert machine.receiver.received() == [0, 0, 1, 0]
    assert machine.may_multicast


def test_early_copies_count_as_copies() -> None:
    """A copy of a later view's run may come from anybody, also before the view."""
    machine = member(B, THREE)
    machine.take_run(C, run_of(0, 1, view=2), 0, relayed=True)
    assert delivered(permit(machine, WITH_X)) == [(0, 1)]


def test_peer_cannot_fill_the_memory_with_what_is_early() -> None:
    """Ever more of a view that is not there is refused at some point."""
    machine = member(B, THREE)
    big = run_of(0, 1, view=9, data=bytes(1_000_000))
    with pytest.raises(PeerError, match="ever more"):
        deque((machine.take_run(A, big, 0) for _ in range(10_000)), 0)
    with pytest.raises(PeerError, match="ever more"):
        deque((machine.take_control(A, Alive(9, (), 0, 1), 0) for _ in range(1_000_000)), 0)


def test_failed_process_is_not_listened_to() -> None:
    """000-17 (b), 003-3: once a view without it is known, nothing of it counts, nor by it."""
    machine = member(B, THREE)
    machine.take_control(A, Decide((WITHOUT_C,)), 0)
    assert machine.take_run(C, run_of(2, 1), 0) == []
    assert machine.take_run(C, run_of(0, 1), 0, relayed=True) == []
    assert machine.receiver.received() == [0, 0, 0]
    assert delivered(machine.take_run(A, run_of(2, 1), 0, relayed=True)) == [(2, 1)]


def test_orphan_is_discarded_with_its_view() -> None:
    """A message whose past died with its sender is not delivered, also not in the next view."""
    machine = member(B, THREE)
    machine.take_run(A, run_of(0, 1, stamp=((2, 1),)), 0)
    assert machine.ordering.queue_depth == 1
    assert delivered(permit(machine, WITHOUT_C)) == []
    assert machine.ordering.queue_depth == 0


# Multicasting.


def test_multicast_waits_while_a_view_is_being_left() -> None:
    """Nothing is multicast between agreeing on a view and installing it."""
    machine = member(B, THREE)
    assert machine.may_multicast
    machine.take_control(A, Decide((WITH_X,)), 0)
    assert not machine.may_multicast
    with pytest.raises(UsageError, match="wait for the next view"):
        machine.multicast([b""], Order.CAUSAL, 0)
    machine.take_control(A, Install(2), 0)
    assert machine.may_multicast


def test_numbers_and_clock_begin_anew_in_every_view() -> None:
    """Vector time is of one view."""
    machine = member(B, THREE)
    machine.multicast([b"", b""], Order.CAUSAL, 0)
    assert machine.receiver.receive_plain(A, run_of(0, 1))
    permit(machine, WITH_X)
    (said, _) = machine.multicast([b""], Order.CAUSAL, 0)
    assert isinstance(said, SendRun)
    assert (said.run.view, said.run.first, said.run.stamp) == (2, 1, ())
    assert machine.ordering.clock(GROUP) == [0, 1, 0, 0]
    assert machine.receiver.receive_plain(A, run_of(0, 1, view=2))


def test_outsider_does_not_multicast() -> None:
    """Before the first view there is nobody to multicast to."""
    with pytest.raises(UsageError):
        member(X, None).multicast([b""], Order.CAUSAL, 0)


# Stability.


def test_copies_are_kept_until_stable_and_counted() -> None:
    """What is not known to have reached everybody is kept; stable messages are not."""
    machine = member(B, THREE)
    machine.multicast([b"12345"], Order.CAUSAL, 0)
    assert machine.receiver.receive_plain(A, run_of(0, 1))
    assert machine.kept_bytes == 6
    machine.take_control(A, Alive(1, ((0, 1), (1, 1)), 1, 1), 0)
    assert machine.kept_bytes == 5
    machine.take_control(C, Alive(1, ((1, 1),), 0, 1), 0)
    (said,) = {message for _, message in sent(machine.tick(BEAT))}
    assert isinstance(said, Alive)
    assert said.stable == 1
    assert machine.kept_bytes == 0


def test_word_rides_on_a_multicast_that_is_due() -> None:
    """With traffic, what was received and delivered before is told along with it, and only once."""
    machine = member(B, THREE)
    (at_once, _) = machine.multicast([b""], Order.CAUSAL, 1)
    (later, _) = machine.multicast([b""], Order.CAUSAL, BEAT)
    assert isinstance(at_once, SendRun)
    assert isinstance(later, SendRun)
    assert at_once.alive is None
    assert later.alive == Alive(1, ((1, 1),), 0, 1)
    # The run that it rode on was delivered after it was sent: a crash may come in between.
    last = Alive(1, ((1, 2),), 0, 1)
    assert sent(machine.tick(BEAT + 1)) == [(A, last), (C, last)]
    assert sent(machine.tick(2 * BEAT)) == []


def test_leaver_that_lingers_is_told_although_there_is_traffic() -> None:
    """Words that ride on multicasts do not reach who left: the heartbeat goes on for it."""
    machine = member(B, THREE, "all-to-all")
    machine.take_control(A, Decide((view_of(A, B, number=2, left=(C,)),)), 0)
    for peer in (A, C):
        machine.take_control(peer, Flush(2), 0)
    assert machine.view is not None
    assert machine.view.number == 2
    told: list[ProcessId] = []
    for now in range(BEAT // 4, 3 * BEAT, BEAT // 4):
        machine.multicast([b""], Order.CAUSAL, now)
        told += [to for to, _ in sent(machine.tick(now))]
    assert C in told


def test_much_received_is_told_before_the_heartbeat() -> None:
    """A member that received a lot says so early, so that buffers stay small."""
    machine = member(B, THREE)
    assert machine.receiver.receive_plain(A, run_of(0, 1, data=bytes(ALIVE_BYTES)))
    assert not machine.receiver.is_confirmation_due
    assert {to for to, _ in sent(machine.tick(1))} == {A, C}
    assert sent(machine.tick(2)) == []


def test_very_much_received_is_told_at_once() -> None:
    """Beyond the limit a member does not wait for the heartbeat, nor take the short way."""
    settings = Settings(limits=Limits(confirmed_bytes=100))
    machine = Member(B, THREE, settings, 0)
    assert machine.receiver.receive_plain(A, run_of(0, 1, data=bytes(50)))
    assert not machine.receiver.receive_plain(A, run_of(0, 2, data=bytes(50)))
    assert not machine.receiver.is_confirmation_due
    assert delivered(machine.take_run(A, run_of(0, 2, data=bytes(50)), 1)) == [(0, 2)]
    assert machine.receiver.is_confirmation_due
    assert {message for _, message in sent(machine.confirm_receipts(1))} == {
        Alive(1, ((0, 2),), 0, 1)
    }
    assert not machine.receiver.is_confirmation_due
    assert machine.receiver.receive_plain(A, run_of(0, 3))


@pytest.mark.parametrize(
    "lie",
    [
        Alive(1, ((1, 5),), 0, 1),  # received what was never sent
        Alive(1, (), 3, 1),  # has stable what it never multicast
    ],
)
def test_liar_is_refused_and_nothing_is_freed(lie: Alive) -> None:
    """Impossible counts are the peer's fault."""
    machine = member(B, THREE)
    machine.multicast([b"1"], Order.CAUSAL, 0)
    with pytest.raises(PeerError, match="never multicast"):
        machine.take_control(A, lie, 0)
    assert machine.kept_bytes == 1


def test_numbers_of_another_view_are_ignored() -> None:
    """000-17 (c): stability never spans views."""
    machine = member(B, THREE)
    permit(machine, WITH_X)
    machine.multicast([b"1"], Order.CAUSAL, 0)
    for peer in (A, C, X):
        machine.take_control(peer, Alive(1, ((1, 1),), 0, 1), 0)
    machine.tick(BEAT)
    assert machine.kept_bytes == 1


def test_early_word_counts_when_its_view_begins() -> None:
    """What a faster member says of the next view is remembered."""
    machine = member(B, THREE)
    machine.take_run(A, run_of(0, 1, view=2), 0)
    machine.take_control(A, Alive(2, ((0, 1),), 1, 2), 0)
    permit(machine, WITH_X)
    assert machine.stability.stable(0) == 1
    assert machine.kept_bytes == 0


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
def test_copies_outlive_their_view_until_all_have_left_it(flush: str) -> None:
    """000-17 (c), 000-18: they go when every member is known to be in the next view."""
    machine = member(B, THREE, flush)
    machine.multicast([b"1"], Order.CAUSAL, 0)
    machine.take_control(A, Decide((WITH_X,)), 0)
    if flush == "coordinator":
        machine.take_control(A, Install(2), 0)
    else:
        for peer in (A, C):
            machine.take_control(peer, Flush(2), 0)
    assert machine.view == WITH_X
    assert machine.kept_bytes == 1
    machine.take_control(A, Alive(2, (), 0, 2), 0)
    assert machine.kept_bytes == 1
    machine.take_control(C, Alive(2, (), 0, 2), 0)
    assert machine.kept_bytes == 0


def test_default_flush_keeps_nothing_of_views_that_were_left() -> None:
    """With the view-atomic flush nobody can need a copy after the view."""
    machine = member(B, THREE)
    machine.multicast([b"1"], Order.CAUSAL, 0)
    permit(machine, WITH_X)
    assert machine.kept_bytes == 0


def test_state_messages_are_none_of_the_membership() -> None:
    """What belongs to the layer above is refused here."""
    with pytest.raises(PeerError, match="is no message of the membership"):
        member(A, THREE).take_control(B, StateTaken(1, 1), 0)


def test_somebody_who_claims_to_be_this_process_is_refused() -> None:
    """A process never hears from itself."""
    machine = member(B, THREE)
    with pytest.raises(PeerError, match="claims to be"):
        machine.take_control(B, Want(0), 0)
    with pytest.raises(PeerError, match="claims to be"):
        machine.take_run(B, run_of(1, 1), 0)


def test_unknown_flush_is_refused() -> None:
    """Settings name a flush that exists."""
    with pytest.raises(UsageError, match="there is no flush 'none': choose one of view-atomic"):
        Settings(flush="none")
