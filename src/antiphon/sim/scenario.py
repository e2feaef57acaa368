"""A scenario: everything that is done to a world, step by step, as data and as text.

    seed 17
    founders 4
    flush view-atomic
    messages 60
    answers 0.5
    at 1200 multicast p1 3
    at 5000 crash p2
    at 9000 partition p1 p3

Worlds may be wide: ``timing default`` is that of real groups (heartbeats every 100 ms, suspicion
after 1.5 s; ``quick``: 20 ms and 100 ms), ``distance_us`` is what every message takes at least,
``far p q`` says it of one channel, ``clocks apart`` gives every process a clock of its own offset
and rate, ``state none`` is an application without a state to be given to joiners. With ``awkward
1`` applications multicast where it is least expected: at once in a delivery, at every view, when
blocked; and joiners begin transactions at their first view. With ``calls 1`` some answers are calls
of the whole group; with ``limits tight`` a few bytes fill every buffer, applications fall behind,
and who takes nothing for a while is given up.

Several groups of one causality domain are said by name (``domain_world``):

    group A p1 p2 p3
    group B p2 p3 p4
    resilience 1
    overlaps A B
    at 1000 causal p1 1 in A
    expect p3 delivers p1/1

Law: a scenario and nothing else decides what happens in a world. The text form reads back to the
same scenario, so a failure can be kept, sent, shrunk and replayed.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name
from antiphon.core.runs import Order
from antiphon.membership.failure_detector import Timing
from antiphon.ordering.total import POLICIES
from antiphon.sim.declared import check_founders, declared_structure
from antiphon.sim.expectations import Expectation, parse_expectation
from antiphon.stack.blocks import Blocks
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.overlay import Overlay
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Limits

Verb = Literal[
    "multicast",  # p, how many messages, in the mixture of orders of the world
    "fifo",       # p, how many messages, in this order; likewise
    "causal",
    "total",
    "uniform",    # p, how many messages, causal and uniform; likewise
    "uniform-fifo",
    "uniform-total",
    "send",       # p, a letter to q
    "answer",     # p, one message in answer to the last that it has delivered, if any
    "begin",      # p, a transaction
    "call",       # p, of all other members
    "crash",      # p; amount 1: the others can tell at once, as from a refused connection
    "pause",      # p does nothing, and what arrives waits
    "resume",     # p
    "partition",  # these from all others
    "heal",
    "slow",       # from p to q, by how many microseconds more, until all faults end
    "far",        # from p to q, how many microseconds the way takes at least, for good
    "down",       # the link from p to q: nothing arrives, and nothing is lost
    "up",         # the link from p to q
    "busy",       # p looks at what has come only every so many microseconds; 0: no longer
    "condemn",    # p gives q up, as one that takes nothing for too long
    "join",       # p, as a new incarnation if it was there before
    "leave",      # p
    "takeover",   # p goes on alone if it is blocked, as an operator tells it to
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One thing done to a world."""

    time_us: int
    verb: Verb
    who: tuple[str, ...] = ()
    amount: int = 0
    group: str = ""
    """The group in which it is done, if it is not the first one."""

    def __str__(self) -> str:
        """As a line of a scenario."""
        amount = [str(self.amount)] if self.amount else []
        where = ["in", self.group] if self.group else []
        return " ".join(["at", str(self.time_us), self.verb, *self.who, *amount, *where])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A world, and what is done to it."""

    seed: int
    founders: int = 3
    """Members of the first group, p1, p2, ...; 0: all groups are said by name."""
    flush: str = "view-atomic"
    messages: int = 60
    """Messages multicast in all, answers included, at most."""
    answers: float = 0.5
    """How likely a process answers what it delivers."""
    delay_us: int = 1_000
    """Mean delay of a channel."""
    orders: str = "causal"
    """The mixture of orders in which messages are multicast."""
    letters: int = 0
    """1: some answers are letters."""
    transactions: int = 0
    """1: some answers begin transactions."""
    token: str = "follow"  # noqa: S105 - no secret
    """Where the token of the total order goes."""
    timing: str = "quick"
    """How often processes let hear of themselves, and how long silence is borne."""
    distance_us: int = 0
    """What every message takes at least, before the delay that varies."""
    clocks: str = "same"
    """Whether all clocks agree, or each has an offset and a rate of its own."""
    state: str = "kept"
    """Whether applications have a state, which joiners are given, or none."""
    awkward: int = 0
    """1: applications multicast at every awkward moment."""
    calls: int = 0
    """1: some answers are calls."""
    limits: str = "ample"
    """How much fits into buffers: all that a world has to say, or a few bytes."""
    protocol: str = "vector"
    """How messages reach the members: with vector time, over an overlay, or as causal blocks."""
    loss: float = 0.0
    """How many datagrams are lost; half as many arrive twice, and as many are late."""
    start: str = "founded"
    """Whether the world begins with the group founded, or its founders start apart and found it."""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Further groups, in one causality domain with the first: name, and founders."""
    resilience: str = "1"
    """How many crashes lose nothing that another group depends on: 1, 2, ... or all."""
    overlaps: tuple[tuple[str, str], ...] = ()
    """Which groups may overlap, by names or patterns; none: nothing is declared of it."""
    excluded: tuple[str, ...] = ()
    """Groups in and out of which epochs lead."""
    expected: tuple[Expectation, ...] = ()
    """What is to become of a world of several groups."""
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """As text that reads back to the same scenario."""
        head = [
            "seed", "founders", "flush", "messages", "answers", "delay_us", "orders", "letters",
            "transactions", "token", "timing", "distance_us", "clocks", "state",
            "awkward", "calls", "limits",
        ]  # fmt: skip
        if self.start != "founded":
            head.append("start")
        if self.protocol != "vector":
            head.append("protocol")
        if self.loss:
            head.append("loss")
        if self.groups:
            head = [*OF_GROUPS]
        lines = [f"{name} {getattr(self, name)}" for name in head]
        lines += [" ".join(["group", name, *members]) for name, members in self.groups]
        lines += [f"overlaps {one} {other}" for one, other in self.overlaps]
        lines += [f"excluded {name}" for name in self.excluded]
        return "\n".join([*lines, *map(str, self.steps), *map(str, self.expected)]) + "\n"


_VERBS = get_args(Verb)

OF_GROUPS = (
    "seed", "founders", "flush", "messages", "answers", "delay_us", "distance_us", "timing",
    "orders", "letters", "resilience",
)  # fmt: skip
"""What the head of a scenario of several groups says."""

MIXTURES = ("causal", "ordered", "mixed", "perishable")
"""Mixtures of orders: causal only, any order, any order and uniform or not; with causal blocks,
also causal with priorities and lifetimes."""

TIMINGS = {
    "quick": Timing(heartbeat_us=20_000, timeout_us=100_000, timeout_us_max=400_000),
    "default": Timing(),
}
"""How often processes let hear of themselves, by name."""

LIMITS = {
    "ample": Limits(),
    "tight": Limits(unstable_bytes=60, held_bytes=30, queued_bytes=300, confirmed_bytes=100),
}
"""How much fits into buffers, by name."""

FIRST_GROUP = "g"
"""What the group of the founders is called."""

SAYINGS = {
    "fifo": How(Order.FIFO),
    "causal": How(Order.CAUSAL),
    "total": How(Order.TOTAL),
    "uniform": How(Order.CAUSAL, uniform=True),
    "uniform-fifo": How(Order.FIFO, uniform=True),
    "uniform-total": How(Order.TOTAL, uniform=True),
}
"""How messages are multicast, by verb."""

IN_GROUPS = ("multicast", *SAYINGS, "send", "join", "leave")
"""What is done in one of several groups."""

OF_PROCESSES = ("crash", "pause", "resume", "partition", "heal", "slow", "far", "down", "up")
"""What is done to processes, in all their groups."""

PROTOCOLS: dict[str, GroupProtocol | None] = {
    "vector": None,
    "blocks": Blocks(),
    "overlay": Overlay(),
    **{f"overlay-{name}": Overlay(name) for name in ("incomplete-hypercube", "ring", "tree")},
}
"""How messages reach the members, by name."""

CLOCKS = ("same", "apart")
STATES = ("kept", "none")
STARTS = ("founded", "apart")

STALL_BEATS = 4
"""Heartbeats, and some round trips, after which who takes nothing is given up, with little room."""

FOUNDERS_MAX = 1_000
MESSAGES_MAX = 10_000
TIME_US_MAX = 10**10

_NAMES = {
    **dict.fromkeys(("slow", "far", "down", "up", "send", "condemn"), (2, 2)),
    "heal": (0, 0), "partition": (1, FOUNDERS_MAX),
}  # fmt: skip
"""How many processes a verb is about, the fewest and the most, if it is not one."""


class _Lines:
    """What the lines of a scenario say, kind by kind."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.groups: dict[str, tuple[str, ...]] = {}
        self.overlaps: list[tuple[str, str]] = []
        self.excluded: list[str] = []
        self.steps: list[Step] = []
        self.expected: list[Expectation] = []

    def take(self, words: list[str]) -> None:
        match words:
            case ["at", *_]:
                self.steps.append(_parse_step(words))
            case ["expect", *_]:
                self.expected.append(parse_expectation(words))
            case ["group", name, *members]:
                self._take_group(name, members)
            case ["overlaps", one, other]:
                self.overlaps.append((one, other))
            case ["excluded", name]:
                self.excluded.append(name)
            case [name, value]:
                self.values[name] = value
            case _:
                message = (
                    "a line is a name and a value, a group, an overlap of two groups, a step or an "
                    "expectation"
                )
                raise ValueError(message)

    def _take_group(self, name: str, members: list[str]) -> None:
        if name in self.groups or not members or len(set(members)) < len(members):
            message = "a group has a name of its own, and members, each named once"
            raise ValueError(message)
        for each in (name, *members):
            check_name(each, "the name")
        self.groups[name] = tuple(members)


def parse_scenario(text: str) -> Scenario:
    """Read a scenario; raise :class:`UsageError` with the line that is wrong."""
    lines, places = _Lines(), dict[str, list[str]]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        try:
            if words:
                lines.take(words)
                place = f"line {number} of the scenario, {line.strip()!r},"
                places.setdefault(words[0], []).append(place)
        except (UsageError, ValueError, IndexError) as error:
            message = f"line {number} of the scenario, {line.strip()!r}, cannot be read: {error}"
            raise UsageError(message) from None
    try:
        scenario = _checked(_head_of(lines), lines.values)
    except (UsageError, ValueError) as error:
        message = f"the scenario's head cannot be read: {error}"
        raise UsageError(message) from None
    _check_names(scenario, [*places.get("at", []), *places.get("expect", [])])
    return scenario


def _head_of(lines: _Lines) -> Scenario:
    """Return the scenario that some lines make; what no head knows is left in ``values``."""
    values = lines.values
    if lines.groups and (other := [name for name in values if name not in OF_GROUPS]):
        message = f"there is no {', '.join(other)} in a scenario of several groups"
        raise ValueError(message)
    return Scenario(
        seed=int(values.pop("seed", "0")),
        founders=int(values.pop("founders", "0" if lines.groups else "3")),
        flush=values.pop("flush", "view-atomic"),
        messages=int(values.pop("messages", "60")),
        answers=float(values.pop("answers", "0.5")),
        delay_us=int(values.pop("delay_us", "1000")),
        orders=values.pop("orders", "causal"),
        letters=int(values.pop("letters", "0")),
        transactions=int(values.pop("transactions", "0")),
        token=values.pop("token", "follow"),
        timing=values.pop("timing", "quick"),
        distance_us=int(values.pop("distance_us", "0")),
        clocks=values.pop("clocks", "same"),
        state=values.pop("state", "kept"),
        awkward=int(values.pop("awkward", "0")),
        calls=int(values.pop("calls", "0")),
        limits=values.pop("limits", "ample"),
        protocol=values.pop("protocol", "vector"),
        loss=float(values.pop("loss", "0")),
        start=values.pop("start", "founded"),
        groups=tuple(lines.groups.items()),
        resilience=values.pop("resilience", "1") if lines.groups else "1",
        overlaps=tuple(lines.overlaps),
        excluded=tuple(lines.excluded),
        expected=tuple(lines.expected),
        steps=tuple(lines.steps),
    )


def read_scenario(path: Path) -> Scenario:
    """Read a scenario from a file; complain in one sentence if it cannot be."""
    try:
        return parse_scenario(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        message = f"scenario {path} cannot be read ({why}): give a text file that exists"
        raise UsageError(message) from None


def without_strangers(scenario: Scenario) -> Scenario:
    """Leave out what is done to processes that nobody knows: it does nothing."""
    known = known_names(scenario)
    steps: list[Step] = []
    for step in scenario.steps:
        who = tuple(name for name in step.who if name in known)
        if who == step.who:
            steps.append(step)
        elif step.verb == "partition" and who:
            steps.append(replace(step, who=who))
    return replace(scenario, steps=tuple(steps))


def known_names(scenario: Scenario) -> set[str]:
    """Return the founders, and all that join at some time: they may be spoken of before."""
    founders = {f"p{number}" for number in range(1, scenario.founders + 1)}
    founders.update(name for _, members in scenario.groups for name in members)
    return founders.union(*(step.who for step in scenario.steps if step.verb == "join"))


def _check_names(scenario: Scenario, places: list[str]) -> None:
    """Refuse a line about a process, or a group, that never exists, with its place in the text."""
    known = known_names(scenario)
    if scenario.groups:
        who = f"processes are {', '.join(sorted(known))}"
    else:
        who = f"processes are p1 to p{scenario.founders}, and those that a step lets join"
    said = [(step.who, step.group, _wrong_group(scenario, step)) for step in scenario.steps]
    for each in scenario.expected:
        group = each.about if each.what == "view" else ""
        said.append((each.processes, group, ""))
    groups = _group_names(scenario)
    for (names, group, wrong), place in zip(said, places, strict=True):
        for name in names:
            if name not in known:
                message = f"{place} names {name}, whom nobody knows: {who}"
                raise UsageError(message)
        if wrong:
            message = f"{place} {wrong}"
            raise UsageError(message)
        if group and group not in groups:
            message = f"{place} names group {group}: there is {', '.join(groups)}"
            raise UsageError(message)


def founders_of(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Return who founds the groups of a scenario that has several."""
    founders = tuple(f"p{number}" for number in range(1, scenario.founders + 1))
    return {**({FIRST_GROUP: founders} if founders else {}), **dict(scenario.groups)}


def _group_names(scenario: Scenario) -> list[str]:
    first = [FIRST_GROUP] if scenario.founders else []
    return [*first, *(name for name, _ in scenario.groups)]


def _wrong_group(scenario: Scenario, step: Step) -> str:
    """Say what is wrong with the group that a step names, or does not name."""
    if not scenario.groups:
        return "names a group, and there is one only: say `group NAME p q`" if step.group else ""
    if step.verb not in IN_GROUPS + OF_PROCESSES:
        return f"cannot be done where there are several groups: there is no {step.verb}"
    if step.verb in OF_PROCESSES:
        return f"names a group: {step.verb} is of a process in all its groups" if step.group else ""
    if not step.group and not scenario.founders:
        return f"does not say where: end it with `in {scenario.groups[0][0]}`"
    return ""


def _checked(scenario: Scenario, left_over: dict[str, str]) -> Scenario:
    """Return a scenario that can be lived through."""
    fewest = 0 if scenario.groups else 1
    is_number = scenario.resilience.isdecimal() and int(scenario.resilience) > 0
    checks = {
        f"there is no {', '.join(left_over)} in a scenario": not left_over,
        f"founders are from {fewest} to {FOUNDERS_MAX}": fewest
        <= scenario.founders
        <= FOUNDERS_MAX,
        "expect is for scenarios of several groups": scenario.groups or not scenario.expected,
        "overlaps and excluded are for scenarios of several groups": scenario.groups
        or not (scenario.overlaps or scenario.excluded),
        f"{FIRST_GROUP} is the group of the founders": scenario.founders == 0
        or FIRST_GROUP not in dict(scenario.groups),
        "resilience is 1, 2, ... or all": is_number or scenario.resilience == "all",
        f"messages are from 0 to {MESSAGES_MAX}": 0 <= scenario.messages <= MESSAGES_MAX,
        "answers is a probability": 0.0 <= scenario.answers <= 1.0,
        f"delay_us is from 0 to {TIME_US_MAX}": 0 <= scenario.delay_us <= TIME_US_MAX,
        f"orders is one of {', '.join(MIXTURES)}": scenario.orders in MIXTURES,
        f"token is one of {', '.join(POLICIES)}": scenario.token in POLICIES,
        f"timing is one of {', '.join(TIMINGS)}": scenario.timing in TIMINGS,
        f"distance_us is from 0 to {TIME_US_MAX}": 0 <= scenario.distance_us <= TIME_US_MAX,
        f"clocks is one of {', '.join(CLOCKS)}": scenario.clocks in CLOCKS,
        f"state is one of {', '.join(STATES)}": scenario.state in STATES,
        f"limits is one of {', '.join(LIMITS)}": scenario.limits in LIMITS,
        f"protocol is one of {', '.join(PROTOCOLS)}": scenario.protocol in PROTOCOLS,
        f"start is one of {', '.join(STARTS)}": scenario.start in STARTS,
        "loss is from 0 to below 1, and of blocks": 0.0 <= scenario.loss < 1.0
        and (not scenario.loss or scenario.protocol == "blocks"),
    }
    for said, is_right in checks.items():
        if not is_right:
            raise ValueError(said)
    structure = declared_structure(scenario.overlaps, scenario.excluded)
    if structure is not None:
        check_founders(structure, founders_of(scenario))
    return scenario


def _parse_step(words: list[str]) -> Step:
    time_us, verb, *rest = words[1:]
    group = ""
    if rest[-2:-1] == ["in"]:
        *rest, _, group = rest
    if verb not in _VERBS:
        message = f"there is no verb {verb!r}"
        raise ValueError(message)
    amount = int(rest.pop()) if rest and rest[-1].isdecimal() else 0
    fewest, most = _NAMES.get(verb, (1, 1))
    if not fewest <= len(rest) <= most:
        message = f"{verb} needs {fewest} name(s)"
        raise ValueError(message)
    if not (0 <= int(time_us) <= TIME_US_MAX and amount <= TIME_US_MAX):
        message = f"times and amounts are from 0 to {TIME_US_MAX}"
        raise ValueError(message)
    return Step(int(time_us), cast("Verb", verb), tuple(rest), amount, group)


def borne_stall_us(scenario: Scenario) -> int:
    """Return how long stalls are borne where there is little room: a few round trips at least."""
    far_us = [step.amount for step in scenario.steps if step.verb == "far"]
    way_us = max([scenario.distance_us, *far_us]) + 8 * scenario.delay_us
    timing = TIMINGS[scenario.timing]
    return max(STALL_BEATS * timing.heartbeat_us + 6 * way_us, 3 * timing.timeout_us)
