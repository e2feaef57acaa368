"""What the members of a group say to each other about transactions (see ``commit``).

Law: whatever does not decode to one of these, within its bounds, raises :class:`PeerError` and
nothing else. A message names its transaction in full; who said it, the multicast tells.
"""

import re
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from antiphon.core.decoding import decode_untrusted
from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId, check_name

WHY_LENGTH_MAX = 500
"""Characters of a reason; longer ones are cut."""

NAME_LENGTH_MAX = 80
"""Characters of the name of an incarnation, as ``alice~2``."""

PARTS_MAX = 65_536
"""Parts in which joiners are told the past: more than any state takes."""

_LATER_INCARNATION = re.compile(r"[2-9]|[1-9][0-9]{1,9}")

Number = Annotated[int, Meta(ge=0, le=2**62)]
Name = Annotated[str, Meta(max_length=NAME_LENGTH_MAX)]
Why = Annotated[str, Meta(max_length=WHY_LENGTH_MAX)]


class Transaction(Struct, frozen=True, array_like=True):
    """The name of a transaction: who began it, and the how many-th of this incarnation's it is."""

    initiator: Name
    number: Number
    start: Number = 0
    """Drawn at each start of the initiator: names stay unique when all are started anew."""

    def __str__(self) -> str:
        """Return the name as one word, fit to be stored."""
        return f"{self.initiator}/{self.number}/{self.start:x}"


def parse_transaction(text: str) -> Transaction:
    """Return the transaction that ``text`` names."""
    try:
        initiator, number, start = text.split("/")
        return Transaction(initiator, int(number), int(start, 16))
    except (ValueError, AttributeError):
        message = f"{text!r:.100} names no transaction: give the name that was given to prepare"
        raise UsageError(message) from None


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of processes, or of incarnations (``alice~2``); complain of others."""
    advice = "give the names of members, as they joined"
    if isinstance(names, str) or not isinstance(names, Iterable):
        message = f"needs={names!r:.100} is no list: give a list of names, such as ['ben']"
        raise UsageError(message)
    found: list[str] = []
    for one in names:
        name, tilde, number = one.partition("~") if isinstance(one, str) else ("", "", "")
        if (tilde and not _LATER_INCARNATION.fullmatch(number)) or not _is_name(name):
            message = f"{one!r:.100} names nobody: {advice}"
            raise UsageError(message)
        found.append(name + tilde + number)  # plain text, whatever kind of str it was
    return tuple(found)


def _is_name(text: str) -> bool:
    try:
        return bool(check_name(text, "name"))
    except UsageError:
        return False


class Begin(Struct, frozen=True, array_like=True, tag=True):
    """Who is in this view takes part in my transaction; vote on it."""

    number: Number
    start: Number
    body: bytes
    needs: tuple[Name, ...] = ()
    """Names of processes without which there is no use in it."""


class Vote(Struct, frozen=True, array_like=True, tag=True):
    """I can make it so, come what may; or I refuse."""

    transaction: Transaction
    is_yes: bool
    why: Why


class Decision(Struct, frozen=True, array_like=True, tag=True):
    """So it shall be, if I am the coordinator where you get this."""

    transaction: Transaction
    is_commit: bool
    why: Why


class Open(Struct, frozen=True, array_like=True):
    """A transaction that is not decided yet, and the votes so far."""

    transaction: Transaction
    participants: tuple[ProcessId, ...]
    votes: tuple[tuple[Number, bool, Why], ...]
    """Who, by place among the participants; whether it votes yes; why."""
    lacks: Name = ""
    """Who is needed, and takes no part."""


class State(Struct, frozen=True, array_like=True, tag=True):
    """What there is to know at the beginning of view ``number``, for those who joined.

    It is told in parts (see ``commit_parts``).
    """

    number: Number
    opened: tuple[Open, ...]
    decided: tuple[Decision, ...]
    place: Number = 0
    """Of this part, from 0."""
    part_count: Annotated[int, Meta(ge=1, le=PARTS_MAX)] = 1


class Lack(Struct, frozen=True, array_like=True, tag=True):
    """I entered view ``number`` without knowing what came before."""

    number: Number


Message = Begin | Vote | Decision | State | Lack

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """Return the bytes of a message."""
    return _encoder.encode(message)


def size_of(one: Open | Decision) -> int:
    """Return how many bytes something takes in a message."""
    return len(_encoder.encode(one))


def decode(payload: bytes) -> Message:
    """Return what ``payload`` says; raise :class:`PeerError` if it says nothing."""
    return decode_untrusted(_decoder, payload, "a message about a transaction")
