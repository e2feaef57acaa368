"""Journals as they grow: how far they have been written, and what has been added, packed.

Law: an offset is a number of bytes per file, always the end of a row, and never falls; what a
killed process left of its last row is never read. A batch that may not have all takes the same
share of what is left of each journal: those of processes that ran side by side stay side by side,
and so little is remembered of one while another catches up. Rows of our own journals about
arrivals are counted, and not looked into. Memory: a pack.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.live.packs import Pack, encode, packed
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import LATE, Event
from antiphon.trace.segments import is_journal, segments

Offset = dict[str, int]
"""Bytes per file."""

Piece = tuple[str, int, int]
"""A file, and two ends of rows in it."""

TASK_BYTES_MIN = 4 << 20
"""Less than this is not worth a task of its own."""

PACK_COLUMNS = "run string, file string, begin bigint, pack binary"
PACK_BYTES = 1 << 20
"""Of a journal that make a pack, about."""

_BLOCK_BYTES = 1 << 20
_ARRIVAL = b'"kind":"receive",'
"""What a journal's row about an arrival has in it: nearly half of all rows, and never judged."""

_DECODER = msgspec.json.Decoder(Event)


def grown(path: Path, start: Offset, bytes_max: int = 0) -> Offset:
    """Return how far journals are to be read, after ``start``; 0: all that has been written."""
    found = _journals(path, start)
    sizes = {file: _written(Path(file), start.get(file, 0)) for file, _ in found}
    left = {file: size - start.get(file, 0) for file, size in sizes.items()}
    total = sum(left.values())
    if not bytes_max or total <= bytes_max:
        return {file: end for file, end in {**start, **sizes}.items() if end}
    of_journal: dict[str, int] = {}
    for file, journal in found:
        of_journal[journal] = of_journal.get(journal, 0) + left[file]
    shares = {journal: size * bytes_max // total + 1 for journal, size in of_journal.items()}
    ends = dict(start)
    for file, journal in found:
        begin = start.get(file, 0)
        if not shares[journal]:
            continue
        end = min(sizes[file], begin + shares[journal])
        ends[file] = whole_bytes(Path(file), begin, end) if end < sizes[file] else end
        is_read = ends[file] == sizes[file]  # not before comes the next segment
        shares[journal] = max(0, shares[journal] - (ends[file] - begin)) if is_read else 0
    return {file: end for file, end in ends.items() if end}


def _journals(path: Path, start: Offset) -> list[tuple[str, str]]:
    """Return files, and whose journals they are; complain if something that was read is gone."""
    has_begun = any(path.glob("**/*.ndjson*"))  # before it is looked into
    try:
        found = [(str(each.path), each.process or str(each.path)) for each in segments(path)]
    except TraceError:
        if has_begun and not start:
            raise
        found = []  # nobody has begun, or somebody is just beginning
    gone = sorted(set(start) - {file for file, _ in found})
    if gone:
        message = (
            f"{gone[0]}: is gone, though it was being followed: bring it back, or follow the run "
            f"where it is now, with --fresh"
        )
        raise TraceError(message)
    return found


def dealt(pieces: list[Piece], hands_max: int) -> list[list[Piece]]:
    """Deal pieces out to tasks: few if they are small, and each with about as much."""
    total = sum(end - begin for _, begin, end in pieces)
    count = max(1, min(hands_max, len(pieces), total // TASK_BYTES_MIN))
    hands: list[list[Piece]] = [[] for _ in range(count)]
    sizes = [0] * count
    for piece in sorted(pieces, key=lambda piece: piece[1] - piece[2]):
        least = sizes.index(min(sizes))
        hands[least].append(piece)
        sizes[least] += piece[2] - piece[1]
    return [hand for hand in hands if hand]


def whole_bytes(path: Path, begin: int = 0, end: int | None = None) -> int:
    """Return where the last row that is whole ends, from ``begin`` on; a row at least, if any."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        end = size if end is None else min(end, size)
        at = end
        while at > begin:
            block = max(at - _BLOCK_BYTES, begin)
            file.seek(block)
            found = file.read(at - block).rfind(b"\n")
            if found >= 0:
                return block + found + 1
            at = block
        file.seek(end)
        while end < size and (rest := file.read(_BLOCK_BYTES)):  # a row longer than what was asked
            found = rest.find(b"\n")
            if found >= 0:
                return end + found + 1
            end += len(rest)
    return begin


def packs_between(path: Path, begin: int, end: int, run: str) -> Iterator[pa.RecordBatch]:
    """Yield what is between two ends of rows, a pack per batch."""
    while begin < end:
        upto = whole_bytes(path, begin, min(begin + PACK_BYTES, end))
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read(upto - begin)
        pack = encode(_pack(path, begin, data, run))
        columns = [pa.array([run]), pa.array([str(path)]), pa.array([begin]), pa.array([pack])]
        yield pa.RecordBatch.from_arrays(columns, names=["run", "file", "begin", "pack"])
        begin = upto


def _pack(path: Path, begin: int, data: bytes, run: str) -> Pack:
    lines = data.split(b"\n")[:-1]
    rows: list[tuple[int, Event]] = []
    skipped = 0
    last = len(lines) - 1 if is_journal(path) else -1
    while last > 0 and not lines[last].strip():
        last -= 1
    for line, raw in enumerate(lines):
        if line < last and _ARRIVAL in raw:
            skipped += 1
            continue
        if not raw.strip():
            continue
        try:
            row = _DECODER.decode(raw)
        except msgspec.DecodeError as error:
            raise _refusal(path, begin, lines, line, f"not a row: {error}") from error
        problem = problem_of(row) or _not_to_follow(row, run)
        if problem is not None:
            raise _refusal(path, begin, lines, line, problem)
        rows.append((line, row))
    return packed(rows, len(lines), skipped)


def _not_to_follow(row: Event, run: str) -> str | None:
    """Return why a row cannot be judged live, though it is one."""
    if row.run not in {"", run}:
        return f"a row of run {row.run!r}: follow one run at a time"
    if row.to:
        return "messages with `to` are not judged live: use antiphon verify without --follow"
    if row.kind == "start" and row.detail == LATE:
        return "a record that begins late is not judged live: use antiphon verify without --follow"
    return None


def _refusal(path: Path, begin: int, lines: list[bytes], line: int, problem: str) -> TraceError:
    at = begin + sum(len(each) + 1 for each in lines[:line])
    return TraceError(f"{path}: at byte {at}: {problem}")


def _written(path: Path, read: int) -> int:
    """Return how far a file has been written, of which so much has been read."""
    try:
        size = path.stat().st_size
        if size < read:
            message = (
                f"{path}: is shorter than what was read of it: this is another run: follow it "
                f"with another --checkpoint, or --fresh"
            )
            raise TraceError(message)
        return size if size == read else whole_bytes(path, read)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}): check the path and its permissions"
        raise TraceError(message) from error
