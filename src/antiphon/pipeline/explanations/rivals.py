"""Who delivered two messages the other way round: what an explanation of total order needs.

Law: as in ``evidence``: few questions, one pass. For a message that a process delivered too early,
the answer is the first process by name that disagrees, and of the messages that show it the one
that this process delivered last.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from antiphon.pipeline.checks.findings import Finding
from antiphon.pipeline.checks.total import held_positions
from antiphon.pipeline.explanations.evidence import Message, message_of
from antiphon.pipeline.ingest.chunks import column, list_column, numbers, slices, vectors
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.survey.layout import Layout, Numbers

_SCHEMA = (
    "id bigint, process bigint, sender bigint, first bigint, count bigint, multicast bigint, "
    "positions array<bigint>, is_uniform boolean"
)
_COLUMNS = [field.split()[0] for field in _SCHEMA.split(", ")]


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
    matrix: DataFrame, layouts: dict[int, Layout], messages: dict[Finding, Message]
) -> dict[Finding, Rival]:
    """Return who contradicts each of these deliveries."""
    findings = list(messages)
    questions: dict[int, list[_Question]] = {}
    for number, finding in enumerate(findings):
        held = _held(messages[finding], layouts[finding.scope])
        questions.setdefault(finding.scope, []).append(_Question(number, finding.process, held))
    rows = matrix.where("is_total").mapInArrow(
        partial(_find, layouts={scope: layouts[scope] for scope in questions}, questions=questions),
        _SCHEMA,
    )
    best: dict[int, tuple[tuple[int, int], dict[str, Any]]] = {}
    for row in rows.toArrow().to_pylist():
        order = (-row["process"], row["positions"][row["process"]])
        if row["id"] not in best or order > best[row["id"]][0]:
            best[row["id"]] = (order, row)
    return {
        findings[number]: Rival(row["process"], message_of(row, row["count"] - 1))
        for number, (_, row) in best.items()
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
            answer = _answer(held, question)
            if answer is not None:
                yield _answer_batch(question.id, *answer, batch)


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


def _answer_batch(number: int, process: int, row: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    run = batch.slice(row, 1)
    columns = [
        column(np.array([number])),
        column(np.array([process])),
        *(column(numbers(run, name)) for name in ("sender", "first", "count", "multicast")),
        list_column(vectors(run, "positions")),
        column(numbers(run, "is_uniform")),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_COLUMNS)
