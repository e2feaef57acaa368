"""Which messages link two of different groups: the shortest way from one to the other.

Law: as docs/properties.md says: from the message that was delivered wrongly backwards, process by
process, each up to the last of its multicasts that somebody who is reached already delivered in
time; the first who multicast or delivered a missing message in time, by name, names the last of
these. Runs stand for their last messages. Cost: a look at all rows of a component for each link.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.across.records import COLUMNS, View, views_of
from antiphon.pipeline.checks.findings import Finding, What
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.domains import Seating
from antiphon.pipeline.survey.layout import Numbers, Truths
from antiphon.pipeline.tables.chunks import chunks, column, lists, numbers, ragged_column
from antiphon.pipeline.tables.table import Table

_ROWS = {
    "component": "int",
    "scope": "int",
    "sender": "int",
    "first": "bigint",
    "count": "bigint",
    "multicast": "bigint",
    "is_total": "boolean",
    "is_apart": "boolean",
    "positions": "array<bigint>",
}
_ANSWER = {"id": "bigint", "chain": "array<bigint>"}

NOBODY = -1


class Known(NamedTuple):
    """A message of some view, and who came to know it; ranks are those of the view."""

    scope: int
    sender: int
    number: int
    multicast: int
    """Where its sender multicast it."""
    process: int
    """Who delivered it, and then multicast the next one; nobody, if that is its sender."""
    position: int
    """Where that one delivered it."""
    first: int
    """The first by name that delivered it, or nobody, and where: for its name."""
    first_position: int


class _Wrong(NamedTuple):
    id: int
    finding: Finding
    multicast: int
    """Where the message was multicast that was delivered wrongly."""


class _Trail(NamedTuple):
    """A process, up to one of its multicasts."""

    position: int
    known: Known
    """That message, and who delivered it."""
    through: Optional["_Trail"]


def chains_of(
    matrix: Table, seatings: Mapping[int, Seating], sought: dict[Finding, int]
) -> dict[Finding, list[Known]]:
    """Return, for each finding, what was missing, and the messages that lead on from it.

    Each of them with who knew it; last comes the message that was delivered wrongly.
    """
    findings = list(sought)
    questions: dict[int, list[_Wrong]] = {}
    for number, finding in enumerate(findings):
        component = seatings[finding.scope].component
        question = _Wrong(number, finding, sought[finding])
        questions.setdefault(component, []).append(question)
    rows = matrix.having("component", *COLUMNS)
    needed = rows.map(partial(_only, components=list(questions)), _ROWS)
    answers = needed.together(("component",), order=("scope",), part_count=len(questions)).map(
        partial(_answers, seatings=seatings, questions=questions), _ANSWER
    )
    width = len(Known._fields)
    return {
        findings[question]: [Known(*each) for each in chain.reshape(-1, width).tolist()]
        for batch in answers.batches()
        for question, chain in zip(numbers(batch, "id"), lists(batch, "chain"), strict=True)
    }


def _only(batches: Iterable[pa.RecordBatch], *, components: list[int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        is_needed = np.isin(numbers(batch, "component"), components)
        if is_needed.any():
            yield batch.filter(column(is_needed))


def _answers(
    batches: Iterable[pa.RecordBatch],
    *,
    seatings: Mapping[int, Seating],
    questions: dict[int, list[_Wrong]],
) -> Iterator[pa.RecordBatch]:
    for (component,), chunk in chunks(batches, ("component",)):
        views = views_of(chunk, seatings)
        for question in questions[component]:
            chain = [value for known in _chain(views, question) for value in known]
            columns = [column(np.array([question.id])), ragged_column([chain])]
            yield pa.RecordBatch.from_arrays(columns, names=list(_ANSWER))


def _chain(views: list[View], question: _Wrong) -> list[Known]:
    finding = question.finding
    view = next(view for view in views if view.scope == finding.scope)
    missing = [_missing(each, view.seating.places[finding.process], finding) for each in views]
    itself = Known(
        finding.scope, finding.sender, finding.number, question.multicast, NOBODY, 0, NOBODY, 0
    )
    sender = view.seating.places[finding.sender]
    frontier = {sender: _Trail(question.multicast, itself, None)}
    reached = dict(frontier)
    while frontier:
        for process in sorted(frontier):
            known = _last_known(views, missing, process, frontier[process].position)
            if known is not None:
                return [known, *_led_on(frontier[process])]
        frontier = _further(views, reached, frontier)
        reached |= frontier
    message = "what precedes a message is reached from it"
    raise AssertionError(message)


def _led_on(reached: _Trail | None) -> Iterator[Known]:
    while reached is not None:
        yield reached.known
        reached = reached.through


def _missing(view: View, place: int, finding: Finding) -> Truths:
    """Return which runs a process delivers too late, or never."""
    if place not in view.seating.places:
        return np.zeros(len(view.sender), dtype=bool)
    rank = view.seating.places.index(place)
    if finding.what is What.ORPHAN_ACROSS:
        lost: Truths = view.is_lost()[:, rank] & (not view.seating.is_doubtful)
        return lost
    positions = view.positions[:, rank]
    is_late: Truths = (positions != NEVER) & (positions > finding.position)
    return is_late & view.is_total if finding.what is What.TOTAL_LATE_ACROSS else is_late


def _delivered_before(view: View, rank: int, position: int) -> Truths:
    positions = view.positions[:, rank]
    before: Truths = (positions != EXCUSED) & (positions < position)
    return before


def _last_known(
    views: list[View], missing: list[Truths], process: int, position: int
) -> Known | None:
    """Return the missing message that a process multicast or delivered last before a position."""
    best, best_place = None, -1
    for view, is_missing in zip(views, missing, strict=True):
        if process not in view.seating.places:
            continue
        rank = view.seating.places.index(process)
        is_sent = (view.sender == rank) & (view.multicast < position)
        got = np.where(_delivered_before(view, rank, position), view.positions[:, rank], -1)
        place = np.where(is_missing, np.maximum(np.where(is_sent, view.multicast, -1), got), -1)
        run = int(np.argmax(place)) if len(place) else 0
        if len(place) and place[run] > best_place:
            best, best_place = _known(view, run, rank), int(place[run])
    return best


def _further(
    views: list[View], reached: dict[int, _Trail], frontier: dict[int, _Trail]
) -> dict[int, _Trail]:
    """Return who is reached through those in the frontier, further than before."""
    found: dict[int, _Trail] = {}
    for process in sorted(frontier):
        for view in views:
            if process not in view.seating.places:
                continue
            rank = view.seating.places.index(process)
            is_heard = _delivered_before(view, rank, frontier[process].position)
            for run in _latest_by_sender(view, np.flatnonzero(is_heard & ~view.is_apart)):
                known = _known(view, run, rank)
                place = view.seating.places[known.sender]
                best = found.get(place) or reached.get(place)
                if best is None or known.multicast > best.position:
                    found[place] = _Trail(known.multicast, known, frontier[process])
    return found


def _latest_by_sender(view: View, runs: Numbers) -> list[int]:
    """Return, of these runs, the one that each sender multicast last."""
    runs = runs[np.argsort(view.multicast[runs], kind="stable")]
    latest = dict(zip(view.sender[runs].tolist(), runs.tolist(), strict=True))
    return list(latest.values())


def _known(view: View, run: int, rank: int) -> Known:
    """Return the last message of a run, and that a process came to know it."""
    sender, rest = int(view.sender[run]), int(view.count[run]) - 1
    positions = view.positions[run]
    has_it = np.flatnonzero((positions != NEVER) & (positions != EXCUSED))
    first = int(has_it[0]) if len(has_it) else NOBODY
    is_own = rank == sender
    return Known(
        view.scope,
        sender,
        int(view.first[run]) + rest,
        int(view.multicast[run]) + rest,
        NOBODY if is_own else rank,
        0 if is_own else int(view.positions[run, rank]) + rest,
        first,
        0 if first == NOBODY else int(view.positions[run, first]) + rest,
    )
