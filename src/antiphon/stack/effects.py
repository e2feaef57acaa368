"""What a process machine asks its driver to do, beyond what membership does (``membership``).

Law: effects of one step are done in the order in which they are returned, and before the next input
is given. ``docs/machine.md`` says what each one means for a driver.
"""

from dataclasses import dataclass
from typing import final

from antiphon.core.errors import CallError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.membership.effects import (
    BlockGroup,
    DeliverRuns,
    InstallView,
    LeaveGroup,
    ProbeProcess,
    RelayRuns,
    RestoreProcess,
    ResumeGroup,
    SendControl,
    SendDatagram,
    SendLetter,
    SendRun,
    SuspectProcess,
)
from antiphon.stack.inputs import Timer
from antiphon.stack.send_queue import Item
from antiphon.toolkit.calls import Replies
from antiphon.toolkit.commit import AskVote, Decided, KnowPast
from antiphon.toolkit.commit_messages import Transaction
from antiphon.toolkit.state_transfer import ExpectState, LoadChunk, SaveState, StateLost


@final
@dataclass(slots=True)
class SetTimer:
    """Give ``TimerFired(timer)`` at this time, or soon after; whatever it was set to before.

    A time that has come means: when everything that has arrived by now has been given.
    """

    timer: Timer
    time_us: int


@final
@dataclass(slots=True)
class ExpectPeers:
    """Have a channel with each of these processes, by seniority, and soon with no others.

    It comes before anything that is sent to one of them for the first time.
    """

    processes: tuple[ProcessId, ...]
    idle: tuple[ProcessId, ...] = ()
    """Those of them with whom no channel is needed now: theirs may sleep, and nothing is lost.
    Nothing is sent to one of these before it is needed again; what comes is given as ever."""


@final
@dataclass(slots=True)
class DeliverElsewhere:
    """Hand runs of another group of the domain to that group: the process machine does it."""

    group: int
    """As the domain names it."""
    runs: list[Run]


@final
@dataclass(slots=True)
class AdmitSenders:
    """Whether the application may hand over more messages, and more letters, just now."""

    messages: bool
    letters: bool


@final
@dataclass(slots=True)
class GiveUpProcess:
    """A member takes nothing: its channel is of no use until it is restored."""

    process: ProcessId
    why: str


@final
@dataclass(slots=True)
class RejectPeer:
    """A process has sent what no correct process sends: end its channel, then say ``PeerLost``."""

    peer: ProcessId
    why: str


@final
@dataclass(slots=True)
class ReturnUnsent:
    """Tell the application what it sent in vain: its incarnation ended before it went out."""

    items: list[Item]


@final
@dataclass(slots=True)
class HandRequest:
    """Hand a request to the application; if ``number`` is not 0, its answer is waited for."""

    caller: ProcessId
    number: int
    payload: bytes


@final
@dataclass(slots=True)
class ConcludeCall:
    """A call has ended; with an error if it did not get what it wanted."""

    number: int
    replies: Replies
    error: CallError | None


@final
@dataclass(slots=True)
class NameTransaction:
    """The transaction that the application has begun, by the number that it was given."""

    number: int
    transaction: Transaction


@final
@dataclass(slots=True)
class EndFlush:
    """What a flush (``FlushRequested``) waited for is everywhere."""

    number: int


@final
@dataclass(slots=True)
class IgnoreMessage:
    """A member has sent to one of the tools what no correct member sends: note it, go on."""

    sender: ProcessId
    why: str


Effect = (
    SendControl | SendRun | SendDatagram | SendLetter | RelayRuns | DeliverRuns | DeliverElsewhere
    | InstallView | BlockGroup | ResumeGroup | LeaveGroup | SuspectProcess | ProbeProcess
    | RestoreProcess | SetTimer | ExpectPeers | AdmitSenders | GiveUpProcess | RejectPeer
    | ReturnUnsent | HandRequest | ConcludeCall | NameTransaction | AskVote | Decided | KnowPast
    | SaveState | ExpectState | LoadChunk | StateLost | IgnoreMessage | EndFlush
)  # fmt: skip

__all__ = [
    "AdmitSenders",
    "AskVote",
    "BlockGroup",
    "ConcludeCall",
    "Decided",
    "DeliverElsewhere",
    "DeliverRuns",
    "Effect",
    "EndFlush",
    "ExpectPeers",
    "ExpectState",
    "GiveUpProcess",
    "HandRequest",
    "IgnoreMessage",
    "InstallView",
    "KnowPast",
    "LeaveGroup",
    "LoadChunk",
    "NameTransaction",
    "ProbeProcess",
    "RejectPeer",
    "RelayRuns",
    "RestoreProcess",
    "ResumeGroup",
    "ReturnUnsent",
    "SaveState",
    "SendControl",
    "SendDatagram",
    "SendLetter",
    "SendRun",
    "SetTimer",
    "StateLost",
    "SuspectProcess",
]
