"""What travels between processes that order by causal blocks, and what a process is told to do.

Law: a message never changes on its way, whoever repeats it (004-7), with two exceptions that say
nothing about order: what is left of its lifetime, and its payload once that has expired (a
tombstone: the same header, kind ``VOID``; 004-9).
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from antiphon.core.varint import Octets

PRIORITY_MAX = 7


class BlockKind(IntEnum):
    """What a message is."""

    DATA = 0
    NULL = 1
    """Says only how far its sender is; not held, never repeated, no message depends on it."""
    VOID = 2
    """What is left of an expired message: it is skipped, in its place."""
    ASK = 3
    """A null message of a process that does not know yet whether all have delivered what it has."""


_NULL, _ASK = BlockKind.NULL, BlockKind.ASK  # looking a member of an enum up is slow


@dataclass(slots=True)  # not frozen: making it would cost four times as much
class BlockMessage:
    """One message: its stamp, and what the application gave."""

    sender: int
    kind: BlockKind
    block: int
    maximum: int
    """Least, over the senders, of the highest block its sender had received: not "all below"."""
    delivered: tuple[int, ...]
    """By sender, the block of the last message that its sender had delivered; own: had sent."""
    payload: Octets = b""
    priority: int = 0
    """From 0 up to ``PRIORITY_MAX``: under pressure the lowest ones are dropped first."""
    lifetime_us: int | None = None
    """What is left of it, time on the way not counted; None: it does not expire."""
    label: bytes = b""
    """What whoever multicast it calls it: a tombstone keeps it. Of a null message: what is another
    one whenever something was read by who is behind."""
    is_behind: bool = False
    """Whether its sender had no room for more just then: what it reports is not confirmed."""

    @property
    def is_void(self) -> bool:
        """Whether it has expired."""
        return self.kind is BlockKind.VOID

    @property
    def is_null(self) -> bool:
        """Whether it only says how far its sender is."""
        kind = self.kind
        return kind is _NULL or kind is _ASK

    @property
    def before(self) -> int:
        """The block of its sender's message before it; 0: it is the first."""
        return self.delivered[self.sender]

    def voided(self) -> "BlockMessage":
        """Return its tombstone."""
        return replace(self, kind=BlockKind.VOID, payload=b"", lifetime_us=None)


@dataclass(slots=True)
class TransmitBlock:
    """Send a message to all other members, on channels that may lose it."""

    message: BlockMessage
    is_repeated: bool = False
    """Whether it was sent before, by whomever."""


@dataclass(slots=True)
class DeliverBlock:
    """Hand a message to the application; a void one says that it has expired."""

    message: BlockMessage


BlockEffect = TransmitBlock | DeliverBlock
