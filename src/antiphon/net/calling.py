"""Group calls for an application: between the machine, the stream and the network.

Law: a request is read from the stream, in order with messages and views, or answered by a handler
where the reader comes to it; replies do not pass through the caller's stream, so a caller need not
read in order to be answered. Whatever a handler raises is a refusal, told to the caller, and
harms nobody else. Each life has a machine of its own: with a life its calls end.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from antiphon.core.errors import AntiphonError, DefiniteCallError, PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.runs import PORT_CALLS, Order
from antiphon.core.views import View
from antiphon.net.blame import is_ours, say
from antiphon.net.buffers import Payload
from antiphon.net.request import Request
from antiphon.net.stream import say_blocked
from antiphon.toolkit.calls import (
    Calls,
    Conclude,
    Effect,
    Handle,
    Replies,
    Wanted,
)

if TYPE_CHECKING:
    from antiphon.net.node import Node

CALL_BYTES_MAX = PAYLOAD_BYTES_MAX - 1024
"""Room for what goes with a request or a reply."""

_CALLS_PER_YIELD = 64
"""Calls without waiting, for nobody has to answer, before the event loop gets a turn."""

TIMEOUT_S_MAX = 1e9
"""More seconds than this are no limit."""

Handler = Callable[[str, bytes], Payload | Awaitable[Payload]]
"""Given who asks and what, returns the answer, now or later; or raises, to refuse."""

_log = logging.getLogger("antiphon")

_ENDED = (
    "the request never went out, for the life in which it was made has ended: read on until "
    "the next view, and call again if that still makes sense"
)
_IGNORED = "a call of %s is ignored: %s"


class Calling:
    """One process's calls, and its answers to those of others."""

    def __init__(self, node: "Node") -> None:
        """Used by the node; applications use their group."""
        self._node = node
        self._calls: Calls | None = None
        self._waiting: dict[int, asyncio.Future[Replies]] = {}
        self._count = 0
        self._requests: dict[int, bytes] = {}

    # The application's part.

    async def call(
        self, payload: bytes, wanted: Wanted, timeout_s: float | None, order: Order
    ) -> Replies:
        """Call all other members; return what became of each."""
        node = self._node
        timeout_s = _checked_timeout(timeout_s)
        if len(payload) > CALL_BYTES_MAX:
            message = f"a request is at most {CALL_BYTES_MAX} bytes: ask for less at a time"
            raise UsageError(message)
        now_us = node.config.environment.now_us
        begin_us = now_us()
        self._count += 1
        if self._count % _CALLS_PER_YIELD == 0:
            await asyncio.sleep(0)
        node.check_sendable()
        life = node.sending.read_life
        if node.must_wait(node.group.stream):
            await self._wait_for_room(timeout_s)
        if node.sending.is_void(life):
            raise DefiniteCallError(_ENDED, Replies((), {}))
        if self._calls is None:
            raise UsageError(node.say_outside())
        deadline_us = None if timeout_s is None else begin_us + round(timeout_s * 1e6)
        number, request = self._calls.begin(payload, wanted, deadline_us)
        if not number:
            node.post(request, order, uniform=False, port=PORT_CALLS)
            return Replies((), {})
        ending: asyncio.Future[Replies] = asyncio.get_running_loop().create_future()
        self._waiting[number] = ending
        self._requests[number] = request
        node.post(request, order, uniform=False, port=PORT_CALLS)
        left_s = None if timeout_s is None else max(0.0, timeout_s - (now_us() - begin_us) / 1e6)
        try:
            return await self._wait(self._calls, number, ending, left_s)
        except asyncio.CancelledError:
            node.withdraw(request)
            raise
        finally:
            self._requests.pop(number, None)

    async def _wait_for_room(self, timeout_s: float | None) -> None:
        node = self._node
        try:
            async with asyncio.timeout(timeout_s):
                await node.flush_and_wait(node.group.stream)
        except TimeoutError:
            why = "a member is slow, or the next view is being agreed on: call again"
            if node.view is not None and not node.view.primary:
                why = f"{node.name} is blocked: {say_blocked(node.view)}"
            message = f"the request never went out, for {why}"
            raise DefiniteCallError(message, Replies((), {})) from None
        node.raise_error()

    async def _wait(
        self,
        calls: Calls | None,
        number: int,
        ending: "asyncio.Future[Replies]",
        timeout_s: float | None,
    ) -> Replies:
        loop = asyncio.get_running_loop()
        timer = None if timeout_s is None else loop.call_later(timeout_s, self._tick)
        try:
            return await ending
        except asyncio.CancelledError:
            if calls is not None and calls is self._calls:
                calls.give_up(number)
                self._waiting.pop(number, None)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _tick(self) -> None:
        calls = self._calls
        if calls is not None:
            # Timers of the loop may be early by its resolution.
            soon_us = self._node.config.environment.now_us() + 1000
            late = calls.late(soon_us)
            unsent = [number for number in late if self._node.withdraw(self._requests[number])]
            self._do(calls.tick(soon_us, unsent))

    def answer(self, handler: Handler, request: Request) -> Awaitable[None] | None:
        """Have a handler answer a request; return what is to be waited for, if anything."""
        try:
            answer = handler(request.sender, request.payload)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - it is the application's code
            # Also CancelledError: of something it looked at, for nobody cancels a plain call.
            self._refuse(request, error)
            return None
        if type(answer) is not bytes and isinstance(answer, Awaitable):
            return self._answer_later(answer, request)
        request.answer(answer)
        return None

    async def _answer_later(self, answer: Awaitable[Payload], request: Request) -> None:
        try:
            request.answer(await answer)
        except BaseException as error:
            if is_ours(error):
                request.refuse("its reader was interrupted")
                raise
            self._refuse(request, error)

    def _refuse(self, request: Request, error: BaseException) -> None:
        if not request.is_open:  # an own one: nobody else will say what went wrong
            _log.warning("a request of %s is refused here", request.sender, exc_info=error)
        request.refuse(say(error))

    # What the node calls.

    def on_view(self, view: View) -> None:
        """A view has begun; the first one of a life begins a new machine."""
        process = self._node.life.process
        if self._calls is None and process in view.members:
            self._calls = Calls(process)
        if self._calls is not None:
            self._do(self._calls.enter(view))

    def on_message(self, sender: ProcessId, payload: bytes) -> None:
        """A request has been delivered."""
        if self._calls is not None:
            try:
                self._do(self._calls.deliver(sender, payload))
            except PeerError as error:
                _log.warning(_IGNORED, sender, error)

    def on_letter(self, sender: ProcessId, payload: bytes) -> None:
        """A reply has been delivered."""
        if self._calls is not None:
            try:
                self._do(self._calls.take_reply(sender, payload))
            except PeerError as error:
                _log.warning(_IGNORED, sender, error)

    def on_end(self, error: AntiphonError | None) -> None:
        """The process is out of the group."""
        calls, self._calls = self._calls, None
        if calls is not None:
            why = str(error or "this process has left")
            dropped = self._node.unsent
            unsent = {number for number, said in self._requests.items() if said in dropped}
            self._do(calls.abandon(why, unsent))

    # Doing what the machine says.

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Handle):
                self._hand_over(effect)
            else:
                self._conclude(effect)

    def _hand_over(self, asked: Handle) -> None:
        reply = None
        if asked.number:
            reply = partial(self._reply, self._calls, asked.caller, asked.number)
        self._node.group.stream.offer(Request(str(asked.caller), asked.body, reply))

    def _conclude(self, end: Conclude) -> None:
        ending = self._waiting.pop(end.number)
        if ending.done():
            return  # whoever waited was cancelled
        if end.error is None:
            ending.set_result(end.replies)
        else:
            ending.set_exception(end.error)

    def _reply(
        self, calls: Calls | None, caller: ProcessId, number: int, payload: bytes | None, why: str
    ) -> None:
        """Send the answer of the application, if this life still is the one that was asked."""
        if calls is None or calls is not self._calls:
            return
        if payload is not None and len(payload) > CALL_BYTES_MAX:
            payload, why = None, f"its answer is above the limit of {CALL_BYTES_MAX} bytes"
        said = calls.refuse(number, why) if payload is None else calls.answer(number, payload)
        self._node.post_letter(caller, said, PORT_CALLS)


def _checked_timeout(timeout_s: float | None) -> float | None:
    """Return a number of seconds, or None for no limit."""
    if timeout_s is None:
        return None
    if type(timeout_s) not in {int, float} or not timeout_s > 0:  # not a number is not above 0
        message = f"timeout_s is a number of seconds above 0, or None, not {timeout_s!r}"
        raise UsageError(message)
    return timeout_s if timeout_s <= TIMEOUT_S_MAX else None
