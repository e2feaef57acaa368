"""What a wide world can do to its processes: distances, links, slices, clocks, awkward moments."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.coordination import Coordination
from antiphon.sim.channels import Channels
from antiphon.sim.clock import Clock, clock_apart
from antiphon.sim.coverage import KINDS, pair_named, pairs_in, pairs_of
from antiphon.sim.exploration import examine, survey
from antiphon.sim.pace import Pace
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario, Step, parse_scenario
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.surroundings import Mark
from antiphon.sim.world import Outcome, World

P1, P2 = ProcessId("p1"), ProcessId("p2")


class Wires:
    """Two processes, and when something arrives."""

    def __init__(self, distance_us: int = 0) -> None:
        """Connect them."""
        self.scheduler = Scheduler()
        self.arrived: list[tuple[int, str, object]] = []
        self.channels = Channels(self.scheduler, 1, 0, self._arrive, distance_us)

    def _arrive(self, source: ProcessId, _target: ProcessId, item: object) -> None:
        self.arrived.append((self.scheduler.now_us, source.name, item))


def lived(text: str) -> Outcome:
    """Live through a scenario in which nothing may go wrong."""
    scenario = parse_scenario(text)
    finding = examine(scenario)
    assert finding is None, (finding.what, finding.text)
    return World(scenario).run()


# Channels.


def test_distance_is_what_every_message_takes_and_far_says_it_of_one_way() -> None:
    """Each direction has its own."""
    wires = Wires(distance_us=1_000)
    wires.channels.far("p2", "p1", 30_000)
    wires.channels.send(P1, P2, "there")
    wires.channels.send(P2, P1, "back")
    wires.scheduler.run_until(100_000)
    assert wires.arrived == [(1_050, "p1", "there"), (30_050, "p2", "back")]
    assert wires.channels.distance_us_max == 30_050


def test_link_that_is_down_holds_one_direction_and_loses_nothing() -> None:
    """What was sent meanwhile arrives in order when the link is up again."""
    wires = Wires()
    wires.channels.down("p1", "p2")
    for item in ("a", "b"):
        wires.channels.send(P1, P2, item)
    wires.channels.send(P2, P1, "back")
    wires.scheduler.run_until(5_000)
    assert [item for *_, item in wires.arrived] == ["back"]
    assert not wires.channels.reaches("p1", "p2")
    assert wires.channels.reaches("p2", "p1")
    wires.channels.up("p1", "p2")
    wires.scheduler.run_until(6_000)
    assert [item for *_, item in wires.arrived] == ["back", "a", "b"]


def test_healing_a_partition_brings_no_link_up() -> None:
    """Both may cut the same channel, and each ends by itself."""
    wires = Wires()
    wires.channels.down("p1", "p2")
    wires.channels.partition(("p1",))
    wires.channels.send(P1, P2, "a")
    wires.channels.heal()
    wires.scheduler.run_until(5_000)
    assert wires.arrived == []
    wires.channels.up_all()
    wires.scheduler.run_until(6_000)
    assert len(wires.arrived) == 1


# Pace and clocks.


def paced(scheduler: Scheduler) -> Pace:
    """Return a pace with these timers."""

    def later(delay_us: int, action: Callable[[], None]) -> None:
        scheduler.at(scheduler.now_us + delay_us, lambda _: action(), None)

    return Pace(later)


def test_busy_process_does_things_in_slices_and_in_order() -> None:
    """What comes within a slice is done at its end; afterwards everything at once again."""
    scheduler = Scheduler()
    done: list[tuple[int, int]] = []
    pace = paced(scheduler)
    for time_us in (5, 20, 95, 130, 260):
        scheduler.at(
            time_us, lambda at: pace.do(lambda: done.append((at, scheduler.now_us))), time_us
        )
    scheduler.at(10, lambda _: pace.work_in_slices(100), None)
    scheduler.at(250, lambda _: pace.work_in_slices(0), None)
    scheduler.run_until(1_000)
    assert done == [(5, 5), (20, 110), (95, 110), (130, 210), (260, 260)]


def test_busy_process_that_is_stopped_does_nothing_until_a_slice_after() -> None:
    """Being stopped counts for more than being busy."""
    scheduler = Scheduler()
    done: list[int] = []
    pace = paced(scheduler)
    pace.work_in_slices(100)
    scheduler.at(50, lambda _: pace.stop(), None)
    scheduler.at(60, lambda _: pace.do(lambda: done.append(scheduler.now_us)), None)
    scheduler.at(350, lambda _: pace.go_on(), None)
    scheduler.run_until(1_000)
    assert done == [400]
    assert not pace.is_steady


def test_clocks_apart_run_forward_at_their_own_rates() -> None:
    """Offset and rate follow from seed and name; what lasts so long by the clock is known."""
    clocks = [clock_apart(3, f"p{number}") for number in range(1, 9)]
    assert clocks[0] == clock_apart(3, "p1")
    assert len({clock.offset_us for clock in clocks}) == len(clocks)
    for clock in clocks:
        assert 900_000 <= clock.rate_ppm <= 1_100_000
        shown_us = clock.read(5_000_000) - clock.read(4_000_000)
        assert abs(shown_us - clock.rate_ppm) <= 1
        assert abs(clock.lasts_us(shown_us) - 1_000_000) <= 2
    assert Clock().read(77) == 77


def test_processes_with_clocks_apart_suspect_nobody() -> None:
    """A tenth faster or slower does not matter, nor does a second of distance."""
    text = (
        "founders 4\ntiming default\nclocks apart\ndistance_us 300000\nat 9000000 multicast p2 1\n"
    )
    outcome = World(parse_scenario(text)).run()
    assert not any(event.kind == "suspect" for event in outcome.events)
    assert outcome.stuck == ""


# Applications.


def test_awkward_application_multicasts_inside_deliveries_and_at_views() -> None:
    """Its words go out in the very instant, in the view that has just begun."""
    head = "founders 3\nanswers 0.5\nawkward 1\norders mixed\nmessages 40\nseed 3\n"
    outcome = lived(head + "at 30000 multicast p1 1\nat 60000 join q1\nat 120000 leave p2\n")
    rows = outcome.events
    at_once = [
        (before.kind, row.process)
        for before, row in pairwise(rows)
        if row.kind == "multicast"
        and (before.process, before.time_us) == (row.process, row.time_us)
    ]
    assert {kind for kind, _ in at_once} >= {"deliver", "view"}


def test_awkward_joiner_begins_a_transaction_at_its_first_view() -> None:
    """And it is decided."""
    head = "founders 2\nanswers 0\nawkward 1\norders mixed\ntransactions 1\n"
    outcome = lived(head + "at 30000 join q1\nat 400000 heal\n")
    assert [row.sender for row in outcome.events if row.kind == "decide"] == ["q1"] * 3


def test_application_without_state_gives_none() -> None:
    """Joiners are full members at once."""
    outcome = lived("founders 1\nstate none\nat 5000 join q1\nat 90000 leave p1\n")
    assert [str(member) for member in outcome.views[-1].members] == ["q1"]


# Going on in time.


LONE_LINK = (
    "founders 3\nanswers 0\nat 10000 down p2 p3\nat 20000 crash p3\nat 6000000 up p2 p3\n"
    "at 6100000 multicast p1 1\n"
)


def test_group_goes_on_while_a_link_is_down() -> None:
    """A senior member that reaches a quorum excludes the dead."""
    lived(LONE_LINK)


def test_world_that_does_not_go_on_where_it_must_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it does so only when the link is up again, that is too late."""
    right = Coordination._lead

    def wait(self: Coordination, latest: View, now_us: int) -> list[View]:
        return right(self, latest, now_us) if now_us > 6_000_000 else []

    monkeypatch.setattr(Coordination, "_lead", wait)
    finding = survey(parse_scenario(LONE_LINK)).finding
    assert finding is not None
    assert finding.what == "late"
    assert finding.text.startswith("p1 has not gone on without p3 for ")


def test_world_that_comes_to_rest_too_late_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """However surely it would have in the end."""
    right = Coordination._lead

    def wait(self: Coordination, latest: View, now_us: int) -> list[View]:
        return right(self, latest, now_us) if now_us > 5_000_000 else []

    monkeypatch.setattr(Coordination, "_lead", wait)
    finding = examine(parse_scenario("founders 3\nanswers 0\nat 10000 crash p2 1\n"))
    assert finding is not None
    assert finding.what == "stuck"


# Coverage.


def test_pairs_are_events_of_one_view_change() -> None:
    """From its first cause to its last installation; messages may be under way already."""
    marks = [
        Mark(0, "view", 1), Mark(10, "slow", 0), Mark(40, "letter", 0), Mark(50, "crash", 0),
        Mark(60, "leave", 0), Mark(70, "view", 2), Mark(80, "pause", 0), Mark(90, "view", 2),
        Mark(95, "down", 0),
    ]  # fmt: skip
    assert pairs_in(marks, reach_us=20) == {
        ("crash", "leave"), ("crash", "pause"), ("leave", "pause"), ("crash", "letter"),
        ("leave", "letter"), ("pause", "letter"),
    }  # fmt: skip
    assert pairs_in(marks, reach_us=0) == {
        ("crash", "leave"), ("crash", "pause"), ("leave", "pause"),
    }  # fmt: skip


def test_pairs_are_named_in_either_order() -> None:
    """Two of a kind are a pair too."""
    assert pair_named("leave+crash") == pair_named("crash+leave") == ("crash", "leave")
    assert pair_named("join+join") == ("join", "join")
    assert pair_named("join") is pair_named("join+rain") is pair_named("") is None
    assert len(pairs_of("view-atomic")) == len(KINDS) * (len(KINDS) + 1) // 2
    assert len(pairs_of("coordinator")) == (len(KINDS) - 2) * (len(KINDS) - 1) // 2


@pytest.mark.long
def test_aimed_worlds_meet_what_they_aim_at() -> None:
    """Every pair comes about in some of the first worlds aimed at it."""
    missed = [
        pair
        for pair in pairs_of("view-atomic")
        if not any(
            pair in World(random_scenario(seed, "view-atomic", pair)).run().pairs
            for seed in range(8)
        )
    ]
    assert missed == []


def test_wide_worlds_are_wide() -> None:
    """Every head and every verb that makes a world wide is met, half of the time."""
    worlds = [random_scenario(seed) for seed in range(400)]
    wide = [world for world in worlds if world.seed % 2]
    assert {world.timing for world in wide} == {"quick", "default"}
    assert {world.clocks for world in wide} == {"same", "apart"}
    assert {world.state for world in wide} == {"kept", "none"}
    assert {world.awkward for world in wide} == {0, 1}
    assert min(world.distance_us for world in wide) == 0
    assert max(world.distance_us for world in wide) > 800_000
    verbs = [step.verb for world in wide for step in world.steps]
    crashes = verbs.count("crash")
    assert 3 * (verbs.count("leave") + verbs.count("join")) > 2 * crashes
    assert min(verbs.count(verb) for verb in ("far", "down", "up", "busy")) > 10


def test_step_that_ends_a_fault_has_a_text_too() -> None:
    """Verbs of wide worlds read back."""
    scenario = Scenario(
        seed=1, timing="default", distance_us=126_000, clocks="apart", state="none", awkward=1,
        steps=(
            Step(1, "far", ("p1", "p2"), 7), Step(2, "down", ("p1", "p2")),
            Step(3, "up", ("p1", "p2")), Step(4, "busy", ("p1",), 130_000),
            Step(5, "busy", ("p1",)),
        ),
    )  # fmt: skip
    assert parse_scenario(str(scenario)) == scenario
