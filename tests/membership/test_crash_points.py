"""A crash with every single send of every process, in small worlds with one change each.

Law: whoever dies at whatever step of agreement, flush, join or leave, every promise is kept. The
worlds are short and their delays small, so a view change is a few dozen sends.
"""

import pytest
from tests.membership.crash_points import CrashingWorld, Point, complaint
from tests.mutants.planted import MUTANTS, planted

from antiphon.sim.scenario import Scenario, parse_scenario
from antiphon.stack.member import FLUSHES

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
