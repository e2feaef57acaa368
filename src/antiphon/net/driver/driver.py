"""The driver of one group: what the machine says of it, done on the network.

Law: the driver only carries. What it hears in its group it gives to the process machine, one input
at a time, and does what the machine returns, in order (docs/machine.md):

- What the application has multicast is given before anything that has arrived since: it does not
  depend on it.
- A run is encoded once, and the same bytes go to every member of the view.
- Runs, relayed runs and control messages share one session per pair of processes (``session``),
  for the machine needs them in order.
- Deliveries, views and requests go to the application's side (``Application``).

A driver is of one incarnation of its process (``incarnation``), which several groups may share.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.core.control import Situation
from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View
from antiphon.net.application.causal_domain import CausalDomain
from antiphon.net.driver.blocks.group_datagrams import GroupDatagrams
from antiphon.net.driver.nobody import Nobody
from antiphon.net.driver.outlet import Outlet
from antiphon.net.driver.owners import Application, DriverOwner, ProcessSide
from antiphon.net.driver.reception import Reception
from antiphon.net.journal.recorder import Recorded, Recorder
from antiphon.net.session.identity import Identity
from antiphon.net.session.peer import Peer
from antiphon.stack.between import step_between
from antiphon.stack.blocks import Blocks
from antiphon.stack.effects import (
    BlockGroup,
    DeliverRuns,
    Effect,
    ExpectPeers,
    GiveUpProcess,
    IgnoreMessage,
    InstallView,
    LeaveGroup,
    ProbeProcess,
    RejectPeer,
    RelayRuns,
    RestoreProcess,
    ResumeGroup,
    SendControl,
    SendDatagram,
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    Input,
    JoinRequested,
    LeaveRequested,
    ProbeReceived,
    Stopped,
)
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import SendQueue
from antiphon.trace.schema import LEFT

_log = logging.getLogger("antiphon")


class Driver:
    """One incarnation of a process in one group."""

    def __init__(
        self,
        owner: DriverOwner,
        application: Application,
        incarnation: ProcessSide,
        identity: Identity,
        queue: SendQueue,
        *,
        commit: CommitOptions | None = None,
        trace: Path | None = None,
        domain: CausalDomain | None = None,
    ) -> None:
        """Prepare; see :meth:`begin`. The ``domain`` is one that the group shares with others."""
        self._owner = owner
        self._application = application
        self._queue = queue
        self._commit = commit
        self._trace, self._causality = trace, domain
        self.incarnation, self.mesh = incarnation, incarnation.mesh
        self.identity, self.process, self.domain = identity, identity.process, identity.domain
        self.now_us = incarnation.environment.now_us
        self.recorder: Recorder | None = None
        self.endpoint: Endpoint | None = None
        """The machine's part in the group, once it has begun."""
        self.ending = LeaveGroup("")
        """How it ended, if it has."""
        self.is_over = False
        self._is_closed = self.is_abandoned = False
        self.has_been_member = False
        """Whether this process has been in a view of the group."""
        self.contacts: set[ProcessId] = set()
        """Processes that are needed on the way in: to found the group with, or to ask."""
        self.turned_away: str | None = None
        """Why the last visitor was turned away for being given another group."""
        self.flush = application.flush
        self.reception = reception = Reception(self, incarnation, owner, application)
        self.take, self.answer, self.handshake = (
            reception.take, reception.answer, reception.handshake,
        )  # fmt: skip
        self.has_counted = reception.has_counted
        self.outlet = Outlet(self.mesh, identity)
        self.datagrams: GroupDatagrams | None = None
        """What goes by datagram, where the group has chosen that."""
        self._effects = self._effect_table()
        self.number = incarnation.add(self)
        protocol = identity.settings.protocol
        if isinstance(protocol, Blocks):
            port = incarnation.datagrams
            assert port is not None, "it was opened on the way in"
            self.datagrams = GroupDatagrams(self, port, protocol, self._effects[SendControl])

    def _effect_table(self) -> dict[type, Callable[[Any], None]]:
        """Return how each effect is done; what is not here is for the application's side."""
        mesh, outlet, group = self.mesh, self.outlet, self.identity.group
        return {
            SendRun: self._send_run,
            DeliverRuns: lambda effect: self.hand_over(effect.runs),
            SendControl: lambda effect: outlet.send(effect.to, effect.message),
            SendDatagram: self._send_run,
            SetTimer: self.incarnation.timers.set,
            RelayRuns: lambda effect: outlet.relay(effect.to, effect.runs),
            SendLetter: self._send_letter,
            InstallView: self._install,
            ExpectPeers: self.incarnation.expect,
            ProbeProcess: lambda effect: mesh.probe(effect.process, group),
            RestoreProcess: lambda effect: mesh.restore(effect.process),
            GiveUpProcess: lambda effect: mesh.give_up(effect.process, effect.why),
            RejectPeer: self.reception.reject,
            BlockGroup: self._note_blocked,
            ResumeGroup: self._note_blocked,
            SuspectProcess: self._note_suspect,
            IgnoreMessage: self._note_ignored,
            LeaveGroup: self._end,
        }

    # What others ask.

    @property
    def founding(self) -> int:
        """What tells the founding members from others, while this process waits for them."""
        return self.identity.founding if self.endpoint is None else 0

    @property
    def member(self) -> Member | None:
        """Its part in views and orders, to look into."""
        return self.endpoint.member if self.endpoint is not None else None

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        return self.endpoint.latest if self.endpoint is not None else None

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""
        latest = self.latest
        return latest.number if latest is not None else 0

    @property
    def has_state(self) -> bool:
        """Whether this process has the group's state, where there is one."""
        return self.endpoint is None or self.endpoint.has_state

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered."""
        assert self.endpoint is not None, "it delivers"
        return self.endpoint.sender_of(run)

    def needs(self, process: ProcessId) -> bool:
        """Whether a process concerns this group."""
        return process in self.contacts or self.incarnation.machine.knows(self.number, process)

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view, or founds with it."""
        endpoint = self.endpoint
        accepted = endpoint.accepted if endpoint is not None else self.identity.founding_view
        bare = self.incarnation.machine.bare
        return accepted is not None and any(bare(who) == process for who in accepted.members)

    # Beginning and ending.

    def begin(self, view: View | None) -> None:
        """Start the machine: in the first view of the group, or to join it."""
        identity, causality, incarnation = self.identity, self._causality, self.incarnation
        if view is not None and self._trace is not None and identity.group in incarnation.been:
            message = (
                "it was in it before, and its run folder has the rows of that: found a group of "
                "another name, or leave trace out"
            )
            raise UsageError(message)
        said = Recorded(identity.group)
        if causality is not None:
            said = Recorded(identity.group, causality.name, causality.crashes)
        self.recorder = incarnation.journals.recorder(self._trace, str(self.process), said)
        machine = incarnation.machine
        effects = machine.open(
            self.number, self.process, view, identity.settings, self.now_us(), queue=self._queue,
            with_state=identity.with_state, commit=self._commit, domain=self.domain,
            causality=causality.name if causality is not None else None,
            resilience=causality.crashes if causality is not None else 1,
            structure=causality.structure if causality is not None else None,
            name=identity.group,
        )  # fmt: skip
        self.endpoint = machine.endpoint(self.number)
        if self.datagrams is not None:
            self.datagrams.size_runs(self.endpoint.member)
        incarnation.do_all(self.number, effects)
        self.reception.take_early()

    def seek(self, contact: ProcessId) -> Peer:
        """As a joiner: have a session with a member, which is to take this process in."""
        process = contact.bare()
        peer = self.mesh.add(process, is_dialled=True)
        if self.contacts != {process}:
            self.contacts = {process}
            self.incarnation.look_at_contacts()
        return peer

    def meet(self, founder: ProcessId) -> None:
        """As a founder: have a session with another one before the group begins."""
        if founder.bare() not in {*self.contacts, self.incarnation.process}:
            self.contacts.add(founder.bare())
            self.incarnation.look_at_contacts()

    def ask_to_join(self, contact: ProcessId) -> None:
        """As a joiner: ask a member to be taken in."""
        self.give(JoinRequested(contact))

    def leave(self) -> None:
        """Ask to leave."""
        self.give(LeaveRequested())

    def on_probed(self, member: ProcessId, view_number: int) -> None:
        """A process that shows the secret of its session asks, in a view of this number."""
        if not self.is_over:
            self.give(ProbeReceived(member, view_number))

    def abandon(self, release: Callable[[], None]) -> None:
        """Leave the group without its application, in the background, however long it takes.

        The process lives on, in other groups: the members of this one would wait for it for ever.
        Who has asked in vain to be taken in waits, lest it be yet; it leaves then.
        """
        self.is_abandoned = True
        nobody = Nobody(self, release, self._application)
        self._owner = self._application = nobody
        self.flush = nobody.flush
        self.reception.abandon(nobody)
        if self.endpoint is None:
            nobody.on_over(LeaveGroup("never entered the group"))
        elif self.is_over:
            nobody.on_over(self.ending)
        else:
            self.contacts = set()
            self.incarnation.look_at_contacts()
            self.leave()

    def serve_operator(self, order: str, number: int, who: str) -> Situation:
        """Pass it on."""
        return self._owner.on_operator(order, number, who)

    def close(self, detail: str) -> None:
        """Stop for good; ``detail`` says how, in the journal."""
        if self._is_closed:
            return
        self._is_closed = self.is_over = True
        if self.endpoint is not None:
            self.incarnation.give(self.number, Stopped(detail))
        if self.datagrams is not None:
            self.datagrams.close()
        self.incarnation.remove(self, has_left=detail == LEFT)
        recorder, self.recorder = self.recorder, None
        if recorder is not None:
            recorder.close(detail)

    # Driving the machine.

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""
        if self.endpoint is not None and not self._is_closed:
            self.incarnation.give(self.number, happened)
            return
        for effect in step_between(self._queue, happened, self.now_us()):
            self.do(effect)

    def do(self, effect: Effect) -> None:
        """Do one effect."""
        do = self._effects.get(type(effect))
        if do is not None:
            do(effect)
        else:
            self._application.on_effect(effect)

    # What the network does.

    def _send_run(self, sent: SendRun | SendDatagram) -> None:
        run = sent.run
        if isinstance(sent, SendRun):
            overhead_bytes = self.outlet.send_run(sent.run, sent.alive, sent.to)
        else:
            assert self.datagrams is not None, "the group has chosen to send some"
            self.datagrams.send(sent.data)
            overhead_bytes = len(sent.data) - (run.byte_count if run is not None else 0)
        if run is not None and self.recorder is not None:
            self.recorder.run("multicast", run, self._queue_depth(), overhead_bytes)

    def _send_letter(self, sent: SendLetter) -> None:
        self.outlet.send_letter(sent.to, sent.letter)
        if self.recorder is not None:
            self.recorder.letter("send", str(sent.to), sent.letter.byte_count)

    # What the application sees.

    def hand_over(self, runs: list[Run]) -> None:
        """Journal runs, and deliver them to the application."""
        if self.recorder is not None:
            for run in runs:
                if isinstance(run, Letter):
                    self.recorder.letter("take", str(self.sender_of(run)), run.byte_count)
                else:
                    self.recorder.run("deliver", run, self._queue_depth())
        self._application.on_deliver(runs)

    def _queue_depth(self) -> int:
        return self.endpoint.queue_depth if self.endpoint is not None else 0

    def _install(self, installed: InstallView) -> None:
        view = installed.view
        if self.recorder is not None:
            self.recorder.view(view)
        if self.process in view.members:
            self.has_been_member = True
            if self.datagrams is not None:
                self.datagrams.install(view)
            self.outlet.set_members([who for who in view.members if who != self.process])
            if self.contacts:
                self.contacts = set()
                self.incarnation.look_at_contacts()
        self._application.on_view(view)

    def _note_blocked(self, noted: BlockGroup | ResumeGroup) -> None:
        reachable = noted.reachable if isinstance(noted, BlockGroup) else None
        if self.recorder is not None:
            self.recorder.block(reachable)
        self._application.on_block(reachable)

    def _note_suspect(self, suspected: SuspectProcess) -> None:
        process = suspected.process
        peer = self.mesh.peers.get(process.bare())
        why = peer.why if peer is not None and peer.why else "nothing was heard of it for too long"
        self.incarnation.log_suspicion(self.process, process, why)
        if self.recorder is not None:
            self.recorder.suspect(str(process), why)

    def _note_ignored(self, ignored: IgnoreMessage) -> None:
        what = "%s ignores a word of %s to a tool of the group: %s"
        _log.warning(what, self.process, ignored.sender, ignored.why)

    def _end(self, end: LeaveGroup) -> None:
        self.is_over = True
        self.ending = end
        self._owner.on_over(end)
