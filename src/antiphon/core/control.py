"""Control messages: what processes say to each other about membership, beside the runs.

Law: each message says everything its receiver needs; none refers to the connection it came by.
They are encoded with msgspec: decoding checks every type and bound, and whatever does not fit
raises :class:`PeerError`, nothing else. They are rare, a few per view change and one per member
and heartbeat, so the codec is chosen for safety and not for the last byte.

    agreement    Prepare, Promise, Propose, Accept, Reject, Decide, Want
    changes      JoinRequest, JoinRefused, Ask, Out
    questions    Standing, Out, Situation
    founding     FoundingQuestion, FoundingAnswer
    flush        Flush, Report, Install
    stability    Alive, Beat; in groups that flood an overlay, Subtree, Everywhere, AlarmSaid
    uniform      Confirm
    letters      LetterTaken, LetterAsked
    domains      ReceiptsAsked, Receipts, Forgettable, ForgettingAsked, GroupsNamed, PastTold,
                 EpochSaid
    state        StateChunk, StateTaken
    datagrams    KeyTold
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from antiphon.core.decoding import decode_untrusted
from antiphon.core.ids import ProcessId
from antiphon.core.views import View

Number = Annotated[int, Meta(ge=0, le=2**62)]
Rank = Annotated[int, Meta(ge=0, lt=4096)]
Place = Annotated[str, Meta(max_length=256)]


class Prepare(Struct, frozen=True, array_like=True, tag=True):
    """Let me propose view ``number`` with this ballot."""

    number: Number
    ballot: Number


class Promise(Struct, frozen=True, array_like=True, tag=True):
    """No lower ballot will be accepted by me; here is what I accepted last, if anything."""

    number: Number
    ballot: Number
    accepted_ballot: Number
    accepted: View | None


class Propose(Struct, frozen=True, array_like=True, tag=True):
    """Accept this view."""

    ballot: Number
    view: View


class Accept(Struct, frozen=True, array_like=True, tag=True):
    """Accepted."""

    number: Number
    ballot: Number


class Reject(Struct, frozen=True, array_like=True, tag=True):
    """Not accepted: a higher ballot was promised."""

    number: Number
    promised: Number


class Decide(Struct, frozen=True, array_like=True, tag=True):
    """These consecutive views are agreed on."""

    views: tuple[View, ...]


class Want(Struct, frozen=True, array_like=True, tag=True):
    """Tell me the views agreed on after this number."""

    after: Number


class JoinRequest(Struct, frozen=True, array_like=True, tag=True):
    """Take me into the group."""

    process: ProcessId


class JoinRefused(Struct, frozen=True, array_like=True, tag=True):
    """You cannot be taken in."""

    why: str
    next_incarnation: Number
    """If your number is out of date, the one to ask with; else 0."""


class Ask(Struct, frozen=True, array_like=True, tag=True):
    """What a member asks of the coordinator; each replaces the one before."""

    suspected: tuple[ProcessId, ...]
    joining: tuple[ProcessId, ...]
    leaving: bool
    has_state: bool
    """Whether the member has the group's state."""


class Out(Struct, frozen=True, array_like=True, tag=True):
    """You are no member any more, since this view."""

    number: Number


class Standing(Struct, frozen=True, array_like=True, tag=True):
    """In answer to a question: how I stand in the group, and whether you are in it."""

    number: Number
    """The last view that I know to be agreed on."""
    is_blocked: bool
    """Whether I reach too few members to go on."""
    is_known: bool
    """Whether you are a member, as far as I know."""
    places: tuple[Place, ...] = ()
    """Where some of the members are."""


class Elsewhere(Struct, frozen=True, array_like=True, tag=True):
    """In answer to a question: I have no part in that group; others may."""

    places: tuple[Place, ...] = ()
    """Where some of the processes are that I know."""


class Situation(Struct, frozen=True, array_like=True, tag=True):
    """In answer to an operator: where this process stands in its group."""

    process: Place
    number: Number
    """The last view that it knows to be agreed on."""
    members: tuple[Place, ...]
    """The members of that view."""
    missing: tuple[Place, ...]
    """Those of them that it does not reach."""
    is_blocked: bool
    obstacle: str
    """Why it cannot take the group over; empty if it can, or just has."""
    held: Number = 0
    """Runs received that lack something before them."""
    undecided: Number = 0
    """Transactions that are open."""


class FoundingQuestion(Struct, frozen=True, array_like=True, tag=True):
    """About a group that is still to begin: vote (``membership.bootstrap``)."""

    places: tuple[Place, ...]
    """All that have a vote, sorted."""
    ballot: Number = 0
    """Promise this ballot; 0: only say who is there."""
    view: View | None = None
    """Accept this as the first view."""
    is_decided: bool = False
    """Whether that is the first view, without any doubt: no vote is asked for."""


class FoundingAnswer(Struct, frozen=True, array_like=True, tag=True):
    """The vote of one place."""

    process: ProcessId
    places: tuple[Place, ...]
    ballot: Number
    """What was asked."""
    is_ok: bool
    """Whether it was promised, or accepted."""
    promised: Number
    accepted_ballot: Number
    accepted: View | None
    decided: View | None


class Begun(Struct, frozen=True, array_like=True, tag=True):
    """The group that we found by a list has begun: all who are needed are there."""

    counted: tuple[tuple[ProcessId, Number], ...]
    """Who is, me included; and which start of each."""


class Flush(Struct, frozen=True, array_like=True, tag=True):
    """Whatever I had to send before view ``number`` is ahead of this (ISIS 5.3)."""

    number: Number


class Report(Struct, frozen=True, array_like=True, tag=True):
    """How much I received in view ``number``, and from whom I take nothing more (Uniform 3.3)."""

    number: Number
    received: tuple[Number, ...]
    excluded: tuple[Rank, ...]
    uncounted: tuple[Rank, ...] = ()
    """What the permission to install view ``number`` said: see Install."""


class Install(Struct, frozen=True, array_like=True, tag=True):
    """View ``number`` may be installed; with the coordinator's flush, all up to it."""

    number: Number
    uncounted: tuple[Rank, ...] = ()
    """Members of the view before whose reports were not waited for: they must not install it."""


class Alive(Struct, frozen=True, array_like=True, tag=True):
    """I live, in view ``number``: what I received since I last said so, and what is stable."""

    number: Number
    received: tuple[tuple[Rank, Number], ...]
    stable: Number
    """My own messages up to this one have been received by all members."""
    agreed: Number
    """The last view that I know to be agreed on: who knows less can ask."""
    is_blocked: bool = False
    """I hear, or am heard by, too few to decide anything."""
    undelivered: tuple[tuple[Rank, Number], ...] = ()
    """Of those in ``received`` whose messages I have not all delivered: how many I have."""


class ReadingOn(Struct, frozen=True, array_like=True, tag=True):
    """In view ``number`` I confirm nothing, for my application is behind; but it reads on."""

    number: Number
    count: Number
    """How often I have said so."""


class Beat(Struct, frozen=True, array_like=True, tag=True):
    """I live, and have nothing to add to what I said last."""


class Subtree(Struct, frozen=True, array_like=True, tag=True):
    """To my parent in the tree of view ``number``: what all from me on downwards have delivered."""

    number: Number
    delivered: tuple[tuple[Rank, Number], ...]
    """By sender, where it is more than I said before."""
    holding: tuple[tuple[Rank, Number], ...] = ()
    """Members that hold this up, and how far each has come: more whenever it moves."""


class Everywhere(Struct, frozen=True, array_like=True, tag=True):
    """To my children in the tree of view ``number``: what all members have delivered."""

    number: Number
    delivered: tuple[tuple[Rank, Number], ...]
    holding: tuple[tuple[Rank, Number], ...] = ()


class AlarmSaid(Struct, frozen=True, array_like=True, tag=True):
    """I watch everybody, you too: let me hear of you. Or, if not ``is_raised``, no longer."""

    is_raised: bool


class Confirm(Struct, frozen=True, array_like=True, tag=True):
    """The two phases of uniform multicast in view ``number`` (Uniform 4.1), both at once."""

    number: Number
    settled: Number
    """Phase I: your messages up to this one are here, and everything in their past."""
    marked: Number
    """Phase II: my messages up to this one are so everywhere: deliver them."""


class LetterTaken(Struct, frozen=True, array_like=True, tag=True):
    """So many letters have come from you (ISIS 7.2)."""

    count: Number


class LetterAsked(Struct, frozen=True, array_like=True, tag=True):
    """Tell me at once which of my letters have come: I have more to send."""


class ReceiptsAsked(Struct, frozen=True, array_like=True, tag=True):
    """Tell me as soon as these have come, in view ``number``: I am to multicast elsewhere."""

    number: Number
    wanted: tuple[tuple[Rank, Number], ...]
    delivered: bool = False
    """As soon as they have been delivered: I flush."""


class Receipts(Struct, frozen=True, array_like=True, tag=True):
    """So many messages of these members have come to me, in view ``number``."""

    number: Number
    received: tuple[tuple[Rank, Number], ...]
    delivered: bool = False
    """And have been delivered."""


class Forgettable(Struct, frozen=True, array_like=True, tag=True):
    """These entries of other groups' stamps need not be named any more (ISIS 6.4).

    Each: a group, a view of it, and entries by rank; rank -1 stands for the view itself.
    """

    stamps: tuple[
        tuple[Number, Number, tuple[tuple[Annotated[int, Meta(ge=-1, lt=4096)], Number], ...]], ...
    ]


class ForgettingAsked(Struct, frozen=True, array_like=True, tag=True):
    """Say as soon as these may be forgotten: I wait for that; or, if ``unknown``, I cannot say."""

    stamps: tuple[
        tuple[Number, Number, tuple[tuple[Annotated[int, Meta(ge=-1, lt=4096)], Number], ...]], ...
    ]
    unknown: bool = False
    """I was asked, and am not in these groups."""


class HowFarAsked(Struct, frozen=True, array_like=True, tag=True):
    """How far are you in view ``number``? Something waits here for more than has come."""

    number: Number
    question: Number


class HowFar(Struct, frozen=True, array_like=True, tag=True):
    """In answer to ``question``: how far I am in view ``number``."""

    number: Number
    question: Number
    sent: Number
    """So many messages I have multicast in it."""
    is_last: bool
    """I know of no later view, and have accepted no proposal for one."""


class GroupsNamed(Struct, frozen=True, array_like=True, tag=True):
    """The names of groups that stamps of mine have, or will have, by their numbers."""

    names: tuple[tuple[Number, Annotated[str, Meta(max_length=64)]], ...]


class PastTold(Struct, frozen=True, array_like=True, tag=True):
    """As you join in view ``number``: what I know of other groups; nothing of it is news here."""

    number: Number
    stamps: tuple[tuple[Number, Number, tuple[tuple[Rank, Number], ...]], ...]


class EpochSaid(Struct, frozen=True, array_like=True, tag=True):
    """What I multicast here in view ``number``, or later, is of this epoch or a later one."""

    number: Number
    epoch: Number


class HeardOf(Struct, frozen=True, array_like=True, tag=True):
    """What I have, and take no more, of members that failed in views up to ``number``."""

    number: Number
    """The newest view that I know to be agreed on."""
    counts: tuple[tuple[Number, tuple[tuple[Rank, Number], ...]], ...]
    """By view that is still to be left, of each member that fails: how many messages."""


class StateChunk(Struct, frozen=True, array_like=True, tag=True):
    """A piece of the group's state as of view ``number``."""

    number: Number
    place: Number
    is_last: bool
    data: bytes


class StateTaken(Struct, frozen=True, array_like=True, tag=True):
    """Pieces up to ``place`` have been taken; more may come."""

    number: Number
    place: Number


class KeyTold(Struct, frozen=True, array_like=True, tag=True):
    """Seal datagrams of view ``number`` with this (``membership.group_keys``)."""

    number: Number
    secret: Annotated[bytes, Meta(min_length=32, max_length=32)]

    def __repr__(self) -> str:
        """Without the secret: messages are logged and shown."""
        return f"KeyTold(number={self.number})"


AnyMessage = (
    Prepare | Promise | Propose | Accept | Reject | Decide | Want
    | JoinRequest | JoinRefused | Ask | Out | Standing | Elsewhere | Situation
    | FoundingQuestion | FoundingAnswer | Begun
    | Flush | Report | Install | Alive | ReadingOn | Beat | Subtree | Everywhere | AlarmSaid
    | Confirm | LetterTaken | LetterAsked
    | ReceiptsAsked | Receipts | Forgettable | ForgettingAsked | HowFarAsked | HowFar | GroupsNamed
    | PastTold
    | EpochSaid | HeardOf
    | StateChunk | StateTaken
    | KeyTold
)  # fmt: skip

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


def encode_message(message: AnyMessage) -> bytes:
    """Return the bytes of a control message."""
    return _encoder.encode(message)


def decode_message(data: bytes) -> AnyMessage:
    """Return what ``data`` says; raise :class:`PeerError` if it says nothing."""
    return decode_untrusted(_decoder, data, "a control message")
