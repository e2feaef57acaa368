"""What a world has to come to, and whom nothing can be asked of."""

import re
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.changes import NOTHING, Changes
from antiphon.sim.quiescence import is_castaway, is_hopeless, leads_in, why_not_quiescent
from antiphon.sim.scenario import parse_scenario
from antiphon.sim.world import World

FOLDER = Path(__file__).parent.parent / "scenarios_wide"


def lived(text: str) -> World:
    """Return a world that has come to its end."""
    world = World(parse_scenario(text))
    world.run()
    return world


def castaways(world: World) -> list[str]:
    """Return who is blocked and hears of no member."""
    drivers = list(world.drivers.values())
    return [
        str(driver.machine.me)
        for driver in drivers
        if driver.is_up and is_castaway(driver, drivers)
    ]


def leads(world: World, places: Sequence[str]) -> bool:
    """Return whether somebody at these places is a member, or knows one."""
    return leads_in(places, list(world.drivers.values()))


def test_one_left_behind_leads_nowhere() -> None:
    """A blocked process is no way in, nor is one that is gone; a member is."""
    world = lived((FOLDER / "founder_left_behind_leads_nowhere.txt").read_text())
    assert castaways(world) == ["p2"]
    assert not leads(world, ["p1", "p2"])
    assert leads(world, ["p1", "p2", "q3"])


LEFT_BEHIND_BY_TWO = """
seed 1
founders 5
answers 0.0
delay_us 100
at 1000 partition p4 p5
at 2000 condemn p1 p4
at 2000 condemn p1 p5
at 2000 condemn p2 p4
at 2000 condemn p2 p5
at 2000 condemn p3 p4
at 2000 condemn p3 p5
at 200000 join q1
at 300000 leave p1
at 400000 leave p2
at 500000 leave p3
at 600000 multicast q1 1
"""


def test_two_left_behind_lead_nowhere_together() -> None:
    """Two that know only each other and those who left are asked for nothing; others are."""
    world = lived(LEFT_BEHIND_BY_TWO)
    drivers = list(world.drivers.values())
    assert [str(driver.machine.me) for driver in drivers if driver.is_up] == ["p4", "p5", "q1"]
    assert castaways(world) == ["p4", "p5"]
    assert not leads(world, ["p4"])
    assert not is_hopeless(drivers)
    assert why_not_quiescent(drivers, []) == ""


def test_who_was_excluded_leads_in_by_what_it_knows() -> None:
    """A place counts if somebody is there who names a member: here as long as one has not left."""
    text = LEFT_BEHIND_BY_TWO.replace("at 500000 leave p3\n", "")
    world = World(parse_scenario(text))
    world.run_until(450_000)  # still cut off
    drivers = list(world.drivers.values())
    blocked = [
        driver for driver in drivers if driver.is_up and driver.machine.membership.is_blocked
    ]
    assert [str(driver.machine.me) for driver in blocked] == ["p4", "p5"]
    assert not any(is_castaway(driver, drivers) for driver in blocked)
    assert leads(world, ["p5"])
    assert why_not_quiescent(drivers, []) != ""


def test_lost_state_excuses_nothing_else() -> None:
    """Where nobody has the state any more, the members still have to be in one view."""
    text = (FOLDER / "only_one_left_behind_has_the_state.txt").read_text()
    world = lived(re.sub(r"seed \d+", "seed 13", text))  # in which that one does not come back
    drivers = list(world.drivers.values())
    members = [driver for driver in drivers if driver.is_up and not is_castaway(driver, drivers)]
    assert len(members) == 3
    assert not any(driver.state.has_state for driver in members)
    assert why_not_quiescent(drivers, []) == ""
    assert not is_hopeless(drivers)
    first = members[0]
    first.view = None  # as if it had not installed it
    assert why_not_quiescent(drivers, []) != ""


ALL_LEAVE_THE_JOINER = """
seed 1
founders 2
answers 0.0
delay_us 100
at 20000 join q1
at 21200 leave p1
at 21200 leave p2
"""


def all_at_once(changes: Changes, _: View, stayed: list[ProcessId]) -> list[ProcessId]:
    """Let everybody leave, whoever needs the state."""
    asked = changes._asked
    return [
        who
        for who in stayed
        if (changes.is_leaving if who == changes._me else asked.get(who, NOTHING).leaving)
    ]


def test_state_that_left_is_not_lost() -> None:
    """Who has the state stays until a joiner has it: leaving in haste is no excuse."""
    assert World(parse_scenario(ALL_LEAVE_THE_JOINER)).run().stuck == ""
    with patch.object(Changes, "_leaving", all_at_once):
        assert "state" in World(parse_scenario(ALL_LEAVE_THE_JOINER)).run().stuck


def test_state_of_a_leaver_that_was_excluded_is_lost() -> None:
    """It waited, as it has to, until somebody has it; the others went on without it."""
    world = lived((FOLDER / "leaver_with_the_only_state_is_excluded.txt").read_text())
    drivers = list(world.drivers.values())
    assert [str(driver.me) for driver in drivers if driver.state.has_state] == ["p1"]
    assert [str(driver.me) for driver in drivers if driver.is_up] == ["q1", "q3"]
    assert why_not_quiescent(drivers, []) == ""
