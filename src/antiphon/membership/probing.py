"""Probing: how a process that is blocked learns whether the others have gone on without it.

Law: while too few members are unsuspected to decide anything, every member that is suspected is
asked how it stands, condemned ones too, again and again: with a question of its own, which needs no
channel between the two. If the answer is that this process is out, it ends. So nobody stays
blocked for good while anybody who knows better listens where a member of its view was.

A member that was given up for a stall (it lives, but takes nothing) may be pardoned: if it has not
been excluded for so long that the group seems unable to, and still takes this process for a member
although it has had the time to exclude it. Otherwise a few such judgements, each fair, could leave
a group of the living without any quorum for ever. What was condemned on certain evidence is never
pardoned.

Who has taken the group over asks those it left behind, again and again, for as long as it lives:
they may live as well, and learn from the question that they are out, or it from their answer.
"""

from collections.abc import Container

from antiphon.core.control import Standing
from antiphon.core.ids import ProcessId
from antiphon.membership.effects import Outbox, ProbeProcess, RestoreProcess
from antiphon.membership.failure_detector import FailureDetector, Timing

_GIVEN_UP_MAX = 4096


class Probing:
    """Whom to ask and when, and whom to pardon."""

    def __init__(self, outbox: Outbox, timing: Timing, detector: FailureDetector) -> None:
        """Nobody was given up."""
        self._out = outbox
        self._detector = detector
        self._timing = timing
        self._given_up: dict[ProcessId, int] = {}
        self._due_us = 0
        self._pause_us = 0
        self._abandoned: dict[ProcessId, None] = {}
        self._abandoned_due_us = self._abandoned_pause_us = 0

    def look(self, members: Container[ProcessId], now_us: int, *, is_blocked: bool) -> None:
        """Ask the suspected members, if it is time, and those left behind; every heartbeat."""
        if self._abandoned:
            self._look_for_abandoned(now_us)
        wanted = [
            who
            for who in self._detector.suspected
            if who in members and (is_blocked or self.may_pardon(who, now_us))
        ]
        if not wanted:
            self._pause_us = 0
            return
        if self._pause_us and now_us < self._due_us:
            return
        pause_us = max(2 * self._pause_us, self._timing.heartbeat_us)
        self._pause_us = min(pause_us, self._timing.timeout_us)
        self._due_us = now_us + self._pause_us
        assert self._due_us > now_us, "nobody is asked twice at a time"
        for process in wanted:
            self._out.put(ProbeProcess(process))

    def hear(self, peer: ProcessId, standing: Standing, now_us: int) -> bool:
        """``peer`` has answered: return whether it is pardoned.

        It counts as heard only when its channel carries something.
        """
        is_pardoned = standing.is_known and self.may_pardon(peer, now_us)
        if is_pardoned:
            self.forget(peer)
            self._detector.pardon(peer, now_us)
            assert peer not in self._detector.suspected, "it may be a member again"
            self._out.put(RestoreProcess(peer))
        return is_pardoned

    def _look_for_abandoned(self, now_us: int) -> None:
        if now_us < self._abandoned_due_us:
            return
        pause_us = max(2 * self._abandoned_pause_us, self._timing.heartbeat_us)
        self._abandoned_pause_us = min(pause_us, 4 * self._timing.timeout_us)
        self._abandoned_due_us = now_us + self._abandoned_pause_us
        for process in self._abandoned:
            self._out.put(ProbeProcess(process))

    @property
    def has_abandoned(self) -> bool:
        """Whether somebody was left behind who is asked, again and again."""
        return bool(self._abandoned)

    def abandon(self, processes: list[ProcessId], now_us: int) -> None:
        """These were left behind by a process that took over."""
        self._abandoned |= dict.fromkeys(processes)
        self._abandoned_due_us, self._abandoned_pause_us = now_us, 0

    def meet(self, members: tuple[ProcessId, ...]) -> None:
        """These are members: nobody else is where they are, nor bears their names."""
        if self._abandoned:
            here = {who.place for who in members} | {who.name for who in members}
            self._abandoned = {
                who: None
                for who in self._abandoned
                if who.place not in here and who.name not in here
            }

    def give_up(self, process: ProcessId, now_us: int) -> None:
        """``process`` takes nothing."""
        self._given_up.setdefault(process, now_us)
        if len(self._given_up) > _GIVEN_UP_MAX:
            del self._given_up[next(iter(self._given_up))]

    def forget(self, process: ProcessId) -> None:
        """``process`` is certainly dead, or pardoned: there is nothing to pardon."""
        self._given_up.pop(process, None)

    def may_pardon(self, process: ProcessId, now_us: int) -> bool:
        """Whether ``process`` was given up for a stall, so long ago that it would have noticed."""
        since_us = self._given_up.get(process)
        assert since_us is None or since_us <= now_us, "it was given up in the past"
        return since_us is not None and now_us - since_us >= 4 * self._timing.timeout_us
