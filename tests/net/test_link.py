"""Links: what is written in one turn of the event loop leaves in few writes, in order."""

import asyncio
from typing import cast

from tests.net.harness import LoopFactory, play

from antiphon.net.transport.link import Link, LinkOwner


class _Transport(asyncio.Transport):
    """Notes what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Without limits."""

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def write_eof(self) -> None:
        self.written.append(b"end")

    def close(self) -> None:
        self.written.append(b"closed")


def _connected() -> tuple[Link[str], list[bytes]]:
    transport = _Transport()
    link: Link[str] = Link(cast("LinkOwner[str]", None))
    link.connection_made(transport)
    return link, transport.written


def test_first_write_of_a_turn_leaves_at_once_and_the_others_together(
    loop_factory: LoopFactory,
) -> None:
    """Whoever waits for one message does not wait for a turn; many short ones share a write."""

    async def scene() -> None:
        link, written = _connected()
        for turn in (b"1", b"2"):
            written.clear()
            for word in (b"a", b"b", b"c"):
                link.write(turn + word)
            assert written == [turn + b"a"]
            await asyncio.sleep(0)
            assert written == [turn + b"a", turn + b"b" + turn + b"c"]
        await asyncio.sleep(0)
        assert len(written) == 2

    play(loop_factory, scene())


def test_what_is_enough_for_a_good_write_does_not_wait_for_the_turn(
    loop_factory: LoopFactory,
) -> None:
    """Little is held back, however long a turn is."""

    async def scene() -> None:
        link, written = _connected()
        words = [bytes([number]) * 20_000 for number in range(10)]
        for word in words:
            link.write(word)
        assert sum(map(len, written)) > sum(map(len, words)) - 64 * 1024
        await asyncio.sleep(0)
        assert b"".join(written) == b"".join(words)
        assert len(written) < len(words) // 2

    play(loop_factory, scene())


def test_end_of_a_link_comes_behind_all_that_was_written(loop_factory: LoopFactory) -> None:
    """Closed, or dropped behind a mere answer."""

    async def scene() -> None:
        for end, last in ((Link.close, b"end"), (lambda link: link.drop("no"), b"closed")):
            link, written = _connected()
            link.write(b"a")
            link.write(b"b")
            end(link)
            assert written == [b"a", b"b", last]

    play(loop_factory, scene())
