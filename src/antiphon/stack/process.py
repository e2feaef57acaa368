"""The process: one incarnation in all its groups, as a machine.

    application, network      step_in(group, input)  PeerHeard  PeerLost  TimerFired ...
                                      |                  |
    Process                   one heartbeat, one failure detector's pulses, one end for all groups
                                      |
    Endpoint, one per group   views, agreement, flush, order, stability, state, tools
                                      |
                              InGroup(group, effect)  ExpectPeers  SetTimer  SendControl(Beat) ...

Law: what is of a process exists once, whatever the number of its groups: its incarnation, its
channels (one per pair of processes), its heartbeat (one per pair), and what it knows of who lives.
What is of a group exists once per group. Groups of one causality domain share one order of delivery
and one of sending (``domain``): what happens in one group may deliver, install or send something in
another, in the same step. A group whose domain nobody names is a domain of its own.

Failure is of a process. Whoever learns of a view in which x failed takes x for dead in all groups
from then on, and takes nothing more from it (``membership.failures``); each excludes it in its own
time; who learns that it failed in one group stops in all, and can come
back only as another incarnation, in all. Leaving is of a group, and so is being in a minority.
Incarnations of a process hand on who failed in which group (``exclusions``), and tell who asks.

An idle group costs nothing: receipts are said when there is news, and at a heartbeat only groups
are looked at in which something is under way, unless somebody is silent for long. Where all groups
rest and everybody has been heard of late, heartbeats are rarer, too: ``REST_BEATS`` of them in one,
but at least ``BEATS_PER_TIMEOUT`` within the shortest silence that is suspicious. Whatever happens
in a group ends the rest.

A process is the same in all groups, but each group numbers its incarnations for itself: a process
that leaves a group and joins it again has the next number there, and stays what it is elsewhere.
What is of a process goes by the process itself (``ProcessId.bare``), what is of a group by the
process as that group knows it; the translation is here.

An input is of one group (``step_in``) or of the process (``step``). Effects of another group than
the one that was given the input are wrapped (``InGroup``); so a driver that does what one group
says need not ask of each effect whose it is.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from antiphon.core.control import Beat
from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.views import View
from antiphon.membership.exclusions import Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.membership.pulses import Pulses
from antiphon.ordering.structure import Structure
from antiphon.stack.acquaintances import Acquaintances, Members
from antiphon.stack.domains import Domains
from antiphon.stack.effects import (
    DeliverElsewhere,
    Effect,
    EndFlush,
    ExpectPeers,
    GiveUpProcess,
    InstallView,
    LeaveGroup,
    RestoreProcess,
    SendControl,
    SetTimer,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.flushes import Flushes
from antiphon.stack.inputs import (
    HEARTBEAT,
    FlushRequested,
    Input,
    PeerFilled,
    PeerHeard,
    PeerLost,
    Stopped,
    Timer,
    TimerFired,
)
from antiphon.stack.ports import CommitOptions
from antiphon.stack.receiver import GROUP
from antiphon.stack.send_queue import SendQueue
from antiphon.stack.settings import Settings


class InGroup(NamedTuple):
    """An effect of one group."""

    group: GroupNumber
    what: Effect


OfProcess = PeerHeard | PeerLost | PeerFilled | TimerFired | FlushRequested
"""Inputs that concern all groups, or name theirs; they name processes, not members of a group."""

_BEAT = Beat()

_SEEN_TO = frozenset(
    {
        SetTimer,
        ExpectPeers,
        GiveUpProcess,
        RestoreProcess,
        InstallView,
        LeaveGroup,
        DeliverElsewhere,
    }
)
"""Effects of a group that concern the process, or another group, too."""

REST_BEATS, BEATS_PER_TIMEOUT = 3, 5
"""How much rarer heartbeats are at rest, and how many there are in the time to suspicion then."""

_BARE_MAX = 4096
"""Processes whose translation is kept at hand."""


class Process:
    """One incarnation of a process."""

    def __init__(
        self, me: ProcessId, timing: Timing, now_us: int, exclusions: Exclusions | None = None
    ) -> None:
        """Begin in no group; ``exclusions`` are those of the incarnations before."""
        self.me = me.bare()
        """The process itself."""
        self._timing = timing
        self._pulses = Pulses(now_us)
        self._exclusions = exclusions if exclusions is not None else Exclusions()
        self._endpoints: dict[GroupNumber, Endpoint] = {}
        self._domains: dict[GroupNumber, int] = {}
        self._causal = Domains(self._endpoints, self._sort)
        """The causality domains of groups that are not their own."""
        self._flushes = Flushes(self.me.name, self._endpoints, self._causal, self._sort)
        self._known = Acquaintances(self.me, self.bare)
        self._bare: dict[ProcessId, ProcessId] = {}
        self._done: list[InGroup | Effect] = []
        self._current: GroupNumber | None = None  # whose effects are not wrapped
        self._now_us = now_us
        beat_us = timing.heartbeat_us
        at_most_us = min(REST_BEATS * beat_us, timing.timeout_us // BEATS_PER_TIMEOUT)
        self._rest_us = max(beat_us, at_most_us)
        self._is_at_rest = False
        self._beat_us = self._beats_at_us = now_us
        """The times of the last heartbeat and of the next one."""
        self.is_over = False
        """Whether the process failed in the eyes of a group of its, and so is out of all."""

    def start(self) -> list[InGroup | Effect]:
        """Return what is to be done first; to be called once."""
        self._set_heartbeat(self._now_us + self._timing.heartbeat_us)
        return self._take()

    # What others ask, to look into.

    @property
    def groups(self) -> tuple[GroupNumber, ...]:
        """The groups that the process is in, or on its way into."""
        return tuple(self._endpoints)

    def endpoint(self, group: GroupNumber) -> Endpoint:
        """Return the process's part in one group."""
        return self._endpoints[group]

    def bare(self, member: ProcessId) -> ProcessId:
        """Return the process that a group knows as ``member``."""
        bare = self._bare.get(member)
        if bare is None:
            if len(self._bare) >= _BARE_MAX:
                self._bare.clear()
            bare = self._bare[member] = member.bare()
        return bare

    def knows(self, group: GroupNumber, process: ProcessId) -> bool:
        """Whether a group has, had or will have a process as a member."""
        return process in self._known.known_in.get(group, {})

    # Groups.

    def open(
        self,
        group: GroupNumber,
        me: ProcessId,
        view: View | None,
        settings: Settings,
        now_us: int,
        *,
        queue: SendQueue | None = None,
        with_state: bool = False,
        commit: CommitOptions | None = None,
        domain: int | None = None,
        name: str = "",
        causality: str | None = None,
        resilience: int = 1,
        structure: Structure | None = None,
    ) -> list[InGroup | Effect]:
        """Begin in one more group, as ``me``: in ``view``, founded beforehand, or outside.

        ``domain`` is what tells the group from others in all incarnations, where there are several:
        the same number at all processes. ``causality`` names the causality domain that it is in
        together with others, ``resilience`` and ``structure`` are that domain's. A structure speaks
        of groups by ``name``, and refuses those that may not overlap another of the process.
        The effects are those of the group, as :meth:`step_in` returns them.
        """
        if group in self._endpoints:
            message = f"{self.me.name} is in that group already: use the handle that it has"
            raise UsageError(message)
        if self.is_over:
            message = f"{self.me.name} is out of its groups: begin another incarnation"
            raise UsageError(message)
        assert me.bare() == self.me, "one process, whatever the group"
        assert now_us >= self._now_us, "time does not run backward"
        self._now_us = now_us
        named = GroupNumber(domain) if domain is not None else GROUP if causality is None else group
        causal = self._causal.named(causality, resilience, queue, structure)
        if causal is not None:
            causal.names.open(self.me.name, named, name)
        endpoint = self._endpoints[group] = Endpoint(
            me, view, settings, now_us, queue=queue, with_state=with_state, commit=commit,
            pulses=self._pulses,
            former=self._exclusions.of(domain) if domain is not None else None,
            domain=causal, group=named,
        )  # fmt: skip
        if domain is not None:
            self._domains[group] = domain
        if causal is not None:
            self._causal.enter(group, named, causal)
        if self._is_at_rest:
            self._end_rest()
        return self._see_to(group, endpoint.start())

    def close(self, group: GroupNumber) -> list[InGroup | Effect]:
        """Forget a group that the process has left, or was not taken into."""
        endpoint = self._endpoints.get(group)
        if endpoint is not None:
            causal = self._causal.of(group)
            if causal is not None:
                if not self.is_over:  # else nothing follows: it is out of all groups
                    self._sort(group, endpoint.close(self._now_us))
                self._causal.leave(group, endpoint.group)
            del self._endpoints[group]
            self._forget(group, endpoint)
            if (domain := self._domains.pop(group, None)) is not None:
                self._exclusions.note(domain, endpoint.excluded)
            if causal is not None:
                self._causal.settle(causal, self._now_us)
            self._look_at_flushes()
        return self._take()

    def _forget(self, group: GroupNumber, endpoint: Endpoint) -> None:
        """Watch nobody, and need no channel, for a group that has ended here.

        What was last heard of a process would be old news when another group begins to watch it.
        """
        endpoint.member.membership.coordination.end(self._now_us)
        self._expect(group)

    # Inputs.

    def step_in(
        self, group: GroupNumber, happened: Input, now_us: int
    ) -> "list[InGroup | Effect] | list[Effect]":
        """Take one input of a group; return what is to be done, in order."""
        endpoint = self._endpoints.get(group)
        if endpoint is None:
            return []  # this process has left it
        assert now_us >= self._now_us, "time does not run backward"
        self._now_us = now_us
        effects = endpoint.step(happened, now_us)
        if self._is_at_rest:
            self._end_rest()
            return self._see_to(group, effects)
        causal = self._causal.domains.get(group)
        if self._flushes.are_pending or (causal is not None and causal.is_restless):
            return self._see_to(group, effects)
        for effect in effects:
            if type(effect) in _SEEN_TO:
                return self._see_to(group, effects)
        return effects

    def step(self, happened: OfProcess, now_us: int) -> list[InGroup | Effect]:
        """Take one input of the process; return what is to be done, in order."""
        assert now_us >= self._now_us, "time does not run backward"
        self._now_us = now_us
        match happened:
            case TimerFired(timer) if timer == HEARTBEAT:
                self._beat()
            case TimerFired(Timer(kind, number)):
                group = GroupNumber(number)
                if group in self._endpoints:
                    self._give(group, TimerFired(Timer(kind)))
            case PeerHeard(peer):
                self._hear(peer)
            case PeerLost(peer):
                self._pulses.note_death(peer)
                self._give_each(peer, PeerLost)
            case PeerFilled(peer, is_full):
                self._give_each(peer, lambda member: PeerFilled(member, is_full))
            case FlushRequested(number, causality):
                self._flushes.request(number, causality)
        self._causal.settle_all(self._now_us)
        self._look_at_flushes()
        return self._take()

    def _look_at_flushes(self) -> None:
        if self._flushes.are_pending:
            self._done += map(EndFlush, self._flushes.look(self._now_us))
            self._causal.settle_all(self._now_us)

    def _give(self, group: GroupNumber, happened: Input) -> None:
        """Give an input to one group, unless that has ended here."""
        endpoint = self._endpoints[group]
        if not endpoint.is_over:
            if self._is_at_rest:
                self._end_rest()
            self._sort(group, endpoint.step(happened, self._now_us))

    def _give_each(self, peer: ProcessId, input_of: Callable[[ProcessId], Input]) -> None:
        """Give an input about a process to each group that knows it."""
        for group in list(self._endpoints):
            for member in self._known.members(group, peer):
                self._give(group, input_of(member))

    def _hear(self, peer: ProcessId) -> None:
        if self._is_at_rest and not all(one.is_resting for one in self._endpoints.values()):
            self._end_rest()
        for member, groups in list(self._known.known_as.get(peer, {}).items()):
            self._pulses.hear(member, self._now_us)
            for group in list(groups):
                endpoint = self._endpoints[group]
                if not endpoint.is_resting and endpoint.cares_for(member):
                    self._give(group, PeerHeard(member))

    def _beat(self) -> None:
        """A heartbeat: look at groups in which something is under way, and be heard."""
        now_us = self._now_us
        if self.is_over:
            return
        # Some heartbeats before anybody can be suspected everybody looks.
        bears_us = self._timing.timeout_us - 3 * self._timing.heartbeat_us
        pause_us = self._beats_at_us - self._beat_us
        late_us = self._pulses.forgive_own_sleep(now_us, pause_us)
        is_calm = not late_us and self._pulses.is_calm(now_us, bears_us)
        for group, endpoint in list(self._endpoints.items()):
            if is_calm and endpoint.is_resting:
                continue
            if not is_calm or endpoint.look(self._known.all_members(group)):
                self._give(group, TimerFired(HEARTBEAT))
        self._causal.collect()
        # From the next look on it has to be often enough for whoever stops to be suspected in time.
        is_fresh = self._pulses.is_calm(now_us, bears_us - self._rest_us)
        self._is_at_rest = is_fresh and all(one.is_resting for one in self._endpoints.values())
        self._beat_us = now_us
        beat_us = self._rest_us if self._is_at_rest else self._timing.heartbeat_us
        self._set_heartbeat(now_us + beat_us)
        others = self._known.others
        if others:
            self._done.append(SendControl(others, _BEAT))

    def _set_heartbeat(self, time_us: int) -> None:
        assert time_us > self._now_us, "the next heartbeat is still to come"
        self._beats_at_us = time_us
        self._done.append(SetTimer(HEARTBEAT, time_us))

    def _end_rest(self) -> None:
        """Something happens: the next heartbeat is as soon as at any other time."""
        self._is_at_rest = False
        soon_us = self._now_us + self._timing.heartbeat_us
        if self._beats_at_us > soon_us and not self.is_over:
            self._set_heartbeat(soon_us)

    # Effects.

    def _take(self) -> list[InGroup | Effect]:
        assert self._current is None, "what is handed over is wrapped as it should be"
        done, self._done = self._done, []
        return done

    def _see_to(self, group: GroupNumber, effects: list[Effect]) -> list[InGroup | Effect]:
        """Return the effects of the group that was given the input, seen to."""
        self._current = group
        self._sort(group, effects)
        if (causal := self._causal.of(group)) is not None:
            self._causal.settle(causal, self._now_us)
        self._look_at_flushes()
        self._current = None
        return self._take()

    def _sort(self, group: GroupNumber, effects: list[Effect]) -> None:
        """Wrap what is of another group, and see to what is of the process."""
        failed: list[ProcessId] = []
        for effect in effects:
            if type(effect) in _SEEN_TO:  # hardly ever, and matching takes its time
                self._sort_one(group, effect, failed)
            else:
                self._add(group, effect)
        # What follows from that in other groups comes after all of this, as it came about.
        self._lose_everywhere(failed)

    def _sort_one(self, group: GroupNumber, effect: Effect, failed: list[ProcessId]) -> None:
        """See to an effect that concerns the process, or another group; add who has failed."""
        match effect:
            case SetTimer(timer, time_us):
                self._done.append(SetTimer(Timer(timer.kind, group), time_us))
            case ExpectPeers(processes, idle):
                before = self._known.known_in.get(group, {})
                roster = self._endpoints[group].member.membership.roster
                failed += roster.failed_among(before, processes)
                self._expect(group, processes, idle)
            case GiveUpProcess() | RestoreProcess():
                self._done.append(replace(effect, process=self.bare(effect.process)))
            case InstallView(view):
                self._add(group, effect)
                failed += view.failed
            case LeaveGroup():
                self._end(group, effect)
            case DeliverElsewhere(named, runs):
                self._causal.deliver(named, runs, self._now_us)
            case _:
                raise AssertionError(effect)

    def _add(self, group: GroupNumber, effect: Effect) -> None:
        assert group in self._endpoints, "nothing comes of a closed group"
        self._done.append(effect if group == self._current else InGroup(group, effect))

    def _expect(self, group: GroupNumber, members: Members = (), idle: Members = ()) -> None:
        """Note whom one group needs; say whom all groups together do, if that has changed."""
        self._done += self._known.expect(group, members, idle)
        assert self._known.known_in.keys() <= self._endpoints.keys(), "only of open ones"

    def _lose_everywhere(self, failed: Iterable[ProcessId]) -> None:
        """Who failed in one group is dead in all."""
        for process in map(self.bare, failed):
            if process != self.me:
                self._pulses.failures.note(process)
                self._give_each(process, PeerLost)

    def _end(self, group: GroupNumber, end: LeaveGroup) -> None:
        """A group has ended here; if because the process failed there, so have all."""
        endpoint = self._endpoints[group]
        self._forget(group, endpoint)
        self._add(group, end)
        if not end.why or end.is_refused or end.next_incarnation or self.is_over:
            return  # it has left, or was not taken in
        self.is_over = self._causal.is_over = True
        for number, other in list(self._endpoints.items()):
            if number != group and not other.is_over:
                why = f"it failed in another group: {end.why}"
                self._forget(number, other)
                self._add(number, LeaveGroup(why, is_elsewhere=True))
                self._sort(number, other.step(Stopped(why), self._now_us))
        assert all(one.is_over for one in self._endpoints.values()), "failure is of a process"
