"""What happens to a process: the inputs of its machine (``endpoint``).

Law: an input says everything the machine needs to know of what happened; the machine knows nothing
else of the world, and of time only what it is told along with an input. ``docs/machine.md`` says
which inputs a driver must give, and when.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from antiphon.core.control import AnyMessage, Out, Standing
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Order, Run
from antiphon.stack.send_queue import How
from antiphon.toolkit.calls import Wanted
from antiphon.toolkit.commit_messages import Transaction


class Timer(NamedTuple):
    """What a timer is for; a group has at most one of each kind, and a process a heartbeat."""

    kind: str
    group: int = 0
    """In a process of several groups, whose it is."""


HEARTBEAT = Timer("heartbeat")
ACKNOWLEDGE = Timer("acknowledge")
VOTES = Timer("votes")
CALLS = Timer("calls")
DATAGRAMS = Timer("datagrams")


# The application.


@final
@dataclass(slots=True)
class MulticastRequested:
    """The application multicasts ``payloads``, in this order, with no delivery in between."""

    payloads: list[bytes]
    how: How
    byte_count: int
    """The size of all payloads."""
    incarnation: int = 0
    """Which incarnation's events the application had read when it began to send; 0: the last."""


@final
@dataclass(slots=True)
class LetterRequested:
    """The application sends a message to one member."""

    to: ProcessId
    payload: bytes
    incarnation: int = 0
    """As of a multicast."""


@final
@dataclass(slots=True)
class CallRequested:
    """The application calls all other members."""

    number: int
    """Chosen by the driver, from 1, and never again; 0 if no replies are wanted."""
    payload: bytes
    wanted: Wanted
    deadline_us: int | None
    order: Order


@final
@dataclass(slots=True)
class CallAbandoned:
    """Nobody waits for the end of a call any longer; what has not gone out of it never will."""

    number: int


@final
@dataclass(slots=True)
class RequestAnswered:
    """The application has answered the request of another member, or refuses it."""

    caller: ProcessId
    number: int
    payload: bytes | None
    """None: it refuses."""
    why: str = ""


@final
@dataclass(slots=True)
class TransactionRequested:
    """The application begins a transaction."""

    number: int
    """Chosen by the driver, and never again."""
    body: bytes
    needs: tuple[str, ...]


@final
@dataclass(slots=True)
class VoteCast:
    """The application has been asked, and votes."""

    transaction: Transaction
    is_yes: bool
    why: str = ""


@final
@dataclass(slots=True)
class StateSaved:
    """The application has saved its state as of the beginning of view ``number``."""

    number: int
    state: bytes | Iterable[bytes]


@final
@dataclass(slots=True)
class PieceLoaded:
    """The application has loaded the piece of the state that it was handed last."""

    number: int


@final
@dataclass(slots=True)
class ReaderLagged:
    """The application has begun to read too slowly to take more; or, if not so, reads again.

    That it is behind may be said again, now and then, when it has read something since.
    """

    is_behind: bool


@final
@dataclass(slots=True)
class SendersWaited:
    """Somebody waits to be admitted (``AdmitSenders``); or, if not so, nobody does any more."""

    is_waiting: bool


@final
@dataclass(slots=True)
class ReaderAdvanced:
    """The application has read everything of the incarnations before this one."""

    incarnation: int


@final
@dataclass(slots=True)
class LeaveRequested:
    """The application leaves the group."""


@final
@dataclass(slots=True)
class TakeOverRequested:
    """An operator has this process, which is blocked, go on alone, under a new lineage."""

    step: int
    """By how much the lineage grows: drawn by the driver, from 1 to ``LINEAGE_STEP_MAX``."""


@final
@dataclass(slots=True)
class JoinRequested:
    """The process asks a member, with which there is a channel, to be taken in."""

    contact: ProcessId


@final
@dataclass(slots=True)
class Stopped:
    """The process stops, whether the others let it go or not."""

    why: str


@final
@dataclass(slots=True)
class FlushRequested:
    """The application waits until all it sent or delivered has reached everybody (``EndFlush``).

    An input of the process, not of a group.
    """

    number: int
    """Chosen by the driver, and never again."""
    causality: str | None = None
    """The domain concerned, by name; None: all, also those of one group that have no name."""


# The network.


@final
@dataclass(slots=True)
class RunsReceived:
    """Runs have arrived from a process: its own, or those of others, relayed."""

    peer: ProcessId
    runs: Sequence[Run]
    is_relayed: bool = False


@final
@dataclass(slots=True)
class LetterReceived:
    """A message to this process alone has arrived."""

    peer: ProcessId
    letter: Letter


@final
@dataclass(slots=True)
class ControlReceived:
    """A control message has arrived."""

    peer: ProcessId
    message: AnyMessage


@final
@dataclass(slots=True)
class DatagramsReceived:
    """Datagrams have arrived together, each from a process: perhaps again, in any order."""

    arrived: Sequence[tuple[ProcessId, bytes]]


@final
@dataclass(slots=True)
class PeerHeard:
    """Something has come from a process, whatever it was."""

    peer: ProcessId


@final
@dataclass(slots=True)
class PeerLost:
    """A process is dead for certain, or has sent what no correct process sends."""

    peer: ProcessId


@final
@dataclass(slots=True)
class MemberStalled:
    """A member is found to take nothing, by other evidence than the machine's own."""

    peer: ProcessId
    why: str


@final
@dataclass(slots=True)
class PeerFilled:
    """The channel to a process takes no more for now; or, if not so, takes more again."""

    peer: ProcessId
    is_full: bool


@final
@dataclass(slots=True)
class ProbeAnswered:
    """Who was asked (``ProbeProcess``) says how it stands, or that this process is out."""

    process: ProcessId
    said: Out | Standing


@final
@dataclass(slots=True)
class ProbeReceived:
    """A process with which this one has or had a session asks how it stands."""

    process: ProcessId
    view_number: int
    """The last view that it knows to be agreed on."""


# Time.


@final
@dataclass(slots=True)
class TimerFired:
    """It is the time that was set for a timer (``SetTimer``), or later."""

    timer: Timer


Input = (
    MulticastRequested | LetterRequested | CallRequested | CallAbandoned | RequestAnswered
    | TransactionRequested | VoteCast | StateSaved | PieceLoaded | ReaderLagged | SendersWaited
    | ReaderAdvanced | LeaveRequested | TakeOverRequested | JoinRequested | Stopped
    | RunsReceived | LetterReceived | ControlReceived | DatagramsReceived | PeerHeard | PeerLost
    | MemberStalled | PeerFilled | ProbeAnswered | ProbeReceived | TimerFired
)  # fmt: skip
