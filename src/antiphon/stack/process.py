"""The process: one incarnation in all its groups, as a machine.

    application, network      InGroup(group, input)  PeerHeard  PeerLost  TimerFired ...
                                      |                  |
    Process                   one heartbeat, one failure detector's pulses, one end for all groups
                                      |
    Endpoint, one per group   views, agreement, flush, order, stability, state, tools
                                      |
                              InGroup(group, effect)  ExpectPeers  SetTimer  SendControl(Beat) ...

Law: what is of a process exists once, whatever the number of its groups: its incarnation, its
channels (one per pair of processes), its heartbeat (one per pair), and what it knows of who lives.
What is of a group exists once per group. Each group is a causality domain of its own.

Failure is of a process. Whoever learns a view in which x failed takes x for dead in all groups, and
each excludes it in its own time; who learns that it failed in one group stops in all, and can come
back only as another incarnation, in all. Leaving is of a group, and so is being in a minority.

An idle group costs nothing: receipts are said when there is news, and at a heartbeat only groups
are looked at in which something is under way, unless somebody is silent for long.

Inputs and effects that concern one group are wrapped (``InGroup``); the others are the process's.
"""

from collections.abc import Callable
from typing import NamedTuple, cast

from antiphon.core.control import Beat
from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.membership.pulses import Pulses
from antiphon.stack.effects import (
    Effect,
    ExpectPeers,
    GiveUpProcess,
    InstallView,
    LeaveGroup,
    RejectPeer,
    RestoreProcess,
    SendControl,
    SetTimer,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    HEARTBEAT,
    Input,
    PeerFilled,
    PeerHeard,
    PeerLost,
    Stopped,
    Timer,
    TimerFired,
)
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import SendQueue
from antiphon.stack.settings import Settings


class InGroup(NamedTuple):
    """An input, or an effect, of one group."""

    group: GroupNumber
    what: Input | Effect


OfProcess = PeerHeard | PeerLost | PeerFilled | TimerFired
"""Inputs that concern all groups, or name theirs."""

_BEAT = Beat()


class Process:
    """One incarnation of a process."""

    def __init__(self, me: ProcessId, timing: Timing, now_us: int) -> None:
        """Begin in no group."""
        self.me = me
        self._timing = timing
        self._pulses = Pulses(now_us)
        self._endpoints: dict[GroupNumber, Endpoint] = {}
        self._expected: dict[GroupNumber, tuple[ProcessId, ...]] = {}
        self._done: list[InGroup | Effect] = []
        self._now_us = now_us
        self.is_over = False
        """Whether the process failed in the eyes of a group of its, and so is out of all."""

    def start(self) -> list[InGroup | Effect]:
        """Return what is to be done first; to be called once."""
        self._done.append(SetTimer(HEARTBEAT, self._now_us + self._timing.heartbeat_us))
        return self._take()

    # What others ask, to look into.

    @property
    def groups(self) -> tuple[GroupNumber, ...]:
        """The groups that the process is in, or on its way into."""
        return tuple(self._endpoints)

    def endpoint(self, group: GroupNumber) -> Endpoint:
        """Return the process's part in one group."""
        return self._endpoints[group]

    # Groups.

    def open(
        self,
        group: GroupNumber,
        view: View | None,
        settings: Settings,
        now_us: int,
        *,
        queue: SendQueue | None = None,
        with_state: bool = False,
        commit: CommitOptions | None = None,
    ) -> list[InGroup | Effect]:
        """Begin in one more group: in ``view``, founded beforehand, or outside."""
        if group in self._endpoints:
            message = f"{self.me} is in that group already: use the handle that it has"
            raise UsageError(message)
        if self.is_over:
            message = f"{self.me} is out of its groups: begin another incarnation"
            raise UsageError(message)
        self._now_us = now_us
        endpoint = self._endpoints[group] = Endpoint(
            self.me, view, settings, now_us, queue=queue, with_state=with_state, commit=commit,
            pulses=self._pulses,
        )  # fmt: skip
        self._sort(group, endpoint.start())
        return self._take()

    def close(self, group: GroupNumber) -> list[InGroup | Effect]:
        """Forget a group that the process has left, or was not taken into."""
        endpoint = self._endpoints.pop(group, None)
        if endpoint is not None:
            self._forget(group, endpoint)
        return self._take()

    def _forget(self, group: GroupNumber, endpoint: Endpoint) -> None:
        """Watch nobody, and need no channel, for a group that has ended here.

        What was last heard of a process would be old news when another group begins to watch it.
        """
        endpoint.member.membership.coordination.end(self._now_us)
        self._expect(group, ())

    # Inputs.

    def step(self, happened: InGroup | OfProcess, now_us: int) -> list[InGroup | Effect]:
        """Take one input; return what is to be done, in order."""
        self._now_us = now_us
        if isinstance(happened, InGroup):
            endpoint = self._endpoints.get(happened.group)
            if endpoint is not None:  # else of a group that this process has left
                self._sort(happened.group, endpoint.step(cast("Input", happened.what), now_us))
        else:
            self._take_of_process(happened)
        return self._take()

    def receive(self, group: GroupNumber, peer: ProcessId, run: Run) -> bool:
        """Take a plain run that can be delivered at once: the short way (``Endpoint.receive``)."""
        endpoint = self._endpoints.get(group)
        return endpoint is not None and endpoint.receive(peer, run)

    def _take_of_process(self, happened: OfProcess) -> None:
        match happened:
            case TimerFired(timer) if timer == HEARTBEAT:
                self._beat()
            case TimerFired(Timer(kind, group)):
                endpoint = self._endpoints.get(GroupNumber(group))
                if endpoint is not None:
                    fired = TimerFired(Timer(kind))
                    self._sort(GroupNumber(group), endpoint.step(fired, self._now_us))
            case PeerHeard(peer):
                self._pulses.hear(peer, self._now_us)
                self._give(happened, lambda endpoint: endpoint.cares_for(peer))
            case _:
                self._give(happened)

    def _give(self, happened: Input, wants: Callable[[Endpoint], bool] = lambda _: True) -> None:
        """Give an input to the groups that want it."""
        for group, endpoint in list(self._endpoints.items()):
            if not endpoint.is_over and wants(endpoint):
                self._sort(group, endpoint.step(happened, self._now_us))

    def _beat(self) -> None:
        """A heartbeat: look at groups in which something is under way, and be heard."""
        now_us = self._now_us
        if self.is_over:
            return
        self._done.append(SetTimer(HEARTBEAT, now_us + self._timing.heartbeat_us))
        # Some heartbeats before anybody can be suspected everybody looks.
        bears_us = self._timing.timeout_us - 3 * self._timing.heartbeat_us
        late_us = self._pulses.forgive_own_sleep(now_us, self._timing.heartbeat_us)
        is_calm = not late_us and self._pulses.is_calm(now_us, bears_us)
        self._give(TimerFired(HEARTBEAT), lambda endpoint: not (is_calm and endpoint.is_idle))
        others = self._everybody()
        if others:
            self._done.append(SendControl(others, _BEAT))

    def _everybody(self) -> tuple[ProcessId, ...]:
        known = dict.fromkeys(who for each in self._expected.values() for who in each)
        return tuple(who for who in known if who != self.me)

    # Effects.

    def _take(self) -> list[InGroup | Effect]:
        done, self._done = self._done, []
        return done

    def _sort(self, group: GroupNumber, effects: list[Effect]) -> None:
        """Wrap what is of a group, and see to what is of the process."""
        for effect in effects:
            match effect:
                case SetTimer(timer, time_us):
                    self._done.append(SetTimer(Timer(timer.kind, group), time_us))
                case ExpectPeers(processes):
                    self._expect(group, processes)
                case GiveUpProcess() | RestoreProcess() | RejectPeer():
                    self._done.append(effect)
                case InstallView(view):
                    self._done.append(InGroup(group, effect))
                    self._lose_elsewhere(group, view.failed)
                case LeaveGroup():
                    self._end(group, effect)
                case _:
                    self._done.append(InGroup(group, effect))

    def _expect(self, group: GroupNumber, processes: tuple[ProcessId, ...]) -> None:
        """Note whom one group needs; say whom all groups together do, if that has changed."""
        before = self._everybody()
        if processes:
            self._expected[group] = processes
        else:
            self._expected.pop(group, None)
        everybody = self._everybody()
        if set(everybody) != set(before):
            self._done.append(ExpectPeers(tuple(sorted((*everybody, self.me)))))

    def _lose_elsewhere(self, group: GroupNumber, failed: tuple[ProcessId, ...]) -> None:
        """Who failed in one group is dead in all."""
        here = self._endpoints[group]
        for process in failed:
            self._give(PeerLost(process), lambda endpoint: endpoint is not here)

    def _end(self, group: GroupNumber, end: LeaveGroup) -> None:
        """A group has ended here; if because the process failed there, so have all."""
        endpoint = self._endpoints[group]
        self._forget(group, endpoint)
        self._done.append(InGroup(group, end))
        if not end.why or end.is_refused or not endpoint.has_been_member or self.is_over:
            return
        self.is_over = True
        for number, other in list(self._endpoints.items()):
            if number != group and not other.is_over:
                why = f"it failed in another group: {end.why}"
                self._forget(number, other)
                self._done.append(InGroup(number, LeaveGroup(why)))
                self._sort(number, other.step(Stopped(why), self._now_us))
