"""A trace of any size as one table, every row checked by the trace's own reader.

Law: each file is streamed by one task, so memory is a pack of rows; what cannot be judged
raises :class:`TraceError` with the reader's one sentence, that of the first bad file. Rows are
kept, in memory or on disk, for the steps that follow: a trace is read once. Columns and reports
are those of ``reading``. Cost: all of it is Python, a few microseconds per row and core, however
many messages a row stands for.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.column_reading import FrameReader
from antiphon.pipeline.ingest.columns import with_index
from antiphon.pipeline.ingest.parquet import reader_of
from antiphon.pipeline.ingest.reading import LINES, READ_TYPES, Report, Strand, read_source
from antiphon.pipeline.ingest.row_groups import parted
from antiphon.pipeline.ingest.sources import Source, deal, find_sources, sources_of
from antiphon.pipeline.tables.chunks import column, numbers, unpacked
from antiphon.pipeline.tables.table import Executor, Table
from antiphon.trace.continuity import Tally, Truncation, check_spans
from antiphon.trace.domains import named_domains
from antiphon.trace.segments import Segment
from antiphon.trace.verdict import ALL, Terms

__all__ = ["Source", "Trace", "find_sources", "ingest", "ingest_columns", "named", "sources_of"]

_NAMED = {
    "run": "string",
    "process": "string",
    "kind": "string",
    "group": "string",
    "view": "bigint",
    "sender": "string",
    "first": "bigint",
    "count": "bigint",
    "file": "string",
    "line": "bigint",
    "position": "bigint",
}


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace whose files have been read."""

    packs: Table
    """Multicast and deliver rows: ``segment``, and thousands of ``rows`` in one value."""
    ballots: Table
    """Vote and decide rows, likewise."""
    reports: list[Report]
    """By file."""
    files: list[str]
    sources: Sequence[Source] = ()
    """The files, to be looked into again, once they are fetched:"""
    fetched: Callable[[Source], AbstractContextManager[Source]] = nullcontext

    @property
    def has_ids(self) -> bool:
        """Whether users have named messages in their own way."""
        return any(report.has_ids for report in self.reports)

    @property
    def truncated(self) -> list[Truncation]:
        """Return which files end in the middle of a row."""
        return [item for report in self.reports for item in report.truncated]


@contextmanager
def ingest(executor: Executor, sources: Sequence[Source], terms: Terms = ALL) -> Iterator[Trace]:
    """Read and check every file; keep the rows for as long as they are needed."""
    sources = parted(sources)
    hands = deal(sources, executor.core_count)
    tasks = executor.numbered(len(hands))
    with tasks.map(partial(_read, hands=hands), READ_TYPES).kept() as kept:
        reports = _collect_reports(kept)
        _check(sources, reports, terms)
        yield Trace(
            packs=kept.having("rows", "segment"),
            ballots=kept.having("ballots", "segment"),
            reports=reports,
            files=[source.segment.file for source in sources],
            sources=sources,
        )


@contextmanager
def ingest_contents(
    table: Table,
    sources: dict[str, Source],
    fetched: Callable[[Source], AbstractContextManager[Source]],
    terms: Terms = ALL,
) -> Iterator[Trace]:
    """Read files that are elsewhere: ``table`` has the address, ``path``, and ``content`` of each.

    ``fetched`` brings one of them here, to be looked into again.
    """
    ordered = sorted(sources.values(), key=lambda source: source.number)
    with table.map(partial(_read_contents, sources=sources), READ_TYPES).kept() as kept:
        reports = _collect_reports(kept)
        if len(reports) < len(ordered):
            known = {report.number for report in reports}
            gone = next(source for source in ordered if source.number not in known)
            message = f"{gone.segment.file}:1: is gone meanwhile: judge what is there now"
            raise TraceError(message)
        _check(ordered, reports, terms)
        yield Trace(
            packs=kept.having("rows", "segment"),
            ballots=kept.having("ballots", "segment"),
            reports=reports,
            files=[source.segment.file for source in ordered],
            sources=ordered,
            fetched=fetched,
        )


@contextmanager
def ingest_columns(
    table: Table, part_count: int, run: str, *, is_numbered: bool, terms: Terms = ALL
) -> Iterator[Trace]:
    """Read a table of columns, in ``part`` the number of the part, rows of a process in order.

    ``run`` is what rows belong to that do not say; rows that are not numbered are numbered here.
    """
    file = Segment(Path("the DataFrame"), None, 1, last=False)
    sources = [Source(number, file, run) for number in range(part_count)]
    kernel = partial(_read_columns, sources=sources, is_numbered=is_numbered)
    with table.map(kernel, READ_TYPES).kept() as kept:
        reports = _collect_reports(kept)
        _check(sources, reports, terms)
        yield Trace(
            packs=kept.having("rows", "segment"),
            ballots=kept.having("ballots", "segment"),
            reports=reports,
            files=[""] * part_count,
        )


def named(trace: Trace) -> Table:
    """Return the rows one by one, with the names they were recorded with: for people."""
    reports = {
        report.number: (file, report.strands)
        for report, file in zip(trace.reports, trace.files, strict=True)
    }
    return trace.packs.map(partial(_name, reports=reports), _NAMED)


def _name(
    batches: Iterable[pa.RecordBatch], *, reports: dict[int, tuple[str, list[Strand]]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment").tolist(), packs, strict=True):
            strand, first, count, position, _, line = rows
            file, strands = reports[segment]
            which = column(strand)
            whose = [
                pa.array([getattr(strand, name) for strand in strands]).take(which)
                for name in ("run", "process", "group", "view", "sender")
            ]
            kind = pa.array(
                ["multicast" if strand.is_multicast else "deliver" for strand in strands]
            ).take(which)
            run, process, group, view, sender = whose
            columns = [
                run, process, kind, group, view, sender, column(first), column(count),
                pa.array([file] * len(line)), column(line), column(position),
            ]  # fmt: skip
            yield pa.RecordBatch.from_arrays(columns, names=list(_NAMED))


def _read(
    batches: Iterable[pa.RecordBatch], *, hands: list[list[Source]]
) -> Iterator[pa.RecordBatch]:
    """Read the files of one task."""
    for batch in batches:
        for hand in numbers(batch, "id"):
            for source in hands[hand]:
                yield from read_source(source, reader_of(source))


def _read_contents(
    batches: Iterable[pa.RecordBatch], *, sources: dict[str, Source]
) -> Iterator[pa.RecordBatch]:
    """Read files whose content comes along."""
    for batch in batches:
        for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
            with written_down(sources[path.as_py()], content.as_buffer()) as source:
                yield from read_source(source, reader_of(source))


@contextmanager
def written_down(source: Source, content: "pa.Buffer | bytes") -> Iterator[Source]:
    """Keep the content of a file here for a while; what its name and its folder's say, it says."""
    segment = source.segment
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        file = Path(folder) / segment.path.parent.name / segment.path.name
        file.parent.mkdir()
        file.write_bytes(content)
        yield source._replace(segment=segment._replace(path=file))


def _read_columns(
    batches: Iterable[pa.RecordBatch], *, sources: list[Source], is_numbered: bool
) -> Iterator[pa.RecordBatch]:
    """Read one part of a table."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None or not first.num_rows:
        return
    source = sources[int(numbers(first, "part")[0])]
    rows: Iterable[pa.RecordBatch] = itertools.chain([first], batches)
    rows = rows if is_numbered else with_index(rows)
    yield from read_source(source, FrameReader(source, rows))


def _collect_reports(kept: Table) -> list[Report]:
    reports = [
        msgspec.json.decode(blob.as_buffer(), type=Report)
        for batch in kept.having("report").batches()
        for blob in batch.column("report")
    ]
    return sorted(reports, key=lambda report: report.number)


def _check(sources: Sequence[Source], reports: list[Report], terms: Terms) -> None:
    """Raise what the first bad file had to say, then what only all of them together show."""
    for report in reports:
        if report.error:
            raise TraceError(report.error)
    if not any(report.records for report in reports):
        message = f"{sources[0].segment.file}:1: the trace is empty: no process wrote any row"
        raise TraceError(message)
    for report in reports:
        for span in report.spans:
            span.run = span.run or sources[report.number].run
    try:
        check_spans((span for report in reports for span in report.spans), terms)
    except TraceError:
        _complain_of_rows({source.segment for source in sources if source.part is not None})
        raise
    files = [source.segment.file for source in sources]
    named_domains(naming for report in reports for naming in report.namings(files[report.number]))


def _complain_of_rows(segments: Iterable[Segment]) -> None:
    """Say what is wrong within a file that was read in parts, as one who reads all of it does."""
    for segment in sorted(segments, key=lambda segment: segment.file):
        for _ in read_log_segment(segment, Tally()):
            pass
