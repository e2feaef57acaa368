"""Rows on their way to the judge: what it needs of them, thousands in one value.

Law: a pack holds rows of one file, one after another, as they are in it. Rows about messages at one
process in one view are a *strip*, a few integers each; other rows that are judged are notes; the
rest are counted. Names are numbers into the pack's own table. Nothing is judged here, but every
row has been checked. Cost: about two microseconds per row to make, half of one to take apart.
"""

from collections.abc import Iterable

import msgspec

from antiphon.trace.schema import Event

MULTICAST = 1
UNIFORM = 2
TOTAL = 4
FIFO = 8
"""What a row about messages says, in one number."""

_ORDERS = {"": 0, "causal": 0, "total": TOTAL, "fifo": FIFO}

_NOTED = frozenset({"start", "view", "vote", "decide", "crash", "stop"})

MessageRow = tuple[int, int, int, int, int, int, int]
"""What it says, line, index, time in microseconds, sender, first number, how many."""


class Strip(msgspec.Struct, array_like=True, tag=0):
    """Multicasts and deliveries of a process in one view, one after another."""

    process: int
    group: int
    view: int
    rows: list[MessageRow]
    ids: dict[int, str]
    """Users' own names of messages, by the row's place in the strip."""


class Note(msgspec.Struct, array_like=True, tag=1):
    """Another row."""

    kind: str
    process: int
    group: int
    view: int
    line: int
    index: int
    sender: int
    first: int
    members: list[int]
    detail: str


class Tail(msgspec.Struct, array_like=True):
    """The last row of a process in a pack, whatever it says."""

    process: int
    row_count: int
    """How many rows it has here."""
    line: int
    index: int
    is_stop: bool
    record: str = ""
    """In whose record it is."""


class Pack(msgspec.Struct, array_like=True):
    """Rows of one file. Lines are counted from 0, the first of the pack."""

    names: list[str]
    items: list[Strip | Note]
    tails: list[Tail]
    line_count: int
    row_count: int
    newest_us: int
    """The latest time that a row has."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Pack)


def encode(pack: Pack) -> bytes:
    """Return a pack as bytes."""
    return _ENCODER.encode(pack)


def decode(data: bytes) -> Pack:
    """Return the pack that bytes hold."""
    return _DECODER.decode(data)


def packed(rows: Iterable[tuple[int, Event]], line_count: int, skipped: int = 0) -> Pack:
    """Return rows, given with their lines, as a pack; it has so many lines, blank ones too.

    ``skipped``: rows of the last row's process besides, that are only counted.
    """
    packer = _Packer()
    for line, row in rows:
        packer.take(line, row)
    return packer.pack(line_count, skipped)


class _Packer:
    """Makes one pack."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._items: list[Strip | Note] = []
        self._tails: dict[str, Tail] = {}
        self._strip: Strip | None = None
        self._where: tuple[str, str, int] = ("", "", -1)
        self._row_count = 0
        self._newest_us = 0

    def take(self, line: int, row: Event) -> None:
        """Add a row."""
        kind = row.kind
        self._row_count += 1
        self._newest_us = max(self._newest_us, row.time_us)
        if kind in {"multicast", "deliver"}:
            self._take_message(line, row)
        elif kind in _NOTED:
            self._strip, self._where = None, ("", "", -1)
            self._items.append(self._note(line, row))
        tail = self._tails.get(row.process)
        if tail is None:
            tail = self._tails[row.process] = Tail(
                self._number(row.process), 0, 0, 0, is_stop=False, record=row.record
            )
        tail.row_count += 1
        tail.line, tail.index, tail.is_stop = line, row.index, kind == "stop"

    def pack(self, line_count: int, skipped: int) -> Pack:
        """Return what was taken, and count what was not."""
        tails = list(self._tails.values())
        if skipped:
            tails[-1].row_count += skipped
        return Pack(
            list(self._numbers),
            self._items,
            tails,
            line_count,
            self._row_count + skipped,
            self._newest_us,
        )

    def _take_message(self, line: int, row: Event) -> None:
        where = (row.process, row.group, row.view)
        strip = self._strip
        if strip is None or where != self._where:
            strip = Strip(self._number(row.process), self._number(row.group), row.view, [], {})
            self._strip, self._where = strip, where
            self._items.append(strip)
        is_multicast = row.kind == "multicast"
        says = _ORDERS[row.order] | (UNIFORM if row.uniform else 0) | is_multicast
        sender = strip.process if is_multicast else self._number(row.sender)
        if row.id:
            strip.ids[len(strip.rows)] = row.id
        strip.rows.append((says, line, row.index, row.time_us, sender, row.first, row.count))

    def _note(self, line: int, row: Event) -> Note:
        return Note(
            row.kind,
            self._number(row.process),
            self._number(row.group),
            row.view,
            line,
            row.index,
            self._number(row.sender),
            row.first,
            [self._number(name) for name in row.members or ()],
            row.detail,
        )

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))
