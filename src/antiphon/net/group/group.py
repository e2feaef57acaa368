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
from collections.abc import AsyncIterator, Iterable
from contextlib import nullcontext
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Self

from antiphon.core.errors import ExcludedError, UsageError
from antiphon.core.runs import Order
from antiphon.net.application.buffers import Payload
from antiphon.net.application.checking import check_handler, check_others
from antiphon.net.application.perishing import check_for, perishable
from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.driver.blocks.group_datagrams import GroupDatagrams
from antiphon.net.group.calling import Handler
from antiphon.net.group.collecting import Collector, checked
from antiphon.net.group.local_group import LocalGroup
from antiphon.net.group.sending import CAUSAL, HOW
from antiphon.net.stream.events import Batch, Event, Expired, Letter, Message, Unsent, View
from antiphon.net.stream.request import Request
from antiphon.ordering.blocks.counts import BlockCounts
from antiphon.stack.block_traffic import BlockTraffic
from antiphon.stack.inputs import LetterRequested, MulticastRequested
from antiphon.stack.send_queue import RUN_BYTES_MAX, RUN_MESSAGES_MAX, How
from antiphon.toolkit.calls import Replies, Wanted

_RUN_MESSAGES_LAST = RUN_MESSAGES_MAX - 1

_WANTED = {str(wanted): wanted for wanted in Wanted}


class Group:
    """A member's handle on a group, as :func:`antiphon.join` returns it.

    - ``name``: the name of the group.
    - ``me``, ``address``: the name of this process, and where it listens.
    - ``view``, ``members``: the current view, and the names in it.

    What is sent is bytes; a ``bytearray`` or ``memoryview`` is copied when it is handed over, and
    may change afterwards.
    """

    def __init__(self, local: LocalGroup) -> None:
        """Used by the node; applications call :func:`antiphon.join`."""
        self._local = local
        self._admission = local.admission
        self._sending = local.sending
        self._pending = local.sending.pending
        self._collector = Collector(
            local.admission, local.sending, check_for(local.config.settings)
        )
        self._writing = asyncio.Lock()  # letters that wait for room, in order
        self.name = local.group_name

    @property
    def me(self) -> str:
        """The name of this process; with its number, as ``alice~2``, in a later incarnation."""
        return self._local.name

    @property
    def address(self) -> str:
        """Where this process listens, as ``host:port``: one of the ``seeds`` of who joins later."""
        return str(self._local.process.address)

    @property
    def view(self) -> View:
        """The current view; the stream may not have been read as far as that.

        Not ``primary`` as soon as this process knows that it is blocked, or out of the group.
        """
        local = self._local
        view = local.view
        if view is None:
            raise UsageError(self._admission.say_outside())
        return view if local.is_in else view._replace(primary=False)

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view, in order of seniority."""
        return self.view.members

    def stability(self, *, delivered: bool = False) -> dict[str, int]:
        """Return, for each member, how many of its messages in this view are known to be stable.

        A stable message has been received by every member, so no crash can undo it: for who acts
        on a message outside of the group. It need not have been delivered yet, let alone read.

        With ``delivered``: how many are known to have been delivered by every member, alive or
        crashed since; and whatever is delivered here from now on was multicast after that. For who
        forgets what a concurrent message would need, such as the tombstones of a CRDT: where
        :attr:`is_caught_up`, for delivered is not read (docs/stability.md). Known about a heartbeat
        after the delivery.

        Both count as ``Message.number`` does, and begin again with each view: when a view comes,
        everything before it has been delivered by all who were and are members. Letters do not
        count. Empty between two incarnations; of the last view when the group was left.
        """
        self._check_entered()
        member = self._local.member
        if member is None or member.view is None:
            return {}
        stability = member.stability
        known = stability.delivered_by_all if delivered else stability.stable
        return {str(process): known(rank) for rank, process in enumerate(member.view.members)}

    @property
    def is_caught_up(self) -> bool:
        """Whether all that was delivered has been read, and what is multicast now goes out at once.

        Then a multicast follows, in causal order, exactly what its application has read, if the
        event loop gets no turn before it: no ``await`` but that of the multicast itself. Where it
        is False, others take it to follow messages that are still unread here.
        """
        return self._local.is_caught_up

    def k_stable(self, k: int) -> int:
        """Return how many own messages in this view at least ``k`` other members have received.

        0 where the view has fewer than ``k`` others: it may have shrunk. Where messages flood an
        overlay, as far as is known here: it may be more.
        """
        check_others(k)
        self._check_entered()
        member = self._local.member
        return member.stability.k_stable(k) if member is not None else 0

    @property
    def datagram_counts(self) -> DatagramCounts:
        """What became of datagrams here, forged and dropped ones included; a copy.

        Of a group of causal blocks; what came to this process's socket and was of no group counts
        in each of its groups. Begins again with another incarnation.
        """
        driver, _ = self._blocks()
        return driver.count()

    @property
    def block_counts(self) -> BlockCounts:
        """What became of causal blocks here: dropped by priority, expired, sent again, ...

        Begins again with another incarnation.
        """
        _, blocks = self._blocks()
        return blocks.group.count()

    def _blocks(self) -> tuple[GroupDatagrams, BlockTraffic]:
        self._check_entered()
        driver, member = self._local.driver, self._local.member
        if driver.datagrams is None or member is None or member.blocks is None:
            message = f"group {self.name} sends no datagrams: join with protocol=antiphon.Blocks()"
            raise UsageError(message)
        return driver.datagrams, member.blocks

    def _check_entered(self) -> None:
        if self._local.view is None:
            raise UsageError(self._admission.say_outside())

    async def __aenter__(self) -> Self:
        """Found the group with the others, or join it."""
        await self._local.process.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Leave the group."""
        await self._local.process.stop()

    if not TYPE_CHECKING:  # type checkers are to complain of it as well

        def __await__(self) -> None:
            """Refuse ``await antiphon.join(...)``: say what to write."""
            message = (
                f"group {self.name} is not awaited but entered: write "
                f"`async with {self._local.process.joined_by}(...) as group:`"
            )
            raise UsageError(message)

    def __aiter__(self) -> AsyncIterator[Event]:
        """Read everything in one stream, messages one by one, until the process has left.

        Messages and views; letters and requests, where other members send such; and, where this
        process was shut out, what it had sent in vain (:class:`Unsent`). A request that is read
        and not answered lets its caller wait until time is up.
        """
        return self._local.stream.events()

    def messages(self) -> AsyncIterator[Message]:
        """Read messages, one by one; pass over all else, refuse unhandled requests."""
        return self._local.stream.messages()

    def batches(self) -> AsyncIterator[Batch | Expired | View | Letter | Request | Unsent]:
        """Read messages in batches of one sender, much faster for many small ones.

        Everything else comes one by one between them.
        """
        return self._local.stream.batches()

    async def cbcast(self, payload: Payload) -> None:
        """Multicast one message in causal order (ISIS 5.1)."""
        pending = self._pending
        payloads = pending.payloads
        if payloads and pending.how is CAUSAL and type(payload) is bytes:
            size = pending.byte_count + len(payload)
            if size < RUN_BYTES_MAX and len(payloads) < _RUN_MESSAGES_LAST:
                # Another message of the run being collected: nearly all of many small ones.
                pending.byte_count = size
                payloads.append(payload)
                return
        if (waiting := self._collector.collect(payload, CAUSAL)) is not None:
            await waiting

    async def cbcast_many(self, payloads: Iterable[Payload]) -> None:
        """Multicast messages in causal order, as runs: much faster for many small ones."""
        await self.multicast_many(payloads)

    async def abcast(self, payload: Payload, *, until_delivered: bool = False) -> Message | None:
        """Multicast one message in total order, which extends causal order (ISIS 5.2).

        With ``until_delivered`` return it when it has been delivered here: its place in the order
        is known then, and it is in this process's stream. Do not wait for that where the stream is
        read. Raises :class:`ExcludedError` if this process drops out of the group before.
        """
        if not until_delivered:
            await self.multicast(payload, Order.TOTAL)
            return None
        self._how(Order.TOTAL, uniform=False)
        ([said], byte_count) = checked([payload])
        self._admission.expect_flush()
        reading = self._sending.reading
        if self._admission.must_wait():
            await self._admission.flush_and_wait()
            self._admission.check_inside()
        if self._sending.is_void(reading):
            message = f"{self.me} dropped out of group {self.name} before the message went out"
            raise ExcludedError(message)
        awaited, delivered = self._local.awaiting.expect(said)
        self._sending.send(MulticastRequested([awaited], HOW[Order.TOTAL, False], byte_count))
        return await delivered

    async def abcast_many(self, payloads: Iterable[Payload]) -> None:
        """Multicast messages in total order, as runs."""
        await self.multicast_many(payloads, Order.TOTAL)

    async def multicast(
        self,
        payload: Payload,
        order: Order = Order.CAUSAL,
        *,
        uniform: bool = False,
        priority: int = 0,
        lifetime_s: float | None = None,
    ) -> None:
        """Multicast one message in the given order.

        A ``uniform`` one is delivered by nobody, not even by a process that crashes right then,
        unless all who stay in the group deliver it (Uniform 4): safe to act on, and later.

        In a group of causal blocks (``protocol=antiphon.Blocks()``) a message may have a
        ``lifetime_s``: whoever has not delivered it by then reads :class:`antiphon.Expired` in its
        place. Where too much waits for what was lost, what has the lowest ``priority`` (0 to 7) is
        dropped first, and recovered later.
        """
        if priority or type(priority) is not int or lifetime_s is not None:
            settings = self._local.config.settings
            how = perishable(settings, order, priority, lifetime_s, uniform=uniform)
            await self._collector.collect_many([payload], how)
            return
        pending = self._pending
        how, payloads = pending.how, pending.payloads
        if (
            payloads
            and how.is_usual
            and how.order is order
            and how.uniform is uniform
            and type(payload) is bytes
        ):
            size = pending.byte_count + len(payload)
            if size < RUN_BYTES_MAX and len(payloads) < _RUN_MESSAGES_LAST:
                pending.byte_count = size
                payloads.append(payload)
                return
        how = self._how(order, uniform=uniform)
        if (waiting := self._collector.collect(payload, how)) is not None:
            await waiting

    async def multicast_many(
        self, payloads: Iterable[Payload], order: Order = Order.CAUSAL, *, uniform: bool = False
    ) -> None:
        """Multicast messages in the given order, as runs; none of them if one is unfit."""
        await self._collector.collect_many(payloads, self._how(order, uniform=uniform))

    def _how(self, order: Order, *, uniform: bool) -> How:
        """Return how to multicast; refuse what this group cannot give."""
        if uniform or order is Order.TOTAL or type(order) is not Order:
            self._local.config.settings.check(order, uniform=uniform)
        return HOW[order, bool(uniform)]

    async def send(self, to: str, payload: Payload) -> None:
        """Send a message to one member, in causal order with all multicasts (ISIS 7.2).

        It costs two messages, however large the group. Until the other has it, nothing else of
        this process leaves; so what is multicast right after it takes a round trip longer.

        Returns when the letter is on its way, or no other letter of the application is before it;
        nobody says whether it was read (``call``, to know). Raises :class:`UsageError` if ``to`` is
        not in the current view; if it goes while the letter waits, the letter is dropped.
        """
        ([letter], _) = checked([payload])
        process = self._local.member_named(to)
        if to == self.me:
            message = "a process needs no letter to itself: send it to another member"
            raise UsageError(message)
        self._admission.expect_flush(is_letter=True)
        reading = self._sending.reading
        if self._writing.locked() or self._admission.must_wait_to_write():
            # Who writes a letter may wait for the reader: so the reader does not queue behind it.
            async with nullcontext() if self._admission.is_reader_here else self._writing:
                await self._admission.flush_and_wait(is_letter=True)
            self._admission.check_inside()
        elif self._collector.is_turn_over():
            await asyncio.sleep(0)
        incarnation = reading if self._sending.is_void(reading) else 0
        self._sending.send(LetterRequested(process, letter, incarnation))

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
        wait for room, and nobody says whether the request went out: it is in no :class:`Unsent`.
        Cancelling takes back a request that still waits to go out. Raises
        :class:`BackPressureError` if too many calls are open, or nobody reads a full stream.
        """
        ([request], _) = checked([payload])
        if order is Order.TOTAL or type(order) is not Order:
            self._local.config.settings.check(order, uniform=False)
        return await self._local.calling.call(request, _wanted(replies), timeout_s, order)

    async def take_over(self) -> View:
        """Go on alone, though the majority is missing: if that is gone for good, and only then.

        For a group that is blocked: ``view.primary`` is False, ``view.missing`` names the others.
        This process alone makes the next view, of a new lineage, and takes others in again, with
        its state. Members that live after all are out as soon as they hear of it, whatever they
        did meanwhile. docs/lost-majority.md says when that is safe, and what is lost.

        Returns the new view. Raises :class:`UsageError` if this process is not blocked, or has not
        got the group's state.
        """
        return await self._local.process.take_over("its own program")

    def answer_calls(self, handler: Handler) -> None:
        """Have ``handler`` answer the calls of others, where the stream's reader comes to them.

        It is given who calls and what, and returns the answer; what it raises is told to the
        caller. A plain function is faster than a coroutine. Without a handler, the reader finds
        each call as a :class:`Request` in the stream.
        """
        check_handler(handler)
        self._local.stream.on_request = partial(self._local.calling.answer, handler)
        self._local.stream.is_answered_now = not iscoroutinefunction(handler)


def _wanted(replies: str) -> Wanted:
    try:
        return _WANTED[replies]
    except (KeyError, TypeError):
        message = f"{replies!r} is no number of replies: ask for {', '.join(Wanted)}"
        raise UsageError(message) from None
