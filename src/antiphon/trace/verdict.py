"""What checking a trace yields: a three-valued verdict per property, and explanations.

Law: ``holds`` is claimed only of what was judged, ``violated`` always comes with an explanation
(who, which two messages, the chain that links them, the lines of the trace), and everything
else is ``unknown`` with its reason. The oracle and the pipeline both fill these in.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import cast

import msgspec

from antiphon.core.errors import UsageError
from antiphon.trace import words

EXAMPLES_MAX = 3
"""Violations of a property that are explained."""


class Status(StrEnum):
    """The three values of a verdict."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


class Property(StrEnum):
    """What can be asked of a trace; definitions in docs/properties.md."""

    FIFO = "fifo"
    CAUSAL = "causal"
    NO_DUPLICATE = "no-duplicate"
    NO_CREATION = "no-creation"
    AGREEMENT = "agreement"
    VIEWS = "views"
    SENDING_VIEW = "sending-view"
    VIEW_ATOMIC = "view-atomic"
    NO_ORPHAN = "no-orphan"
    SELF_DELIVERY = "self-delivery"
    LIVENESS = "liveness"
    TOTAL = "total"
    TOTAL_CAUSAL = "total-causal"
    UNIFORM = "uniform"
    COMMIT = "commit"


class ClockProperty(StrEnum):
    """What can be asked of a log that holds clocks and no messages (docs/any-log.md)."""

    OWN = "clock-own"
    MEMORY = "clock-memory"
    FUTURE = "clock-future"
    MERGE = "clock-merge"


def as_property(which: Property | ClockProperty) -> Property:
    """Return what a verdict's field takes.

    A decoder knows one enumeration per field; verdicts on clocks are written, and never read back.
    """
    return cast("Property", which)


EVERYBODY = "all"
"""Stands for all processes."""


class Terms(msgspec.Struct, frozen=True):
    """On which terms a trace is judged: what is asked, beyond what the trace says itself."""

    only: tuple[Property, ...] = ()
    """The properties that are judged; empty: all."""
    begins_late: tuple[str, ...] = ()
    """Processes whose records lack their beginnings, if they show none; or ``all``."""
    ends_early: tuple[str, ...] = ()
    """Processes whose records lack their ends, if they show none; or ``all``."""
    subscriptions: dict[str, tuple[str, ...]] = {}
    """By group: who is to receive its messages; of other groups, its members are."""
    domains: str = ""
    """Of groups whose rows name no causality domain: all are ``one``, or ``each`` has its own."""

    def may_begin_late(self, process: str) -> bool:
        """Whether something may be missing before a record that has no ``start`` row."""
        return EVERYBODY in self.begins_late or process in self.begins_late

    def may_end_early(self, process: str) -> bool:
        """Whether something may be missing after a record that does not end quietly."""
        return EVERYBODY in self.ends_early or process in self.ends_early

    def check(self, groups: Iterable[str], processes: Iterable[str]) -> None:
        """Complain about terms that name what is not in the trace."""
        _check_known("--subscriptions", "group", self.subscriptions, set(groups))
        known = set(processes)
        for option, names in (
            ("--begins-late", self.begins_late),
            ("--ends-early", self.ends_early),
        ):
            _check_known(option, "process", [name for name in names if name != EVERYBODY], known)

    @property
    def asked(self) -> tuple[Property, ...]:
        """Return the properties that are judged, in the order in which verdicts list them."""
        return tuple(which for which in Property if not self.only or which in self.only)


def _check_known(option: str, what: str, names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            there = words.listed(each or f"'' (rows that name no {what})" for each in known)
            message = f"{option}: no {what} {name!r} is in the trace: it has {there}"
            raise UsageError(message)


ALL = Terms()
"""All properties, and nothing said but what the trace says."""


class MessageId(msgspec.Struct, frozen=True, order=True):
    """A message, named by who multicast it and its number in that group and view."""

    sender: str
    number: int
    group: str = ""
    view: int = 1
    id: str = ""
    """The user's own name for it, if the trace has one: in the row of its multicast, or else of
    its delivery at the first process by name."""

    def __str__(self) -> str:
        """As people say it: ``message 3 of alice``, with the user's own name for it, if any."""
        named = f' ("{self.id}")' if self.id else ""
        return f"message {self.number} of {self.sender}{named}"


class Link(msgspec.Struct, frozen=True):
    """One event of an explanation: where it is recorded, and what it says in words."""

    process: str
    index: int
    text: str
    file: str = ""
    line: int = 0


class Hop(msgspec.Struct, frozen=True):
    """A message of a chain over several groups: who multicast it where, and who took it on."""

    sender: str
    group: str
    to: str
    """Who delivered it and multicast the next one, or delivered it wrongly; the sender itself, if
    that multicast the next one, too."""


class Violation(msgspec.Struct, frozen=True):
    """One broken promise, explained."""

    property: Property
    process: str
    """Where it shows: the process that delivered wrongly, or failed to deliver."""
    message: MessageId | None
    """The message that should not have been delivered yet, or at all; or was not delivered.

    None where it is about a view itself, or a transaction."""
    earlier: MessageId | None
    """For orders and pasts: the message that had to come first, or along."""
    chain: tuple[Link, ...]
    """The events that link the two, in causal order, ending with the wrong one."""
    text: str
    """One sentence."""
    run: str = ""
    route: tuple[Hop, ...] = ()
    """Across groups: the messages of the chain, the earlier one first; within a group, none."""

    def missed(self) -> str:
        """Say when the earlier message of a route came to who delivered wrongly."""
        return words.when_missed(is_never=self.property is Property.NO_ORPHAN)


class PropertyVerdict(msgspec.Struct, frozen=True):
    """The verdict on one property."""

    property: Property
    status: Status
    violation_count: int = 0
    reason: str = ""
    """Why unknown, or what was left out of a ``holds``."""
    violations: tuple[Violation, ...] = ()
    """A few examples, the smallest first."""


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on one run."""

    run: str
    engine: str
    process_count: int
    event_count: int
    message_count: int
    delivery_count: int
    properties: tuple[PropertyVerdict, ...]
    """Those that were asked for."""
    terms: Terms = ALL
    """On which terms they were judged."""

    @property
    def is_violated(self) -> bool:
        """Whether any property is broken: exit status 1."""
        return any(item.status is Status.VIOLATED for item in self.properties)

    @property
    def summary(self) -> str:
        """What it comes to, in a few words."""
        violated = [
            item.property.value for item in self.properties if item.status is Status.VIOLATED
        ]
        return f"violated: {', '.join(violated)}" if violated else "nothing is violated"

    def of(self, which: Property | ClockProperty) -> PropertyVerdict:
        """Return the verdict on one property."""
        wanted = as_property(which)
        return next(item for item in self.properties if item.property is wanted)


def concluded(
    which: Property | ClockProperty,
    count: int,
    violations: Iterable[Violation],
    left_out: str = "",
    across: str = "",
    untested: str = "",
    around: str = "",
) -> PropertyVerdict:
    """Return the verdict on a property of which so many violations were found.

    ``left_out`` says what was not judged; ``across`` why something may be wrong across groups,
    where causes were looked for within each group only: then it is not known to hold. Nor is it
    where causes may have gone round a process, as ``around`` says, or if nothing was put to the
    test, for the reason ``untested``.
    """
    if untested and not count:
        return unknown(which, words.together(untested, left_out, across))
    if (across or around) and not count:
        apart = words.GROUPS_APART if across else ""
        return unknown(which, words.together(left_out, across, apart, around))
    return PropertyVerdict(
        property=as_property(which),
        status=Status.VIOLATED if count else Status.HOLDS,
        violation_count=count,
        reason=words.together(left_out, across),
        violations=tuple(violations),
    )


def unknown(which: Property | ClockProperty, reason: str) -> PropertyVerdict:
    """Return the verdict on what the trace cannot tell."""
    return PropertyVerdict(as_property(which), Status.UNKNOWN, reason=reason)
