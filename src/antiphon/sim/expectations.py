"""What a scenario of several groups expects: lines that begin with ``expect``, and their check.

    expect p3 delivers p1/1 p2/1         these messages, no others, in this order, over all groups
    expect p3 delivers p1/1 p2/1 in any order
    expect p3 never p1/1                 whatever else it delivers, none of these
    expect view B p2 p3 p4               all of these that live are in one view, of these members
    expect verdict no-orphan unknown     what the oracle says of a property

Law: ``p1/2`` is the second message that the application of p1 hands over, whatever its group. An
expectation is about the end of a world, and says nothing of how it came about; what it says is
checked against what applications were given and the last views, not against the trace.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from antiphon.trace.verdict import Property, Status, Verdict

_ANY_ORDER = ("in", "any", "order")

What = Literal["delivers", "delivers any", "never", "view", "verdict"]


class Expectation(NamedTuple):
    """One line."""

    what: What
    about: str
    """A process, a group, or a property."""
    names: tuple[str, ...]
    """Messages, members, or a verdict."""

    def __str__(self) -> str:
        """As a line of a scenario."""
        if self.what in {"view", "verdict"}:
            return " ".join(["expect", self.what, self.about, *self.names])
        verb = self.what.partition(" ")[0]
        after = _ANY_ORDER if self.what == "delivers any" else ()
        return " ".join(["expect", self.about, verb, *self.names, *after])

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that it names."""
        if self.what == "verdict":
            return ()
        if self.what == "view":
            return self.names
        return (self.about, *(name.partition("/")[0] for name in self.names))


class Ending(NamedTuple):
    """What became of a world."""

    delivered: Mapping[str, Sequence[str]]
    """What was delivered to each process, in order, over all groups."""
    views: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Of each group: the members of the last view of each process that lives and is in it."""
    verdict: Verdict


def parse_expectation(words: Sequence[str]) -> Expectation:
    """Read a line; raise :class:`ValueError` if it cannot be read."""
    match words:
        case ["expect", "view", group, *members] if members:
            return Expectation("view", group, tuple(members))
        case ["expect", "verdict", which, status]:
            if which not in {each.value for each in Property}:
                message = f"there is no property {which!r}"
                raise ValueError(message)
            if status not in {each.value for each in Status}:
                message = f"a property is one of {', '.join(each.value for each in Status)}"
                raise ValueError(message)
            return Expectation("verdict", which, (status,))
        case ["expect", process, "delivers", *messages]:
            if tuple(messages[-3:]) == _ANY_ORDER:
                return Expectation("delivers any", process, _messages(messages[:-3]))
            return Expectation("delivers", process, _messages(messages))
        case ["expect", process, "never", *messages] if messages:
            return Expectation("never", process, _messages(messages))
        case _:
            message = (
                "expect is followed by `p delivers p/1 q/1 [in any order]`, `p never q/1`, "
                "`view GROUP p q` or `verdict PROPERTY STATUS`"
            )
            raise ValueError(message)


def _messages(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        process, _, number = name.partition("/")
        if not process or not number.isdecimal() or not int(number):
            message = f"{name!r} is no message: p1/2 is the second that p1 multicasts"
            raise ValueError(message)
    return tuple(names)


def unmet(expected: Sequence[Expectation], ending: Ending) -> str:
    """Say which expectation is not met, the first of them; empty if all are."""
    for each in expected:
        found = _found(each, ending)
        if found is not None:
            return f"{each}: {found}"
    return ""


def _found(each: Expectation, ending: Ending) -> str | None:
    """Return what is there instead of what was expected, if it is not that."""
    if each.what == "view":
        return _other_view(each, ending.views.get(each.about, {}))
    if each.what == "verdict":
        item = ending.verdict.of(Property(each.about))
        return None if item.status.value in each.names else f"it is {item.status.value}"
    delivered = list(ending.delivered.get(each.about, ()))
    match each.what:
        case "delivers":
            is_met = delivered == list(each.names)
        case "delivers any":
            is_met = sorted(delivered) == sorted(each.names)
        case _:
            is_met = not set(delivered) & set(each.names)
    return None if is_met else f"it delivers {' '.join(delivered) or 'nothing'}"


def _other_view(each: Expectation, views: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return who is not where it should be."""
    for process in each.names:
        members = views.get(process)
        if members is None or sorted(members) != sorted(each.names):
            seen = "not in it" if members is None else f"in a view of {' '.join(members)}"
            return f"{process} is {seen}"
    return None
