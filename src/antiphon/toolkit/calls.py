"""Group calls: a request to all members, and replies from as many as are wanted (ISIS 7.2).

Rule. A request is a multicast, so its caller handles it too, like any replica; a reply is a letter
to the caller. The members asked are the others of the view in which the request goes out, which
the caller knows when its own copy is delivered.
Each of them ends in one of four ways, and the first counts: it answered, it refused (its handler
raised), it failed (it left the view without a word), it timed out. A call ends as soon as as many
have answered as were wanted, or else when nobody is left to wait for.

Invariant: a call ends once, and with everything that is known by then. If too few answered it ends
with an error that says whether it may have been executed: *definite* if the request never went
out or nobody was there, *indefinite* in all other cases.

Fault model: that of membership; a handler may raise, hang, or answer too late. Late and repeated
replies are dropped.

Cost: one multicast and a letter from each member asked; none if no replies are wanted. Two
message delays.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, final

import msgspec
from msgspec import Meta, Struct

from antiphon.core.decoding import decode_untrusted
from antiphon.core.errors import (
    BackPressureError,
    CallError,
    DefiniteCallError,
    IndefiniteCallError,
    PeerError,
)
from antiphon.core.ids import ProcessId
from antiphon.core.views import View

OPEN_MAX = 10_000
"""Calls that may be open at once."""

WHY_LENGTH_MAX = 500
"""Characters of a refusal; longer ones are cut."""


class Wanted(StrEnum):
    """How many of the members asked have to answer."""

    NONE = "none"
    FIRST = "first"
    MAJORITY = "majority"
    """More than half of them."""
    ALL = "all"


# What becomes of a member that was asked.


class Answered(Struct, frozen=True):
    """The member's handler returned an answer: ``payload``."""

    payload: bytes


class Refused(Struct, frozen=True):
    """The member's handler raised an exception: ``why`` is its type and text."""

    why: str


class Failed(Struct, frozen=True):
    """The member left the view before it answered; its handler may have run or not."""


class TimedOut(Struct, frozen=True):
    """The member did not answer in time; its handler may have run or not."""


Ending = Answered | Refused | Failed | TimedOut


@final
@dataclass(frozen=True, slots=True, eq=False)
class Replies(Mapping[str, Ending]):
    """What became of each member, by name; who is missing was not waited for.

    A mapping: ``replies["bob"]`` is an Answered, Refused, Failed or TimedOut.

    - ``asked``: the names of the members that the request went to.
    - ``endings``: the mapping itself, as a dict, in the order in which the endings came.
    """

    asked: tuple[str, ...]
    endings: dict[str, Ending]

    def __getitem__(self, name: str) -> Ending:
        """Return what became of one member."""
        return self.endings[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of those whose ending is known, in the order in which it came."""
        return iter(self.endings)

    def __len__(self) -> int:
        """Return how many endings are known."""
        return len(self.endings)

    @property
    def answers(self) -> dict[str, bytes]:
        """What was answered, by name."""
        return {
            name: ending.payload
            for name, ending in self.endings.items()
            if isinstance(ending, Answered)
        }

    @property
    def is_complete(self) -> bool:
        """Whether every member that was asked has answered."""
        return len(self.answers) == len(self.asked)


# On the wire.


class Request(Struct, frozen=True, array_like=True, tag=True):
    """Do this."""

    number: Annotated[int, Meta(ge=0, le=2**62)]
    """Of the call at its caller; 0 if no reply is wanted."""
    body: bytes


class Reply(Struct, frozen=True, array_like=True, tag=True):
    """It is done, or not."""

    number: Annotated[int, Meta(ge=1, le=2**62)]
    is_refusal: bool
    payload: bytes


_encode = msgspec.msgpack.Encoder().encode
_request_decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_reply_decoder: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


# What is to be done.


@final
@dataclass(slots=True)
class Handle:
    """Hand a request to the application; if ``number`` is not 0, tell by ``answer``."""

    caller: ProcessId
    number: int
    body: bytes


@final
@dataclass(slots=True)
class Conclude:
    """A call has ended; with an error if it did not get what it wanted."""

    number: int
    replies: Replies
    error: CallError | None


Effect = Handle | Conclude


@dataclass(slots=True)
class _Call:
    wanted: Wanted
    deadline_us: int | None
    asked: tuple[ProcessId, ...] | None = None
    """None until the request is delivered here."""
    endings: dict[ProcessId, Ending] = field(default_factory=dict)
    answered_count: int = 0
    needed: int = 0
    """How many answers are wanted, once it is known who is asked."""

    @property
    def is_decided(self) -> bool:
        """Whether enough have answered, or nobody is left who could."""
        asked = self.asked
        return asked is not None and (
            self.answered_count >= self.needed or len(self.endings) == len(asked)
        )

    def ask(self, members: Iterable[ProcessId]) -> None:
        """Note who is asked; who replied already and is not among them does not count."""
        assert self.asked is None, "a request is delivered once"
        self.asked = tuple(members)
        count = len(self.asked)
        needed = {Wanted.FIRST: 1, Wanted.MAJORITY: count // 2 + 1, Wanted.ALL: count}
        self.needed = needed[self.wanted]
        early, self.endings, self.answered_count = self.endings, {}, 0
        for who, ending in early.items():
            if who in self.asked:
                self.end(who, ending)

    def end(self, who: ProcessId, ending: Ending) -> None:
        """Note what became of a member; the first word counts."""
        if who not in self.endings:
            self.endings[who] = ending
            self.answered_count += isinstance(ending, Answered)
        assert self.answered_count <= len(self.endings), "who answered has ended"


class Calls:
    """One process's calls, and its replies to those of others."""

    def __init__(self, me: ProcessId) -> None:
        """Begin outside of any view."""
        self._me = me
        self._view: View | None = None
        self._last = 0
        self._open: dict[int, _Call] = {}

    # The application's part.

    def begin(
        self,
        body: bytes,
        wanted: Wanted,
        deadline_us: int | None = None,
        number: int = 0,
    ) -> tuple[int, bytes]:
        """Begin a call; return its number, 0 if it wants no replies, and what to multicast.

        A ``number`` that is given must be above all before; else it is the next one.
        """
        if wanted is Wanted.NONE:
            return 0, _encode(Request(0, body))
        if len(self._open) >= OPEN_MAX:
            message = f"{OPEN_MAX} calls wait for replies: wait until some have ended"
            raise BackPressureError(message)
        assert not number or number > self._last, "no two calls have one number"
        self._last = number or self._last + 1
        self._open[self._last] = _Call(wanted, deadline_us)
        return self._last, _encode(Request(self._last, body))

    def give_up(self, number: int) -> None:
        """Forget a call: nobody waits for its end."""
        self._open.pop(number, None)

    @staticmethod
    def answer(number: int, payload: bytes) -> bytes:
        """Return the letter to the caller: the application's handler has returned ``payload``."""
        return _encode(Reply(number, False, payload))  # noqa: FBT003 - a record of the wire

    @staticmethod
    def refuse(number: int, why: str) -> bytes:
        """Return the letter to the caller: the application's handler has raised an exception."""
        said = why[:WHY_LENGTH_MAX].encode(errors="replace")
        return _encode(Reply(number, True, said))  # noqa: FBT003 - a record of the wire

    # What happens.

    def enter(self, view: View) -> list[Effect]:
        """A view begins: who is not in it will not answer any more."""
        is_next = self._view is None or view.number > self._view.number
        assert is_next, "views are entered in order"
        self._view = view
        for call in self._open.values():
            for who in call.asked or ():
                if who not in view.members:
                    call.end(who, Failed())
        return self._conclude()

    def deliver(self, sender: ProcessId, payload: bytes) -> list[Effect]:
        """Take a request."""
        request = decode_untrusted(_request_decoder, payload, "a request")
        if sender != self._me:
            return [Handle(sender, request.number, request.body)]
        handle = Handle(sender, 0, request.body)
        call = self._open.get(request.number)
        if call is None:
            return [handle]
        assert self._view is not None, "messages are delivered in a view"
        call.ask(member for member in self._view.members if member != self._me)
        return [handle, *self._conclude_if_decided(request.number, call)]

    def take_reply(self, sender: ProcessId, payload: bytes) -> list[Effect]:
        """Take a letter that replies to a call."""
        reply = decode_untrusted(_reply_decoder, payload, "a reply")
        ending = _refused(reply.payload) if reply.is_refusal else Answered(reply.payload)
        call = self._open.get(reply.number)
        if call is None or not self._may_answer(sender, call):
            return []  # too late, or of nobody who was asked
        call.end(sender, ending)
        return self._conclude_if_decided(reply.number, call)

    def _may_answer(self, sender: ProcessId, call: _Call) -> bool:
        if call.asked is not None:
            return sender in call.asked
        # In total order others may have the request before its caller has.
        return self._view is not None and sender in self._view.members

    @property
    def deadline_us(self) -> int | None:
        """The time at which the first of the open calls is over; None if none ever is."""
        deadlines = [call.deadline_us for call in self._open.values()]
        return min((time_us for time_us in deadlines if time_us is not None), default=None)

    def late(self, now_us: int) -> list[int]:
        """Return the calls whose time is over."""
        return [
            number
            for number, call in self._open.items()
            if call.deadline_us is not None and now_us >= call.deadline_us
        ]

    def tick(self, now_us: int, unsent: Container[int] = ()) -> list[Effect]:
        """End the calls whose time is over; those ``unsent`` have been taken back before."""
        effects: list[Effect] = []
        for number in self.late(now_us):
            call, is_unsent = self._open[number], number in unsent
            if not is_unsent:
                self._ask_by_now(call)
            for who in call.asked or ():
                call.end(who, TimedOut())
            effects.append(self._ended(number, call, "time is up", is_void=is_unsent))
        return effects

    def _ask_by_now(self, call: _Call) -> None:
        """A request has gone out, but its caller does not have its own copy: it waits for a turn.

        It is of the current view then, for none is left before what was multicast in it is there.
        """
        if call.asked is None and self._view is not None:
            call.ask(member for member in self._view.members if member != self._me)

    def abandon(self, why: str, unsent: Container[int] = ()) -> list[Effect]:
        """End all calls: the process is out of the group.

        Those whose requests are known to be ``unsent`` were executed nowhere. That they have not
        been delivered here says nothing: an own message may wait for its turn.
        """
        effects: list[Effect] = []
        for number, call in list(self._open.items()):
            if number not in unsent:
                self._ask_by_now(call)
            effects.append(self._ended(number, call, why, is_void=number in unsent))
        return effects

    # Ending.

    def _conclude(self) -> list[Effect]:
        effects: list[Effect] = []
        for number, call in list(self._open.items()):
            effects += self._conclude_if_decided(number, call)
        return effects

    def _conclude_if_decided(self, number: int, call: _Call) -> list[Effect]:
        return [self._ended(number, call, "")] if call.is_decided else []

    def _ended(self, number: int, call: _Call, why: str, *, is_void: bool = False) -> Conclude:
        del self._open[number]
        asked = call.asked
        names = tuple(map(str, asked or ()))
        replies = Replies(names, {str(who): ending for who, ending in call.endings.items()})
        if asked is not None and call.answered_count >= call.needed:
            return Conclude(number, replies, None)
        if is_void:
            never = f"the request never went out, so nobody has done what was asked ({why})"
            return Conclude(number, replies, DefiniteCallError(never, replies))
        if asked == ():
            alone = "nobody else is in the group: wait for members to join"
            return Conclude(number, replies, DefiniteCallError(alone, replies))
        return Conclude(number, replies, IndefiniteCallError(_say(call, replies, why), replies))


def _refused(said: bytes) -> Refused:
    try:
        return Refused(said.decode()[:WHY_LENGTH_MAX])
    except UnicodeDecodeError as error:
        message = f"a reply cannot be read: {error}"
        raise PeerError(message) from None


def _say(call: _Call, replies: Replies, why: str) -> str:
    """Return how a call fell short."""
    kinds = {Refused: "refused", Failed: "failed", TimedOut: "timed out"}
    said = [
        f"{name} {kinds[type(ending)]}"
        + (f" ({ending.why})" if isinstance(ending, Refused) else "")
        for name, ending in replies.items()
        if not isinstance(ending, Answered)
    ]
    found = ", ".join(said) or why or "too few were asked"
    return (
        f"{call.answered_count} of {len(replies.asked)} members answered, "
        f"{call.wanted} wanted ({found}): some may have done what was asked, so look at `replies` "
        "before you repeat it"
    )
