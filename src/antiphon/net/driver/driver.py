"""The network driver of one incarnation of a process: from its first handshake to its last bye.

Law: the driver only carries. What it hears it gives to the machine (``stack.endpoint``), one input
at a time, and does what the machine returns, in order (docs/machine.md):

- What the application has multicast is given before anything that has arrived since: it does not
  depend on it.
- A run is encoded once, and the same bytes go to every member of the view.
- Runs, relayed runs and control messages share one session per pair (``session``), for the
  machine needs them in order.
- Deliveries, views and requests go to the application's side (``Application``).
- Whatever arrives, read by read, is a sign of life of its sender.

An excluded process can come back only as another incarnation.
"""

import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.core.control import Beat
from antiphon.core.errors import AntiphonError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View
from antiphon.net.driver.heartbeat import Lateness
from antiphon.net.driver.network_side import NetworkSide
from antiphon.net.driver.outlet import Outlet
from antiphon.net.driver.owners import Application, DriverOwner
from antiphon.net.driver.recorder import Recorder
from antiphon.net.driver.timers import Timers
from antiphon.net.session.identity import Identity
from antiphon.net.transport.environment import Environment
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
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    HEARTBEAT,
    Input,
    JoinRequested,
    LeaveRequested,
    Stopped,
    Timer,
    TimerFired,
)
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import SendQueue
from antiphon.trace.schema import LEFT

_log = logging.getLogger("antiphon")


class Driver:
    """One incarnation of a process on the network."""

    def __init__(
        self,
        owner: DriverOwner,
        application: Application,
        identity: Identity,
        environment: Environment,
        queue: SendQueue,
        *,
        commit: CommitOptions | None = None,
        trace: Path | None = None,
        delay_s_max: float = 0.0,
    ) -> None:
        """Prepare; a founder waits for the other founding members, see :meth:`begin`."""
        self._owner = owner
        self._application = application
        self._queue = queue
        self._commit = commit
        self._trace = trace
        self.identity, self.process = identity, identity.process
        self.environment, self.now_us = environment, environment.now_us
        self.recorder: Recorder | None = None
        self.endpoint: Endpoint | None = None
        """The machine, once it has begun."""
        self.is_over = False
        self.network = NetworkSide(self, owner, application, identity, environment, delay_s_max)
        """What it says to other processes, and hears of them."""
        self.mesh = self.network.mesh
        self.outlet = Outlet(self.mesh, identity.domain)
        self.timers = Timers(self.now_us, self._fire)
        self._lateness = Lateness(str(self.process), identity.settings.timing)
        self._inputs: deque[Input] = deque()
        self._is_working = False
        self._do = self._effect_table()

    def _effect_table(self) -> dict[type, Callable[[Any], None]]:
        """Return how each effect is done; what is not here is for the application's side."""
        network = self.network
        return {
            SendRun: self._send_run,
            DeliverRuns: self._deliver,
            SendControl: self._send_control,
            SetTimer: self.timers.set,
            RelayRuns: self._relay,
            SendLetter: self._send_letter,
            InstallView: self._install,
            ExpectPeers: network.look_after_peer,
            ProbeProcess: network.look_after_peer,
            RestoreProcess: network.look_after_peer,
            GiveUpProcess: network.look_after_peer,
            RejectPeer: network.look_after_peer,
            BlockGroup: self._note_blocked,
            ResumeGroup: self._note_blocked,
            SuspectProcess: network.note_suspect,
            IgnoreMessage: self._note_ignored,
            LeaveGroup: self._end,
        }

    # What others ask.

    @property
    def member(self) -> Member | None:
        """Its part in views and orders, to look into."""
        return self.endpoint.member if self.endpoint is not None else None

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        return self.identity.founding_view if self.endpoint is None else self.endpoint.latest

    @property
    def has_state(self) -> bool:
        """Whether this process has the group's state, where there is one."""
        transfer = self.endpoint.ports.transfer if self.endpoint is not None else None
        return transfer is None or transfer.has_state

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered."""
        assert self.endpoint is not None, "it delivers"
        return self.endpoint.sender_of(run)

    # Beginning and ending.

    def open(self) -> None:
        """As a founder: connect to the other founding members."""
        assert self.identity.founding_view is not None, "joiners begin with a contact"
        self.mesh.expect(list(self.identity.founding_view.members))

    def begin(self) -> None:
        """Start the machine: every founding member is there, or this process joins."""
        identity = self.identity
        journal = self.environment.open_journal(self._trace, str(self.process))
        if journal is not None:
            process = str(self.process)
            self.recorder = Recorder(journal, process, identity.group, self.environment)
        self.endpoint = Endpoint(
            self.process, identity.founding_view, identity.settings, self.now_us(),
            queue=self._queue, with_state=identity.with_state, commit=self._commit,
        )  # fmt: skip
        self.do_all(self.endpoint.start())

    def ask_to_join(self, contact: ProcessId) -> None:
        """As a joiner: ask a member to be taken in."""
        self.give(JoinRequested(contact))

    def leave(self) -> None:
        """Ask to leave."""
        self.give(LeaveRequested())

    async def close(self, detail: str) -> None:
        """Stop for good; ``detail`` says how, in the journal."""
        self.is_over = True
        self.timers.stop()
        if self.endpoint is not None:
            self._inputs.append(Stopped(detail))
            self._work(self.endpoint)
        try:
            await self.mesh.close(has_left=detail == LEFT)
        finally:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.close(detail)

    def begin_early(self) -> None:
        """Start the machine: somebody has seen all founding members, so the group has begun."""
        try:
            self.begin()
        except AntiphonError as error:  # the journal cannot be written
            self._end(LeaveGroup(str(error), is_refused=True))

    # Driving the machine.

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""
        if self.endpoint is not None:
            self._inputs.append(happened)
            if not self._is_working:
                self._work(self.endpoint)

    def _work(self, endpoint: Endpoint) -> None:
        while self._inputs:
            self.do_all(endpoint.step(self._inputs.popleft(), self.now_us()))

    def do_all(self, effects: list[Effect]) -> None:
        """Do effects in order; what is given meanwhile waits until they are done."""
        self._is_working = True
        try:
            for effect in effects:
                do = self._do.get(type(effect))
                if do is not None:
                    do(effect)
                else:
                    self._application.on_effect(effect)
        finally:
            self._is_working = False
        if self._inputs and self.endpoint is not None:
            self._work(self.endpoint)

    # What the network does.

    def _send_run(self, sent: SendRun) -> None:
        overhead_bytes = self.outlet.send_run(sent.run, sent.alive)
        if self.recorder is not None:
            self.recorder.run("multicast", sent.run, self._queue_depth(), overhead_bytes)

    def _send_letter(self, sent: SendLetter) -> None:
        self.outlet.send_letter(sent.to, sent.letter)
        if self.recorder is not None:
            self.recorder.letter("send", str(sent.to), sent.letter.byte_count)

    def _send_control(self, sent: SendControl) -> None:
        if type(sent.message) is Beat:
            self.mesh.beat(sent.to)  # an acknowledgement is as good a sign of life
        else:
            self.outlet.send(sent.to, sent.message)

    def _relay(self, relayed: RelayRuns) -> None:
        self.outlet.relay(relayed.to, relayed.runs)

    # What the application sees.

    def _deliver(self, delivery: DeliverRuns) -> None:
        self.hand_over(delivery.runs)

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
            self.outlet.rank = view.rank_of(self.process)
            others = (member for member in view.members if member != self.process)
            self.mesh.set_members(tuple(others))
        self._application.on_view(view)

    def _note_blocked(self, noted: BlockGroup | ResumeGroup) -> None:
        reachable = noted.reachable if isinstance(noted, BlockGroup) else None
        if self.recorder is not None:
            self.recorder.block(reachable)
        self._application.on_block(reachable)

    def _note_ignored(self, ignored: IgnoreMessage) -> None:
        what = "%s ignores a word of %s to a tool of the group: %s"
        _log.warning(what, self.process, ignored.sender, ignored.why)

    def _end(self, end: LeaveGroup) -> None:
        self.is_over = True
        self.timers.stop()
        self._owner.on_over(end)

    def _fire(self, timer: Timer, late_us: int) -> None:
        if timer == HEARTBEAT:
            self._lateness.note(self.now_us() / 1e6, late_us / 1e6)
        self._application.flush()
        self.give(TimerFired(timer))
        if timer == HEARTBEAT:
            self.mesh.sweep()
            self._owner.on_room()
