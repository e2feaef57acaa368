"""The options by which a user says how a log is to be read: the same wherever a log is named."""

from typing import Annotated

import typer

ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="OURS=THEIRS,...",
        help="Other people's columns and values: sender=from,first=seq,kind:multicast=SEND; "
        "dots lead into objects (sender=headers.from); kind:skip=PING leaves rows out; id=uuid "
        "numbers messages that have ids. docs/any-log.md",
    ),
]

RegexOption = Annotated[
    str | None,
    typer.Option(
        "--regex",
        metavar="EXPRESSION",
        help="For logs of clocks (ShiViz, GoVector): how to find events, with the groups host, "
        "clock and event. The usual ones are known.",
    ),
]
