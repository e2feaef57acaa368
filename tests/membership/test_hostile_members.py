"""Members under fire: whatever members and strangers send, PeerError is all that comes of it.

Law: a message that a member refuses leaves it working. A group whose members are told nonsense
may be talked into a wrong view (that is what forged decisions do), but no machine breaks.
"""

from random import Random

import pytest
from hypothesis import settings
from tests.membership.hands import A, B, C, X, member, run_of, view_of
from tests.membership.hostile import PEOPLE, Liar

from antiphon.core.control import Alive, Decide, Report, encode_message
from antiphon.core.errors import PeerError
from antiphon.core.runs import Order
from antiphon.membership.effects import DeliverRuns, Effect, InstallView, SendControl
from antiphon.stack.member import Member
from antiphon.stack.settings import FLUSHES, Settings

pytestmark = pytest.mark.fuzz

SEEDS = range(3 * settings().max_examples)
BEAT = 100_000


def check(effects: list[Effect], machine: Member) -> None:
    """Effects must be such that a driver can do them."""
    for effect in effects:
        match effect:
            case SendControl(to, message):
                encode_message(message)
                assert machine.me not in to
            case InstallView(view):
                assert view.members
            case DeliverRuns(runs):
                assert runs
            case _:
                pass


def speak(machine: Member, random: Random, now: int, *, can_be_uniform: bool) -> list[Effect]:
    """Multicast in any order, or send a letter."""
    members = machine.view.members if machine.view is not None else ()
    to = random.choice(members)
    if to != machine.me and random.random() < 0.2:
        return machine.send_letter(to, b"x", 0)
    uniform = can_be_uniform and random.random() < 0.3
    return machine.multicast([b"x"], random.choice(list(Order)), now, uniform=uniform)


def strike(
    machine: Member, random: Random, liar: Liar, now: int, *, can_be_uniform: bool
) -> list[Effect]:
    """Do one thing to a machine; return what it wants done."""
    peer = random.choice([who for who in PEOPLE if who != machine.me])
    match random.randint(0, 9):
        case 0:
            return machine.tick(now) + machine.acknowledge(now) + machine.request_acknowledgement()
        case 1 if machine.may_multicast:
            return speak(machine, random, now, can_be_uniform=can_be_uniform)
        case 2 | 3:
            run = liar.run()
            copied = random.random() < 0.5
            is_taken = machine.receiver.receive_plain(peer, run)
            return [] if is_taken else machine.take_run(peer, run, now, relayed=copied)
        case 4 | 5:
            return machine.take_letter(peer, liar.letter(), now)
        case 6 if random.random() < 0.1:
            return machine.lose(peer, now)
        case _:
            return machine.take_control(peer, liar.message(machine.membership.latest), now)


def bombard(machine: Member, seed: int, steps: int = 60, *, can_be_uniform: bool = False) -> int:
    """Send nonsense to a machine; return how often it complained."""
    random, liar = Random(f"{seed}/who"), Liar(seed)
    complaints = now = 0
    for _ in range(steps):
        now += random.choice((0, 1_000, BEAT))
        liar.near = machine.membership.transition.number
        try:
            effects = strike(machine, random, liar, now, can_be_uniform=can_be_uniform)
        except PeerError:
            complaints += 1
            effects = machine.take_effects()
        check(effects, machine)
        if machine.membership.is_over:
            break
    return complaints


@pytest.mark.parametrize("flush", FLUSHES)
def test_nonsense_raises_nothing_but_peer_errors(flush: str) -> None:
    """Members and joiners survive random messages of members, former members and strangers."""
    complaints = 0
    for seed in SEEDS:
        for me, view in ((A, view_of(A, B, C)), (B, view_of(A, B, C)), (X, None)):
            machine = Member(me, view, Settings(flush=flush), 0)
            complaints += bombard(machine, seed, can_be_uniform=flush == "view-atomic")
    assert complaints > 0


@pytest.mark.parametrize("flush", FLUSHES)
def test_refused_nonsense_leaves_the_member_working(flush: str) -> None:
    """After what a member refused, it takes the next right run and says what it received."""
    refused = 0
    for seed in SEEDS:
        liar = Liar(seed)
        machine = member(B, view_of(A, B, C), flush)
        for _ in range(20):
            try:
                machine.take_run(liar.random.choice((A, C, X)), liar.run(), 0)
            except PeerError:
                refused += 1
        count = machine.receiver.received()[0]
        if not machine.receiver.receive_plain(A, run_of(0, count + 1)):
            machine.take_run(A, run_of(0, count + 1), 0)
        assert machine.receiver.received()[0] == count + 1
        assert machine.take_control(C, Alive(1, (), 0, 1), 0) == []
    assert refused > 0


def test_stranger_cannot_talk_a_member_out_of_its_view() -> None:
    """Reports, votes and wishes of strangers count for nothing."""
    for seed in SEEDS:
        liar = Liar(seed)
        machine = member(A, view_of(A, B, C))
        for _ in range(30):
            message = liar.message(machine.membership.latest)
            if type(message).__name__ in {"Ask", "Accept", "Promise", "Prepare", "Propose"}:
                machine.take_control(X, message, 0)
        machine.take_control(X, Report(1, (0, 0, 0), ()), 0)
        machine.tick(1)
        assert machine.membership.latest == view_of(A, B, C)
        assert machine.view == view_of(A, B, C)


def test_early_nonsense_of_a_stranger_does_not_spoil_a_decision() -> None:
    """What was kept is looked at when a view names its sender; its faults are not the decider's."""
    machine = member(B, view_of(A, B, C), "all-to-all")
    machine.take_control(X, Report(1, (0, 0, 0), ()), 0)
    with_x = view_of(A, B, C, X, number=2, joined=(X,))
    machine.take_control(A, Decide((with_x,)), 0)
    assert machine.membership.transition.newest == with_x
