"""The words in which a verdict on clocks is given.

Law: as in ``words``: nothing is decided here. An event is named by its host and its place among the
host's events, from 1.
"""

from collections.abc import Sequence

from antiphon.trace.words import counted, listed

NO_OTHER = "no event knows of another host's, so there is nothing to judge"


def event(host: str, number: int, text: str) -> str:
    """Name an event."""
    return f"event {number} of {host}" + (f" ({text})" if text else "")


def wrong_own(name: str, host: str, entry: int, expected: int) -> str:
    """Say that a host did not count its events one by one."""
    said = f"has {entry}" if entry else "has no entry"
    return f"{name} {said} for {host} itself, where {expected} was expected"


def forgotten(name: str, other: str, entry: int, before: int) -> str:
    """Say that an entry fell from one event of a host to the next."""
    return f"{name} has {entry} for {other}, where the event before it had {before}"


def beyond(name: str, other: str, entry: int, last: int) -> str:
    """Say that an event knows what never happened."""
    return f"{name} has {entry} for {other}, whose last entry for itself is {last}"


def circular(name: str, other: str) -> str:
    """Say that two events each know the other."""
    return f"{name} knows {other}, which knows it already"


def incomplete(name: str, known: str, third: str, entry: int, expected: int) -> str:
    """Say that an event knows another, and not all that this one knew."""
    return f"{name} knows {known}, which had {expected} for {third}, but has {entry} for it"


def hosts_without_events(names: Sequence[str]) -> str:
    """Say about whom nothing can be known."""
    if not names:
        return ""
    return (
        f"{counted(len(names), 'host has', 'hosts have')} no event in the log, and what is said of "
        f"them is left out: {listed(names)}"
    )


def lines_left_out(count: int, file: str, line: int) -> str:
    """Say what was not read."""
    if not count:
        return ""
    return f"{counted(count, 'line is', 'lines are')} no event and left out, first {file}:{line}"
