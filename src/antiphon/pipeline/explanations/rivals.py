"""Who delivered two messages the other way round: what an explanation of total order needs.

Law: as in ``evidence``: few questions, one pass. For a message that a process delivered too early,
the answer is the first process by name that disagrees, and of the messages that show it the one
that this process delivered last.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import Finding
from antiphon.pipeline.checks.total import held_positions
from antiphon.pipeline.explanations.evidence import ANSWER_TYPES, Message, answer, best, message_of
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.survey.layout import Layout, Numbers
from antiphon.pipeline.tables.chunks import numbers, slices, vectors
from antiphon.pipeline.tables.table import Table


class Rival(NamedTuple):
    """A process that delivered ``earlier`` first."""

    process: int
    earlier: Message


class _Question(NamedTuple):
    id: int
    process: int
    positions: Numbers
    """By rank: where the message was delivered, as far as the processes are held to it."""


def rivals_of(
    matrix: Table, layouts: dict[int, Layout], messages: dict[Finding, Message]
) -> dict[Finding, Rival]:
    """Return who contradicts each of these deliveries."""
    findings = list(messages)
    questions: dict[int, list[_Question]] = {}
    for number, finding in enumerate(findings):
        held = _held(messages[finding], layouts[finding.scope])
        questions.setdefault(finding.scope, []).append(_Question(number, finding.process, held))
    rows = matrix.where("is_total").map(
        partial(_find, layouts={scope: layouts[scope] for scope in questions}, questions=questions),
        ANSWER_TYPES,
    )
    return {
        findings[row["id"]]: Rival(row["process"], message_of(row, row["count"] - 1))
        for row in best(rows)
    }


def _held(message: Message, layout: Layout) -> Numbers:
    positions, is_uniform = np.array([message.positions]), np.array([message.is_uniform])
    held: Numbers = held_positions(positions, is_uniform, layout)[0]
    return held


def _find(
    batches: Iterable[pa.RecordBatch],
    *,
    layouts: dict[int, Layout],
    questions: dict[int, list[_Question]],
) -> Iterator[pa.RecordBatch]:
    """Yield, for each question, the best answer of each batch."""
    for (scope,), batch in slices(batches, ("scope",)):
        if scope not in questions:
            continue
        is_uniform = numbers(batch, "is_uniform")
        held = held_positions(vectors(batch, "positions"), is_uniform, layouts[scope])
        for question in questions[scope]:
            found = _answer(held, question)
            if found is not None:
                rank, row = found
                place = int(vectors(batch, "positions")[row, rank])
                yield answer(question.id, row, batch, process=rank, place=place)


def _answer(held: Numbers, question: _Question) -> tuple[int, int] | None:
    """Return the first process that has some of these runs before, not after; and the last run."""
    here, limit = held[:, question.process], question.positions
    is_later = (here != NEVER) & (here > limit[question.process])
    is_first = is_later[:, None] & (held < limit) & (limit != NEVER)
    ranks = np.flatnonzero(is_first[:, : question.process].any(axis=0))
    if not len(ranks):
        return None
    rank = int(ranks[0])
    return rank, int(np.argmax(np.where(is_first[:, rank], held[:, rank], -1)))
