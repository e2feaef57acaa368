"""What a user says of a log: how it is to be read, where what is made of it goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from antiphon.logs.opening import STANDARD_INPUT_PATH
from antiphon.trace.log import STANDARD_INPUT

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


def beside(paths: Sequence[Path], within: str, ending: str) -> Path:
    """Return where what is made of a log goes: into its folder, or beside its (first) file.

    What is made of standard input goes into the current folder.
    """
    first = paths[0]
    if first == STANDARD_INPUT_PATH:
        return Path(STANDARD_INPUT + ending)
    return first / within if first.is_dir() else first.with_name(first.stem + ending)
