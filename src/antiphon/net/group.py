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

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Self, cast

from antiphon.core.errors import UsageError
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Order
from antiphon.net.buffers import Payload, frozen
from antiphon.net.calling import Calling, Handler
from antiphon.net.checking import check_handler
from antiphon.net.override import take_over
from antiphon.net.request import Request
from antiphon.net.sending import Sending
from antiphon.net.stream import Batch, Event, Letter, Message, Stream, Unsent, View
from antiphon.stack.inputs import LetterRequested, MulticastRequested
from antiphon.stack.send_queue import RUN_BYTES_MAX, RUN_MESSAGES_MAX, How
from antiphon.toolkit.calls import Replies, Wanted

if TYPE_CHECKING:
    from antiphon.net.node import Node

CUTS_PER_YIELD = 64
"""Runs that another order or a letter cuts short before the event loop gets a turn to read."""

_HOW = {(order, uniform): How(order, uniform) for order in Order for uniform in (False, True)}
_CAUSAL = _HOW[Order.CAUSAL, False]
_WANTED = {str(wanted): wanted for wanted in Wanted}


class Group:
    """A member's handle on a group, as :func:`antiphon.join` returns it.

    - ``name``: the name of the group.
    - ``me``, ``address``: the name of this process, and where it listens.
    - ``view``, ``members``: the current view, and the names in it.

    What is sent is bytes; a ``bytearray`` or ``memoryview`` is copied when it is handed over, and
    may change afterwards.
    """

    def __init__(self, node: "Node", name: str) -> None:
        """Used by the node; applications call :func:`antiphon.join`."""
        self._node = node
        self._pending_bytes = 0
        self.pending: list[bytes] = []
        """Messages of the run that is being collected."""
        self.pending_how = _CAUSAL
        self.stream = Stream()
        """Where deliveries and views go."""
        self.sending = Sending(self, node.config.settings.limits.queued_bytes)
        """What leaves, and what waits to."""
        self.stream.on_beginning = self.sending.on_beginning
        self._cut_count = 0
        self._writing = asyncio.Lock()  # letters that wait for room, in order
        self.calling = Calling(node)
        """What is called, and answered."""
        self.name = name

    @property
    def me(self) -> str:
        """The name of this process; with its number, as ``alice~2``, in a later life."""
        return self._node.name

    @property
    def address(self) -> str:
        """Where this process listens, as ``host:port``: one of the ``seeds`` of who joins later."""
        return str(self._node.address)

    @property
    def view(self) -> View:
        """The current view; the stream may not have been read as far as that.

        Not ``primary`` as soon as this process knows that it is blocked, or out of the group.
        """
        view = self._node.view
        if view is None:
            raise UsageError(self._node.say_outside())
        return view if self._node.is_in else view._replace(primary=False)

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view, in order of seniority."""
        return self.view.members

    def stability(self) -> dict[str, int]:
        """Return, for each member, how many of its messages in this view are known to be stable.

        A stable message has been received by every member, so no crash can undo it. It need not
        have been delivered there yet, let alone read by the application.
        """
        return self._node.stability()

    def k_stable(self, k: int) -> int:
        """Return how many own messages in this view at least ``k`` other members have received."""
        return self._node.k_stable(k)

    async def __aenter__(self) -> Self:
        """Found the group with the others, or join it."""
        await self._node.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Leave the group."""
        await self._node.stop()

    if not TYPE_CHECKING:  # type checkers are to complain of it as well

        def __await__(self) -> None:
            """Refuse ``await antiphon.join(...)``: say what to write."""
            message = (
                f"group {self.name} is not awaited but entered: write "
                "`async with antiphon.join(...) as group:`"
            )
            raise UsageError(message)

    def __aiter__(self) -> AsyncIterator[Event]:
        """Read everything in one stream, messages one by one, until the process has left.

        Messages and views; letters and requests, where other members send such; and, where this
        process was shut out, what it had sent in vain (:class:`Unsent`). A request that is read
        and not answered lets its caller wait until time is up.
        """
        return self.stream.events()

    def messages(self) -> AsyncIterator[Message]:
        """Read messages, one by one; pass over all else, refuse unhandled requests."""
        return self.stream.messages()

    def batches(self) -> AsyncIterator[Batch | View | Letter | Request | Unsent]:
        """Read messages in batches of one sender, much faster for many small ones.

        Everything else comes one by one between them.
        """
        return self.stream.batches()

    async def cbcast(self, payload: Payload) -> None:
        """Multicast one message in causal order (ISIS 5.1)."""
        if (waiting := self._collect(payload, _CAUSAL)) is not None:
            await waiting

    async def cbcast_many(self, payloads: Iterable[Payload]) -> None:
        """Multicast messages in causal order, as runs: much faster for many small ones."""
        await self.multicast_many(payloads)

    async def abcast(self, payload: Payload) -> None:
        """Multicast one message in total order, which extends causal order (ISIS 5.2)."""
        await self.multicast(payload, Order.TOTAL)

    async def abcast_many(self, payloads: Iterable[Payload]) -> None:
        """Multicast messages in total order, as runs."""
        await self.multicast_many(payloads, Order.TOTAL)

    async def multicast(
        self, payload: Payload, order: Order = Order.CAUSAL, *, uniform: bool = False
    ) -> None:
        """Multicast one message in the given order.

        A ``uniform`` one is delivered by nobody, not even by a process that crashes right then,
        unless all who stay in the group deliver it (Uniform 4): safe to act on, and later.
        """
        if (waiting := self._collect(payload, self._how(order, uniform=uniform))) is not None:
            await waiting

    async def multicast_many(
        self, payloads: Iterable[Payload], order: Order = Order.CAUSAL, *, uniform: bool = False
    ) -> None:
        """Multicast messages in the given order, as runs; none of them if one is unfit."""
        await self._collect_many(payloads, self._how(order, uniform=uniform))

    def _how(self, order: Order, *, uniform: bool) -> How:
        """Return how to multicast; refuse what this group cannot give."""
        if uniform or type(order) is not Order:
            self._node.config.settings.check(order, uniform=uniform)
        return _HOW[order, bool(uniform)]

    async def send(self, to: str, payload: Payload) -> None:
        """Send a message to one member, in causal order with all multicasts (ISIS 7.2).

        It costs two messages, however large the group. Until the other has it, nothing else of
        this process leaves; so what is multicast right after it takes a round trip longer.

        Returns when the letter is on its way, or no other letter of the application is before it;
        nobody says whether it was read (``call``, to know). Raises :class:`UsageError` if ``to`` is
        not in the current view; if it goes while the letter waits, the letter is dropped.
        """
        ([letter], _) = _checked([payload])
        process = self._node.member_named(to)
        if to == self.me:
            message = "a process needs no letter to itself: send it to another member"
            raise UsageError(message)
        self._node.expect_flush()
        reading = self.sending.reading
        if self._writing.locked() or self._node.must_wait_to_write(self.stream):
            async with self._writing:
                await self._node.flush_and_wait(self.stream, is_letter=True)
            self._node.raise_error()
        elif self._is_turn_over():
            await asyncio.sleep(0)
        incarnation = reading if self.sending.is_void(reading) else 0
        self.sending.send(LetterRequested(process, letter, incarnation))

    async def call(
        self,
        payload: Payload,
        replies: str = "all",
        *,
        timeout_s: float | None = 10.0,
        order: Order = Order.CAUSAL,
    ) -> Replies:
        """Ask all members something, in order with what is multicast, and return the replies.

        ``replies`` says how many of the other members have to answer: none, first, majority or
        all. Raises :class:`CallError` if fewer can: definite if nobody did what was asked,
        indefinite if some may have. Do not wait for replies where requests are read.

        ``timeout_s`` is above 0, or None for no limit; if no replies are wanted, it bounds only the
        wait for room. Cancelling takes back a request that still waits to go out. Raises
        :class:`BackPressureError` if too many calls are open, or nobody reads a full stream.
        """
        ([request], _) = _checked([payload])
        if type(order) is not Order:
            self._node.config.settings.check(order, uniform=False)
        return await self.calling.call(request, _wanted(replies), timeout_s, order)

    async def take_over(self) -> View:
        """Go on alone, though the majority is missing: if that is gone for good, and only then.

        For a group that is blocked: ``view.primary`` is False, ``view.missing`` names the others.
        This process alone makes the next view, of a new lineage, and takes others in again, with
        its state. Members that live after all are out as soon as they hear of it, whatever they
        did meanwhile. docs/lost-majority.md says when that is safe, and what is lost.

        Returns the new view. Raises :class:`UsageError` if this process is not blocked, or has not
        got the group's state.
        """
        return await take_over(self._node, "its own program")

    def answer_calls(self, handler: Handler) -> None:
        """Have ``handler`` answer the calls of others, where the stream's reader comes to them.

        It is given who calls and what, and returns the answer; what it raises is told to the
        caller. A plain function is faster than a coroutine. Without a handler, the reader finds
        each call as a :class:`Request` in the stream.
        """
        check_handler(handler)
        self.stream.on_request = partial(self.calling.answer, handler)
        self.stream.is_answered_now = not iscoroutinefunction(handler)

    def _collect(self, payload: Payload, how: How) -> Coroutine[None, None, None] | None:
        """Add a message to the run being collected; return what its sender has to wait for.

        Nearly always nothing: then a message costs one append.
        """
        if type(payload) is not bytes or len(payload) > RUN_BYTES_MAX:
            return self._collect_many([payload], how)
        pending = self.pending
        if not pending or how is not self.pending_how:
            if pending or self._node.must_wait(self.stream):
                return self._collect_many([payload], how)
            self._node.expect_flush()
            self.pending_how = how
        pending.append(payload)
        self._pending_bytes += len(payload)
        if self._pending_bytes >= RUN_BYTES_MAX or len(pending) >= RUN_MESSAGES_MAX:
            return self._node.flush_and_wait(self.stream)
        return None

    async def _collect_many(self, payloads: Iterable[Payload], how: How) -> None:
        try:
            given = list(payloads)
        except TypeError:
            message = f"messages are given as a list, or anything to go through, not {payloads!r}"
            raise UsageError(message) from None
        batch, size = _checked(given)
        reading = self.sending.reading
        for part, byte_count in _cut(batch, size):
            if not self.pending or how is not self.pending_how:
                await self._begin_run(how)
            if self.pending and self._pending_bytes + byte_count > PAYLOAD_BYTES_MAX:
                # No frame is larger than the largest message needs.
                await self._begin_run(how, is_new=True)
            if self.sending.is_void(reading):
                self.sending.send(MulticastRequested(part, how, byte_count, reading))
                continue
            self.pending += part
            self._pending_bytes += byte_count
            if self._pending_bytes >= RUN_BYTES_MAX or len(self.pending) >= RUN_MESSAGES_MAX:
                await self._node.flush_and_wait(self.stream)

    async def _begin_run(self, how: How, *, is_new: bool = False) -> None:
        """Wait for room, once per run, so that not every message has to ask."""
        if self._node.must_wait(self.stream):
            await self._node.flush_and_wait(self.stream)
        elif self.pending and self._is_turn_over():
            await asyncio.sleep(0)  # what has arrived is to be read, and confirmed
        if self.pending and (is_new or self.pending_how is not how):
            self._node.flush()
        self._node.expect_flush()
        self.pending_how = how

    def _is_turn_over(self) -> bool:
        """Whether so many runs were cut short that others in this process have to get a turn."""
        self._cut_count += 1
        return self._cut_count % CUTS_PER_YIELD == 0

    # What the node calls.

    def take_pending(self) -> tuple[list[bytes], int]:
        """Hand over what was multicast since the last time, and its size."""
        taken = self.pending, self._pending_bytes
        self.pending, self._pending_bytes = [], 0
        return taken


def _wanted(replies: str) -> Wanted:
    try:
        return _WANTED[replies]
    except (KeyError, TypeError):
        message = f"{replies!r} is no number of replies: ask for {', '.join(Wanted)}"
        raise UsageError(message) from None


def _checked(given: list[Payload]) -> tuple[list[bytes], int]:
    """Return all messages as bytes, and their size; refuse a batch with one that is unfit.

    Written for batches of thousands of bytes: few passes, none of them in Python.
    """
    batch = cast("list[bytes]", given)
    if set(map(type, given)) - {bytes}:
        batch = [frozen(item) for item in given]
        for item in batch:
            if type(item) is not bytes:
                raise UsageError(_say_unfit(item))
    byte_count = sum(map(len, batch))
    if byte_count > PAYLOAD_BYTES_MAX and len(longest := max(batch, key=len)) > PAYLOAD_BYTES_MAX:
        raise UsageError(_say_unfit(longest))
    return batch, byte_count


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
