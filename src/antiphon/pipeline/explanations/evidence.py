"""What an explanation needs to know, fetched from the matrix and the trace.

Law: few questions, one pass each: questions travel to the data, with the kernel that answers them.
Columns are those of the matrix; a message within a run is told by its distance from the first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import Finding, What
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.ingest.reading import LINES
from antiphon.pipeline.survey.layout import MULTICAST, Numbers
from antiphon.pipeline.tables.chunks import (
    column,
    list_column,
    numbers,
    slices,
    unpacked,
    vectors,
)
from antiphon.pipeline.tables.table import Table

_PLACE_TYPES = dict.fromkeys(("segment", "strand", "position", "line"), "bigint")

ANSWER_TYPES = {
    "id": "bigint",
    "process": "bigint",
    "place": "bigint",
    "sender": "bigint",
    "first": "bigint",
    "count": "bigint",
    "multicast": "bigint",
    "is_uniform": "boolean",
    "positions": "array<bigint>",
}
"""The question, what makes one answer better than another (see ``best``), a row of the matrix."""


class Message(NamedTuple):
    """One message, as the matrix knows it."""

    sender: int
    number: int
    multicast: int
    """Position of its multicast, or NEVER."""
    positions: list[int]
    """By rank: position of its first delivery, or NEVER, or EXCUSED."""
    is_uniform: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the files a row is."""

    segment: int
    line: int


class Act(NamedTuple):
    """A message multicast, or delivered, by a process: what a row of the trace may say."""

    scope: int
    process: int
    sender: int
    is_multicast: bool
    position: int
    """Of the row."""


class _Sought(NamedTuple):
    """A message to be looked up."""

    id: int
    sender: int
    number: int


class _Delivery(NamedTuple):
    """A delivery out of order: asked is what had to come first."""

    id: int
    owner: int
    """Who multicast the message."""
    process: int
    """Who delivered it too early."""
    deadline: int
    limit: int
    """Where the owner multicast it."""
    is_own_order: bool
    is_total_order: bool


def messages_of(matrix: Table, findings: Iterable[Finding]) -> dict[Finding, Message]:
    """Return the messages that findings are about."""
    findings = list(findings)
    sought: dict[int, list[_Sought]] = {}
    for number, finding in enumerate(findings):
        sought.setdefault(finding.scope, []).append(_Sought(number, finding.sender, finding.number))
    rows = matrix.map(partial(_look_up, sought=sought), ANSWER_TYPES)
    return {
        findings[row["id"]]: message_of(row, findings[row["id"]].number - row["first"])
        for row in best(rows)
    }


def predecessors_of(matrix: Table, messages: dict[Finding, Message]) -> dict[Finding, Message]:
    """Return, for each delivery out of order, the message that had to come first, or along.

    Of several the one that the sender multicast or delivered last before multicasting.
    """
    findings = list(messages)
    questions: dict[int, list[_Delivery]] = {}
    for number, finding in enumerate(findings):
        questions.setdefault(finding.scope, []).append(
            _Delivery(
                id=number,
                owner=finding.sender,
                process=finding.process,
                deadline=NEVER - 1 if finding.what is What.ORPHAN else finding.position,
                limit=messages[finding].multicast,
                is_own_order=finding.what is What.NOT_FIFO,
                is_total_order=finding.what is What.NOT_TOTAL_CAUSAL,
            )
        )
    rows = matrix.map(partial(_precede, questions=questions), ANSWER_TYPES)
    return {findings[row["id"]]: message_of(row, row["count"] - 1) for row in best(rows)}


def best(answers: Table) -> list[dict[str, Any]]:
    """Return the best answer to each question: of the first process, the one at the last place."""
    found: dict[int, dict[str, Any]] = {}
    for batch in answers.batches():
        for row in batch.to_pylist():
            other = found.get(row["id"])
            if other is None or _rating(row) > _rating(other):
                found[row["id"]] = row
    return list(found.values())


def _rating(row: dict[str, Any]) -> tuple[int, int]:
    return -row["process"], row["place"]


def answer(
    question: int, row: int, batch: pa.RecordBatch, process: int = 0, place: int = 0
) -> pa.RecordBatch:
    """Return a row of the matrix as an answer."""
    run = batch.slice(row, 1)
    columns = [
        *(column(np.array([each])) for each in (question, process, place)),
        *(column(numbers(run, name)) for name in ("sender", "first", "count", "multicast")),
        column(numbers(run, "is_uniform")),
        list_column(vectors(run, "positions")),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(ANSWER_TYPES))


def _look_up(
    batches: Iterable[pa.RecordBatch], *, sought: dict[int, list[_Sought]]
) -> Iterator[pa.RecordBatch]:
    for (scope,), batch in slices(batches, ("scope",)):
        if scope in sought:
            sender, first, count = (numbers(batch, name) for name in ("sender", "first", "count"))
            for item in sought[scope]:
                place = item.number - first
                is_here = (sender == item.sender) & (place >= 0) & (place < count)
                for row in np.flatnonzero(is_here).tolist():
                    yield answer(item.id, row, batch)


def _precede(
    batches: Iterable[pa.RecordBatch], *, questions: dict[int, list[_Delivery]]
) -> Iterator[pa.RecordBatch]:
    for (scope,), batch in slices(batches, ("scope",)):
        if scope in questions:
            sender, multicast, is_total = (
                numbers(batch, name) for name in ("sender", "multicast", "is_total")
            )
            positions = vectors(batch, "positions")
            for item in questions[scope]:
                is_late = (multicast != NEVER) & (positions[:, item.process] > item.deadline)
                if item.is_total_order:
                    is_late &= is_total
                is_sent = (sender == item.owner) & (multicast < item.limit)
                sent = np.where(is_sent, multicast, -1)
                got = positions[:, item.owner]
                got = np.where(got < item.limit, got, -1)
                place = np.maximum(sent, got)
                is_late &= (sent if item.is_own_order else place) >= 0
                if is_late.any():
                    row = int(np.argmax(np.where(is_late, place, -1)))
                    yield answer(item.id, row, batch, place=int(place[row]))


def places_of(packs: Table, strands: dict[int, Numbers], acts: Iterable[Act]) -> dict[Act, Place]:
    """Return where in the files these acts are recorded."""
    by_strand: dict[tuple[int, ...], list[Act]] = {}
    for act in sorted(set(acts)):
        by_strand.setdefault((act.scope, act.sender, act.process, act.is_multicast), []).append(act)
    wanted: dict[int, dict[tuple[int, int], Act]] = {}
    for segment, table in strands.items():
        for strand, (*whose, what) in enumerate(zip(*table[:4].tolist(), strict=True)):
            for act in by_strand.get((*whose, what & MULTICAST > 0), ()):
                wanted.setdefault(segment, {})[strand, act.position] = act
    keys = {segment: sorted(acts) for segment, acts in wanted.items()}
    found = packs.map(partial(_find, wanted=keys), _PLACE_TYPES)
    return {
        wanted[row["segment"]][row["strand"], row["position"]]: Place(row["segment"], row["line"])
        for batch in found.batches()
        for row in batch.to_pylist()
    }


def _find(
    batches: Iterable[pa.RecordBatch], *, wanted: dict[int, list[tuple[int, int]]]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of these strands and positions."""
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment").tolist(), packs, strict=True):
            strand, _, _, position, _, line = rows
            keys = wanted.get(segment, [])
            at = np.flatnonzero(np.isin(position, [position for _, position in keys]))
            here = set(keys)
            at = at[[(strand[row], position[row]) in here for row in at]] if len(at) else at
            columns = [np.full(len(at), segment), strand[at], position[at], line[at]]
            yield pa.RecordBatch.from_arrays(
                [column(each) for each in columns], names=list(_PLACE_TYPES)
            )


def message_of(row: dict[str, Any], place: int) -> Message:
    """Return the message at a place in a run."""

    def moved(position: int) -> int:
        return position if position in {NEVER, EXCUSED} else position + place

    return Message(
        row["sender"],
        row["first"] + place,
        moved(row["multicast"]),
        [moved(position) for position in row["positions"]],
        row["is_uniform"],
    )
