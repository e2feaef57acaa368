"""What was delivered too early, or without what comes before it, across the groups of a domain.

Law: for each component, from what the senders knew (``knowledge``): a delivery is late if something
that precedes it has a larger position there, and an orphan if something that precedes it is lost
there. Only deliveries on record are asked, and not those of messages that are apart. What breaks
the same rule within its scope, by direct predecessors, is found in ``orders``, and left out here.
If some event is in a circle, that is all that is found. Definitions in docs/properties.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.across.knowledge import (
    LOST,
    LOST_IN_DOUBT,
    Telling,
    spread,
    tellings_in_total_order,
    tellings_of,
)
from antiphon.pipeline.checks.across.records import COLUMNS, View, events_of, views_of
from antiphon.pipeline.checks.findings import Findings, What, finding_batch, found
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.domains import Seating
from antiphon.pipeline.survey.layout import Numbers, Truths
from antiphon.pipeline.tables.chunks import chunks
from antiphon.pipeline.tables.table import Table

Seatings = Mapping[int, Seating]


def by_component(matrix: Table, part_count: int) -> Table:
    """Return the rows of the matrix that are of components, those of each together."""
    rows = matrix.having("component", *COLUMNS)
    return rows.together(("component",), order=("scope",), part_count=part_count)


def breaks_across(of_components: Table, seatings: Seatings) -> list[Findings]:
    """Find what is late, or an orphan, across groups; and what is in a circle."""
    return found(of_components, partial(_breaks, seatings=seatings))


def total_breaks_across(of_components: Table, seatings: Seatings) -> list[Findings]:
    """Find what is late among messages in total order."""
    return found(of_components, partial(_total_breaks, seatings=seatings))


def _breaks(batches: Iterable[pa.RecordBatch], *, seatings: Seatings) -> Iterator[pa.RecordBatch]:
    for _, chunk in chunks(batches, ("component",)):
        views = views_of(chunk, seatings)
        count = _process_count(views)
        tellings, width = tellings_of(views, count)
        is_stuck = spread(tellings, width, events_of(views, count))
        for view, telling in zip(views, tellings, strict=True):
            if is_stuck.any():
                yield _circle(view, is_stuck[view.begin : view.begin + len(view.sender)])
            else:
                yield from _of_view(view, telling)


def _total_breaks(
    batches: Iterable[pa.RecordBatch], *, seatings: Seatings
) -> Iterator[pa.RecordBatch]:
    for _, chunk in chunks(batches, ("component",)):
        views = views_of(chunk, seatings)
        count = _process_count(views)
        tellings, width = tellings_in_total_order(views, count)
        if spread(tellings, width, events_of(views, count)).any():
            continue
        for view, telling in zip(views, tellings, strict=True):
            is_late = _is_asked(view) & view.is_total[:, None]
            is_late &= telling.late_positions() > view.positions
            known = _known_within(view, is_late, view.is_total)
            yield _findings(view, What.TOTAL_LATE_ACROSS, is_late & ~(known > view.positions))


def _process_count(views: list[View]) -> int:
    return 1 + max(max(view.seating.places) for view in views)


def _of_view(view: View, telling: Telling) -> Iterator[pa.RecordBatch]:
    is_asked = _is_asked(view)
    is_late = is_asked & (telling.late_positions() > view.positions)
    losses = np.where(is_asked, telling.losses(), 0)
    is_wrong = is_late | (losses > 0)
    if not is_wrong.any():
        return
    known = _known_within(view, is_wrong, np.ones(len(view.sender), dtype=bool))
    yield _findings(view, What.LATE_ACROSS, is_late & ~(known > view.positions))
    is_orphan = known == NEVER
    yield _findings(view, What.ORPHAN_ACROSS, (losses == LOST) & ~is_orphan)
    yield _findings(view, What.HOLE_IN_DOUBT, (losses == LOST_IN_DOUBT) & ~is_orphan)


def _is_asked(view: View) -> Truths:
    """Return the deliveries that are held to it."""
    is_asked = view.has_it() & ~view.is_apart[:, None]
    is_implied = np.array(view.seating.is_implied, dtype=bool)[view.sender]
    is_asked[is_implied, view.sender[is_implied]] = False
    return is_asked


def _known_within(view: View, is_wrong: Truths, is_counted: Truths) -> Numbers:
    """Return the largest position of a direct predecessor within the scope, where it matters.

    By run and rank; only for the senders of what is wrong, for which a look at all that they did in
    the scope is taken. What is not counted tells nothing.
    """
    known = np.full(view.positions.shape, EXCUSED)
    for sender in np.unique(view.sender[is_wrong.any(axis=1)]):
        when = np.where(view.sender == sender, view.multicast, view.positions[:, sender])
        runs = np.flatnonzero(is_counted & (when != NEVER) & (when != EXCUSED))
        runs = runs[np.argsort(when[runs], kind="stable")]
        highest = np.maximum.accumulate(view.positions[runs], axis=0)
        own = np.flatnonzero(view.sender[runs] == sender)
        own = own[own > 0]
        known[runs[own]] = highest[own - 1]
    return known


def _circle(view: View, is_stuck: Truths) -> pa.RecordBatch:
    wrong = np.zeros(view.positions.shape, dtype=bool)
    runs = np.flatnonzero(is_stuck)
    wrong[runs, view.sender[runs]] = True
    return _findings(view, What.IN_CIRCLE, wrong)


def _findings(view: View, what: What, is_wrong: Truths) -> pa.RecordBatch:
    run, rank = np.nonzero(is_wrong)
    return finding_batch(
        np.full(len(run), view.scope),
        np.full(len(run), what),
        rank,
        view.positions[run, rank],
        view.sender[run],
        view.first[run],
        view.count[run],
    )
