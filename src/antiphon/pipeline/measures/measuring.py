"""From a trace to its measures: the door to them.

Law: two passes: one over the files, one over the messages of each sender and view; what a run's
measures are does not depend on who computes them, nor in how many parts. Cost: about as much
as reading the trace, and one sort.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import msgspec

from antiphon.pipeline.ingest.sources import deal, sources_of
from antiphon.pipeline.measures.gathering import RunMeasures, check, gather, members_of
from antiphon.pipeline.measures.rows import (
    NUMBERS,
    ROW_TYPES,
    FileSummary,
    RowSums,
    read_files,
    row_batch,
)
from antiphon.pipeline.measures.streams import PART_TYPES, measure_streams, sums_of
from antiphon.pipeline.tables.local import LocalTable
from antiphon.pipeline.tables.table import Executor, Table
from antiphon.trace.log import Log
from antiphon.trace.schema import Event

_ROWS_PER_PART = 2_000_000


def measure(executor: Executor, where: Path | Log) -> dict[str, RunMeasures]:
    """Return the measures of each run in a trace: at a path, or in a log of several."""
    sources = sources_of(where)
    hands = deal(sources, executor.core_count)
    tasks = executor.numbered(len(hands))
    with tasks.map(partial(read_files, hands=hands), ROW_TYPES).kept() as kept:
        found = [
            msgspec.msgpack.decode(blob.as_buffer(), type=FileSummary)
            for batch in kept.having("summary").batches()
            for blob in batch.column("summary")
        ]
        summaries = check(found, sources[0].segment.file)
        row_count = sum(
            count.rows
            for summary in summaries
            for process in summary.processes
            for count in process.kinds.values()
        )
        part_count = executor.part_count(row_count, _ROWS_PER_PART)
        return _concluded(summaries, kept.having(*NUMBERS), part_count)


def measure_events(events: Iterable[Event], run: str) -> RunMeasures:
    """Return the measures of one run whose rows are in memory."""
    sums = RowSums(0, run)
    for event in events:
        sums.take(event)
    batch = row_batch(sums.drained()).select(list(NUMBERS))
    summaries = check([sums.summary()], run)
    return _concluded(summaries, LocalTable(lambda: [batch]), 1)[run]


def _concluded(
    summaries: list[FileSummary], rows: Table, part_count: int
) -> dict[str, RunMeasures]:
    kernel = partial(measure_streams, members=members_of(summaries))
    streams = rows.together(["stream"], part_count=part_count).map(kernel, PART_TYPES)
    return gather(summaries, sums_of(streams.batches()))
