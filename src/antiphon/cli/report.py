"""``antiphon report``: a run as one page, to look at and to show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import msgspec
import typer

from antiphon.cli.engines import Engine, judge
from antiphon.cli.log_options import ColumnsOption, beside
from antiphon.cli.report_summaries import SummaryPage, summary_page
from antiphon.cli.screen import output, print_json, progress_bar, verdict_screen
from antiphon.cli.terms import BeginsLate, Domains, EndsEarly, Only, Subscriptions, read_terms
from antiphon.cli.verify import save_verdict
from antiphon.core.errors import UsageError
from antiphon.logs.clocks.parsing import require_messages
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.trace.log import Log
from antiphon.trace.run_folder import RunFolder, RunRecord, write_whole
from antiphon.trace.segments import EVENTS_FOLDER, segments
from antiphon.trace.verdict import ALL, Terms, Verdict


class _Asked(NamedTuple):
    """How a run is to be judged."""

    engine: Engine | None = None
    columns: Sequence[str] = []
    terms: Terms = ALL


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="As for `antiphon verify`: a run folder, files, folders, - for standard input; or "
            "the folder of a sweep or of a reproduction.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write; if left out, report.html in the run folder, or "
            "NAME.report.html beside a file (the first of several)."
        ),
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(
            help="Judge anew, as by `antiphon verify`; if left out, a verdict.json that is newer "
            "than the events is taken, or else it is judged as by --engine auto."
        ),
    ] = None,
    columns: ColumnsOption = None,
    only: Only = "",
    begins_late: BeginsLate = "",
    ends_early: EndsEarly = "",
    subscriptions: Subscriptions = None,
    domains: Domains = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a run, a sweep or a reproduction as one HTML page.

    Of a run it shows verdicts, measures, and a space-time diagram; of a sweep, how measures change
    with parameters; of a reproduction, a verdict per claim beside the paper's numbers.

    The diagram shows processes as lines, messages as arrows, what was held back, views as
    bands, crashes and suspicions; where a property is violated, the events that show it are
    numbered. It can be moved and zoomed. The page is one file that needs no network, for light and
    dark screens. Of a run of more than 100,000 events, the diagram holds those around what matters.

    Exit status: 0 nothing is violated, 1 something is (the page is written all the same), 2 the
    trace cannot be read, or the page not be written.
    """
    if len(paths) == 1 and (short := summary_page(paths[0])) is not None:
        _write_summary(short, _writable(out or paths[0] / "report.html"), as_json=as_json)
    terms = read_terms(
        only=only,
        begins_late=begins_late,
        ends_early=ends_early,
        subscriptions=subscriptions,
        domains=domains,
    )
    asked = _Asked(engine, columns or [], terms)
    _write_run(paths, out or beside(paths, "report.html", ".report.html"), asked, as_json=as_json)


def _write_run(paths: list[Path], target: Path, asked: _Asked, *, as_json: bool) -> NoReturn:
    """Write the page of a run, and end."""
    with opened_log(paths, column_map(asked.columns)) as log:
        require_messages(log, "has no page")
        _check_target(target, log)
        run = paths[0] if len(paths) == 1 else None
        verdict = _known_verdict(run, asked) if run else None
        unkept = None
        if verdict is None:
            verdict = judge(log, asked.engine or Engine.AUTO, terms=asked.terms)
            unkept = _unkept(run, verdict)
        document = _page(log, run, verdict)
    refused = _refused(target, document) or unkept
    if as_json:
        summary = {
            "report": str(target), "bytes": len(document), "events": verdict.event_count,
            "is_violated": verdict.is_violated,
        }  # fmt: skip
        print_json(msgspec.json.encode(summary))
    elif refused and refused is not unkept:
        output.print(verdict_screen(verdict))  # which may have taken an hour to find
    else:
        words = "violated" if verdict.is_violated else verdict.summary
        said = f"{target}: {len(document) / 1e6:.2f} MB, {words}; open it in a browser"
        output.print(said, soft_wrap=True, markup=False)
    if refused:
        raise refused
    raise typer.Exit(1 if verdict.is_violated else 0)


def _refused(target: Path, document: bytes) -> UsageError | None:
    """Write the page; return why it could not be."""
    try:
        _write(target, document)
    except UsageError as refusal:
        return refusal
    return None


def _write(target: Path, document: bytes) -> None:
    try:
        write_whole(target, document)
    except OSError as error:
        message = f"{target}: cannot be written ({error.strerror}): choose another file with --out"
        raise UsageError(message) from error


def _write_summary(summary: SummaryPage, target: Path, *, as_json: bool) -> NoReturn:
    """Write the page of a sweep or a reproduction, and end."""
    _write(target, summary.document)
    if as_json:
        said = {
            "report": str(target), "bytes": len(summary.document), "count": summary.item_count,
            "is_violated": summary.is_bad,
        }  # fmt: skip
        print_json(msgspec.json.encode(said))
    else:
        size = f"{len(summary.document) / 1e6:.2f} MB"
        words = f"{target}: {size}, {summary.words}; open it in a browser"
        output.print(words, soft_wrap=True, markup=False)
    raise typer.Exit(1 if summary.is_bad else 0)


def _check_target(out: Path, log: Log) -> None:
    """Complain now, not after long work, if the page cannot go there."""
    files = [segment.path for segment in segments(log)]
    _writable(out)
    if any(out.exists() and out.samefile(file) for file in files):
        message = f"{out}: is part of the trace: choose another file with --out"
        raise UsageError(message)


def _writable(out: Path) -> Path:
    """Return where the page goes, if it can be written at all."""
    if out.is_dir() or not out.parent.is_dir():
        why = "it is a folder" if out.is_dir() else "its folder is not there"
        message = f"{out}: cannot be written ({why}): choose another file with --out"
        raise UsageError(message)
    return out


def _unkept(run: Path | None, verdict: Verdict) -> UsageError | None:
    """Keep a verdict with its run; return why it could not be: the page is written all the same."""
    try:
        if run is not None:
            save_verdict(run, verdict)
    except UsageError as refusal:
        return refusal
    return None


def _known_verdict(path: Path, asked: _Asked) -> Verdict | None:
    """Return what was found before, if nothing else is asked for and no event is newer."""
    if asked != _Asked():
        return None
    try:
        if not (path / "run.json").is_file() or not (path / EVENTS_FOLDER).is_dir():
            return None
        file = RunFolder.open(path).verdict_path
        since_ns = max(segment.path.stat().st_mtime_ns for segment in segments(path))
        if file.stat().st_mtime_ns < since_ns:
            return None
        verdict = msgspec.json.decode(file.read_bytes(), type=Verdict)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # not there, or damaged: judged anew
    return None if verdict.terms.only else verdict


def _page(log: Log, run: Path | None, verdict: Verdict) -> bytes:
    from antiphon.report.making import make_page

    record = None if run is None else _record(run)
    with progress_bar("reading", verdict.event_count) as (bar, task):
        task_id = bar.task_ids[task]

        def on_step(name: str, rows: int) -> None:
            bar.update(task_id, description=name, completed=rows)

        return make_page(log, verdict, record, on_step).encode("utf-8", "replace")


def _record(path: Path) -> RunRecord | None:
    return RunFolder.open(path).record if (path / "run.json").is_file() else None
