"""Driver's worlds of several groups: each group keeps its promises, and processes stay separate."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.net.driver.driver import Driver
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.driver.nobody import Nobody
from antiphon.net.driver.owners import GroupDriver
from antiphon.net.driver.reception import Reception
from antiphon.net.process.node import Node
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer
from antiphon.net.session.session import Session
from antiphon.stack.acquaintances import Acquaintances
from antiphon.stack.domains import Domains
from antiphon.stack.effects import LeaveGroup
from antiphon.stack.process import Process
from antiphon.stack.settings import FLUSHES
from antiphon.testing.driver_exploration import examine_driver, scenario_of
from antiphon.testing.driver_scenario import DriverStep
from antiphon.testing.groups_scenario import GroupsScenario, random_groups_scenario
from antiphon.testing.groups_world import GroupsWorld

SEEDS = range(24)

PLANTED_SEEDS = range(120)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let the driver not say what befalls it."""
    log = logging.getLogger("antiphon")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


def test_promises_are_kept_in_each_group() -> None:
    """No group of these worlds breaks a promise or gets stuck, and nothing is left behind."""
    found = [examine_driver(random_groups_scenario(seed))[0] for seed in SEEDS]
    assert not [(one.seed, one.what, one.text) for one in found if one is not None]


REGRESSIONS = {
    32: "two that dial each other at once count what arrived over both connections",
    55: "who joins again a process whose session with it sleeps dials it",
    9: "who is on its way into a group when its process ends comes to an end",
    392: "a call ends when its application leaves and is not let go in time",
    741: "who founds a group while it fails in another one has not left it",
    2754: "who comes back asks the process's own seeds too, not those given for the group alone",
    1307: "a call that waits for room is refused when its application leaves meanwhile",
    16: "a session that sleeps is woken by who is about to sleep, too, and forgotten by one",
    19: "the same, and the one that forgot takes part in a view with the other",
    9056: "two that exclude each other at once, in different groups, both learn of it",
    216: "who ends while it comes back closes its record",
    263: "who has left its groups, and lives, is not blamed for it by its record",
}


@pytest.mark.parametrize("seed", REGRESSIONS, ids=list(map(str, REGRESSIONS)))
def test_world_that_once_failed_holds(seed: int) -> None:
    """These worlds showed what was wrong."""
    assert examine_driver(random_groups_scenario(seed))[0] is None


def test_who_is_started_again_has_another_name_in_all_groups_of_a_domain() -> None:
    """Else two records would be of one name, and judged as one process."""
    drawn = next(one for one in map(random_groups_scenario, SEEDS) if one.domain is not None)
    steps = [
        DriverStep(0, "found", ("hall", "anna", "ben", "cleo")),
        DriverStep(500_000, "kill", ("anna",)),
        DriverStep(500_000, "kill", ("ben",)),
        DriverStep(700_000, "restart", ("anna",)),  # nobody can take it into the hall
        DriverStep(900_000, "found", ("loft", "anna", "cleo")),
    ]
    known = {name: tuple({"anna", "ben", "cleo"} - {name}) for name in ("anna", "ben", "cleo")}
    world = GroupsWorld(replace(drawn, processes=known, groups=("hall", "loft"), steps=steps))
    assert world.run() == ""
    started = [(one.process, one.recorded_as) for one in world.trace("") if one.kind == "start"]
    assert len(started) == len(set(started))
    assert ("anna~2", "") in started
    world.cluster.close()


@pytest.mark.parametrize("flush", FLUSHES)
def test_same_seed_gives_the_same_trace_byte_by_byte(flush: str) -> None:
    """A world is a function of its seed, with several groups too."""
    row_count = 0
    for seed in range(4):
        first, again = (
            b"\n".join(map(msgspec.json.encode, examine_driver(scenario)[1]))
            for scenario in (random_groups_scenario(seed, flush),) * 2
        )
        assert first == again
        row_count += first.count(b"\n")
    assert row_count > 100


def test_every_third_seed_is_of_several_groups() -> None:
    """So whoever explores the driver explores these too, and the seed alone says which."""
    kinds = [isinstance(scenario_of(seed), GroupsScenario) for seed in range(9)]
    assert kinds == [False, False, True] * 3


def test_worlds_meet_what_they_are_for() -> None:
    """Every verb occurs; groups overlap; somebody comes again; most groups can be asked."""
    scenarios = [random_groups_scenario(seed) for seed in range(200)]
    verbs = Counter(step.verb for scenario in scenarios for step in scenario.steps)
    assert set(verbs) == set(GroupsWorld(scenarios[0]).verbs)
    hopeless = several = 0
    again: set[str] = set()
    for scenario in scenarios[:20]:
        world = GroupsWorld(scenario)
        assert world.run() == ""
        events = world.trace("")
        groups: dict[str, set[str]] = {}
        for event in events:
            groups.setdefault(event.process.partition("~")[0], set()).add(event.run)
        several += sum(len(entered) > 1 for entered in groups.values())
        again |= {
            event.process for event in events if event.kind == "view" and "~" in event.process
        }
        entered = {event.run for event in events if event.kind == "view"}
        quiescent = {event.run for event in events if event.detail == "quiescent"}
        hopeless += len(entered - quiescent)
        world.cluster.close()
    assert several > 20  # of the worlds in which groups are domains of their own
    assert len(again) > 4
    assert hopeless < 20


# Bugs that are planted: each is of several groups in one process.


def _give_to_another_group(self: Incarnation, peer: Peer, frame: Any) -> None:
    """Take whatever comes as of the group that was entered last."""
    driver = self.drivers[-1] if self.drivers else None
    if driver is not None and not driver.is_over:
        driver.take(peer, frame)


_remove = Incarnation.remove


def _close_sessions(self: Incarnation, driver: GroupDriver, *, has_left: bool) -> None:
    """End the sessions of all groups with one of them."""
    _remove(self, driver, has_left=has_left)
    for peer in list(self.mesh.peers.values()):
        self.mesh._forget(peer)


_put_to_sleep = Mesh._put_to_sleep


def _forget_what_was_counted(self: Mesh, peer: Peer) -> None:
    """Let a session sleep, and begin another one when it wakes up: one side of it does."""
    _put_to_sleep(self, peer)
    if peer.process < self._owner.process:
        peer.session = Session()


def _end_in_one_group(self: Process, group: GroupNumber, end: LeaveGroup) -> None:
    """Stay in the other groups after failing in one."""
    self._forget(group, self.endpoint(group))
    self._add(group, end)


def _say_that_all_is_over(self: Process, group: GroupNumber, end: LeaveGroup) -> None:
    """End all groups with one that was merely left."""
    self._forget(group, self.endpoint(group))
    self._add(group, end)
    self.is_over = True


def _drop(self: Driver, release: Callable[[], None]) -> None:
    """Take no part any more in a group that is abandoned, though the process goes on."""
    self.close("the application has left")
    release()


async def _stop_only_if_running(self: Node) -> None:
    """End a process whatever is on its way into a group."""
    self._entering = None
    await _stop(self)


_stop = Node.stop


def _let_nobody_depart(self: Mesh, processes: Any, idle: Any = ()) -> None:
    """Keep a connection to everybody with whom a group was ever shared."""
    del idle
    for process in processes:
        if process != self._owner.process:
            self.add(process, is_dialled=process < self._owner.process)


def _expect_those_of_one_group(self: Acquaintances) -> tuple[ProcessId, ...]:
    """Need, and beat to, the members of one group only."""
    known: dict[ProcessId, Any] = next(iter(self.known_in.values()), {})
    return tuple(who for who in known if who != self._me)


def _forget_domain(
    self: Domains, group: GroupNumber, named: GroupNumber, leave: Any = Domains.leave
) -> None:
    """Know nothing any more of a domain of which the process is in no group."""
    leave(self, group, named)
    self._named = {name: one for name, one in self._named.items() if one in self.domains.values()}


@pytest.mark.parametrize(
    ("where", "what", "wrong"),
    [
        (Incarnation, "on_frame", _give_to_another_group),
        (Incarnation, "remove", _close_sessions),
        (Mesh, "_put_to_sleep", _forget_what_was_counted),
        (Process, "_end", _end_in_one_group),
        (Process, "_end", _say_that_all_is_over),
        (Driver, "abandon", _drop),
        (Nobody, "on_over", lambda *_: None),
        (Reception, "_keep", lambda *_: None),
        (Node, "stop", _stop_only_if_running),
        (Mesh, "expect", _let_nobody_depart),
        (Acquaintances, "others", property(_expect_those_of_one_group)),
        (Domains, "leave", _forget_domain),
    ],
    ids=[
        "frames of one group are given to another",
        "a leaver closes the sessions of all groups",
        "a sleeping session is begun anew",
        "who failed in one group stays in others",
        "who leaves one group is over in all",
        "a group that is abandoned is dropped at once",
        "an abandoned group never ends",
        "what founders say early is lost",
        "a process ends, and a join goes on",
        "connections stay though no group is shared",
        "only those of one group are expected",
        "who is out of all groups forgets what it knew",
    ],
)
def test_planted_bug_is_found(
    where: type, what: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that mixes groups up in one place fails some world soon."""
    monkeypatch.setattr(where, what, wrong)
    assert any(examine_driver(random_groups_scenario(seed))[0] for seed in PLANTED_SEEDS)
