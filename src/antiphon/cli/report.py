"""``antiphon report``: a run as one page, to look at and to show."""

from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer

from antiphon.cli.engines import Engine, judge
from antiphon.cli.report_summaries import SummaryPage, summary_page
from antiphon.cli.screen import output, print_json, progress_bar, verdict_screen
from antiphon.cli.verify import save_verdict
from antiphon.core.errors import UsageError
from antiphon.trace.run_folder import RunFolder, RunRecord, write_whole
from antiphon.trace.segments import EVENTS_FOLDER, segments
from antiphon.trace.verdict import Verdict


def report(
    path: Annotated[
        Path,
        typer.Argument(
            help="A run folder, or newline-delimited JSON: a file or a folder; or the folder of a "
            "sweep or of a reproduction."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write; if left out, report.html in the run folder, or a "
            "file beside the trace."
        ),
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(
            help="Judge anew, as by `antiphon verify`; if left out, a verdict.json that is newer "
            "than the events is taken, or else it is judged as by --engine auto."
        ),
    ] = None,
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
    if (short := summary_page(path)) is not None:
        _write_summary(short, _writable(out or path / "report.html"), as_json=as_json)
    target = _target(path, out)
    verdict = _verdict(path, engine)
    document = _page(path, verdict)
    refused = _refused(target, document)
    if as_json:
        summary = {
            "report": str(target), "bytes": len(document), "events": verdict.event_count,
            "is_violated": verdict.is_violated,
        }  # fmt: skip
        print_json(msgspec.json.encode(summary))
    elif refused:
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


def _target(path: Path, out: Path | None) -> Path:
    """Return where the page goes; complain now, not after long work, if it cannot."""
    files = [segment.path for segment in segments(path)]
    if out is None:
        out = path / "report.html" if path.is_dir() else path.with_name(f"{path.stem}.report.html")
    _writable(out)
    if any(out.exists() and out.samefile(file) for file in files):
        message = f"{out}: is part of the trace: choose another file with --out"
        raise UsageError(message)
    return out


def _writable(out: Path) -> Path:
    """Return where the page goes, if it can be written at all."""
    if out.is_dir() or not out.parent.is_dir():
        why = "it is a folder" if out.is_dir() else "its folder is not there"
        message = f"{out}: cannot be written ({why}): choose another file with --out"
        raise UsageError(message)
    return out


def _verdict(path: Path, engine: Engine | None) -> Verdict:
    """Return what was found before, if that is newer than the events, or else judge."""
    if engine is None and (known := _known_verdict(path)) is not None:
        return known
    verdict = judge(path, engine or Engine.AUTO)
    save_verdict(path, verdict)
    return verdict


def _known_verdict(path: Path) -> Verdict | None:
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


def _page(path: Path, verdict: Verdict) -> bytes:
    from antiphon.report.making import make_page

    record = _record(path)
    with progress_bar("reading", verdict.event_count) as (bar, task):
        task_id = bar.task_ids[task]

        def on_step(name: str, rows: int) -> None:
            bar.update(task_id, description=name, completed=rows)

        return make_page(path, verdict, record, on_step).encode("utf-8", "replace")


def _record(path: Path) -> RunRecord | None:
    return RunFolder.open(path).record if (path / "run.json").is_file() else None
