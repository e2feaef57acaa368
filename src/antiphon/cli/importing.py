"""``antiphon import``: how is this log understood? Then its verdict, and a file of our own."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from antiphon.cli.engines import Engine, judge
from antiphon.cli.log_options import ColumnsOption, RegexOption
from antiphon.cli.screen import output, print_json, verdict_screen
from antiphon.cli.terms import (
    BeginsLate,
    Domains,
    EndsEarly,
    Only,
    Subscriptions,
    names_clocks,
    only_clocks,
    read_terms,
    require_messages_for,
)
from antiphon.core.errors import UsageError
from antiphon.logs.clocks.judging import judge_clocks
from antiphon.logs.clocks.parsing import holds_clocks, read_clocks
from antiphon.logs.ids import numbered
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import log_at
from antiphon.logs.preview import Preview, preview
from antiphon.logs.reading import read_log
from antiphon.logs.writing import check_target, write_log
from antiphon.trace.log import Log

_ALWAYS = ("process", "kind", "sender", "first")
_NEVER = ("clock", "bytes", "overhead_bytes", "queue_depth")
"""Columns that are shown whatever is in them, and those that no verdict needs."""


def import_log(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="As for `antiphon verify`: files, folders, - for standard input."
        ),
    ],
    columns: ColumnsOption = None,
    regex: RegexOption = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Write the rows in our format: .ndjson, .ndjson.gz or .parquet."),
    ] = None,
    only: Only = "",
    begins_late: BeginsLate = "",
    ends_early: EndsEarly = "",
    subscriptions: Subscriptions = None,
    domains: Domains = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows to show.")] = 10,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document: rows, columns, verdict.")
    ] = False,
) -> None:
    """Show how a log is understood, then judge it.

    Its first rows are shown as Antiphon reads them, with the lines that they come from, which of
    its columns they are made of, and which are left out. If that is not what the log means, say so
    with --map. Then it is judged, as by `antiphon verify`; with --to, its rows are first written in
    Antiphon's own format.

    Exit status: 0 nothing is violated, 1 something is, 2 the log cannot be read.
    """
    terms = read_terms(
        only="" if names_clocks(only) else only,
        begins_late=begins_late,
        ends_early=ends_early,
        subscriptions=subscriptions,
        domains=domains,
    )
    if to is not None:
        check_target(to)
    with log_at(paths) as named:
        log = replace(named, columns=column_map(columns or []))
        if regex is not None or holds_clocks(log):
            _import_clocks(log, regex, rows, to, only, as_json=as_json)
        require_messages_for(log, only)
        with numbered(log) as ready:
            shown = preview(log, ready, rows)
            if not as_json:
                _show(shown)
            refused = _written(to, ready, as_json=as_json)
            verdict = judge(ready, Engine.AUTO, terms=terms)
    if as_json:
        document = {
            "rows": [
                {"file": file, "line": line} | _said(event) for event, file, line in shown.rows
            ],
            "columns": shown.read_as,
            "left_out": shown.left_out,
            "verdict": verdict,
        }
        print_json(msgspec.json.format(msgspec.json.encode(document)))
    else:
        output.print(verdict_screen(verdict))
    if refused is not None:
        raise refused
    raise typer.Exit(1 if verdict.is_violated else 0)


def _written(to: Path | None, ready: Log, *, as_json: bool) -> UsageError | None:
    """Write the rows, if they are wanted; return why they could not be: they are still judged."""
    if to is not None:
        try:
            row_count = write_log(to, read_log(ready))
        except UsageError as refusal:
            return refusal
        if not as_json:
            output.print(f"{to}: {row_count:,} rows", soft_wrap=True, markup=False)
    return None


def _import_clocks(
    log: Log, regex: str | None, rows: int, to: Path | None, only: str, *, as_json: bool
) -> NoReturn:
    """Show and judge a log of clocks."""
    if to is not None:
        message = f"{to}: a log of clocks names no messages, and cannot be written in our format"
        raise UsageError(message)
    shown = read_clocks(log, regex).events[:rows]
    verdict = only_clocks(judge_clocks(log, regex), only)
    if as_json:
        print_json(msgspec.json.format(msgspec.json.encode({"rows": shown, "verdict": verdict})))
        raise typer.Exit(1 if verdict.is_violated else 0)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", "host", "clock", "event"):
        table.add_column(name, overflow="fold")
    for event in shown:
        clock = " ".join(f"{host}:{entry}" for host, entry in event.clock.items())
        place = f"{Path(event.file).name}:{event.line}"
        table.add_row(*map(Text, (place, event.host, clock, event.text)))
    output.print(table)
    output.print()
    output.print(verdict_screen(verdict))
    raise typer.Exit(1 if verdict.is_violated else 0)


def _said(event: object) -> dict[str, object]:
    said: dict[str, object] = msgspec.to_builtins(event)
    return said


def _show(shown: Preview) -> None:
    """Print the first rows, and what became of the columns."""
    said = [_said(event) for event, _, _ in shown.rows]
    names = [name for name in _ALWAYS if any(name in row for row in said)]
    names += [
        name
        for name in dict.fromkeys(name for row in said for name in row)
        if name not in _ALWAYS and name not in _NEVER
    ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", style="dim", overflow="fold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row, (_, file, line) in zip(said, shown.rows, strict=True):
        cells = [Text(_cell(row.get(name))) for name in names]
        table.add_row(Text(f"{Path(file).name}:{line}"), *cells)
    output.print(table)
    renamed = [f"{theirs} is {ours}" for theirs, ours in shown.read_as.items() if theirs != ours]
    if renamed:
        output.print(Text(f"columns: {', '.join(renamed)}"))
    if shown.left_out:
        output.print(Text(f"left out: {', '.join(shown.left_out)}", style="dim"))
    output.print()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
