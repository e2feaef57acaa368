"""Views, and messages that cross their borders: ``views`` and ``sending-view``.

Law: ``views`` is judged on the driver, from the view rows. ``sending-view`` is settled there, too,
for every strand whose first and last row are within its view; only the rows of the others are
looked at once more, where they are. Definitions in docs/properties.md.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import (
    Finding,
    Findings,
    What,
    finding_batch,
    found,
)
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.ingest.reading import LINES, ViewRow
from antiphon.pipeline.survey.layout import MULTICAST, Numbers, Truths
from antiphon.pipeline.survey.scopes import Survey
from antiphon.pipeline.survey.views import Stay, unsettled
from antiphon.pipeline.tables.chunks import numbers, unpacked
from antiphon.pipeline.tables.table import Table
from antiphon.trace.verdict import EXAMPLES_MAX

Suspects = dict[int, dict[int, list[Stay]]]
"""By file and number of the strand: when its view was current."""


def wrong_views(survey: Survey) -> list[Findings]:
    """Find view rows that are not like the others, do not follow, or leave their process out."""
    scopes = {scope.key: scope for scope in survey.scopes}
    wrong: dict[tuple[int, What], Findings] = {}
    for rows in survey.views.rows.values():
        for row in rows:
            what = _fault(survey, row, is_last=row is rows[-1])
            if what is not None:
                scope = scopes[row.scope]
                item = wrong.setdefault(
                    (scope.number, what), Findings(scope.number, what, 0, [], [])
                )
                rank = scope.ranks[row.process]
                item.count += 1
                item.examples.append(Finding(rank, row.position, rank, 0, scope.number, what))
    for item in wrong.values():
        item.examples = sorted(item.examples)[:EXAMPLES_MAX]
    return list(wrong.values())


def _fault(survey: Survey, row: ViewRow, *, is_last: bool) -> What | None:
    """Return the first thing that is wrong with a view row."""
    views = survey.views
    before = views.before(row)
    if row.members != views.reference(row).members:
        return What.OTHER_MEMBERS
    if before is not None and row.view != before.view + 1 and not views.is_takeover(before, row):
        return What.OUT_OF_TURN
    record = survey.records[row.run][row.process]
    is_cut_off = not record.is_whole and not record.last.is_stopped
    is_elsewhere = views.group_counts[row.run, row.process] > 1
    may_leave = is_last and (is_elsewhere or record.last.has_left or is_cut_off)
    if row.process not in views.members(row) and not may_leave:
        return What.NOT_LISTED
    return None


def suspects(trace: Trace, survey: Survey) -> Suspects:
    """Return the strands that may have rows outside their view; in a right trace, none."""
    of_files = {
        report.number: {
            strand.number: stays for strand, stays in unsettled(survey.views, report.strands)
        }
        for report in trace.reports
    }
    return {segment: of_file for segment, of_file in of_files.items() if of_file}


def astray(packs: Table, strands: dict[int, Numbers], of_suspects: Suspects) -> list[Findings]:
    """Find rows of these strands that are outside their view."""
    tables = {segment: strands[segment] for segment in of_suspects}
    return found(packs, partial(_astray, strands=tables, of_suspects=of_suspects))


def _astray(
    batches: Iterable[pa.RecordBatch], *, strands: dict[int, Numbers], of_suspects: Suspects
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment").tolist(), packs, strict=True):
            if segment in of_suspects:
                astray = rows[:, _is_astray(rows, of_suspects[segment])]
                yield _finding_batch(astray, strands[segment])


def _is_astray(rows: Numbers, of_file: dict[int, list[Stay]]) -> Truths:
    strand, _, _, position, _, _ = rows
    is_astray = np.isin(strand, list(of_file))
    for number in np.unique(strand[is_astray]).tolist():
        here = np.flatnonzero(strand == number)
        for begin, end in of_file[number]:
            is_astray[here] &= (position[here] < begin) | (position[here] >= end)
    return is_astray


def _finding_batch(rows: Numbers, strands: Numbers) -> pa.RecordBatch:
    strand, first, count, position, _, _ = rows
    scope, sender, process, bits, _ = strands[:, strand]
    what = np.where(bits & MULTICAST > 0, What.MULTICAST_ASTRAY, What.DELIVERED_ASTRAY)
    return finding_batch(scope, what, process, position, sender, first, count)
