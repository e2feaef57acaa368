"""A group, as an application sees it: multicast into it, read from it.

    async with antiphon.join("choir", me="alice", members=MEMBERS) as group:
        await group.cbcast(b"who sings?")
        async for event in group:
            match event:
                case antiphon.Message(sender, _, payload):
                    print(sender, payload)
                case antiphon.View(number, members):
                    print(number, members)

Law: one ordered stream per group, of messages and views. What is multicast is delivered to its own
sender too, in the stream, before anything that comes of it. A multicast returns when the message
is on its way or waits its turn in a bounded buffer; it waits while a member reads slowly, and
while one view is being left for the next: then it goes out in the next.
"""

from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Self

from antiphon.core.errors import UsageError
from antiphon.core.frames import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Order
from antiphon.net.stream import Batch, Message, Stream, View

if TYPE_CHECKING:
    from antiphon.net.node import Node

RUN_MESSAGES_MAX = 1_024
"""Messages collected for one run before it is sent without waiting for the end of the turn."""

RUN_BYTES_MAX = 128 * 1024
"""Payload bytes, likewise: a write costs much the same for 16 KiB and for 100."""

_ORDERS = (Order.FIFO, Order.CAUSAL)
"""What a group can give; nothing is given as something weaker."""


class Group:
    """A member's handle on a group."""

    def __init__(self, node: "Node", name: str) -> None:
        """Used by the node; applications call :func:`antiphon.join`."""
        self._node = node
        self._pending_bytes = 0
        self.pending: list[bytes] = []
        """Messages of the run that is being collected."""
        self.pending_order = Order.CAUSAL
        self.stream = Stream(node.flush)
        """Where deliveries and views go."""
        self.name = name

    @property
    def me(self) -> str:
        """The name of this process; with its number, as ``alice~2``, in a later life."""
        return self._node.name

    @property
    def view(self) -> View:
        """The current view; the stream may not have been read as far as that."""
        view = self._node.view
        if view is None:
            message = f"{self.me} has not joined group {self.name} yet: enter `async with` first"
            raise UsageError(message)
        return view

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view, in order of seniority."""
        return self.view.members

    def stability(self) -> dict[str, int]:
        """Return, for each member, how many of its messages in this view are known to be stable.

        A stable message has reached every member: no crash can undo it.
        """
        return self._node.stability()

    def k_stable(self, k: int) -> int:
        """Return how many own messages in this view have reached at least ``k`` other members."""
        return self._node.k_stable(k)

    async def __aenter__(self) -> Self:
        """Found the group with the others, or join it."""
        await self._node.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Leave the group."""
        await self._node.stop()

    def __aiter__(self) -> AsyncIterator[Message | View]:
        """Read messages, one by one, and views, in one stream, until the process has left."""
        return self.stream.events()

    def messages(self) -> AsyncIterator[Message]:
        """Read messages, one by one, and pass over views."""
        return self.stream.messages()

    def batches(self) -> AsyncIterator[Batch | View]:
        """Read messages in batches of one sender, much faster for many small ones; and views."""
        return self.stream.batches()

    async def cbcast(self, payload: bytes) -> None:
        """Multicast one message in causal order (ISIS 5.1)."""
        if (waiting := self._collect(payload, Order.CAUSAL)) is not None:
            await waiting

    async def cbcast_many(self, payloads: Iterable[bytes]) -> None:
        """Multicast messages in causal order, as runs: much faster for many small ones."""
        await self.multicast_many(payloads)

    async def multicast(self, payload: bytes, order: Order = Order.CAUSAL) -> None:
        """Multicast one message in the given order."""
        if (waiting := self._collect(payload, order)) is not None:
            await waiting

    def _collect(self, payload: bytes, order: Order) -> Coroutine[None, None, None] | None:
        """Add a message to the run being collected; return what its sender has to wait for.

        Nearly always nothing: then a message costs one append.
        """
        if type(payload) is not bytes or len(payload) > RUN_BYTES_MAX:
            return self.multicast_many([payload], order)
        pending = self.pending
        if not pending or order is not self.pending_order:
            if pending or order not in _ORDERS or self._node.must_wait(self.stream):
                return self.multicast_many([payload], order)
            self._node.expect_flush()
            self.pending_order = order
        pending.append(payload)
        self._pending_bytes += len(payload)
        if self._pending_bytes >= RUN_BYTES_MAX or len(pending) >= RUN_MESSAGES_MAX:
            return self._node.flush_and_wait(self.stream)
        return None

    async def multicast_many(self, payloads: Iterable[bytes], order: Order = Order.CAUSAL) -> None:
        """Multicast messages in the given order, as runs; none of them if one is unfit."""
        batch = list(payloads)
        for part, byte_count in _cut(batch, _checked_size(batch)):
            if not self.pending or order is not self.pending_order:
                await self._begin_run(order)
            while self.pending and self._pending_bytes + byte_count > PAYLOAD_BYTES_MAX:
                # No frame is larger than the largest message needs.
                await self._begin_run(order, is_new=True)
            self.pending += part
            self._pending_bytes += byte_count
            if self._pending_bytes >= RUN_BYTES_MAX or len(self.pending) >= RUN_MESSAGES_MAX:
                await self._node.flush_and_wait(self.stream)

    async def _begin_run(self, order: Order, *, is_new: bool = False) -> None:
        """Wait for room, once per run, so that not every message has to ask."""
        if order not in _ORDERS:
            name = order.name.lower() if isinstance(order, Order) else repr(order)
            names = " or ".join(f"Order.{order.name}" for order in _ORDERS)
            message = f"{name} order is not available yet: ask for {names}"
            raise UsageError(message)
        if self._node.must_wait(self.stream):
            await self._node.flush_and_wait(self.stream)
        while self.pending and (is_new or self.pending_order is not order):
            self._node.flush()
            if self.pending:  # between two views, perhaps only since this task waited
                await self._node.flush_and_wait(self.stream)
        self._node.expect_flush()
        self.pending_order = order

    # What the node calls.

    def take_pending(self) -> tuple[list[bytes], int]:
        """Hand over what was multicast since the last time, and its size."""
        taken = self.pending, self._pending_bytes
        self.pending, self._pending_bytes = [], 0
        return taken


def _checked_size(batch: list[bytes]) -> int:
    """Return the size of all messages; refuse a batch with one that is unfit.

    Written for batches of thousands: few passes, none of them in Python.
    """
    if set(map(type, batch)) - {bytes}:
        raise UsageError(_say_unfit(next(item for item in batch if type(item) is not bytes)))
    byte_count = sum(map(len, batch))
    if byte_count > PAYLOAD_BYTES_MAX and len(longest := max(batch, key=len)) > PAYLOAD_BYTES_MAX:
        raise UsageError(_say_unfit(longest))
    return byte_count


def _cut(batch: list[bytes], byte_count: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield parts that fit into one run, with their sizes; nearly always the whole batch."""
    if byte_count <= RUN_BYTES_MAX and 0 < len(batch) <= RUN_MESSAGES_MAX:
        yield batch, byte_count
        return
    begin = size = 0
    for at, payload in enumerate(batch):
        if at > begin and (size + len(payload) > RUN_BYTES_MAX or at - begin == RUN_MESSAGES_MAX):
            yield batch[begin:at], size
            begin, size = at, 0
        size += len(payload)
    if size or begin < len(batch):
        yield batch[begin:], size


def _say_unfit(payload: object) -> str:
    if not isinstance(payload, bytes) or type(payload) is not bytes:
        return f"a message is bytes, not {type(payload).__name__}: encode it first"
    return (
        f"a message of {len(payload)} bytes is above the limit of {PAYLOAD_BYTES_MAX}: "
        "cut it up, or multicast a reference to it"
    )
