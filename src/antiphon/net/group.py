"""A group, as an application sees it: multicast into it, read from it.

    async with antiphon.join("choir", me="alice", members=MEMBERS) as group:
        await group.cbcast(b"who sings?")
        async for message in group:
            print(message.sender, message.payload)

Law: one ordered stream per group. What is multicast is delivered to its own sender too, in the
stream, before anything that comes of it. A multicast returns when the message is on its way or
waits its turn in a bounded buffer; it waits while a member reads slowly.
"""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Self

from antiphon.core.errors import UsageError
from antiphon.core.frames import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Order
from antiphon.net.stream import Batch, Message, Stream

if TYPE_CHECKING:
    from antiphon.net.node import Node

RUN_MESSAGES_MAX = 1_024
"""Messages collected for one run before it is sent without waiting for the end of the turn."""

RUN_BYTES_MAX = 96 * 1024
"""Payload bytes, likewise. Well below the receivers' buffer, so that frames are not torn."""


class Group:
    """A member's handle on a group."""

    def __init__(self, node: "Node", name: str, names: list[str]) -> None:
        """Used by the node; applications call :func:`antiphon.join`."""
        self._node = node
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._pending_order = Order.CAUSAL
        self._stream = Stream(names, node.flush)
        self.name = name
        self.members = tuple(names)
        """The members' names, in order of seniority."""

    @property
    def me(self) -> str:
        """The name of this process."""
        return self._node.name

    @property
    def lost(self) -> dict[str, str]:
        """Members whose connection is gone, and why; they get and send nothing any more."""
        return dict(self._node.lost)

    async def __aenter__(self) -> Self:
        """Start the node: listen, and connect to every member."""
        await self._node.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop the node."""
        await self._node.stop()

    def __aiter__(self) -> AsyncIterator[Message]:
        """Read delivered messages, one by one, until the node stops."""
        return self._stream.messages()

    def batches(self) -> AsyncIterator[Batch]:
        """Read delivered messages in batches of one sender: much faster for many small ones."""
        return self._stream.batches()

    async def cbcast(self, payload: bytes) -> None:
        """Multicast one message in causal order (ISIS 5.1)."""
        await self.multicast(payload)

    async def cbcast_many(self, payloads: Iterable[bytes]) -> None:
        """Multicast messages in causal order, as runs: much faster for many small ones."""
        await self.multicast_many(payloads)

    async def multicast(self, payload: bytes, order: Order = Order.CAUSAL) -> None:
        """Multicast one message in the given order."""
        self._check(payload)
        self._add(order, payload)
        if self._is_run_complete() or self._node.must_wait(self._stream):
            await self._node.flush_and_wait(self._stream)

    async def multicast_many(
        self, payloads: Iterable[bytes], order: Order = Order.CAUSAL
    ) -> None:
        """Multicast messages in the given order, as runs."""
        for payload in payloads:
            self._check(payload)
            self._add(order, payload)
            if self._is_run_complete():
                await self._node.flush_and_wait(self._stream)
        if self._node.must_wait(self._stream):
            await self._node.flush_and_wait(self._stream)

    def _check(self, payload: bytes) -> None:
        if type(payload) is not bytes:
            message = f"a message is bytes, not {type(payload).__name__}: encode it first"
            raise UsageError(message)
        if len(payload) > PAYLOAD_BYTES_MAX:
            message = (
                f"a message of {len(payload)} bytes is above the limit of {PAYLOAD_BYTES_MAX}: "
                "cut it up, or multicast a reference to it"
            )
            raise UsageError(message)

    def _add(self, order: Order, payload: bytes) -> None:
        if order is not self._pending_order:
            self._node.flush()
            self._pending_order = order
        if not self._pending:
            self._node.expect_flush()
        self._pending.append(payload)
        self._pending_bytes += len(payload)

    def _is_run_complete(self) -> bool:
        return self._pending_bytes >= RUN_BYTES_MAX or len(self._pending) >= RUN_MESSAGES_MAX

    # What the node calls.

    def take_pending(self) -> tuple[list[bytes], Order]:
        """Hand over what was multicast since the last time."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        return pending, self._pending_order

    @property
    def stream(self) -> Stream:
        """Where deliveries go."""
        return self._stream
