"""Records: a run on the wire.

    record  = flags [group view sender first] count [port] [order] [stamp] [foreign] lengths
              payloads
    order   = number successor+1 turn-count (rank last)*      what a token holder says (ISIS 5.2)
    stamp   = entry-count (rank count)*    ranks ascending
    foreign = group-count (group view entry-count (rank count)*)*    of other groups (ISIS 6.1)
    lengths = one varint if all are equal, else count fixed-width numbers of 1, 2 or 4 bytes

Everything but the table of lengths is a varint. A group is 0 in a record of the frame's own
group, and else its digest, which is the same for everybody. A record with CONTINUES goes on where
the record before it in the frame ended: same group, view and sender, next number.

Law: everything that arrives is untrusted: a count or length is bounded by what is really there
before anything is allocated for it, and malformed bytes raise :class:`PeerError`, nothing else.

Cost: a record 7 bytes and up (3 when it continues), two and up per stamp entry and per turn,
nothing per message when lengths are equal, else 1, 2 or 4 bytes each.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain

from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.payloads import PackedPayloads
from antiphon.core.runs import PORT_MAX, ExpiredRun, Foreign, Order, Run, SetsOrder, Stamp
from antiphon.core.varint import CUT_OFF, Octets, append_varints, read_varint, read_varints

PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
"""The largest message. Larger things are files: send a reference."""

MESSAGES_MAX = 65_536
"""Messages in one frame: a few bytes can announce many empty messages, so they are limited."""

MEMBERS_MAX = 4_096
"""Members in one view, hence entries in one stamp."""

NUMBER_MAX = 1 << 62
"""The highest number of a message: the trace's columns are signed 64-bit."""

# flags: bits 0-1 order, then; those of a plain run fit into one byte
_CONTINUES = 0x04
_STAMPED = 0x08
_EQUAL_LENGTHS = 0x10
_WIDTH_SHIFT = 5  # bits 5-6: width of the lengths, as an index into _WIDTHS
_WIDTHS = ("B", "H", "I")
_WIDTH_LIMITS = (0x100, 0x1_0000, 0x1_0000_0000)

_UNIFORM = 0x80
_SETS_ORDER = 0x100
_PORT = 0x200
_FOREIGN = 0x400
_EXPIRED = 0x800
_EXTRAS = _UNIFORM | _SETS_ORDER | _PORT
_FLAGS_MAX = 0xFFF

GROUPS_MAX = 16_384
"""Groups of which one record carries stamps."""

VIEW_MAX = 1 << 62

_ONE_ENTRY = 11
"""One entry of another group takes so many, mostly, if its count is a large one."""
_GO_ON_BITS = 0x80 << 0 | 0x80 << 7 | 0x80 << 14 | 0x80 << 21
"""What says of the first four bytes of five that the number goes on."""

_ORDERS = tuple(Order)  # indexing is faster than Order(value)
_ORDER_MAX = int(max(Order))

_FEW = 4
"""So few payloads are cut out at once: they are no more objects than a frame and its table."""


def append_record_head(
    out: bytearray,
    run: Run,
    previous: Run | None,
    before: tuple[int, ...] = (),
    frame_group: int = 0,
) -> None:
    """Append all of a record but its payloads, behind the numbers that come ``before``."""
    flags, lengths, table = _measure(run.payloads)
    flags |= run.order
    if type(run) is ExpiredRun:
        flags |= _EXPIRED
    numbers = [run.count]
    if run.port or run.uniform or run.sets_order is not None:
        flags |= _append_extras(numbers, run)
    if run.stamp:
        flags |= _STAMPED
        numbers.append(len(run.stamp))
        numbers += chain.from_iterable(run.stamp)
    if run.foreign:
        flags |= _FOREIGN
        _append_foreign(numbers, run.foreign)
    numbers += lengths
    if previous is not None and _continues(previous, run):
        append_varints(out, [*before, flags | _CONTINUES, *numbers])
    else:
        group = 0 if run.group == frame_group else run.group
        place = group, run.view, run.sender, run.first
        append_varints(out, [*before, flags, *place, *numbers])
    out += table


def _measure(payloads: Sequence[bytes]) -> tuple[int, Iterable[int], bytes]:
    """Return flags for the lengths of payloads, and the length of all or a table of them."""
    if len(payloads) == 1:
        return _EQUAL_LENGTHS, (len(payloads[0]),), b""
    lengths = set(map(len, payloads))  # one pass: nearly always a set of one
    if len(lengths) == 1:
        return _EQUAL_LENGTHS, lengths, b""
    longest = max(lengths)
    width = next(i for i, limit in enumerate(_WIDTH_LIMITS) if longest < limit)
    table = struct.pack(f"<{len(payloads)}{_WIDTHS[width]}", *map(len, payloads))
    return width << _WIDTH_SHIFT, (), table


def _continues(previous: Run, run: Run) -> bool:
    return (
        previous.group == run.group
        and previous.view == run.view
        and previous.sender == run.sender
        and previous.last + 1 == run.first
    )


def _append_extras(numbers: list[int], run: Run) -> int:
    """Append the port and the sets-order list, where there are such; return the flags."""
    flags = _UNIFORM if run.uniform else 0
    if run.port:
        flags |= _PORT
        numbers.append(run.port)
    if run.sets_order is not None:
        flags |= _SETS_ORDER
        order = run.sets_order
        numbers += (order.number, order.successor + 1, len(order.turns))
        numbers += chain.from_iterable(order.turns)
    return flags


def _append_foreign(numbers: list[int], foreign: Foreign) -> None:
    numbers.append(len(foreign))
    for group, view, entries in foreign:
        numbers += (group, view, len(entries))
        numbers += chain.from_iterable(entries)


def encode_unplaced(run: Run) -> bytes:
    """Return a record without group, view, sender and number: for who tells them otherwise."""
    out = bytearray()
    append_record_head(
        out, run, Run(run.group, run.view, run.sender, run.first - 1, run.order, (), (b"",))
    )
    return b"".join((out, *run.payloads))


def decode_unplaced(
    data: Octets, group: GroupNumber, view: ViewNumber, sender: Rank, first: int
) -> Run:
    """Return the run that a record without its place is, in this place."""
    (flags, count), offset = read_varints(data, 0, 2)
    head = [flags & ~_CONTINUES, group, view, sender, first, count]
    run, offset = _decode_rest(data, offset, head, MESSAGES_MAX, Run)
    if offset != len(data) or not flags & _CONTINUES:
        message = "a record without its place is followed by something, or has one"
        raise PeerError(message)
    return run


def decode_runs_of(
    data: Octets, offset: int, make: type[Run] = Run, frame_group: int = 0
) -> tuple[int, list[Run], int]:
    """Return the number at ``offset``, the records behind it, and the offset behind them."""
    try:  # all in one go: nearly every frame has one record
        (number, record_count, *head), behind = read_varints(data, offset, 8)
    except PeerError:
        record_count = 0
    if record_count == 1:
        head[1] = head[1] or frame_group
        run, behind = _decode_rest(data, behind, head, MESSAGES_MAX, make)
        return number, [run], behind
    number, offset = read_varint(data, offset)
    runs, offset = decode_runs(data, offset, make, frame_group)
    return number, runs, offset


def decode_runs(
    data: Octets, offset: int, make: type[Run] = Run, frame_group: int = 0
) -> tuple[list[Run], int]:
    """Return the records that begin at ``offset``, and the offset behind them."""
    record_count, offset = read_varint(data, offset)
    if record_count == 1:
        run, offset = _decode_record(data, offset, None, MESSAGES_MAX, make, frame_group)
        return [run], offset
    if not 0 < record_count <= MESSAGES_MAX:
        message = f"a frame announces {record_count} records"
        raise PeerError(message)
    runs: list[Run] = []
    allowed = MESSAGES_MAX
    previous: Run | None = None
    for _ in range(record_count):
        previous, offset = _decode_record(data, offset, previous, allowed, make, frame_group)
        allowed -= previous.count
        runs.append(previous)
    return runs, offset


def _decode_record(
    data: Octets,
    offset: int,
    previous: Run | None,
    allowed: int,
    make: type[Run],
    frame_group: int,
) -> tuple[Run, int]:
    if previous is None:
        head, offset = read_varints(data, offset, 6)
        head[1] = head[1] or frame_group
        return _decode_rest(data, offset, head, allowed, make)
    flags, offset = read_varint(data, offset)
    if flags & _CONTINUES:
        count, offset = read_varint(data, offset)
        place = previous.group, previous.view, previous.sender, previous.last + 1
        head = [flags & ~_CONTINUES, *place, count]
    else:
        head, offset = read_varints(data, offset, 5)
        head[0] = head[0] or frame_group
        head.insert(0, flags)
    return _decode_rest(data, offset, head, allowed, make)


def _decode_rest(
    data: Octets, offset: int, head: list[int], allowed: int, make: type[Run]
) -> tuple[Run, int]:
    """Return a record whose first six numbers have been read, and the offset behind it."""
    flags, group, view, sender, first, count = head
    order = flags & 0x03
    if flags > _FLAGS_MAX or order > _ORDER_MAX or (flags & _EQUAL_LENGTHS and flags & 0x60):
        message = f"a record has flags {flags:#x} that this version does not know"
        raise PeerError(message)
    if flags & _CONTINUES:
        message = "the first record of a frame continues nothing"
        raise PeerError(message)
    if not 0 < count <= allowed or not 0 < first <= NUMBER_MAX or sender >= MEMBERS_MAX:
        message = f"a record announces {count} messages from number {first} of sender {sender}"
        raise PeerError(message)
    port, sets_order = 0, None
    if flags & _EXTRAS:  # rare: one test for all that is
        port, sets_order, offset = _decode_extras(data, offset, flags)
    stamp: Stamp = ()
    if flags & _STAMPED:
        stamp, offset = _decode_stamp(data, offset, sender)
    foreign: Foreign = ()
    if flags & _FOREIGN:
        foreign, offset = _decode_foreign(data, offset)
    payloads, byte_count, offset = _decode_payloads(data, offset, flags, count)
    run = _kind_of(flags, byte_count, make)(
        GroupNumber(group), ViewNumber(view), Rank(sender), first,
        _ORDERS[order], stamp, payloads, byte_count, flags & _UNIFORM != 0, port, sets_order,
        foreign,
    )  # fmt: skip
    return run, offset


def _kind_of(flags: int, byte_count: int, make: type[Run]) -> type[Run]:
    """Return what a record is to be made into."""
    if not flags & _EXPIRED:
        return make
    if byte_count or make is not Run:
        message = "a record of expired messages says more than their numbers"
        raise PeerError(message)
    return ExpiredRun


def _decode_extras(data: Octets, offset: int, flags: int) -> tuple[int, SetsOrder | None, int]:
    """Return the port, the sets-order list, and the offset behind them."""
    port = 0
    sets_order: SetsOrder | None = None
    if flags & _PORT:
        port, offset = read_varint(data, offset)
        if not 0 < port <= PORT_MAX:
            message = f"a record is for port {port}"
            raise PeerError(message)
    if flags & _SETS_ORDER:
        sets_order, offset = _decode_order(data, offset)
    return port, sets_order, offset


def _decode_order(data: Octets, offset: int) -> tuple[SetsOrder, int]:
    (number, successor, turn_count), offset = read_varints(data, offset, 3)
    if (
        turn_count > (len(data) - offset) // 2
        or not 0 < number <= NUMBER_MAX
        or successor > MEMBERS_MAX
    ):
        message = f"a sets-order list announces {turn_count} turns from number {number}"
        raise PeerError(message)
    turns, offset = _decode_pairs(data, offset, turn_count)
    for rank, last in turns:
        if rank >= MEMBERS_MAX or not 0 < last <= NUMBER_MAX:
            message = f"a sets-order list names message {last} of sender {rank}"
            raise PeerError(message)
    return SetsOrder(number, turns, successor - 1), offset


def _decode_foreign(data: Octets, offset: int) -> tuple[Foreign, int]:
    """Return the stamps of other groups, and the offset behind them."""
    head = data[offset : offset + _ONE_ENTRY]
    if len(head) == _ONE_ENTRY:  # nearly always: payloads follow
        groups, a, b, c, d, e, view, entry_count, rank, count, high = head
        # One entry of one group, whose digest takes five bytes: what a burst in it leaves to say.
        is_digest = a > 0x7F and b > 0x7F and c > 0x7F and d > 0x7F and 0 < e < 0x80
        if groups == 1 == entry_count and is_digest and 0 < view < 0x80 and rank < 0x80:
            group = (a + (b << 7) + (c << 14) + (d << 21) + (e << 28)) - _GO_ON_BITS
            if 0 < count < 0x80:
                return ((group, view, ((rank, count),)),), offset + 10
            if count and 0 < high < 0x80:
                return ((group, view, ((rank, count & 0x7F | high << 7),)),), offset + 11
    return _decode_foreign_any(data, offset)


def _decode_foreign_any(data: Octets, offset: int) -> tuple[Foreign, int]:
    group_count, offset = read_varint(data, offset)
    if not 0 < group_count <= GROUPS_MAX or group_count > (len(data) - offset) // 3:
        message = f"a record announces stamps of {group_count} other groups"
        raise PeerError(message)
    stamps: list[tuple[int, int, Stamp]] = []
    for _ in range(group_count):
        (group, view, entry_count), offset = read_varints(data, offset, 3)
        if not 0 < view <= VIEW_MAX:
            message = f"a stamp of group number {group} names view {view}"
            raise PeerError(message)
        entries: Stamp = ()
        if entry_count == 1:  # a question and its answer
            entries, offset = _decode_entries(data, offset, 1)
        elif entry_count:
            entries, offset = _decode_many(data, offset, entry_count)
        stamps.append((group, view, entries))
    return tuple(stamps), offset


def _decode_many(data: Octets, offset: int, entry_count: int) -> tuple[Stamp, int]:
    """Return the entries of another group's stamp; written out, for some runs carry many."""
    _check_entry_count(data, offset, entry_count)
    entries: list[tuple[int, int]] = []
    lowest = 0
    try:
        for _ in range(entry_count):
            rank, count = data[offset], data[offset + 1]
            if rank < 0x80 and count < 0x80:  # nearly always
                offset += 2
            elif rank < 0x80 and 0 < (high := data[offset + 2]) < 0x80:
                count = count & 0x7F | high << 7
                offset += 3
            else:
                (rank, count), offset = read_varints(data, offset, 2)
            if rank < lowest or rank >= MEMBERS_MAX or count < 1:
                raise PeerError(_say_misplaced(rank, count))
            lowest = rank + 1
            entries.append((rank, count))
    except IndexError:
        raise PeerError(CUT_OFF) from None
    return tuple(entries), offset


def _decode_stamp(data: Octets, offset: int, sender: int) -> tuple[Stamp, int]:
    entry_count, offset = read_varint(data, offset)
    return _decode_entries(data, offset, entry_count, sender)


def _decode_entries(
    data: Octets, offset: int, entry_count: int, sender: int = -1
) -> tuple[Stamp, int]:
    _check_entry_count(data, offset, entry_count)
    stamp, offset = _decode_pairs(data, offset, entry_count)
    lowest = 0
    for rank, count in stamp:
        if rank < lowest or rank >= MEMBERS_MAX or rank == sender or count < 1:
            raise PeerError(_say_misplaced(rank, count))
        lowest = rank + 1
    return stamp, offset


def _check_entry_count(data: Octets, offset: int, entry_count: int) -> None:
    if not 0 < entry_count <= MEMBERS_MAX or entry_count > (len(data) - offset) // 2:
        message = f"a stamp announces {entry_count} entries"
        raise PeerError(message)


def _say_misplaced(rank: int, count: int) -> str:
    return f"a stamp has entry ({rank}, {count}) out of order or out of range"


def _decode_pairs(data: Octets, offset: int, count: int) -> tuple[tuple[tuple[int, int], ...], int]:
    numbers, offset = read_varints(data, offset, 2 * count)
    if count == 1:  # an answer depends on its question
        return ((numbers[0], numbers[1]),), offset
    each = iter(numbers)
    return tuple(zip(each, each, strict=True)), offset


def _decode_payloads(
    data: Octets, offset: int, flags: int, count: int
) -> tuple[Sequence[bytes], int, int]:
    """Return the payloads, their size in all, and the offset behind them."""
    if flags & _EQUAL_LENGTHS:
        length, offset = read_varint(data, offset)
        size = count * length
        end = offset + size
        if end > len(data) or length > PAYLOAD_BYTES_MAX:
            message = f"a record announces {count} messages of {length} bytes, which are not there"
            raise PeerError(message)
        if count == 1:
            return [bytes(data[offset:end])], size, end
        packed = PackedPayloads(data, offset, count, length)
        return packed if count > _FEW else packed.unpack(), size, end
    width = (flags >> _WIDTH_SHIFT) & 0x03
    if width >= len(_WIDTHS):
        message = "a record has lengths of an unknown width"
        raise PeerError(message)
    layout = f"<{count}{_WIDTHS[width]}"
    try:
        lengths = struct.unpack_from(layout, data, offset)
    except struct.error:
        message = f"a record announces {count} lengths, which are not there"
        raise PeerError(message) from None
    table = offset
    offset += count * (1 << width)
    size = sum(lengths)
    end = offset + size
    if end > len(data) or max(lengths) > PAYLOAD_BYTES_MAX:
        message = f"a record announces {size} payload bytes, which are not there"
        raise PeerError(message)
    packed = PackedPayloads(bytes(data), offset, count, 0, layout, table)  # no copy of bytes
    return packed if count > _FEW else packed.unpack(), size, end
