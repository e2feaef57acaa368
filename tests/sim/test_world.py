"""Worlds that random scenarios do not make: each is one situation, judged by the oracle.

Law: a world is its scenario. The same scenario gives the same rows, byte for byte, in any
process; a world comes to rest with every promise kept, or is found out.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256

import msgspec
import pytest

from antiphon.sim.exploration import examine
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario, Step, parse_scenario
from antiphon.sim.world import TIMING, Outcome, World
from antiphon.stack.settings import FLUSHES

every_flush = pytest.mark.parametrize("flush", FLUSHES)


def world(flush: str, text: str, seed: int = 1, delay_us: int = 500) -> Scenario:
    """Return a scenario without answers, from its steps."""
    head = f"seed {seed}\nflush {flush}\nanswers 0\ndelay_us {delay_us}\n"
    return parse_scenario(head + text)


def lived(scenario: Scenario) -> Outcome:
    """Live through a scenario in which nothing may go wrong."""
    finding = examine(scenario)
    assert finding is None, (finding.what, finding.text)
    return World(scenario).run()


def last_members(outcome: Outcome) -> list[str]:
    """Return who is in the last view."""
    return [str(member) for member in outcome.views[-1].members]


def ends(outcome: Outcome) -> dict[str, str]:
    """Return how each process ended."""
    return {
        event.process: event.detail or event.kind
        for event in outcome.events
        if event.kind in {"stop", "crash"}
    }


# Sameness.


def fingerprint(scenario: Scenario) -> str:
    """Return a checksum of all rows of a world."""
    return sha256(msgspec.json.encode(World(scenario).run().events)).hexdigest()


@every_flush
def test_same_scenario_gives_the_same_bytes(flush: str) -> None:
    """Two worlds of one scenario, one of them read back from text, have identical rows."""
    for seed in range(8):
        scenario = random_scenario(seed, flush)
        assert fingerprint(scenario) == fingerprint(parse_scenario(str(scenario)))


def test_another_process_with_other_hashes_gives_the_same_bytes() -> None:
    """No set, hash or address decides anything: another interpreter makes the same world."""
    program = (
        "from tests.sim.test_world import fingerprint\n"
        "from antiphon.sim.random_scenario import random_scenario\n"
        "print(*[fingerprint(random_scenario(seed, flush)) for seed in range(6)\n"
        "        for flush in ('view-atomic', 'coordinator', 'all-to-all')])\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout.split()
        for hashes in ("1", "2222")
    ]
    here = [fingerprint(random_scenario(seed, flush)) for seed in range(6) for flush in FLUSHES]
    assert printed[0] == printed[1] == here


def test_other_seed_gives_other_rows() -> None:
    """The seed decides the delays."""
    first = world("view-atomic", "at 1000 multicast p1 1\n", 1)
    second = world("view-atomic", "at 1000 multicast p1 1\n", 2)
    assert fingerprint(first) != fingerprint(second)


# Small groups.


@every_flush
def test_group_of_one_multicasts_and_leaves(flush: str) -> None:
    """Alone, a process agrees with itself."""
    outcome = lived(world(flush, "founders 1\nat 1000 multicast p1 3\nat 5000 leave p1\n"))
    assert ends(outcome) == {"p1": "left"}


@every_flush
@pytest.mark.parametrize(("dead", "goes_on"), [("p2", True), ("p1", False)])
def test_of_two_only_the_senior_goes_on(flush: str, dead: str, goes_on: bool) -> None:
    """Half of a view is a quorum if it has the most senior member; else the other one blocks."""
    text = f"founders 2\nat 1000 multicast p1 1\nat 5000 crash {dead} 1\nat 300000 heal\n"
    outcome = World(world(flush, text)).run()
    assert outcome.stuck == ""
    assert (len(outcome.views) == 2) is goes_on
    blocks = [event.process for event in outcome.events if event.kind == "block"]
    assert blocks == ([] if goes_on else ["p2"])


@every_flush
def test_all_others_join_in_the_same_instant(flush: str) -> None:
    """Joins that come together make few views, and everybody is in the last one."""
    joins = "".join(f"at 1000 join q{number}\n" for number in range(1, 20))
    outcome = lived(world(flush, f"founders 1\n{joins}at 200000 multicast q7 1\n"))
    assert len(last_members(outcome)) == 20
    assert len(outcome.views) <= 5


@every_flush
def test_everybody_leaves(flush: str) -> None:
    """Whoever leaves, all together, learns how it ended, and nobody waits in vain."""
    leaves = "".join(f"at 5000 leave p{number}\n" for number in range(1, 5))
    outcome = lived(world(flush, f"founders 4\nat 1000 multicast p2 2\n{leaves}"))
    assert ends(outcome) == dict.fromkeys(("p1", "p2", "p3", "p4"), "left")
    assert outcome.time_us < 10 * TIMING.timeout_us


# Joins and leaves.


@every_flush
def test_name_that_leaves_and_joins_again_is_a_new_incarnation(flush: str) -> None:
    """A name comes back, while it is still leaving and later, always as a new incarnation."""
    text = (
        "founders 3\nat 1000 multicast p3 1\nat 5000 leave p3\nat 5200 join p3\n"
        "at 100000 join p3\nat 150000 multicast p3 1\nat 200000 leave p3\nat 300000 join p3\n"
    )
    outcome = lived(world(flush, text))
    assert last_members(outcome) == ["p1", "p2", "p3~3"]


@every_flush
def test_joiner_that_leaves_before_it_is_in_gets_out_again(flush: str) -> None:
    """A wish to leave is remembered until there is something to leave."""
    outcome = lived(world(flush, "founders 2\nat 1000 join q1\nat 1000 leave q1\nat 90000 heal\n"))
    assert last_members(outcome) == ["p1", "p2"]
    assert ends(outcome)["q1"] == "left"


@every_flush
@pytest.mark.parametrize("delay_us", [0, 500, 1_000, 2_000, 4_000, 8_000, 20_000])
def test_leaver_that_crashes_is_waited_for_no_longer(flush: str, delay_us: int) -> None:
    """A leaver that dies at any moment is removed by one more view, and holds nobody up."""
    text = (
        "founders 4\nat 1000 slow p4 p3 400000\nat 2000 multicast p4 1\nat 3000 leave p4\n"
        f"at {3_000 + delay_us} crash p4\nat {4_000 + delay_us} join q1\nat 500000 heal\n"
    )
    outcome = lived(world(flush, text))
    assert last_members(outcome)[:3] == ["p1", "p2", "p3"]


@every_flush
def test_dead_leaver_is_removed_also_after_a_further_view(flush: str) -> None:
    """Somebody may still wait for a leaver when others are two views on already."""
    text = (
        "founders 4\nat 1000 slow p4 p3 400000\nat 2000 leave p4\n"
        "at 85000 crash p4\nat 90000 join q1\nat 600000 heal\n"
    )
    for seed in range(1, 6):
        lived(world(flush, text, seed, 300))


@every_flush
def test_leaver_of_a_busy_group_hears_that_it_may_go(flush: str) -> None:
    """Traffic that never ends keeps no leaver waiting."""
    talk = "".join(
        f"at {time_us} multicast p{1 + time_us // 1500 % 3} 1\n"
        for time_us in range(1_500, 300_000, 1_500)
    )
    text = f"founders 4\nmessages 1000\n{talk}at 50000 leave p4\n"
    outcome = lived(world(flush, text))
    (stop,) = [event for event in outcome.events if (event.process, event.kind) == ("p4", "stop")]
    assert stop.detail == "left"
    assert stop.time_us < 50_000 + 2 * TIMING.timeout_us


def test_leaver_that_was_forgotten_starts_no_storm() -> None:
    """A leaver whose permission died with the coordinator gets out without a flood of questions."""
    text = (
        "founders 4\nat 1000 leave p4\nat 2500 slow p1 p4 400000\nat 8000 partition p4\n"
        "at 250000 crash p1 1\nat 400000 join q1\nat 500000 join q2\nat 600000 heal\n"
        "at 2700000 heal\n"
    )
    for seed in (2, 18, 19, 21):
        outcome = lived(world("view-atomic", text, seed, 300))
        assert outcome.sent_count < 5_000


@every_flush
def test_last_with_the_state_does_not_leave_a_joiner_without(flush: str) -> None:
    """A founder that leaves right after a join goes when the joiner has the state."""
    for leave_us in range(1_500, 8_000, 500):
        text = f"founders 1\nat 500 multicast p1 3\nat 1000 join q1\nat {leave_us} leave p1\n"
        lived(world(flush, text))


# Partitions and pauses.


@every_flush
def test_two_partitions_in_a_row_leave_one_group(flush: str) -> None:
    """First one side is cut off, then another, before and after views were agreed on."""
    for gap_us in (3_000, 30_000, 150_000, 400_000):
        text = (
            "founders 5\nat 1000 multicast p1 1\nat 2000 partition p1 p2\nat 3000 multicast p2 1\n"
            f"at {2_000 + gap_us} partition p3\nat {3_000 + gap_us} multicast p4 1\n"
            f"at {2_000 + 2 * gap_us} partition p1 p4 p5\nat {2_000 + 3 * gap_us} heal\n"
        )
        outcome = lived(world(flush, text))
        names = [name.partition("~")[0] for name in last_members(outcome)]
        assert sorted(names) == ["p1", "p2", "p3", "p4", "p5"]


@every_flush
def test_minority_says_that_it_is_blocked_and_comes_back(flush: str) -> None:
    """Both sides are told; the minority delivers nothing of its own, and comes back anew."""
    text = (
        "founders 5\nat 1000 partition p1 p2\nat 200000 multicast p1 1\n"
        "at 400000 heal\nat 600000 multicast p3 1\n"
    )
    outcome = lived(world(flush, text))
    blocked = {event.process for event in outcome.events if event.kind == "block"}
    assert blocked == {"p1", "p2"}
    assert last_members(outcome)[:3] == ["p3", "p4", "p5"]
    assert sorted(last_members(outcome)[3:]) == ["p1~2", "p2~2"]


@every_flush
def test_senior_that_never_wakes_is_excluded(flush: str) -> None:
    """The others go on without a most senior member that is stopped, whatever it had begun."""
    for pause_us in (900, 2_000, 2_500, 3_000, 4_000):
        text = (
            "founders 4\nat 1000 multicast p1 1\nat 1500 join q1\n"
            f"at {pause_us} pause p1\nat 2600 multicast p2 1\nat 900000 multicast p3 1\n"
        )
        outcome = lived(world(flush, text))
        assert "p1" not in last_members(outcome)


# Storms.


@every_flush
def test_storm_of_messages_during_a_flush_is_all_delivered(flush: str) -> None:
    """Everybody multicasts all the time while members die and join."""
    talk = "".join(
        f"at {time_us} multicast p{1 + place % 4} 2\n"
        for place, time_us in enumerate(range(1_000, 30_000, 100))
    )
    faults = "at 5000 crash p5 1\nat 5500 join q1\nat 9000 crash p6\nat 15000 leave p4\n"
    outcome = lived(world(flush, f"founders 6\nmessages 600\n{talk}{faults}at 300000 heal\n"))
    assert sum(event.count for event in outcome.events if event.kind == "multicast") > 300


@every_flush
def test_chain_of_crashes_down_to_the_last(flush: str) -> None:
    """One after the other dies while the view without the one before is being made."""
    crashes = "".join(f"at {4_000 + 1_500 * n} crash p{n} 1\n" for n in range(7, 3, -1))
    text = f"founders 7\nat 3000 multicast p7 1\nat 3200 multicast p5 1\n{crashes}at 400000 heal\n"
    for seed in range(5):
        assert last_members(lived(world(flush, text, seed))) == ["p1", "p2", "p3"]


# Many.


def crowd(size: int, until_us: int = 400_000) -> Scenario:
    """Return a world in which all but one join at about the same time."""
    joins = tuple(Step(1_000 + place % 50, "join", (f"m{place}",)) for place in range(size - 1))
    talk = Step(until_us, "multicast", ("m5",), 1)
    return Scenario(seed=1, founders=1, messages=20, answers=0.0, steps=(*joins, talk))


def test_crowd_forms_in_a_handful_of_views() -> None:
    """Joins that come together make one view, not many, and nobody is suspected."""
    outcome = lived(crowd(60))
    assert len(last_members(outcome)) == 60
    assert len(outcome.views) <= 6
    assert not any(view.failed for view in outcome.views)


@pytest.mark.slow
def test_thousand_members_form_in_a_handful_of_views() -> None:
    """The same with 1,000 members; the oracle is not asked, it would take too long."""
    outcome = World(crowd(1_000)).run()
    assert outcome.stuck == ""
    assert len(last_members(outcome)) == 1_000
    assert len(outcome.views) <= 8
    assert not any(view.failed for view in outcome.views)


@pytest.mark.slow
def test_large_group_at_rest_suspects_nobody() -> None:
    """In a group of 200 heartbeats are rarer than the shortest timeout, and that is no reason."""
    outcome = World(crowd(200, 1_500_000)).run()
    assert outcome.stuck == ""
    assert not any(event.kind == "suspect" for event in outcome.events)


# What a world finds out.


def test_world_that_cannot_come_to_rest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does nothing makes a world that is stuck."""

    def nothing(_self: object) -> None:
        """Do nothing at all."""

    monkeypatch.setattr("antiphon.membership.view_atomic_flush.ViewAtomicFlush.learn", nothing)
    outcome = World(world("view-atomic", "founders 3\nat 5000 crash p3 1\n")).run()
    assert outcome.stuck == "p1 waits for a view"


@pytest.mark.parametrize(
    "text",
    ["founders 3\nat 1000 crash p1\nat 1000 crash p2\n", "founders 1\nat 1000 crash p1\n"],
)
def test_world_without_a_quorum_is_excused(text: str) -> None:
    """Where too few live to decide anything, nothing is asked of them."""
    assert World(world("view-atomic", text)).run().stuck == ""


_BAD_STEPS: list[tuple[str, Callable[[Outcome], bool]]] = [
    ("at 1000 crash q1\nat 9000 join q1\n", lambda outcome: len(outcome.views) == 2),
    ("at 1000 resume p1\n", lambda outcome: len(outcome.views) == 1),
    ("at 1000 join p1\n", lambda outcome: len(outcome.views) == 1),
    ("at 1000 heal\n", lambda outcome: len(outcome.views) == 1),
]


@pytest.mark.parametrize(("text", "is_right"), _BAD_STEPS)
def test_step_that_makes_no_sense_does_nothing(
    text: str, is_right: Callable[[Outcome], bool]
) -> None:
    """Shrinking takes steps out, so a step must bear that the others are gone."""
    assert is_right(lived(world("view-atomic", "founders 3\n" + text)))
