"""A world of several groups in one causality domain, living through a scenario.

Law: a scenario is a world (``scenario``). The machine is the process machine of the network, with
all its groups; channels, clock and applications are simulated (``several_groups``), and the same
scenario gives the same rows, byte for byte. Applications answer what is delivered to them in
another of their groups, if they are in another, so that chains of messages go from group to group.
When the last step is done all faults end, and the world goes on until nothing has happened for a
while. Who has crashed, or was excluded, stays out.

It keeps its promises if the oracle finds none broken in the one trace, in any group or across them;
if a second judge, which knows no timestamp, finds causality kept, over letters, too, and no hole
that the resilience does not excuse (``across_checks``); if every group has gone on where it can
(``going_on``); and if all is as the scenario expects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.oracle import judge
from antiphon.sim.declared import declared_structure
from antiphon.sim.expectations import Ending, unmet
from antiphon.sim.going_on import find_excluded, find_stuck_in_domain
from antiphon.sim.scenario import (
    FIRST_GROUP,
    IN_GROUPS,
    SAYINGS,
    TIMINGS,
    Scenario,
    Step,
    founders_of,
)
from antiphon.sim.several_groups import Node, SeveralGroups
from antiphon.sim.surroundings import WAYS
from antiphon.stack import inputs as on
from antiphon.stack.domain import ALL
from antiphon.stack.send_queue import How
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

DOMAIN = "d"
_LETTERS = 0.15
"""How many answers are letters, where some are."""
_QUIET_TIMEOUTS, _PATIENCE_TIMEOUTS = 8, 80
"""Silences for which nothing may happen before a world counts as quiescent; and at most."""


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """What became of a world."""

    events: list[Event]
    verdict: Verdict
    wrong: tuple[str, str] | None
    """The kind of what went wrong, and a sentence."""


def resilience_of(said: str) -> int:
    """Return a resilience as machines know it: ``all`` is more than there are processes."""
    return ALL if said == "all" else int(said)


class DomainWorld:
    """All processes of some groups that are one domain."""

    def __init__(self, scenario: Scenario) -> None:
        """Found the groups; nothing happens before ``run``."""
        self._scenario = scenario
        self._random = Random(f"{scenario.seed}/domain")
        self._messages_left = scenario.messages
        groups = founders_of(scenario)
        self._numbers = {name: GroupNumber(number) for number, name in enumerate(groups)}
        names = dict.fromkeys(name for members in groups.values() for name in members)
        names.update(
            dict.fromkeys(
                name for step in scenario.steps if step.verb == "join" for name in step.who
            )
        )
        self.world = SeveralGroups(
            scenario.seed, causality=DOMAIN, resilience=resilience_of(scenario.resilience),
            flush=scenario.flush, timing=TIMINGS[scenario.timing], delay_us=scenario.delay_us,
            distance_us=scenario.distance_us,
            structure=declared_structure(scenario.overlaps, scenario.excluded),
        )  # fmt: skip
        self.world.on_delivery = self._answer
        self.world.start(names, dict(enumerate(groups.values())), dict(enumerate(groups)))
        self._far: dict[tuple[str, str], int] = {}
        for step in scenario.steps:
            self.world.at(step.time_us, partial(self._do, step))

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.world.now_us

    def run(self) -> DomainOutcome:
        """Live through the scenario, then become quiescent, and be judged."""
        events = self.live()
        verdict = judge(events, f"seed {self._scenario.seed}")
        return DomainOutcome(events, verdict, self._wrong(verdict))

    def live(self) -> list[Event]:
        """Live through the scenario and become quiescent; return the one trace."""
        self.world.run(max((step.time_us for step in self._scenario.steps), default=0))
        self._calm()
        self._settle()
        return self.events()

    def events(self) -> list[Event]:
        """Return what has happened so far, as the end."""
        return self.world.finish()

    def stuck(self) -> str:
        """Say which group has not gone on although it could."""
        return find_stuck_in_domain(self.world, self._numbers.values())

    # Steps.

    def _do(self, step: Step) -> None:
        if step.verb in IN_GROUPS:
            name, group = step.who[0], self._numbers[step.group or FIRST_GROUP]
            if self.world.node(name).is_up:
                self._do_in_group(name, group, step)
        elif step.verb in {"partition", "heal"}:
            self.world.cut(step.who)
        elif len(step.who) == 1:
            self._do_to(self.world.node(step.who[0]), step)
        else:
            self._do_to_way((step.who[0], step.who[1]), step)

    def _do_to(self, node: Node, step: Step) -> None:
        if step.verb == "resume":
            node.resume()
        elif step.verb == "pause":
            node.is_paused = True
        elif node.is_up:  # it has not crashed before
            self._crash(node.me.name, is_seen=bool(step.amount))

    def _do_to_way(self, way: tuple[str, str], step: Step) -> None:
        match step.verb:
            case "down":
                self.world.take_down(*way)
            case "up":
                self.world.take_up(way)
            case _:
                self.world.slow[way] = step.amount
                if step.verb == "far":
                    self._far[way] = step.amount

    def _do_in_group(self, name: str, group: GroupNumber, step: Step) -> None:
        node = self.world.node(name)
        is_in = group in node.views and group not in node.ends
        match step.verb:
            case "join":
                self._join(node, group)
            case "leave" if is_in:
                self.world.leave(name, group)
            case "send" if is_in and self._messages_left:
                self._messages_left -= 1
                self.world.write(name, group, step.who[1])
            case "multicast" | "fifo" | "causal" | "total":
                self._say(node, group, max(1, step.amount), SAYINGS.get(step.verb))
            case "uniform" | "uniform-fifo" | "uniform-total":
                self._say(node, group, max(1, step.amount), SAYINGS[step.verb])
            case _:
                pass  # it is not there

    def _say(self, node: Node, group: GroupNumber, count: int, how: How | None = None) -> None:
        """Let an application multicast: as it is told, or in the mixture of the world."""
        for _ in range(count):
            if self._messages_left and group in node.views and group not in node.ends:
                self._messages_left -= 1
                node.say(group, how or self._any_way())

    def _any_way(self) -> How:
        ways = WAYS[self._scenario.orders]
        return self._random.choices([way for way, _ in ways], [often for _, often in ways])[0]

    def _crash(self, name: str, *, is_seen: bool) -> None:
        world, dead = self.world, self.world.node(name).me
        world.crash(name)
        for node in world.nodes.values():
            if is_seen and node.is_up:
                delay_us = 200 + int(self._random.random() * 5_000)
                world.at(world.now_us + delay_us, partial(node.give, on.PeerLost(dead)))

    def _join(self, node: Node, group: GroupNumber) -> None:
        """Let a process that is out of a group, or was never in it, ask members to be let in."""
        has_left = group in node.ends and not node.ends[group]
        if node.machine.is_over or (group in node.rows and not has_left):
            return
        try:
            node.found(group, None)
        except UsageError:
            if self.world.structure is None:
                raise
            return  # an overlap that is not declared: the application is told, and stays out
        me = node.ids[group]

        def ask() -> None:
            is_out = group not in node.views and group not in node.ends
            if node.is_up and node.ids[group] == me and is_out:
                members = self._members(group)
                if members:
                    node.give((group, on.JoinRequested(self._random.choice(members))))
                self.world.at(self.now_us + 2 * self.world.timing.heartbeat_us, ask)

        ask()

    def _members(self, group: GroupNumber) -> list[ProcessId]:
        return [
            node.ids[group]
            for node in self.world.nodes.values()
            if node.is_up and group in node.views and group not in node.ends
        ]

    def _answer(self, node: Node, group: GroupNumber) -> None:
        """Multicast something, in another group if there is one, when something is delivered."""
        if not self._messages_left or self._random.random() >= self._scenario.answers:
            return
        own = [other for other in node.views if other not in node.ends]
        to = self._random.choice([other for other in own if other != group] or own)
        members = [who.name for who in node.views[to].members if who.name != node.me.name]
        is_letter = self._scenario.letters and self._random.random() < _LETTERS and members
        action: Callable[[], None] = partial(self._say, node, to, 1)
        if is_letter:
            self._messages_left -= 1
            action = partial(self.world.write, node.me.name, to, self._random.choice(members))
        self.world.at(self.now_us, action)

    # The end.

    def _calm(self) -> None:
        """End all faults."""
        self.world.slow = dict(self._far)
        self.world.cut(())
        self.world.take_up()
        for node in self.world.nodes.values():
            node.resume()

    def _settle(self) -> None:
        """Go on until nothing has happened for a while."""
        timeout_us, trace = self.world.timing.timeout_us, self.world.trace
        assert trace is not None, "a domain has one trace"
        quiet_us, row_count = 0, trace.row_count
        for _ in range(_PATIENCE_TIMEOUTS):
            self.world.run(timeout_us)
            quiet_us = quiet_us + timeout_us if trace.row_count == row_count else 0
            row_count = trace.row_count
            if quiet_us >= _QUIET_TIMEOUTS * timeout_us:
                return

    def _wrong(self, verdict: Verdict) -> tuple[str, str] | None:
        """Return the kind of what went wrong, and a sentence."""
        for item in verdict.properties:
            if item.status is Status.VIOLATED and item.property.value not in self._excused(verdict):
                return item.property.value, item.violations[0].text
        world, scenario = self.world, self._scenario
        is_calm = all(step.verb in IN_GROUPS for step in scenario.steps)
        found = {
            "across groups": world.across.judge(world.resilience),
            "stuck": self.stuck(),
            "excluded": find_excluded(world, is_calm=is_calm),
            "expectation": unmet(scenario.expected, self._ending(verdict)),
        }
        return next(((what, said) for what, said in found.items() if said), None)

    def _excused(self, verdict: Verdict) -> set[str]:
        """Return what a flush that does not promise view atomicity need not keep (000-17 a)."""
        is_broken = verdict.of(Property.VIEW_ATOMIC).status is Status.VIOLATED
        is_promised = self._scenario.flush == "view-atomic"
        return {"view-atomic", "total"} if is_broken and not is_promised else set()

    def _ending(self, verdict: Verdict) -> Ending:
        delivered = {node.me.name: node.heard for node in self.world.nodes.values()}
        views = {
            name: {
                node.me.name: tuple(member.name for member in node.views[group].members)
                for node in self.world.nodes.values()
                if node.is_up and group in node.views and group not in node.ends
            }
            for name, group in self._numbers.items()
        }
        return Ending(delivered, views, verdict)
