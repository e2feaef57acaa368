"""Group calls for an application: between the machine, the stream and the network.

Law: a request is read from the stream, in order with messages and views, or answered by a handler
where the reader comes to it; replies do not pass through the caller's stream, so a caller need not
read in order to be answered. Whatever a handler raises is a refusal, told to the caller, and
harms nobody else. With an incarnation of the process its calls end.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from antiphon.core.errors import DefiniteCallError, IndefiniteCallError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Order
from antiphon.net.application.buffers import Payload
from antiphon.net.application.config import Config
from antiphon.net.application.exceptions import is_ours, say
from antiphon.net.driver.driver import Driver
from antiphon.net.group.admission import Admission
from antiphon.net.group.sending import Sending
from antiphon.net.stream.events import View, say_blocked
from antiphon.net.stream.request import Request
from antiphon.net.stream.stream import Stream
from antiphon.stack.effects import ConcludeCall, HandRequest, LeaveGroup
from antiphon.stack.inputs import CallAbandoned, CallRequested, RequestAnswered
from antiphon.toolkit.calls import Replies, Wanted

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
    "the request never went out, for the incarnation in which it was made has ended: read on until "
    "the next view, and call again if that still makes sense"
)


class CallingProcess(Protocol):
    """What calls need of the process whose they are."""

    ending: LeaveGroup
    """How the current incarnation ended, if it has."""

    @property
    def advice(self) -> str:
        """What an excluded process is to do."""


class CallingOwner(Protocol):
    """What calls need of the group that they are in."""

    config: Config
    admission: Admission
    sending: Sending
    stream: Stream
    view: View | None

    @property
    def process(self) -> CallingProcess:
        """The process whose calls they are."""

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""

    @property
    def driver(self) -> Driver:
        """The driver of the current incarnation."""


class Calling:
    """One process's calls in a group, and its answers to those of others."""

    def __init__(self, owner: CallingOwner) -> None:
        """Applications use their group."""
        self._owner = owner
        self._waiting: dict[int, asyncio.Future[Replies]] = {}
        self._count = self._number = 0

    # The application's part.

    async def call(
        self, payload: bytes, wanted: Wanted, timeout_s: float | None, order: Order
    ) -> Replies:
        """Call all other members; return what became of each."""
        owner = self._owner
        timeout_s = _checked_timeout(timeout_s)
        if len(payload) > CALL_BYTES_MAX:
            message = f"a request is at most {CALL_BYTES_MAX} bytes: ask for less at a time"
            raise UsageError(message)
        now_us = owner.config.environment.now_us
        begin_us = now_us()
        self._count += 1
        if self._count % _CALLS_PER_YIELD == 0:
            await asyncio.sleep(0)
        owner.admission.check_sendable()
        reading = owner.sending.reading
        if owner.admission.must_wait():
            await self._wait_for_room(timeout_s)
        if owner.sending.is_void(reading):
            raise DefiniteCallError(_ENDED, Replies((), {}))
        driver = owner.driver
        if owner.view is None or driver.is_over or driver.endpoint is None:
            raise UsageError(owner.admission.say_outside())
        deadline_us = None if timeout_s is None else begin_us + round(timeout_s * 1e6)
        owner.sending.flush()
        if wanted is Wanted.NONE:
            owner.driver.give(CallRequested(0, payload, wanted, None, order))
            return Replies((), {})
        self._number += 1  # not before: it may have waited, and others have called since
        number = self._number
        ending: asyncio.Future[Replies] = asyncio.get_running_loop().create_future()
        self._waiting[number] = ending
        try:
            owner.driver.give(CallRequested(number, payload, wanted, deadline_us, order))
            return await ending
        except asyncio.CancelledError:
            owner.driver.give(CallAbandoned(number))
            raise
        finally:
            self._waiting.pop(number, None)

    async def _wait_for_room(self, timeout_s: float | None) -> None:
        owner = self._owner
        try:
            async with asyncio.timeout(timeout_s):
                await owner.admission.flush_and_wait()
        except TimeoutError:
            why = "a member is slow, or the next view is being agreed on: call again"
            if owner.view is not None and not owner.view.primary:
                why = f"{owner.name} is blocked: {say_blocked(owner.view)}"
            message = f"the request never went out, for {why}"
            raise DefiniteCallError(message, Replies((), {})) from None
        owner.admission.check_inside()

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

    # What the machine says.

    def hand_over(self, asked: HandRequest) -> None:
        """A request has been delivered."""
        reply = None
        if asked.number:
            reply = partial(self._reply, self._owner.driver, asked.caller, asked.number)
        self._owner.stream.offer(Request(str(asked.caller), asked.payload, reply))

    def conclude(self, end: ConcludeCall) -> None:
        """A call has ended."""
        ending = self._waiting.get(end.number)
        if ending is None or ending.done():
            return  # whoever waited was cancelled
        if end.error is None:
            ending.set_result(end.replies)
        elif self._owner.process.ending.why:  # the process is out: say what follows
            said = f"{end.error}; {self._owner.process.advice}"
            ending.set_exception(type(end.error)(said, end.replies))
        else:
            ending.set_exception(end.error)

    def abandon(self) -> None:
        """The application has left the group, though the others have not let this process go."""
        for ending in self._waiting.values():
            if not ending.done():
                said = f"{self._owner.name} has left the group before the call ended"
                ending.set_exception(IndefiniteCallError(said, Replies((), {})))

    @staticmethod
    def _reply(
        driver: Driver, caller: ProcessId, number: int, payload: bytes | None, why: str
    ) -> None:
        """Send the answer of the application, if this incarnation still is the one asked."""
        if payload is not None and len(payload) > CALL_BYTES_MAX:
            payload, why = None, f"its answer is above the limit of {CALL_BYTES_MAX} bytes"
        driver.give(RequestAnswered(caller, number, payload, why))


def _checked_timeout(timeout_s: float | None) -> float | None:
    """Return a number of seconds, or None for no limit."""
    if timeout_s is None:
        return None
    if type(timeout_s) not in {int, float} or not timeout_s > 0:  # not a number is not above 0
        message = f"timeout_s is a number of seconds above 0, or None, not {timeout_s!r}"
        raise UsageError(message)
    return timeout_s if timeout_s <= TIMEOUT_S_MAX else None
