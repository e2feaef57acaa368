"""What is judged together, and who is held to what.

Law: everything is judged per scope, one view of one group of one run: nothing crosses it
(docs/properties.md). A scope's processes are ranked by name; from here on ranks stand for names
and numbers for scopes. Whether a record is whole is a matter of the run. All of this follows
from the files' reports, on the driver: a line per strand must fit there, the rows need not.

Buckets: a scope's messages are judged bucket by bucket, each small enough for a worker's memory.
A sender's numbers are divided evenly among the buckets, whatever its rate, so that messages of
one bucket are of about the same time: the orders' shuffle is small if they are, and larger, but
no less right, if they are not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from antiphon.core.views import lineage_of
from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.ingest.reading import Aim, RecordPart, Report, ScopeKey, Strand
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.survey.layout import (
    AIM_SHIFT,
    IN_FIFO_ORDER,
    IN_TOTAL_ORDER,
    MULTICAST,
    SETS_ORDER,
    UNIFORM,
    WIDTH_MAX,
    Late,
    Layout,
    Numbers,
)
from antiphon.pipeline.survey.views import Views
from antiphon.trace.verdict import ALL, Terms


@dataclass(slots=True)
class Record:
    """What one process of a run left behind."""

    row_count: int
    is_whole: bool
    is_late: bool
    """Whether something may be missing before it."""
    last: RecordPart
    """Its last part, in the file with this number:"""
    last_segment: int


@dataclass(slots=True)
class Part:
    """What one process has to do with one scope."""

    row_count: int = 0
    """Multicast and deliver rows."""
    delivery_count: int = 0
    multicast_count: int = 0
    fifo_count: int = 0
    """Of these, in fifo order."""
    highest: int = 0
    """The highest number it multicast; 0: it multicast nothing."""
    told_row_count: int = 0
    """Rows of anyone about its messages."""
    told_message_count: int = 0
    first_sent: tuple[int, int] = (NEVER, NEVER)
    """Position and number of what it multicast first."""
    first_got: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By sender: position and number of what it delivered first; noted if its record is late."""
    first_position: int = NEVER
    last_position: int = -1
    """Of its first row, and its last."""
    last_multicast: int = -1
    """Position of the row that it multicast last."""
    delivers_own: bool = False
    """Whether it records deliveries of its own messages, or would: some are total, or uniform."""
    is_viewed: bool = False
    """Whether a view row lists it."""
    is_installed: bool = False
    """Whether it has a view row itself."""
    is_left_behind: bool = False
    """Whether it has a view row of the next view."""
    is_whole: bool = False
    is_late: bool = False
    """Whether something of this scope may lie before its record."""
    is_addressed: bool = True
    """Whether it is to receive what is multicast here."""
    is_named: bool = False
    """Whether some message is `to` it."""
    aims: set[Aim] = field(default_factory=set)
    """Whom its messages are `to`; nobody: all."""
    has_taken_over: bool = False
    """Whether it left this view, or one before it of the same lineage, by taking over; or was
    in views of other lineages only."""

    @property
    def has_delivered(self) -> bool:
        """Whether it delivered anything, be it by multicasting."""
        return self.delivery_count > 0 or (self.multicast_count > 0 and not self.delivers_own)

    @property
    def is_held(self) -> bool:
        """Whether it has to agree with the others: it was there to the end."""
        return self.is_whole and not self.has_taken_over

    @property
    def is_bound(self) -> bool:
        """Whether it was there to the end of the view."""
        return self.is_whole or self.is_left_behind


@dataclass(slots=True)
class Scope:
    """One view of one group of one run."""

    number: int
    key: ScopeKey
    parts: dict[str, Part]
    """By name, in order of rank."""
    has_audience: bool = False
    """Whether it is said who is to receive."""
    asks: set[tuple[bool, bool]] = field(default_factory=set)
    """What its rows ask for: (total order, uniform delivery)."""
    names: list[str] = field(default_factory=list)
    """By rank."""
    ranks: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rank the processes by name."""
        self.names = sorted(self.parts)
        self.ranks = {name: rank for rank, name in enumerate(self.names)}
        self.parts = {name: self.parts[name] for name in self.names}

    def members(self) -> list[str]:
        """Return those who are to receive, or are listed in views, or took part."""
        if self.has_audience:
            return [name for name, part in self.parts.items() if part.is_addressed]
        viewed = [name for name, part in self.parts.items() if part.is_viewed]
        return viewed or [
            name for name, part in self.parts.items() if part.row_count or part.is_named
        ]

    def aims(self) -> list[Aim]:
        """Return whom messages are `to`, where that is said, each once."""
        return sorted({aim for part in self.parts.values() for aim in part.aims if aim})

    def may_reach(self, name: str, senders: Iterable[str]) -> bool:
        """Whether something of these senders is to be received by a process."""
        return any(not aim or name in aim for one in senders for aim in self.parts[one].aims)

    def is_shared(self, names: Iterable[str]) -> bool:
        """Whether something is to be received by two of these, as far as rows say."""
        aims = {aim for part in self.parts.values() for aim in part.aims}
        wanted = set(names)
        return not aims or () in aims or any(len(wanted.intersection(aim)) > 1 for aim in aims)

    def held(self) -> list[str]:
        """Return the members that have to agree."""
        return [name for name in self.members() if self.parts[name].is_held]

    def movers(self) -> list[str]:
        """Return the members that went on from this view to the next."""
        return [
            name
            for name, part in self.parts.items()
            if part.is_viewed and part.is_installed and part.is_left_behind
        ]

    @property
    def asks_total(self) -> bool:
        """Whether anything is in total order."""
        return any(is_total for is_total, _ in self.asks)

    @property
    def asks_uniform(self) -> bool:
        """Whether anything is uniform."""
        return any(is_uniform for _, is_uniform in self.asks)

    def layout(self) -> Layout:
        """Return what workers must know."""
        parts = self.parts.values()
        return Layout(
            column_count=len(parts),
            is_implied=[not part.delivers_own for part in parts],
            held=[self.ranks[name] for name in self.held()],
            doubt_above=[NEVER if part.is_whole else part.highest for part in parts],
            last_multicasts=[part.last_multicast for part in parts],
            movers=[self.ranks[name] for name in self.movers()],
            is_whole=[part.is_held for part in parts],
            is_bound=[part.is_bound for part in parts],
            late=tuple(
                Late(
                    rank,
                    part.first_sent[1],
                    [part.first_got.get(name, (0, NEVER))[1] for name in self.names],
                )
                for rank, part in enumerate(parts)
                if part.is_late
            ),
            free=tuple(rank for rank, part in enumerate(parts) if not part.is_addressed),
            aims=tuple([self.ranks[name] for name in aim] for aim in self.aims()),
        )

    def widths(self, grain: Grain) -> list[int]:
        """Return, by rank, how many of a sender's numbers go into one bucket."""
        row_count = sum(part.row_count for part in self.parts.values())
        buckets = 1 + row_count // grain.rows_per_bucket(len(self.parts))
        return [_width(part, buckets, grain) for part in self.parts.values()]


def _width(part: Part, buckets: int, grain: Grain) -> int:
    """Return a bucket's share of what was multicast, but no less than an average row.

    So cutting at the borders of buckets no more than doubles the rows, whatever was forged.
    """
    average = part.told_message_count // max(part.told_row_count, 1)
    width = max(part.highest // buckets, average, grain.numbers_per_bucket_min - 1) + 1
    return min(width, WIDTH_MAX)


@dataclass(frozen=True, slots=True)
class Survey:
    """Who and what there is in a trace."""

    records: dict[str, dict[str, Record]]
    """By run, then by process."""
    scopes: list[Scope]
    """By number; ordered by run, group and view."""
    views: Views

    def row_index(self, run: str, process: str, position: int) -> int:
        """Return a row's index, or -1 if those of its process are not numbered."""
        is_numbered = self.records[run][process].last.is_numbered
        return position // STRIDE if is_numbered else -1


def survey(reports: Sequence[Report], terms: Terms = ALL) -> Survey:
    """Bring together what the reports say, on these terms."""
    records = _records(reports, terms)
    late = {(run, name) for run in records for name in records[run] if records[run][name].is_late}
    views = Views(reports, late)
    parts: dict[ScopeKey, dict[str, Part]] = {}
    asks: dict[ScopeKey, set[tuple[bool, bool]]] = {}
    for report in reports:
        for strand in report.strands:
            asks.setdefault(strand.scope, set()).add((strand.is_total, strand.is_uniform))
            scope = parts.setdefault(strand.scope, {})
            part = scope.setdefault(strand.process, Part())
            _add(part, strand)
            if (strand.run, strand.process) in late:
                _note_first(part, strand)
            for name in strand.aim:
                scope.setdefault(name, Part()).is_named = True
            sender = scope.setdefault(strand.sender, Part())
            sender.told_row_count += strand.row_count
            sender.told_message_count += strand.message_count
    _add_viewed(parts, views)
    _note_audiences(parts, records, terms)
    _note_records(parts, records)
    _note_views(parts, views)
    for key in _note_takeovers(parts, views):
        asks[key] = set()  # nothing in total order, and nothing uniform, is asked of such a view
    scopes = [
        Scope(number, key, parts[key], key[1] in terms.subscriptions, asks.get(key, set()))
        for number, key in enumerate(sorted(parts))
    ]
    return Survey(records, scopes, views)


def _add_viewed(parts: dict[ScopeKey, dict[str, Part]], views: Views) -> None:
    """Add whoever installed a view, or is listed in one."""
    for key, rosters in views.rosters.items():
        scope = parts.setdefault(key, {})
        for member in (member for roster in rosters for member in roster):
            scope.setdefault(member, Part()).is_viewed = True
        for name in views.installed[key]:
            scope.setdefault(name, Part()).is_installed = True


def _note_audiences(
    parts: dict[ScopeKey, dict[str, Part]], records: dict[str, dict[str, Record]], terms: Terms
) -> None:
    """Note who is to receive what, where that is said; complain if it names what is not there."""
    processes = {name for of_run in records.values() for name in of_run}
    terms.check({group for _, group, _ in parts}, processes)
    for (_, group, _), scope in parts.items():
        audience = terms.subscriptions.get(group, ())
        for name in audience:
            scope.setdefault(name, Part())
        for name, part in scope.items():
            part.is_addressed = group not in terms.subscriptions or name in audience


def _note_records(
    parts: dict[ScopeKey, dict[str, Part]], records: dict[str, dict[str, Record]]
) -> None:
    """Note whose record is whole, and whose begins late."""
    for (run, _, _), scope in parts.items():
        for name, part in scope.items():
            record = records[run].get(name)
            part.is_whole = record is not None and record.is_whole
            part.is_late = record is not None and record.is_late


def _note_first(part: Part, strand: Strand) -> None:
    """Note what a process whose record begins late multicast, or delivered, first."""
    first = (strand.first_position, strand.first_number)
    if strand.is_multicast:
        part.first_sent = min(part.first_sent, first)
    else:
        known = part.first_got.get(strand.sender, first)
        part.first_got[strand.sender] = min(known, first)


def _note_views(parts: dict[ScopeKey, dict[str, Part]], views: Views) -> None:
    """Note who has all of a view on record, and who went on from there."""
    for (run, group, view), scope in parts.items():
        for name in views.installed.get((run, group, view), {}):
            scope[name].is_late = False  # all of this view comes after its view row
        for name in views.installed.get((run, group, view + 1), {}):
            if name in scope:
                scope[name].is_left_behind = True


def _note_takeovers(parts: dict[ScopeKey, dict[str, Part]], views: Views) -> list[ScopeKey]:
    """Note who took over, or was in other lineages only; return the views that were left so."""
    left: list[ScopeKey] = []
    lineages = {owner: {lineage_of(row.view) for row in rows} for owner, rows in views.rows.items()}
    for (run, group, view), scope in parts.items():
        for name, part in scope.items():
            known = lineages.get((run, group, name))
            part.has_taken_over = known is not None and lineage_of(view) not in known
    for (run, group, process), pairs in views.takeovers.items():
        for before, _ in pairs:
            left.append(before.scope)
            for key, scope in parts.items():
                is_same = key[:2] == (run, group) and lineage_of(key[2]) == lineage_of(before.view)
                if is_same and key[2] >= before.view and process in scope:
                    scope[process].has_taken_over = True
    return left


def strand_tables(
    reports: Iterable[Report], scopes: Iterable[Scope], grain: Grain
) -> dict[int, Numbers]:
    """Return, for each file, whose its strands are: a matrix with a line per ``STRAND_LINES``."""
    by_key = {scope.key: scope for scope in scopes}
    widths = {key: scope.widths(grain) for key, scope in by_key.items()}
    aims = {
        key: {aim: number for number, aim in enumerate(scope.aims(), 1)}
        for key, scope in by_key.items()
    }

    def lines(strand: Strand) -> tuple[int, ...]:
        scope = by_key[strand.scope]
        sender = scope.ranks[strand.sender]
        width = widths[strand.scope][sender]
        bits = _bits(strand) if scope.asks else _bits(strand) & ~(IN_TOTAL_ORDER | UNIFORM)
        what = bits | aims[strand.scope].get(strand.aim, 0) << AIM_SHIFT
        return scope.number, sender, scope.ranks[strand.process], what, width

    return {
        report.number: np.array([lines(strand) for strand in report.strands], dtype=np.int64).T
        for report in reports
    }


def _bits(strand: Strand) -> int:
    """Return what a strand is, as bits (``layout``)."""
    bits = {
        MULTICAST: strand.is_multicast,
        IN_FIFO_ORDER: strand.is_relaxed,
        IN_TOTAL_ORDER: strand.is_total,
        UNIFORM: strand.is_uniform,
        SETS_ORDER: strand.sets_order,
    }
    return sum(bit for bit, is_set in bits.items() if is_set)


def _records(reports: Sequence[Report], terms: Terms) -> dict[str, dict[str, Record]]:
    found: dict[tuple[str, str], list[tuple[RecordPart, int]]] = {}
    for report in reports:
        for part in report.records:
            found.setdefault((part.run, part.process), []).append((part, report.number))
    records: dict[str, dict[str, Record]] = {}
    for (run, process), pairs in found.items():
        last, segment = max(pairs, key=lambda pair: pair[0].last_position)
        parts = [part for part, _ in pairs]
        has_crash = any(part.has_crash for part in parts)
        has_start = any(part.has_start for part in parts)
        is_early = last.is_early or terms.may_end_early(process)
        is_whole = not has_crash and (last.is_at_rest or not (has_start or is_early))
        is_late = any(part.is_late for part in parts)
        is_late |= not has_start and terms.may_begin_late(process)
        row_count = sum(part.row_count for part in parts)
        records.setdefault(run, {})[process] = Record(row_count, is_whole, is_late, last, segment)
    return records


def _add(part: Part, strand: Strand) -> None:
    part.row_count += strand.row_count
    part.first_position = min(part.first_position, strand.first_position)
    part.last_position = max(part.last_position, strand.last_position)
    if strand.is_multicast:
        part.multicast_count += strand.message_count
        part.aims.add(strand.aim)
        part.fifo_count += strand.message_count if strand.is_relaxed else 0
        part.highest = max(part.highest, strand.highest)
        part.last_multicast = max(part.last_multicast, strand.last_position)
        part.delivers_own |= strand.is_total or strand.is_uniform
    else:
        part.delivery_count += strand.message_count
        part.delivers_own |= strand.sender == strand.process
