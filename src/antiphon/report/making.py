"""From a trace and its verdict to a page.

Law: the trace is read once. Steps are told as they begin, for they take seconds where a run has
millions of rows.
"""

from collections.abc import Callable
from pathlib import Path

from antiphon.logs.reading import read_log
from antiphon.report.diagram import diagram_of
from antiphon.report.matching import Origins
from antiphon.report.measures import measures_of
from antiphon.report.moments import moments_of, witnesses_of
from antiphon.report.page import PageContent, page_of
from antiphon.report.record import read_record
from antiphon.report.selection import EVENTS_MAX
from antiphon.trace.log import Log
from antiphon.trace.run_folder import RunRecord
from antiphon.trace.verdict import Verdict

OnStep = Callable[[str, int], None]
"""Takes what is being done, and how many rows have been read."""


def make_page(
    where: Path | Log,
    verdict: Verdict,
    record: RunRecord | None,
    on_step: OnStep = lambda _name, _rows: None,
    events_max: int = EVENTS_MAX,
) -> str:
    """Return the page of a trace, on which ``verdict`` was given."""
    rows = read_record(read_log(where), verdict.run, lambda count: on_step("reading", count))
    on_step("measuring", rows.row_count)
    origins = Origins(rows)
    measures = measures_of(rows, origins)
    on_step("drawing", rows.row_count)
    witnesses = witnesses_of(rows, verdict)
    moments = moments_of(rows, witnesses)
    diagram = diagram_of(rows, origins, witnesses, moments, events_max)
    name = verdict.run if record is None else record.name
    return page_of(PageContent(name, verdict, witnesses, measures, diagram, record))
