"""Whom drivers carry for, and what a group's driver needs of its process's.

Law: what concerns the process as a whole goes to ``IncarnationOwner``, what concerns its part in
one group to ``DriverOwner``, and what happens in that group to ``Application``.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from antiphon.core.control import FoundingAnswer, Out, Situation, Standing
from antiphon.core.frames import Control, Post, Relay, Runs
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.exclusions import Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.driver.timers import Timers
from antiphon.net.journal.journals import IncarnationJournals
from antiphon.net.session.identity import Identity
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer
from antiphon.net.transport.environment import Environment
from antiphon.stack.effects import Effect, ExpectPeers, LeaveGroup
from antiphon.stack.inputs import Input
from antiphon.stack.process import InGroup, Process

GroupFrame = Runs | Relay | Post | Control
"""Frames that are of a group."""


class IncarnationOwner(Protocol):
    """What an incarnation needs of its process."""

    timing: Timing
    """How often it says that it lives, and how soon silence is suspicious."""
    exclusions: Exclusions
    """Who failed in its groups, as its incarnations knew."""
    datagrams: DatagramPort | None
    """Its socket for datagrams, if a group needs one."""
    is_alone: bool
    """Whether it is in one group for good, and says so to who asks for another."""

    def on_room(self) -> None:
        """A connection has come or gone, or takes more: whoever waits may look again."""


class DriverOwner(Protocol):
    """What a driver needs of who takes part in its group."""

    def on_vote(self, question: bytes) -> FoundingAnswer | None:
        """Vote on who founds the group, if this process has a vote."""

    def on_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders; return how this process stands then."""

    def on_over(self, end: LeaveGroup) -> None:
        """The group has ended here: it was left (no ``end.why``), or this process is out."""


class Application(Protocol):
    """The application's side of what happens in one group."""

    def flush(self) -> None:
        """Give what the application has multicast."""

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application."""

    def on_view(self, view: View) -> None:
        """A view has begun."""

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""

    def on_effect(self, effect: Effect) -> None:
        """Do what is left to the application: admissions, calls, votes, state."""


class GroupDriver(Protocol):
    """What an incarnation needs of the driver of one of its groups."""

    number: GroupNumber
    domain: int
    identity: Identity
    ending: LeaveGroup
    is_over: bool
    is_abandoned: bool
    has_been_member: bool
    contacts: set[ProcessId]
    turned_away: str | None
    flush: Callable[[], None]

    @property
    def take(self) -> Callable[[Peer, GroupFrame], None]:
        """What gives a frame to the machine; raises PeerError if no correct process sends it."""

    @property
    def founding(self) -> int:
        """What tells the founding members from others, while this process waits for them."""

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""

    def do(self, effect: Effect) -> None:
        """Do one effect."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine."""

    def needs(self, process: ProcessId) -> bool:
        """Whether a process concerns this group."""

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view."""

    def handshake(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Handshake:
        """Return what to say to ``other``."""

    def has_counted(self, asker: Handshake) -> bool:
        """Whether this process founds, or founded, the group with this very asker."""

    def answer(
        self, asker: Handshake, *, has_channel: bool
    ) -> Out | Standing | FoundingAnswer | None:
        """Return what to tell who asks, beside the handshake."""

    def on_probed(self, member: ProcessId, view_number: int) -> None:
        """A process that shows the secret of its session asks, in a view of this number."""

    def serve_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders; return how this process stands then."""

    def close(self, detail: str) -> None:
        """Stop for good; ``detail`` says how, in the journal."""


class ProcessSide(Protocol):
    """What the driver of a group needs of the process's incarnation."""

    process: ProcessId
    start: int
    machine: Process
    mesh: Mesh
    timers: Timers
    journals: IncarnationJournals
    environment: Environment
    datagrams: DatagramPort | None
    """The process's socket for datagrams, once a group needs one."""
    been: dict[str, int]
    """The number under which it was last a member of each group that it has left."""

    def give(self, group: GroupNumber | None, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""

    def do_all(self, group: GroupNumber, effects: Sequence[InGroup | Effect]) -> None:
        """Do effects of a group in order."""

    def add(self, driver: GroupDriver) -> GroupNumber:
        """Take part in a group; return the number under which the machine knows it."""

    def remove(self, driver: GroupDriver, *, has_left: bool) -> None:
        """Take part in a group no longer."""

    def expect(self, effect: ExpectPeers) -> None:
        """Have sessions with those whom the groups need."""

    def log_suspicion(self, me: ProcessId, member: ProcessId, why: str) -> None:
        """Say that a member is suspected: once, however many groups do."""

    def look_at_contacts(self) -> None:
        """Have sessions with those whom groups need, or ask to be taken in by."""

    def on_room(self) -> None:
        """Something has changed for whoever waits: it may look again."""

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is dead, or lies."""
