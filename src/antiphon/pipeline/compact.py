"""From journals to Parquet: a trace that is read without Python per row.

Law: each file of the trace becomes one Parquet file of the same name, its rows in the same order
and checked by the trace's own reader; ``run.json`` is copied, so that the folder is a run folder
again. The journals stay as they are. What cannot be finished is taken away again. Cost: five
microseconds per row and core.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa

from antiphon.core.errors import TraceError, UsageError, reason_of
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.parquet import write_rows
from antiphon.pipeline.ingest.sources import Source, find_sources
from antiphon.pipeline.tables.chunks import numbers, text_column
from antiphon.pipeline.tables.table import Executor
from antiphon.trace.continuity import Span, Tally, Truncation, check_spans
from antiphon.trace.segments import EVENTS_FOLDER


class _Written(msgspec.Struct):
    """What became of one file."""

    row_count: int
    spans: list[Span]
    truncated: list[Truncation]
    error: str


class Compacted(NamedTuple):
    """What was written."""

    file_count: int
    row_count: int
    byte_count_before: int
    byte_count: int
    truncated: list[Truncation]
    """Which files ended in the middle of a row, which was left out."""


def compact(executor: Executor, path: Path, folder: Path) -> Compacted:
    """Write the trace at ``path`` as Parquet to a new folder."""
    sources = find_sources([path])
    if any(source.segment.path.suffix == ".parquet" for source in sources):
        message = f"{path}: this is Parquet already: nothing to do"
        raise UsageError(message)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"{folder}: there is something here already: name another folder with -o"
        raise UsageError(message)
    targets = _targets(sources, folder)
    try:
        for parent in {target.parent for target in targets}:
            parent.mkdir(parents=True, exist_ok=True)
        written = _written(executor, sources, targets)
        check_spans(span for item in written for span in item.spans)
        if (path / "run.json").is_file():
            shutil.copyfile(path / "run.json", folder / "run.json")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        message = f"{folder}: cannot be written ({reason_of(error)}): name another folder with -o"
        raise UsageError(message) from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    files = [target for target in targets if target.exists()]
    return Compacted(
        file_count=len(files),
        row_count=sum(item.row_count for item in written),
        byte_count_before=sum(source.segment.path.stat().st_size for source in sources),
        byte_count=sum(file.stat().st_size for file in files),
        truncated=[each for item in written for each in item.truncated],
    )


def _targets(sources: Sequence[Source], folder: Path) -> list[Path]:
    """Return where each file goes: journals to a folder per process, as they were."""
    return [
        folder / EVENTS_FOLDER / (segment.process or "") / f"{segment.path.stem}.parquet"
        for segment in (source.segment for source in sources)
    ]


def _written(executor: Executor, sources: list[Source], targets: list[Path]) -> list[_Written]:
    answers = executor.numbered(len(sources)).map(
        partial(_write, pairs=list(zip(sources, targets, strict=True))), {"answer": "string"}
    )
    written = [
        msgspec.json.decode(blob.as_buffer(), type=_Written)
        for batch in answers.batches()
        for blob in batch.column("answer")
    ]
    errors = sorted(item.error for item in written if item.error)
    if errors:
        raise TraceError(errors[0])
    if not any(item.row_count for item in written):
        message = f"{sources[0].segment.file}:1: the trace is empty: no process wrote any row"
        raise TraceError(message)
    return written


def _write(
    batches: Iterable[pa.RecordBatch], *, pairs: list[tuple[Source, Path]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in numbers(batch, "id").tolist():
            answer = msgspec.json.encode(_write_one(*pairs[number])).decode()
            yield pa.RecordBatch.from_arrays([text_column([answer])], names=["answer"])


def _write_one(source: Source, target: Path) -> _Written:
    tally = Tally()
    rows = read_log_segment(source.segment, tally)
    try:
        row_count = write_rows(target, (event for _, event in rows))
    except TraceError as refusal:
        return _Written(0, [], [], str(refusal))
    except OSError as error:
        why = reason_of(error)
        said = f"{target}: cannot be written ({why}): make room, or name another folder with -o"
        return _Written(0, [], [], said)
    return _Written(row_count, tally.spans, tally.truncated, "")
