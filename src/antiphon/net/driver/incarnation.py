"""One incarnation of a process on the network, in all its groups: it drives the process machine.

Law: it only carries. What happens becomes inputs of the machine (``stack.process``), in order; what
the machine returns is done in order, each effect by whom it concerns: the process (here), or one of
its groups (``driver``). An input that comes about while effects are done waits until they are. What
a process has once is here: its sessions, its timers, its heartbeat.

In no group it keeps what it knows of the domains that it was in, and its sessions until they are
over; then it rests: no heartbeat, no connection, nobody comes in, until it enters another group.

Frames name their group by a digest of its name and settings, so a group that is named alike and set
up otherwise is another one; what is of a group that this process is not in is ignored.
"""

import logging
from collections import deque
from collections.abc import Sequence

from antiphon.core.control import Decide, Elsewhere, Out, Standing
from antiphon.core.frames import Ack, Bye, Control, Frame, Hello
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.driver.flushing import Flushing
from antiphon.net.driver.heartbeat import Lateness
from antiphon.net.driver.owners import GroupDriver, IncarnationOwner
from antiphon.net.driver.timers import Timers
from antiphon.net.journal.journals import IncarnationJournals
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer
from antiphon.net.session.session import ACK_BYTES
from antiphon.net.transport.environment import Environment
from antiphon.stack.effects import (
    Effect,
    EndFlush,
    ExpectPeers,
    GiveUpProcess,
    RestoreProcess,
    SendControl,
    SetTimer,
)
from antiphon.stack.inputs import (
    HEARTBEAT,
    FlushRequested,
    Input,
    PeerFilled,
    PeerHeard,
    PeerLost,
    ProbeAnswered,
    Timer,
    TimerFired,
)
from antiphon.stack.process import InGroup, OfProcess, Process

HEAR_US = 5_000
"""Signs of life closer together than this count as one: a heartbeat is much longer."""

ELSEWHERE_MAX = 32
"""Places of other processes that are told to who asks about a group that is not here."""

_SAY_AGAIN_US = 1_000_000
"""Suspicions of one process closer together than this are logged once."""

_log = logging.getLogger("antiphon")


class Incarnation:
    """A process from its start, or return, to its end."""

    def __init__(
        self,
        owner: IncarnationOwner,
        process: ProcessId,
        start: int,
        environment: Environment,
        *,
        delay_s_max: float = 0.0,
    ) -> None:
        """Be in no group, and have no connection."""
        self._owner = owner
        self.process, self.start = process.bare(), start
        self.environment, self.now_us = environment, environment.now_us
        self.delay_s_max = delay_s_max
        self.datagrams: DatagramPort | None = owner.datagrams
        """The process's socket for datagrams, once a group needs one."""
        self.machine = Process(process, owner.timing, self.now_us(), owner.exclusions)
        self.mesh = Mesh(self)
        self.timers = Timers(self.now_us, self._fire)
        self.flushing = Flushing(lambda asked: self.give(None, asked))
        """Who waits until what was sent or delivered is everywhere."""
        self.journals = IncarnationJournals(environment)
        """Where rows of what happens go, if anywhere."""
        self._lateness = Lateness(self.process.name, owner.timing)
        self._drivers: dict[GroupNumber, GroupDriver] = {}
        self._by_domain: dict[int, GroupDriver] = {}
        self._by_name: dict[str, GroupDriver] = {}
        self.been: dict[str, int] = {}
        """The number under which it was last a member of each group that it has left."""
        self.has_past = False
        """Whether it was in a group of a causality domain: what it says next comes after that."""
        self.is_resting = False
        """Whether it is in no group, and has nothing more to say to anybody."""
        self._expected: tuple[ProcessId, ...] = ()
        self._idle: tuple[ProcessId, ...] = ()
        self._inputs: deque[tuple[GroupNumber | None, Input | OfProcess]] = deque()
        self._is_working = False
        self._count = 0
        self._turn = 0
        self._said_us: dict[ProcessId, int] = {}
        self.is_closed = False
        self._has_left = True
        self._do(None, self.machine.start())

    # Its groups.

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or failed in the eyes of a group of its."""
        return self.is_closed or self.machine.is_over

    @property
    def drivers(self) -> list[GroupDriver]:
        """Of the groups that it is in, on its way into, or out of."""
        return list(self._drivers.values())

    def add(self, driver: GroupDriver) -> GroupNumber:
        """Take part in a group; return the number under which the machine knows it."""
        assert driver.domain not in self._by_domain, "who joins has looked"
        if self.is_resting:
            self.is_resting = False
            self.give(None, TimerFired(HEARTBEAT))
        self._count += 1
        number = GroupNumber(self._count)
        self._drivers[number] = self._by_domain[driver.domain] = driver
        self._by_name[driver.identity.group] = driver
        return number

    def remove(self, driver: GroupDriver, *, has_left: bool) -> None:
        """Take part in a group no longer."""
        if self._drivers.pop(driver.number, None) is None:
            return
        del self._by_domain[driver.domain]
        del self._by_name[driver.identity.group]
        if driver.has_been_member:
            self.been[driver.identity.group] = driver.identity.process.incarnation
            self.has_past = self.has_past or bool(driver.identity.causality_domain)
        self._has_left = self._has_left and has_left
        self._do(None, self.machine.close(driver.number))
        self.look_at_contacts()

    def rival(self, domain: int) -> str | None:
        """Return the group, if any, that others could not tell from one of this digest."""
        driver = self._by_domain.get(domain)
        return driver.identity.group if driver is not None else None

    async def close(self) -> None:
        """End: close every connection, having sent everything; with a bye if all let us go.

        Raises what went wrong with the journal of a domain, if anything did.
        """
        if self.is_closed:
            return
        self.is_closed = True
        self.timers.stop()
        self.flushing.close()
        try:
            await self.mesh.close(has_left=self._has_left)
        finally:  # who was coming back may end meanwhile
            self.journals.close()

    # What visitors and peers are told.

    def part(self, group: str) -> GroupDriver | None:
        """Return this process's part in a group, if it has any.

        Who has only one group for good speaks of that one, so that a mistaken name is seen.
        """
        driver = self._by_name.get(group)
        if driver is None and group and self._owner.is_alone:
            return next(iter(self._drivers.values()), None)
        return driver

    def hello(
        self,
        other: ProcessId,
        to: int = 0,
        received: int = 0,
        *,
        is_asking: bool = False,
        group: str | None = None,
    ) -> Hello:
        """Return what to say to ``other``: about ``group``, or one for which it is needed."""
        driver = self.part(group) if group is not None else self._reason(other)
        if driver is None:
            said = Handshake(
                "", "", self.process, self.start, to=to, received=received, is_asking=is_asking
            )
            return Hello(0, said)
        said = driver.handshake(other, to, received, is_asking=is_asking)
        return Hello(driver.domain, said)

    def _reason(self, other: ProcessId) -> GroupDriver | None:
        """Return a group for which ``other`` is needed; of several each in its turn."""
        needing = [driver for driver in self._drivers.values() if driver.needs(other)]
        self._turn += 1
        return needing[self._turn % len(needing)] if needing else None

    def elsewhere(self) -> Elsewhere:
        """Return where other processes are: one of them may be in a group that is not here."""
        known = [peer.process.address for peer in self.mesh.peers.values() if not peer.is_guest]
        return Elsewhere(tuple(known[:ELSEWHERE_MAX]))

    # Driving the machine.

    def give(self, group: GroupNumber | None, happened: Input | OfProcess) -> None:
        """Give an input, of a group or of the process, after those that wait; do what comes."""
        inputs = self._inputs
        if inputs or self._is_working:
            inputs.append((group, happened))
        else:
            self._step(group, happened)
        if inputs and not self._is_working:
            self._work()

    def _step(self, group: GroupNumber | None, happened: Input | OfProcess) -> None:
        if group is not None:
            assert not isinstance(happened, FlushRequested), "it is of the process"
            self._do(group, self.machine.step_in(group, happened, self.now_us()))
        else:
            assert isinstance(happened, OfProcess), "the rest is of a group"
            self._do(None, self.machine.step(happened, self.now_us()))

    def _work(self) -> None:
        inputs = self._inputs
        while inputs:
            self._step(*inputs.popleft())

    def do_all(self, group: GroupNumber, effects: Sequence[InGroup | Effect]) -> None:
        """Do effects of a group in order; what is given meanwhile waits until they are done."""
        self._do(group, effects)
        if self._inputs and not self._is_working:
            self._work()

    def _do(self, group: GroupNumber | None, effects: Sequence[InGroup | Effect]) -> None:
        was_working, self._is_working = self._is_working, True
        drivers = self._drivers
        driver = drivers.get(group) if group is not None else None
        try:
            for effect in effects:
                if isinstance(effect, InGroup):
                    other = drivers.get(effect.group)
                    if other is not None:
                        other.do(effect.what)
                elif driver is not None and type(effect) is not EndFlush:
                    driver.do(effect)
                else:
                    self._do_of_process(effect)
        finally:
            self._is_working = was_working

    def _do_of_process(self, effect: Effect) -> None:
        match effect:
            case SetTimer():
                self.timers.set(effect)
            case SendControl(to):  # a heartbeat: an acknowledgement is as good a sign of life
                self.mesh.beat(to)
            case ExpectPeers():
                self.expect(effect)
            case GiveUpProcess(process, why):
                self.mesh.give_up(process, why)
            case RestoreProcess(process):
                self.mesh.restore(process)
            case EndFlush() if self.machine.is_over:
                self.flushing.close()  # it ends because nothing can be known any more
            case EndFlush(number):
                self.flushing.end(number)
            case _:
                pass  # of a group that this process is in no longer

    def _fire(self, timer: Timer, late_us: int) -> None:
        is_heartbeat = timer == HEARTBEAT
        if is_heartbeat:
            self._lateness.note(self.now_us() / 1e6, late_us / 1e6)
            for driver in self.drivers:
                driver.flush()
        elif (concerned := self._drivers.get(GroupNumber(timer.group))) is not None:
            concerned.flush()
        self.give(None, TimerFired(timer))
        if is_heartbeat:
            self.mesh.sweep()
            if not self._drivers and not self.mesh.peers:
                self.is_resting = True
                self.timers.cancel(HEARTBEAT)
            self._owner.on_room()

    # What the mesh asks and tells.

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """Give what has come to its group; raise PeerError if no correct process sends that."""
        assert not isinstance(frame, Hello | Ack | Bye), "they are of the session"
        driver = self._by_domain.get(frame.domain)
        if driver is not None and not driver.is_over:
            driver.take(peer, frame)

    def on_read(self, peer: Peer) -> None:
        """A peer has been heard."""
        if self.is_closed or self.machine.is_over:
            return
        heard_us = self.now_us()
        if heard_us - peer.heard_us >= HEAR_US:
            peer.heard_us = heard_us
            self.give(None, PeerHeard(peer.process))
        if peer.session.unsaid_bytes >= ACK_BYTES:
            self.mesh.acknowledge(peer)

    def on_full(self, peer: Peer, *, is_full: bool) -> None:
        """A peer takes no more for now; or takes more again."""
        if not self.is_over:
            self.give(None, PeerFilled(peer.process, is_full))

    def on_room(self) -> None:
        """Pass it on."""
        self._owner.on_room()

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is dead, or lies: tell the machine; unless it has been forgotten meanwhile."""
        if self.is_over or peer.is_condemned or self.mesh.peers.get(peer.process) is not peer:
            return
        if peer.is_guest:
            self.mesh.dismiss(peer, why)
            return
        self.mesh.condemn(peer, why, is_certain=True)
        for driver in self.drivers:
            if driver.needs(peer.process):
                driver.flush()
        self.give(None, PeerLost(peer.process))
        self._owner.on_room()

    def on_said(self, domain: int, member: ProcessId, said: Out | Standing) -> None:
        """A member of a group says that this process is none any more, or how it stands itself."""
        driver = self._by_domain.get(domain)
        if driver is not None and not driver.is_over:
            driver.give(ProbeAnswered(member, said))

    def is_member(self, process: ProcessId) -> bool:
        """Whether a process is in a view, or about to be in one, of a group of this one."""
        return process in self._expected

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view of a group."""
        return any(driver.has_accepted(process) for driver in self._drivers.values())

    def needs_word_of(self, peer: Peer, told: Control) -> bool:
        """Whether a guest tells a group that is blocked here of the view that goes on with it."""
        driver, message = self._by_domain.get(told.domain), told.message
        if driver is None or not isinstance(message, Decide):
            return False
        if driver.number not in self.machine.groups:
            return False  # it is still being founded
        endpoint = self.machine.endpoint(driver.number)
        return endpoint.needs_word_of(message.views, peer.member(told.process))

    def expect(self, effect: ExpectPeers) -> None:
        """Have sessions with those whom the groups need."""
        self._expected, self._idle = effect.processes, effect.idle
        self.look_at_contacts()

    def log_suspicion(self, me: ProcessId, member: ProcessId, why: str) -> None:
        """Say that a member is suspected: once, however many groups do."""
        process, now_us = member.bare(), self.now_us()
        if now_us >= self._said_us.get(process, 0) + _SAY_AGAIN_US:
            self._said_us = {
                who: us for who, us in self._said_us.items() if us + _SAY_AGAIN_US > now_us
            }
            self._said_us[process] = now_us
            _log.warning("%s suspects %s: %s", me, member, why)

    def look_at_contacts(self) -> None:
        """Have sessions with those whom groups need, or ask to be taken in by."""
        if not self.is_closed:
            contacts = {who for driver in self._drivers.values() for who in driver.contacts}
            idle = frozenset(self._idle) - contacts
            self.mesh.expect((*self._expected, *sorted(contacts)), idle)
