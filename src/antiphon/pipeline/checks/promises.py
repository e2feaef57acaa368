"""No-duplicate, no-creation, and all that must be delivered, from the matrix.

Law: each of these shows in a single row of the matrix: something again, something without a
multicast, something that not all have. Only rows with something wrong (``is_broken``) are ever
taken apart. Definitions in docs/properties.md.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import Findings, What, finding_batch, found
from antiphon.pipeline.checks.matrix import has_it
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.layout import Numbers
from antiphon.pipeline.tables.chunks import entries, numbers, slices, vectors
from antiphon.pipeline.tables.table import Table


def broken_promises(matrix: Table) -> list[Findings]:
    """Find all that shows in a single row of the matrix."""
    return found(matrix.where("is_broken"), _broken)


def _broken(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for (scope,), batch in slices(batches, ("scope",)):
        for rows, what, process, position in (
            _duplicates(batch),
            _creations(batch),
            _early_deliveries(batch),
            _omissions(batch),
        ):
            if len(rows):
                messages = (numbers(batch, name)[rows] for name in ("sender", "first", "count"))
                scopes = np.full(len(rows), scope)
                yield finding_batch(scopes, what, process, position, *messages)


_Found = tuple[Numbers, Numbers, Numbers, Numbers]
"""Rows of the matrix, what is wrong with them, at which process, at which position."""


def _duplicates(batch: pa.RecordBatch) -> _Found:
    """Find what was multicast twice, or delivered twice at one process."""
    rows, (process, position, is_multicast) = entries(batch, "again", 3)
    what = np.where(is_multicast > 0, What.MULTICAST_AGAIN, What.DELIVERED_AGAIN)
    return rows, what, process, position


def _creations(batch: pa.RecordBatch) -> _Found:
    """Find deliveries of what was never multicast, or may have been where the record is lost."""
    positions = vectors(batch, "positions")
    is_lost = numbers(batch, "multicast") == NEVER
    rows, process = np.nonzero(has_it(positions) & is_lost[:, None])
    what = np.where(numbers(batch, "is_doubtful")[rows], What.IN_DOUBT, What.NOT_MULTICAST)
    return rows, what, process, positions[rows, process]


def _early_deliveries(batch: pa.RecordBatch) -> _Found:
    """Find deliveries by the sender itself before it had multicast the message."""
    sender, multicast = numbers(batch, "sender"), numbers(batch, "multicast")
    position = vectors(batch, "positions")[np.arange(len(sender)), sender]
    rows = np.flatnonzero((multicast != NEVER) & (position < multicast) & (position != EXCUSED))
    return rows, np.full(len(rows), What.TOO_EARLY), sender[rows], position[rows]


def _omissions(batch: pa.RecordBatch) -> _Found:
    """Find what was not delivered: agreement, view-atomic, self-delivery, liveness, uniform.

    And what was, by those it was not `to`: that has a position.
    """
    rows, (process, what) = entries(batch, "missing", 2)
    is_done = what == What.NOT_ADDRESSED
    position = np.where(is_done, vectors(batch, "positions")[rows, process], 0)
    return rows, what, process, position
