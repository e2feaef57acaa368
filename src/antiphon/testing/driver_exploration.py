"""Exploration of the network driver: the world of a seed, and what is wrong with it.

Law: a world is a function of its seed and its flush. In two of three worlds each process is in one
group (``driver_world``), in the third in several (``groups_world``), each of which is judged.
"""

from typing import Protocol

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.membership.failure_detector import Timing
from antiphon.oracle import judge
from antiphon.testing.cluster import Cluster
from antiphon.testing.driver_scenario import DriverScenario, DriverStep, random_driver_scenario
from antiphon.testing.driver_world import DriverWorld
from antiphon.testing.groups_scenario import GroupsScenario, random_groups_scenario
from antiphon.testing.groups_world import GroupsWorld
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

_REASONS = (
    "nothing was heard of it for too long",
    "nobody listens where it was",
    "somebody else listens where it was",
    "it has taken nothing for",
    "it has not acknowledged a letter for",
    "it hangs up without an answer",
    "its answer breaks off",
)
"""Why a correct process may be suspected; the last two are said of who was silent, too."""

_HARMLESS = {"multicast", "call", "letter", "transaction", "cut", "join", "found"}
_AMPLE_US = 1_500_000

NOT_PROMISED = {
    "view-atomic": (),
    "coordinator": (Property.VIEW_ATOMIC,),
    "all-to-all": (Property.VIEW_ATOMIC,),
}
"""As in exploration: see there."""

_KINDS = 3
_OF_SEVERAL = 2
"""Seeds of this remainder are of worlds in which processes are in several groups."""


class DriverFinding(msgspec.Struct, frozen=True):
    """What went wrong in a world."""

    seed: int
    flush: str
    what: str
    """The property that was violated, ``blamed``, ``stuck`` or ``raised``."""
    text: str
    events: list[Event]


class AnyScenario(Protocol):
    """What is asked of every scenario."""

    @property
    def seed(self) -> int:
        """Which one it is."""

    @property
    def flush(self) -> str:
        """How views are left."""

    @property
    def timing(self) -> Timing:
        """How soon silence is suspicious."""

    @property
    def steps(self) -> list[DriverStep]:
        """What is done, in order."""


class AnyWorld(Protocol):
    """What is asked of every world."""

    cluster: Cluster

    def run(self) -> str:
        """Live through the scenario; say what is wrong in the end, or nothing."""

    def trace(self, said: str) -> list[Event]:
        """Return everything that happened; ``said`` is what was wrong in the end, if anything."""


def scenario_of(seed: int, flush: str = "view-atomic") -> DriverScenario | GroupsScenario:
    """Return the scenario of a seed."""
    if seed % _KINDS == _OF_SEVERAL:
        return random_groups_scenario(seed, flush)
    return random_driver_scenario(seed, flush)


def world_of(scenario: DriverScenario | GroupsScenario) -> DriverWorld | GroupsWorld:
    """Return a world in which nothing has happened yet."""
    if isinstance(scenario, GroupsScenario):
        return GroupsWorld(scenario)
    return DriverWorld(scenario)


def examine_driver(
    scenario: DriverScenario | GroupsScenario,
) -> tuple[DriverFinding | None, list[Event]]:
    """Run a world; return what went wrong, or None, and everything that happened."""
    world: AnyWorld = world_of(scenario)
    cluster = world.cluster
    wrong: tuple[str, str] | None = None
    try:
        said = world.run()
        events = world.trace(said)
        if failures := cluster.failures():
            failure = failures[0]
            wrong = "raised", f"{failure.get('message')}: {failure.get('exception')!r}"
        else:
            is_excused = any(step.verb == "refuse" for step in scenario.steps)
            is_stuck = bool(said) and not is_excused
            wrong = _broken(scenario, events) or _blamed(scenario, events)
            wrong = wrong or (("stuck", said) if is_stuck else None)
    except (AntiphonError, AssertionError, LookupError, ValueError, RuntimeError) as error:
        wrong = "raised", f"at {cluster.time_s:.6f} s: {type(error).__name__}: {error}"
        events = cluster.events()
    finally:
        cluster.close()
    if wrong is None:
        return None, events
    return DriverFinding(scenario.seed, scenario.flush, *wrong, events), events


def _blamed(scenario: AnyScenario, events: list[Event]) -> tuple[str, str] | None:
    """Find a suspicion that no world gives reason for: all processes here are correct.

    A connection that is cut is none either, where there is time to make another one.
    """
    verbs = {step.verb for step in scenario.steps}
    is_harmless = verbs <= _HARMLESS and scenario.timing.timeout_us >= _AMPLE_US
    for event in events:
        if event.kind == "suspect" and (is_harmless or not event.detail.startswith(_REASONS)):
            where = f" in {event.run}" if event.run else ""
            return "blamed", f"{event.process}{where} suspects {event.sender}: {event.detail}"
    return None


def by_group(events: list[Event]) -> dict[str, list[Event]]:
    """Return the rows of each group; those of a world with one group are of no run."""
    rows: dict[str, list[Event]] = {}
    for event in events:
        rows.setdefault(event.run, []).append(event)
    return rows


def _broken(scenario: AnyScenario, events: list[Event]) -> tuple[str, str] | None:
    for group, rows in by_group(events).items():
        verdict = judge(rows, group or f"seed {scenario.seed}")
        broken = {
            item.property: item for item in verdict.properties if item.status is Status.VIOLATED
        }
        is_excused = any(which in broken for which in NOT_PROMISED[scenario.flush])
        for which, item in broken.items():
            if not is_excused or which not in {Property.VIEW_ATOMIC, Property.TOTAL}:
                where = f"group {group}: " if group else ""
                return which.value, where + item.violations[0].text
    return None
