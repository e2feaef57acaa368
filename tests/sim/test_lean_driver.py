"""The lean driver keeps the contract: inputs one by one, effects in order, timers as set last."""

from typing import Any

import pytest

from antiphon.core.control import Alive
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.sim.lean_driver import Item, LeanDriver
from antiphon.stack.effects import (
    AdmitSenders,
    DeliverRuns,
    Effect,
    SendControl,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    ControlReceived,
    Input,
    MulticastRequested,
    PeerHeard,
    RunsReceived,
    SendersWaited,
    Timer,
    TimerFired,
)
from antiphon.stack.send_queue import How

P, Q, R = ProcessId("p"), ProcessId("q"), ProcessId("r")
NEWS = Alive(1, (), 0, 1)


def _run(number: int) -> Run:
    return Run(GroupNumber(0), ViewNumber(1), Rank(1), number, Order.CAUSAL, (), [b"m"])


def _asked(word: bytes) -> MulticastRequested:
    return MulticastRequested([word], How(Order.CAUSAL), len(word))


class Scripted:
    """In place of an endpoint: returns what it is told to, and remembers what it was given."""

    def __init__(self) -> None:
        """Return nothing yet."""
        self.me = Q
        self.given: list[Input] = []
        self.answers: list[list[Effect]] = []
        self.takes_short_way = False

    def start(self) -> list[Effect]:
        """Begin."""
        return self.step_answer()

    def step(self, happened: Input, now_us: int) -> list[Effect]:
        """Take an input."""
        del now_us
        self.given.append(happened)
        return self.step_answer()

    def step_answer(self) -> list[Effect]:
        """Return the next answer."""
        return self.answers.pop(0) if self.answers else []

    def receive(self, peer: ProcessId, run: Run) -> bool:
        """Take a run the short way, or do not."""
        del peer, run
        return self.takes_short_way


class Notebook:
    """In place of what carries: writes down what it is asked to."""

    def __init__(self) -> None:
        """Begin at a time that is not zero."""
        self.now_us = 1_000
        self.acts: list[tuple[Any, ...]] = []

    def multicast(self, source: int, item: Item) -> None:
        """Note it."""
        self.acts.append(("multicast", source, item))

    def send(self, source: int, target: int, item: Item) -> None:
        """Note it."""
        self.acts.append(("send", source, target, item))

    def set_timer(self, process: int, time_us: int, due: tuple[Timer, int]) -> None:
        """Note it."""
        self.acts.append(("timer", process, time_us, due))

    def on_send(self, run: Run) -> None:
        """Note it."""
        self.acts.append(("sent", run))

    def on_deliver(self, process: int, run: Run) -> None:
        """Note it."""
        self.acts.append(("delivered", process, run))


def _driver(*answers: list[Effect]) -> tuple[LeanDriver, Scripted, Notebook]:
    machine, notebook = Scripted(), Notebook()
    machine.answers = [*answers]
    driver = LeanDriver(machine, {P: 0, Q: 1, R: 2}, notebook, notebook, None)  # type: ignore[arg-type]
    driver.start()
    return driver, machine, notebook


def test_effects_are_done_in_order() -> None:
    """News goes before the run it came with, and a run is sent before it is delivered."""
    run = _run(1)
    _, _, notebook = _driver([SendRun(run, NEWS), DeliverRuns([run]), SendControl((R, P), NEWS)])
    news = ControlReceived(Q, NEWS)
    assert notebook.acts == [
        ("sent", run),
        ("multicast", 1, news),
        ("multicast", 1, RunsReceived(Q, [run])),
        ("delivered", 1, run),
        ("send", 1, 2, news),
        ("send", 1, 0, news),
    ]


def test_timer_that_was_set_again_fires_once() -> None:
    """What was set before is void; a timer whose time has come fires soon, not at once."""
    later, now = SetTimer(ACKNOWLEDGE, 6_000), SetTimer(ACKNOWLEDGE, 1_000)
    driver, machine, notebook = _driver([later, now])
    (_, _, first_us, first), (_, _, second_us, second) = notebook.acts
    assert (first_us, 1_000 < second_us < 2_000) == (6_000, True)
    driver.fire(second)
    driver.fire(first)
    driver.fire(second)
    assert machine.given == [TimerFired(ACKNOWLEDGE)]


def test_first_heartbeats_are_not_all_at_once() -> None:
    """Only the first one is later than asked for, by a part of the interval."""
    _, _, notebook = _driver([SetTimer(HEARTBEAT, 4_000), SetTimer(HEARTBEAT, 7_000)])
    assert [act[2] for act in notebook.acts] == [5_000, 7_000]


def test_run_goes_the_short_way_where_it_can() -> None:
    """Then it is delivered, and its sender has been heard; else the machine gets it whole."""
    driver, machine, notebook = _driver()
    item = RunsReceived(P, [_run(1)])
    driver.take(item)
    assert machine.given == [item]
    machine.takes_short_way = True
    driver.take(item)
    assert machine.given == [item, PeerHeard(P)]
    assert notebook.acts == [("delivered", 1, _run(1))]


def test_senders_wait_until_they_are_admitted() -> None:
    """What is not admitted goes out later, in order, and no more of it than is admitted."""
    admit, stop = AdmitSenders(messages=True, letters=True), AdmitSenders(False, False)
    driver, machine, _ = _driver()
    asked = [_asked(b"a"), _asked(b"b"), _asked(b"c")]
    for one in asked:
        driver.multicast(one)
    waiting = SendersWaited(is_waiting=True)
    assert machine.given == [waiting] * 3
    machine.given.clear()
    machine.answers = [[admit], [], [stop]]
    driver.take(ControlReceived(P, NEWS))
    assert machine.given[1:] == asked[:2]
    machine.given.clear()
    machine.answers = [[admit]]
    driver.fire((HEARTBEAT, 1))
    assert machine.given == [], "no such timer is set"
    driver.take(ControlReceived(P, NEWS))
    assert machine.given[1:] == [asked[2], SendersWaited(is_waiting=False)]


def test_waiting_may_be_what_admits() -> None:
    """A sender that is admitted because it waits goes out at once."""
    driver, machine, _ = _driver([], [AdmitSenders(messages=True, letters=True)])
    asked = _asked(b"a")
    driver.multicast(asked)
    waited = [SendersWaited(is_waiting=True), asked, SendersWaited(is_waiting=False)]
    assert machine.given == waited


def test_effect_of_a_fault_is_an_error() -> None:
    """Nothing that the machine asks for is passed over in silence."""
    with pytest.raises(AssertionError, match="in a group in which nobody fails"):
        _driver([SuspectProcess(P)])
