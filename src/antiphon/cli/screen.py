"""How verdicts and figures look on a terminal.

Law: what a person sees first is the answer. Colour only on a terminal; standard output carries
results, standard error carries progress, so that piping a command never loses either. Where
standard output takes no more, that is one sentence, and what a verdict comes to is in it.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from antiphon.core.errors import UsageError, reason_of
from antiphon.trace import words
from antiphon.trace.verdict import Link, PropertyVerdict, Status, Verdict, Violation


class OutputError(UsageError):
    """Standard output takes no more."""


@contextmanager
def _told_if_it_fails() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # whoever read it has seen enough
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # or Python would try once more, and complain
        message = f"standard output cannot be written ({reason_of(error)}): send it elsewhere"
        raise OutputError(message) from error


class _Output(Console):
    def print(self, *things: Any, **how: Any) -> None:  # noqa: ANN401 - as a console's
        with _told_if_it_fails():
            super().print(*things, **how)


output = _Output(highlight=False, soft_wrap=False)
"""Results."""

progress_output = Console(stderr=True, highlight=False)
"""Progress, and nothing else."""

_MARKS = {
    Status.HOLDS: ("✓", "+", "green"),
    Status.VIOLATED: ("✗", "!", "bold red"),
    Status.UNKNOWN: ("?", "?", "yellow"),
}
"""The mark of a verdict, the same in ASCII, and the colour."""


def spell_what_cannot_be_shown() -> None:
    """Write letters that standard output's encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def spelt(said: str) -> str:
    """Return words as standard output can show them, so that they are laid out rightly."""
    return said.encode(output.encoding, "backslashreplace").decode(output.encoding)


def print_json(document: bytes) -> None:
    """Print one JSON document, which is UTF-8 whatever the terminal."""
    with _told_if_it_fails():
        typer.echo(document)


@contextmanager
def at_least_told(verdict: Verdict) -> Iterator[None]:
    """Say in one sentence what a verdict comes to, should it not be possible to print it."""
    try:
        yield
    except OutputError as error:
        message = f"{error}; {verdict.summary}"
        raise OutputError(message) from error


def say_worlds(count: int) -> str:
    """Return so many worlds, in words."""
    return f"{count:,} world{'s' if count != 1 else ''}"


def verdict_mark(status: Status) -> Text:
    """Return the mark and the word of a verdict, in its colour."""
    mark, in_ascii, style = _MARKS[status]
    return Text(f"{in_ascii if output.options.ascii_only else mark} {status.value}", style=style)


class _DoneColumn(MofNCompleteColumn):
    """How much of how much is done; nothing, where nobody knows."""

    def render(self, task: Task) -> Text:
        """Return it."""
        return Text() if task.total is None else super().render(task)


@contextmanager
def progress_bar(
    what: str, total: float | None = None, *, time_left: bool = False
) -> Iterator[tuple[Progress, int]]:
    """Show a bar on standard error, if that is a terminal; gone when done."""
    left = [TextColumn("left"), TimeRemainingColumn()] if time_left else []
    bar = Progress(
        SpinnerColumn("line" if progress_output.options.ascii_only else "dots"),
        TextColumn("{task.description}"),
        BarColumn(),
        _DoneColumn(),
        TimeElapsedColumn(),
        *left,
        console=progress_output,
        transient=True,
        disable=not progress_output.is_terminal,
    )
    with bar:
        yield bar, int(bar.add_task(what, total=total))


def verdict_screen(verdict: Verdict) -> RenderableType:
    """Return the verdict as a table, and explanations of what is violated: all that there are."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("property", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("", overflow="fold")
    for item in verdict.properties:
        table.add_row(item.property.value, verdict_mark(item.status), _remark(item))
    extent = words.extent(
        verdict.event_count, verdict.process_count, verdict.message_count, verdict.delivery_count
    )
    judged = f"{verdict.run}: {extent}, judged by {verdict.engine}"
    parts: list[RenderableType] = [table, Text(spelt(judged), style="dim")]
    for item in verdict.properties:
        parts.extend(map(violation_screen, item.violations))
        more = item.violation_count - len(item.violations)
        if item.violations and more:
            parts.append(Text(f"\n{item.property.value}: and {more:,} more", style="dim"))
    return Group(*parts)


def _remark(item: PropertyVerdict) -> Text:
    if item.status is Status.VIOLATED:
        times = "once" if item.violation_count == 1 else f"{item.violation_count:,} times"
        return Text(spelt(f"{times}; {item.reason}" if item.reason else times))
    return Text(spelt(item.reason))


def violation_screen(violation: Violation) -> RenderableType:
    """Return one violation: its sentence, then the chain with the lines of the trace."""
    title = Text(f"\n{violation.property.value}: ", style="bold red")
    title.append(spelt(violation.text), style="default")
    way = [Padding(_way(violation), (0, 0, 0, 2))] if violation.route else []
    return Group(title, *way, Padding(_Chain(violation), (0, 0, 0, 2)))


def _way(violation: Violation) -> Text:
    """Return the chain in one line: who told whom, in which group, and what was missing."""
    is_ascii = output.options.ascii_only
    hops = [(hop.sender, hop.group, hop.to) for hop in violation.route]
    sender, group, _ = hops[0]
    told = Text(words.way(hops, is_ascii=is_ascii), style="bold")
    direct = words.way([(sender, group, violation.process)], is_ascii=is_ascii)
    told.append(f", but {direct} {violation.missed()}", style="bold red")
    return told


class _Chain:
    """The events of a violation, each with its file and line: beside it, or else below it.

    Nothing is cut: what is longer than a line goes on in the next.
    """

    def __init__(self, violation: Violation) -> None:
        self._rows = [
            (Text(f"{number}."), Text(spelt(link.text)), Text(spelt(_place(link)), style="dim"))
            for number, link in enumerate(violation.chain, start=1)
        ]
        self._rows[-1][1].stylize("bold red")

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the events out for the width there is."""
        widths = [max(part.cell_len for part in parts) for parts in zip(*self._rows, strict=True)]
        is_wide = sum(widths) + 2 * len(widths) <= options.max_width
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for number, said, place in self._rows:
            if is_wide:
                table.add_row(number, said, place)
            else:
                table.add_row(number, said)
                table.add_row("", place)
        yield table


def _place(link: Link) -> str:
    return f"{link.file}:{link.line}" if link.file else f"{link.process}, row {link.index}"
