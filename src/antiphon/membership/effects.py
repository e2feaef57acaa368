"""What membership asks its driver to do, and the box in which it collects that.

Law: effects are done in the order in which they were put in. Channels between two processes are
reliable and FIFO until one of them is out of the group, whatever is sent: runs, relayed runs and
control messages share one channel (ISIS 5.3 rests on that).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from antiphon.core.control import Alive, AnyMessage
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View


@final
@dataclass(slots=True)
class SendControl:
    """Send a control message to each of these processes."""

    to: tuple[ProcessId, ...]
    message: AnyMessage


@final
@dataclass(slots=True)
class SendRun:
    """Transmit ``run`` to every other member of the current view, or to some of them."""

    run: Run
    alive: Alive | None
    """Rides along, if it is due."""
    to: tuple[ProcessId, ...] | None = None
    """To whom, if not to all."""


@final
@dataclass(slots=True)
class SendDatagram:
    """Send this by datagram to every other member of the current view; it may be lost."""

    data: bytes
    run: Run | None = None
    """The own run that it carries, if it is its first time."""


@final
@dataclass(slots=True)
class SendLetter:
    """Send a letter to one process."""

    to: ProcessId
    letter: Letter


@final
@dataclass(slots=True)
class RelayRuns:
    """Send runs of other processes, unchanged, to each of these processes."""

    to: tuple[ProcessId, ...]
    runs: list[Run]


@final
@dataclass(slots=True)
class DeliverRuns:
    """Hand ``runs``, letters among them, to the application, in this order."""

    runs: list[Run]


@final
@dataclass(slots=True)
class InstallView:
    """Tell the application that this view has begun."""

    view: View


@final
@dataclass(slots=True)
class BlockGroup:
    """Tell the application that too few members can be reached to go on."""

    reachable: tuple[ProcessId, ...]


@final
@dataclass(slots=True)
class ResumeGroup:
    """Tell the application that the group goes on, in the view it was in."""


@final
@dataclass(slots=True)
class LeaveGroup:
    """The process is out: it left (``why`` is empty), was excluded, or was not taken in."""

    why: str
    next_incarnation: int = 0
    """If it was refused for an outdated number: the one to ask with."""
    is_refused: bool = False
    """Whether the group refuses it for good; one that was only excluded may try again."""
    is_elsewhere: bool = False
    """Whether it failed in another group of its process, and so is out of this one too."""


@final
@dataclass(slots=True)
class SuspectProcess:
    """Note that a process is suspected; its exclusion is up to the members together."""

    process: ProcessId


@final
@dataclass(slots=True)
class ProbeProcess:
    """Ask whoever is where this process is, or was, how it stands: not over the channel.

    What it answers (:class:`Standing` of that process, or :class:`Out` of anybody) is a message
    of the process that was asked.
    """

    process: ProcessId


@final
@dataclass(slots=True)
class RestoreProcess:
    """Take the channel with a process up again that was given up for a stall; nothing is lost."""

    process: ProcessId


Effect = (
    SendControl | SendRun | SendDatagram | SendLetter | RelayRuns | DeliverRuns | InstallView
    | BlockGroup | ResumeGroup | LeaveGroup | SuspectProcess | ProbeProcess | RestoreProcess
)  # fmt: skip


class Outbox:
    """Effects of one step, in order."""

    __slots__ = ("effects", "me")

    def __init__(self, me: ProcessId) -> None:
        """Start empty."""
        self.me = me
        self.effects: list[Effect] = []

    def put(self, effect: Effect) -> None:
        """Add any effect."""
        self.effects.append(effect)

    def send(self, to: ProcessId, message: AnyMessage) -> None:
        """Send to one process, never to oneself."""
        assert to != self.me, "what a process tells itself needs no message"
        self.effects.append(SendControl((to,), message))

    def send_each(self, to: Iterable[ProcessId], message: AnyMessage) -> None:
        """Send to all of these but oneself."""
        others = tuple(process for process in to if process != self.me)
        if others:
            self.effects.append(SendControl(others, message))

    def relay(self, to: Iterable[ProcessId], runs: list[Run]) -> None:
        """Relay runs to all of these but oneself."""
        if runs and (others := tuple(process for process in to if process != self.me)):
            self.effects.append(RelayRuns(others, runs))

    def take(self) -> list[Effect]:
        """Hand over what was collected."""
        taken, self.effects = self.effects, []
        return taken
