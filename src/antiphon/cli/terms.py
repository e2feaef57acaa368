"""On which terms a trace is judged, as the command line says it.

Law: what is not understood is refused in a sentence that lists what would be, before anything is
read.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.core.errors import UsageError
from antiphon.trace.log import Log
from antiphon.trace.schema import Name
from antiphon.trace.verdict import ClockProperty, Property, Terms, Verdict

Only = Annotated[
    str,
    typer.Option(
        help="Judge these properties alone, for example causal,fifo; all if left out.",
        metavar="PROPERTIES",
    ),
]
BeginsLate = Annotated[
    str,
    typer.Option(
        help="The records of these processes, or of all, lack their beginnings: nobody is held to "
        "what may have come before.",
        metavar="NAMES|all",
    ),
]
EndsEarly = Annotated[
    str,
    typer.Option(
        help="The records of these processes, or of all, lack their ends: nobody is held to what "
        "may have come later.",
        metavar="NAMES|all",
    ),
]
Subscriptions = Annotated[
    Path | None,
    typer.Option(
        help="A JSON file that says, by group, who is to receive its messages: "
        '{"orders": ["bob", "carol"]}.'
    ),
]


class DomainsChoice(StrEnum):
    """What groups are that name no domain themselves."""

    ONE = "one"
    EACH = "each"


Domains = Annotated[
    DomainsChoice | None,
    typer.Option(
        help="Of groups whose rows name no `domain`: one: causality holds across all of them. "
        "each: within each of them only. If left out, and somebody is in several, it is unknown.",
    ),
]


def read_terms(
    *,
    only: str = "",
    begins_late: str = "",
    ends_early: str = "",
    subscriptions: Path | None = None,
    domains: DomainsChoice | None = None,
) -> Terms:
    """Return the terms that these options stand for."""
    return Terms(
        only=_properties(only),
        begins_late=tuple(_names(begins_late)),
        ends_early=tuple(_names(ends_early)),
        subscriptions={} if subscriptions is None else _subscriptions(subscriptions),
        domains="" if domains is None else domains.value,
    )


def only_clocks(verdict: Verdict, only: str) -> Verdict:
    """Return the verdict on a log of clocks, with these properties alone."""
    names = _names(only)
    known = [which.value for which in ClockProperty]
    for name in names:
        if name not in known:
            message = (
                f"--only: {name!r} cannot be judged here, where there are clocks and no messages: "
                f"choose from {', '.join(known)}"
            )
            raise UsageError(message)
    kept = [item for item in verdict.properties if not names or item.property.value in names]
    return msgspec.structs.replace(verdict, properties=kept)


def names_clocks(only: str) -> bool:
    """Whether a list names properties of clocks alone."""
    names = _names(only)
    return bool(names) and {*names} <= {which.value for which in ClockProperty}


def require_messages_for(log: Log, only: str) -> None:
    """Complain if a log of messages is asked for what clocks tell."""
    if names_clocks(only):
        message = f"--only: {log} holds messages, and {only} is about clocks: leave it out"
        raise UsageError(message)


def _properties(text: str) -> tuple[Property, ...]:
    """Return the properties that a list names, each once."""
    names = _names(text)
    known = {which.value: which for which in Property}
    for name in names:
        if name not in known:
            message = f"--only: {name!r} is no property: choose from {', '.join(known)}"
            raise UsageError(message)
    if text and not names:
        message = f"--only: no property is named: choose from {', '.join(known)}"
        raise UsageError(message)
    return tuple(which for which in Property if which.value in names)


def _subscriptions(path: Path) -> dict[str, tuple[str, ...]]:
    """Return who subscribes to which group, as a file says."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, tuple[Name, ...]])
    except OSError as error:
        problem = f"cannot be read ({error.strerror}): check the path and its permissions"
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        problem = (
            f'not subscriptions ({error}): expected one JSON object like {{"orders": ["bob", '
            f'"carol"]}}, for each group those who are to receive its messages'
        )
    message = f"{path}: {problem}"
    raise UsageError(message)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
