"""Calm worlds, and what can be asked where nothing goes wrong: order, promptness, patience."""

import pytest
from tests.membership.hands import A, B, run_of
from tests.mutants.planted import MUTANTS, planted

from antiphon.core.control import Beat
from antiphon.core.runs import Order
from antiphon.sim.application import Application, Heard, read_word
from antiphon.sim.calm_scenario import calm_scenario
from antiphon.sim.channels import Channels
from antiphon.sim.exploration import examine
from antiphon.sim.order_checks import find_disorder
from antiphon.sim.scenario import Scenario
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.world import World
from antiphon.stack.inputs import ControlReceived, RunsReceived
from antiphon.stack.send_queue import How, SendQueue
from antiphon.stack.settings import FLUSHES

CALM = range(12)
MORE = range(100)
CAUSAL = How(Order.CAUSAL)


def found(flush: str = "view-atomic") -> list[tuple[str, str]]:
    """Return what goes wrong in the first calm worlds."""
    findings = [examine(calm_scenario(seed, flush)) for seed in CALM]
    return [(finding.what, finding.text) for finding in findings if finding is not None]


@pytest.mark.parametrize("flush", FLUSHES)
def test_calm_worlds_keep_every_promise(flush: str) -> None:
    """Nobody waits longer than it must, and nobody is given up."""
    assert found(flush) == []


@pytest.mark.parametrize(
    ("name", "what", "words"),
    [
        ("acknowledgement is never asked for", "late", "letters at most before it, went out after"),
        ("member that moves is given up anyway", "stuck", "with which nothing is wrong"),
        ("member given up wrongly gets no more time", "stuck", "again, too soon"),
    ],
)
def test_planted_bug_shows_where_nothing_goes_wrong(name: str, what: str, words: str) -> None:
    """What is only slower, or only harder on others, is seen in calm worlds."""
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]
    with planted(mutant):
        findings = (examine(calm_scenario(seed, "view-atomic")) for seed in MORE)
        first = next(finding for finding in findings if finding is not None)
    assert first.what == what
    assert words in first.text


def test_patient_application_never_has_more_on_its_way_than_there_is_room_for() -> None:
    """It hands over one message at a time, however long it has waited."""
    for seed in CALM:
        scenario = calm_scenario(seed, "view-atomic")
        if scenario.limits != "tight" or any(step.verb == "condemn" for step in scenario.steps):
            continue
        world = World(scenario)
        applications = world._applications.values()
        while any(driver.is_sending for driver in world.drivers.values()) or not world.now_us:
            world.run_until(world.now_us + 5_000)
            if all(one.is_patient for one in applications):
                kept = [driver.machine.kept_bytes for driver in world.drivers.values()]
                assert max(kept) <= 60 + 2 * 13, "the limit, and one message of each sender"


# Program order.


def application(name: str) -> Application:
    """Return an application that has sent nothing."""
    return Application(name, 1, Scheduler(), SendQueue(), is_tight=False)


def disorder(*heard: tuple[How | None, bytes]) -> str:
    """Say what is wrong if p2 hears this of p1, which sent a message, a letter, a message."""
    world = World(Scenario(seed=1, founders=2))
    sender, receiver = world.drivers.values()
    for how in (CAUSAL, None, How(Order.TOTAL)):
        sender.application.word(how, b"")
    receiver.speaker.heard = [Heard("p1", 1, 1, 1, how, (payload,)) for how, payload in heard]
    return find_disorder(world.drivers.values())


def test_words_arrive_as_they_were_sent() -> None:
    """Some may be missing, but none overtakes another, or comes twice, or in another way."""
    assert disorder((CAUSAL, b"#1"), (None, b"#2"), (How(Order.TOTAL), b"#3")) == ""
    assert disorder((None, b"#2"), (How(Order.TOTAL), b"#3")) == ""
    assert disorder((None, b"#2"), (CAUSAL, b"#1")) == "p2 delivers word 1 of p1 after its word 2"
    assert disorder((CAUSAL, b"#1"), (CAUSAL, b"#1")) == "p2 delivers word 1 of p1 after its word 1"
    assert "in causal order, which was to be in total order" in disorder((CAUSAL, b"#3"))
    assert "in total order and uniform, which was to be as a letter" in disorder(
        (How(Order.TOTAL, uniform=True), b"#2")
    )


def test_word_names_what_it_answers_and_its_number() -> None:
    """Numbers count from 1, for messages and letters together."""
    one = application("p1")
    assert read_word(one.word(CAUSAL, b"")) == (b"", 1)
    assert read_word(one.word(None, b"p2/1/7")) == (b"p2/1/7", 2)
    assert one.handed[2].how is None


# Channels that fill.


def test_channel_is_full_with_messages_and_has_room_again_when_half_are_there() -> None:
    """Control messages take no room."""
    scheduler = Scheduler()
    channels = Channels(scheduler, 1, 0, lambda *_: None)
    channels.room = 2
    said: list[tuple[int, bool]] = []
    channels.on_full = lambda _source, _target, is_full: said.append((scheduler.now_us, is_full))
    for number in (1, 2):
        channels.send(A, B, RunsReceived(A, [run_of(0, number)]))
        channels.send(A, B, ControlReceived(A, Beat()))
    assert said == []
    channels.send(A, B, RunsReceived(A, [run_of(0, 3)]))
    assert said == [(0, True)]
    scheduler.run_until(10_000)
    assert [is_full for _, is_full in said] == [True, False]
