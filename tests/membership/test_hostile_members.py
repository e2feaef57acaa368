"""Members under fire: whatever members and strangers send, PeerError is all that comes of it.

Law: a message that a member refuses leaves it working. A group whose members are told nonsense
may be talked into a wrong view (that is what forged decisions do), but no machine breaks.
"""

from random import Random

import pytest
from hypothesis import settings
from tests.membership.hands import A, B, C, X, member, run_of, view_of
from tests.membership.hostile import PEOPLE, Liar

from antiphon.core.control import Alive, Report, encode_message
from antiphon.core.errors import PeerError
from antiphon.core.runs import Order
from antiphon.membership.effects import DeliverRuns, Effect, InstallView, SendControl
from antiphon.stack.member import FLUSHES, Member, Settings

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


def bombard(machine: Member, seed: int, steps: int = 60) -> int:
    """Send nonsense to a machine; return how often it complained."""
    random, liar = Random(f"{seed}/who"), Liar(seed)
    complaints = now = 0
    for _ in range(steps):
        now += random.choice((0, 1_000, BEAT))
        liar.near = machine.membership.transition.number
        peer = random.choice([who for who in PEOPLE if who != machine.me])
        try:
            match random.randint(0, 7):
                case 0:
                    effects = machine.tick(now)
                case 1 if machine.may_multicast:
                    effects = machine.multicast([b"x"], Order.CAUSAL, now)
                case 2 | 3:
                    run = liar.run()
                    delivered = machine.receive(peer, run)
                    copied = random.random() < 0.5
                    effects = (
                        machine.take_run(peer, run, now, relayed=copied)
                        if delivered is None
                        else []
                    )
                case 4 if random.random() < 0.1:
                    effects = machine.lose(peer, now)
                case _:
                    message = liar.message(machine.membership.latest)
                    effects = machine.take_control(peer, message, now)
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
            complaints += bombard(Member(me, view, Settings(flush=flush), 0), seed)
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
        count = machine.received()[0]
        if machine.receive(A, run_of(0, count + 1)) is None:
            machine.take_run(A, run_of(0, count + 1), 0)
        assert machine.received()[0] == count + 1
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
