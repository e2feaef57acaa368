"""A crash with every single send of every process, in small worlds with one change each.

Law: whoever dies at whatever step of agreement, flush, join or leave, every promise is kept. The
worlds are short and their delays small, so a view change is a few dozen sends.
"""

import pytest
from tests.membership.crash_points import CrashingWorld, Point, complaint
from tests.mutants.planted import MUTANTS, planted

from antiphon.sim.scenario import Scenario, parse_scenario
from antiphon.stack.settings import FLUSHES

TALK = "at 3500 multicast p2 1\nat 4500 multicast p3 1\nat 50000 multicast p2 1\n"

CHANGES = {
    "join": "founders 3\nat 3000 multicast p1 1\nat 4000 join q1\n",
    "crash": "founders 4\nat 3000 multicast p4 2\nat 3300 crash p4 1\n",
    "leave": "founders 4\nat 3000 multicast p4 2\nat 3300 leave p4\n",
    "senior leaves": "founders 4\nat 3000 multicast p1 2\nat 3300 leave p1\n",
    "join and crash": "founders 4\nat 2000 slow p4 p2 6000\nat 3000 multicast p4 2\n"
    "at 3300 join q1\nat 4000 crash p4 1\n",
    "leave and crash": "founders 5\nat 2000 slow p5 p2 6000\nat 3000 multicast p5 2\n"
    "at 3300 leave p4\nat 4000 crash p5 1\n",
    "leave and join": "founders 4\nat 3000 multicast p4 2\nat 3300 leave p4\nat 3300 join q1\n",
    "rejoin": "founders 4\nat 3000 multicast p4 2\nat 3300 crash p4\nat 5300 join p4\n",
}
WAYS = ((True, False), (False, False), (True, True))
"""Whether the crash is seen at once, and whether it is lossy."""


def world_of(change: str, flush: str, seed: int = 0) -> Scenario:
    """Return the scenario of a change."""
    head = f"seed {seed}\nflush {flush}\nanswers 0\ndelay_us 500\n"
    return parse_scenario(head + CHANGES[change] + TALK)


_TALKER = "".join(f"at {2_000 + 400 * at} total p2 1\n" for at in range(10))

PLAYS = {
    "turns": "founders 4\norders ordered\ntoken fixed\nat 2000 slow p2 p3 2000\n"
    "at 3000 total p3 1\n"
    "at 3050 total p2 1\nat 3100 causal p2 1\nat 3200 total p4 2\nat 3300 total p1 1\n"
    "at 5000 total p4 1\n",
    "token": f"founders 4\norders ordered\n{_TALKER}at 5200 total p3 1\nat 5900 total p3 1\n"
    "at 6100 join q1\n",
    "letters": "founders 4\nletters 1\nat 2000 slow p4 p2 5000\nat 3000 causal p4 1\n"
    "at 3900 send p1 p2\nat 4000 send p1 p3\nat 4100 causal p1 1\nat 6000 send p3 p2\n"
    "at 6100 total p3 1\n",
}
"""Messages in all orders, without any change but the crash: with every flush."""

FIRM_PLAYS = {
    "uniform": "founders 5\nat 2000 slow p4 p2 3000\nat 2500 causal p4 1\nat 3300 uniform p5 1\n"
    "at 3400 uniform-fifo p2 2\nat 3500 causal p2 1\n",
    "uniform turns": "founders 4\ntoken fixed\nat 3000 uniform p3 1\n"
    "at 3020 uniform-total p3 1\n"
    "at 3050 uniform p2 1\nat 3070 uniform-total p2 1\nat 3100 total p4 1\n"
    "at 3200 uniform-total p4 1\n",
    "commit": "founders 4\ntransactions 1\nat 3000 begin p2\nat 3300 begin p3\n",
}
"""The same with what only the view-atomic flush gives."""


def play_of(play: str, flush: str, seed: int = 0) -> Scenario:
    """Return the scenario of a play."""
    head = f"seed {seed}\nflush {flush}\nanswers 0\ndelay_us 500\nmessages 40\n"
    return parse_scenario(head + (PLAYS | FIRM_PLAYS)[play])


def sweep(scenario: Scenario, step: int) -> str:
    """Crash everybody at every ``step``-th send; return the first complaint, if there is one."""
    dry_run = CrashingWorld(scenario)
    dry_run.run()
    points = [
        (name, send) for name, count in dry_run.send_counts.items() for send in range(1, count + 1)
    ]
    for place, (name, send) in enumerate(points[::step]):
        is_seen, is_lossy = WAYS[(place + scenario.seed) % len(WAYS)]
        point = Point(name, send, is_seen, is_lossy)
        what = complaint(scenario, point)
        if what:
            return f"{point}: {what}"
    return ""


@pytest.mark.parametrize("flush", FLUSHES)
@pytest.mark.parametrize("change", CHANGES)
def test_crash_at_some_sends_breaks_no_promise(change: str, flush: str) -> None:
    """A crash with every other send of anybody during a change is survived by the others."""
    assert sweep(world_of(change, flush), 2) == ""


@pytest.mark.slow
@pytest.mark.parametrize("flush", FLUSHES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(9))
def test_crash_at_every_send_breaks_no_promise(change: str, flush: str, seed: int) -> None:
    """A crash with any send of anybody, seen or not, lossy or not, is survived by the others."""
    assert sweep(world_of(change, flush, seed), 1) == ""


ALL_PLAYS = [(play, flush) for play in PLAYS for flush in FLUSHES] + [
    (play, "view-atomic") for play in FIRM_PLAYS
]


@pytest.mark.parametrize(("play", "flush"), ALL_PLAYS)
def test_crash_at_some_sends_breaks_no_order(play: str, flush: str) -> None:
    """Whoever dies between two messages, lists, confirmations or votes, all orders are kept."""
    assert sweep(play_of(play, flush), 2) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("play", "flush"), ALL_PLAYS)
@pytest.mark.parametrize("seed", range(9))
def test_crash_at_every_send_breaks_no_order(play: str, flush: str, seed: int) -> None:
    """The same with any send of anybody, seen or not, lossy or not."""
    assert sweep(play_of(play, flush, seed), 1) == ""


@pytest.mark.parametrize(
    ("name", "play"),
    [
        ("left overs in order of receipt", "turns"),
        ("own left overs come first", "turns"),
        ("token is lost on the way", "token"),
        ("unmarked messages are dropped", "uniform"),
        ("letter to the dead is waited for", "letters"),
    ],
)
def test_sweep_over_orders_finds_what_is_planted(name: str, play: str) -> None:
    """With a rule of the orders broken, some crash point shows it."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with planted(mutant):
        assert any(sweep(play_of(play, mutant.flush, seed), 1) for seed in range(12))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("unstable messages are not forwarded", "crash"),
        ("one report is not waited for", "crash"),
        ("permission is not passed on", "join"),
        ("nothing is forwarded", "leave and crash"),
        ("coordinator keeps copies to itself", "leave and crash"),
    ],
)
def test_sweep_finds_what_is_planted(name: str, change: str) -> None:
    """The sweep is no idle one: with a rule of the flush broken, some crash point shows it."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with planted(mutant):
        assert any(sweep(world_of(change, mutant.flush, seed), 1) for seed in range(3))


def test_dead_process_does_nothing_more() -> None:
    """After its last send a process leaves no trace but its crash."""
    scenario = world_of("join", "view-atomic")
    world = CrashingWorld(scenario, [Point("p1", 9)])
    outcome = world.run()
    rows = [event for event in outcome.events if event.process == "p1"]
    assert rows[-1].kind == "crash"
    assert world.send_counts["p1"] == 9
