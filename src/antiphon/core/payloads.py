"""Payloads still in the frame that brought them: cut out only where they are needed.

Law: a sequence of bytes like any other. A member keeps a copy of every run until it is stable;
were each message an object of its own for as long, allocating cold memory would cost a third of
the throughput of small messages. So a copy is the frame, one object for the whole run, and its
messages live only for as long as the application needs them.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from struct import Struct, unpack_from
from typing import overload

from antiphon.core.varint import Octets

_BLOCK = 64
"""Messages of one length that are cut out in one go."""


@lru_cache(maxsize=256)
def _block(count: int, length: int) -> Struct:
    """Return what cuts out so many messages of one length: three times as fast as slices."""
    assert 0 < count <= _BLOCK, "layouts are small, and few"
    return Struct(f"{length}s" * count)


class PackedPayloads(Sequence[bytes]):
    """Messages one behind the other in a frame whose header has been checked."""

    __slots__ = ("_count", "_data", "_format", "_length", "_offset", "_table")

    def __init__(
        self,
        data: Octets,
        offset: int,
        count: int,
        length: int,
        lengths: str = "",
        table: int = 0,
    ) -> None:
        """Say where they begin: all of one length, or with a table of lengths somewhere."""
        self._data = data
        self._offset = offset
        self._count = count
        self._length = length
        self._format = lengths
        self._table = table

    def __len__(self) -> int:
        return self._count

    def unpack(self) -> list[bytes]:
        """Cut them out."""
        return list(self)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        return self.unpack()[at]

    def __iter__(self) -> Iterator[bytes]:
        """Cut them out as they are asked for, some at a time."""
        data, offset, length = self._data, self._offset, self._length
        if self._format:
            lengths, whole = unpack_from(self._format, data, self._table), bytes(data)
            return iter([whole[a:b] for a, b in pairwise(accumulate(lengths, initial=offset))])
        if not length:
            return iter([b""] * self._count)
        block_count, rest = divmod(self._count, _BLOCK)
        end = offset + block_count * _BLOCK * length
        last = _block(rest, length).unpack_from(data, end) if rest else ()
        if not block_count:
            return iter(last)
        blocks = _block(_BLOCK, length).iter_unpack(memoryview(data)[offset:end])
        return chain(chain.from_iterable(blocks), last)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | PackedPayloads) and self.unpack() == list(other)

    __hash__ = None  # type: ignore[assignment]
