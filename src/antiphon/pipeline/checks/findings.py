"""Wrong deliveries, added up, with the smallest picked as examples.

Law: a finding is a run of messages that one process got wrong in one way, at consecutive
positions; every property's findings have the same columns, so they are counted and chosen from
together. Counts are of single messages. The smallest is the one at the first process by name,
then at the first position there.

    scope, what           where, and what is wrong (``What``)
    process, position     who got the first of them wrong, and when (0: it did not happen)
    sender, first, count  the messages
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antiphon.pipeline.tables.chunks import column, lists, numbers, ragged_column
from antiphon.pipeline.tables.table import Kernel, Table
from antiphon.trace.verdict import EXAMPLES_MAX, Property

FINDING_TYPES = {
    "scope": "int",
    "what": "int",
    "process": "int",
    "position": "bigint",
    "sender": "int",
    "first": "bigint",
    "count": "bigint",
}
FINDING_COLUMNS = list(FINDING_TYPES)

_TOTAL_TYPES = {
    "scope": "int",
    "what": "int",
    "count": "bigint",
    "senders": "array<bigint>",
    "examples": "array<bigint>",
}
_EXAMPLE = ("process", "position", "sender", "first", "count")
"""What the numbers of an example are: first what examples are sorted by."""
_ROWS_AT_ONCE = 2**16


class What(IntEnum):
    """The ways in which a delivery can be wrong."""

    NOT_FIFO = 1
    NOT_CAUSAL = 2
    MULTICAST_AGAIN = 3
    DELIVERED_AGAIN = 4
    NOT_MULTICAST = 5
    IN_DOUBT = 6
    """Not multicast as far as the sender's record goes, but that may end early."""
    TOO_EARLY = 7
    """Delivered by the sender itself before it was multicast."""
    NOT_DELIVERED = 8
    OTHER_MEMBERS = 9
    """A view with other members than elsewhere."""
    OUT_OF_TURN = 10
    """A view whose number does not follow that of the view before."""
    NOT_LISTED = 11
    """A view without the process that installed it."""
    MULTICAST_ASTRAY = 12
    """In another view than that of the message."""
    DELIVERED_ASTRAY = 13
    NOT_ATOMIC = 14
    """Delivered by another that went on to the next view, too."""
    ORPHAN = 15
    """Delivered, but something before it never."""
    OWN_MISSING = 16
    STALLED = 17
    """Never delivered, though its sender is there to the end."""
    NOT_TOTAL = 18
    """Delivered before what another process delivered first."""
    NOT_TOTAL_CAUSAL = 19
    NOT_UNIFORM = 20
    """Delivered by anybody, but not here."""
    LATE_ACROSS = 21
    """Delivered before what precedes it across groups."""
    ORPHAN_ACROSS = 22
    """Delivered, but something that precedes it across groups never."""
    HOLE_IN_DOUBT = 23
    """As before, but that may be lost for good."""
    TOTAL_LATE_ACROSS = 24
    """As the first, both in total order."""
    IN_CIRCLE = 25
    """Multicast after itself, or after such a message: nothing can be said across groups."""
    NOT_ADDRESSED = 26
    """Delivered, though it was `to` others."""


PROPERTY_OF = {
    What.NOT_FIFO: Property.FIFO,
    What.NOT_CAUSAL: Property.CAUSAL,
    What.MULTICAST_AGAIN: Property.NO_DUPLICATE,
    What.DELIVERED_AGAIN: Property.NO_DUPLICATE,
    What.NOT_MULTICAST: Property.NO_CREATION,
    What.IN_DOUBT: Property.NO_CREATION,
    What.TOO_EARLY: Property.NO_CREATION,
    What.NOT_DELIVERED: Property.AGREEMENT,
    What.OTHER_MEMBERS: Property.VIEWS,
    What.OUT_OF_TURN: Property.VIEWS,
    What.NOT_LISTED: Property.VIEWS,
    What.MULTICAST_ASTRAY: Property.SENDING_VIEW,
    What.DELIVERED_ASTRAY: Property.SENDING_VIEW,
    What.NOT_ATOMIC: Property.VIEW_ATOMIC,
    What.ORPHAN: Property.NO_ORPHAN,
    What.OWN_MISSING: Property.SELF_DELIVERY,
    What.STALLED: Property.LIVENESS,
    What.NOT_TOTAL: Property.TOTAL,
    What.NOT_TOTAL_CAUSAL: Property.TOTAL_CAUSAL,
    What.NOT_UNIFORM: Property.UNIFORM,
    What.NOT_ADDRESSED: Property.NO_CREATION,
    What.LATE_ACROSS: Property.CAUSAL,
    What.ORPHAN_ACROSS: Property.NO_ORPHAN,
    What.HOLE_IN_DOUBT: Property.NO_ORPHAN,
    What.TOTAL_LATE_ACROSS: Property.TOTAL_CAUSAL,
    What.IN_CIRCLE: Property.CAUSAL,
}

NOT_COUNTED = (What.IN_DOUBT, What.HOLE_IN_DOUBT, What.IN_CIRCLE)
"""What violates nothing by itself."""

NOT_DONE = (
    What.NOT_DELIVERED,
    What.NOT_ATOMIC,
    What.OWN_MISSING,
    What.STALLED,
    What.NOT_UNIFORM,
)
"""What did not happen has no position."""


class Finding(NamedTuple):
    """One message that one process got wrong."""

    process: int
    position: int
    sender: int
    number: int
    scope: int
    what: What


@dataclass(slots=True)
class Findings:
    """All that is wrong in one way in one scope."""

    scope: int
    what: What
    count: int
    senders: list[int]
    examples: list[Finding]


def found(table: Table, kernel: Kernel) -> list[Findings]:
    """Return what a kernel that yields findings finds in a table.

    They are added up where they are found: next to nothing is moved, however much is wrong.
    """
    totals = table.map(partial(_added_up, kernel=kernel), _TOTAL_TYPES)
    sums = _Sums()
    for batch in totals.batches():
        sums.add_totals(batch)
    return [
        Findings(
            scope,
            What(what),
            total.count,
            sorted(total.senders),
            _singles(scope, What(what), total.examples),
        )
        for (scope, what), total in sums.totals.items()
    ]


def finding_batch(*columns: np.ndarray[Any, Any]) -> pa.RecordBatch:
    """Return findings, given column by column as in ``FINDING_COLUMNS``."""
    types = (np.int32 if each == "int" else np.int64 for each in FINDING_TYPES.values())
    return pa.RecordBatch.from_arrays(
        [column(each.astype(kind)) for each, kind in zip(columns, types, strict=True)],
        names=FINDING_COLUMNS,
    )


def first_of_each(
    batches: Iterable[pa.RecordBatch], *, keys: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield findings, sorted by these keys, without those that were found before."""
    last: tuple[int, ...] = ()
    for batch in batches:
        columns = [numbers(batch, name) for name in FINDING_COLUMNS]
        of_keys = [columns[FINDING_COLUMNS.index(name)] for name in keys]
        if batch.num_rows:
            is_new = np.zeros(batch.num_rows, dtype=bool)
            is_new[0] = last != tuple(int(each[0]) for each in of_keys)
            for each in of_keys:
                is_new[1:] |= each[1:] != each[:-1]
            last = tuple(int(each[-1]) for each in of_keys)
            yield finding_batch(*(each[is_new] for each in columns))


@dataclass(slots=True)
class _Total:
    """What is wrong in one way in one scope: how often, whose messages, the first few."""

    count: int
    senders: set[int]
    examples: list[list[int]]

    def add(self, count: int, senders: list[int], examples: list[list[int]]) -> None:
        self.count += count
        self.senders.update(senders)
        self.examples = sorted(self.examples + examples)[:EXAMPLES_MAX]


class _Sums:
    """Adds findings up."""

    def __init__(self) -> None:
        self.totals: dict[tuple[int, int], _Total] = {}

    def _add(
        self, key: tuple[int, int], count: int, senders: list[int], examples: list[list[int]]
    ) -> None:
        self.totals.setdefault(key, _Total(0, set(), [])).add(count, senders, examples)

    def add_findings(self, batches: list[pa.RecordBatch]) -> None:
        names = ("scope", "what", *_EXAMPLE)
        table = np.array(
            [np.concatenate([numbers(batch, name) for batch in batches]) for name in names]
        )
        table = table[:, np.lexsort(table[::-1])]
        if not table.size:
            return
        is_new = (table[:2, 1:] != table[:2, :-1]).any(axis=0)
        for part in np.split(table, np.flatnonzero(is_new) + 1, axis=1):
            scope, what = part[:2, 0].tolist()
            senders = np.unique(part[2 + _EXAMPLE.index("sender")]).tolist()
            examples = part[2:, :EXAMPLES_MAX].T.tolist()
            self._add((scope, what), int(part[-1].sum()), senders, examples)

    def add_totals(self, batch: pa.RecordBatch) -> None:
        columns = (numbers(batch, name).tolist() for name in ("scope", "what", "count"))
        for scope, what, count, senders, examples in zip(
            *columns, lists(batch, "senders"), lists(batch, "examples"), strict=True
        ):
            of_examples = examples.reshape(-1, len(_EXAMPLE)).tolist()
            self._add((scope, what), count, senders.tolist(), of_examples)

    def batch(self) -> pa.RecordBatch:
        keys, totals = list(self.totals), list(self.totals.values())
        flat = [[value for example in total.examples for value in example] for total in totals]
        return pa.RecordBatch.from_arrays(
            [
                column(np.array([scope for scope, _ in keys], dtype=np.int32)),
                column(np.array([what for _, what in keys], dtype=np.int32)),
                column(np.array([total.count for total in totals], dtype=np.int64)),
                ragged_column(sorted(total.senders) for total in totals),
                ragged_column(flat),
            ],
            names=list(_TOTAL_TYPES),
        )


def _added_up(batches: Iterable[pa.RecordBatch], *, kernel: Kernel) -> Iterator[pa.RecordBatch]:
    """Yield the totals of what a kernel finds, in one batch; nothing if it finds nothing."""
    sums, pending, row_count = _Sums(), [], 0
    for batch in kernel(batches):
        pending.append(batch)
        row_count += batch.num_rows
        if row_count >= _ROWS_AT_ONCE:
            sums.add_findings(pending)
            pending, row_count = [], 0
    if row_count:
        sums.add_findings(pending)
    if sums.totals:
        yield sums.batch()


def _singles(scope: int, what: What, runs: list[list[int]]) -> list[Finding]:
    """Return the smallest single messages of these runs."""
    moves = what not in NOT_DONE
    singles = [
        Finding(
            process=process,
            position=position + place * moves,
            sender=sender,
            number=first + place,
            scope=scope,
            what=what,
        )
        for process, position, sender, first, count in runs
        for place in range(min(count, EXAMPLES_MAX))
    ]
    return sorted(singles)[:EXAMPLES_MAX]
