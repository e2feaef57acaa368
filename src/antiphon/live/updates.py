"""What the live judge tells after each batch: verdict, alarms and measures.

Law: an update is all that is known, not what has changed, but for alarms and delays, which are
those of the batch. Alarms are numbered from 1, in a run: whoever takes updates twice can tell.
``now`` is the verdict while the run goes on; ``if_over`` is what it would be if all records ended
here.
"""

import msgspec

from antiphon.live.conclusions.conclusion import conclude
from antiphon.live.judge import RunJudge
from antiphon.live.memory.record import ProcessRecord
from antiphon.trace.distribution import Distribution
from antiphon.trace.verdict import Verdict, Violation

QUIET_MS = 10_000
"""A process that others have excluded, and of which nothing has been read for so long, is gone."""

SILENT_MS = 30_000
"""So is any other, if somebody has ended."""


class Alarm(msgspec.Struct, kw_only=True):
    """Something that was found to be wrong."""

    number: int
    """From 1, in the order in which they were raised."""
    raised_ms: int
    """When the rows that show it were read: milliseconds of the wall clock."""
    violation: Violation


class ProcessState(msgspec.Struct, kw_only=True):
    """How a process stands."""

    name: str
    rows: int
    ended: str = ""
    """Empty: it goes on; otherwise how it ended: `crash`, or what its `stop` says."""


class Update(msgspec.Struct, kw_only=True):
    """What is known after a batch."""

    run: str
    read_ms: int
    """When its rows were read."""
    rows: int
    messages: int
    deliveries: int
    processes: list[ProcessState]
    now: Verdict
    if_over: Verdict
    alarms: list[Alarm]
    alarm_count: int
    """All that were raised so far."""
    delays: Distribution
    """Of what was delivered in the batch, in microseconds."""
    is_skewed: bool
    """Whether clocks differ too much for delays to be told."""
    newest_us: int
    """The latest time that a row has."""
    remembered: int
    """Stretches of messages that somebody has yet to deliver."""
    open_views: int
    ended_views: int
    suspicions: int
    """Deliveries out of total order, if those concerned live on."""
    is_finished: bool
    """Whether all processes have ended, or are gone."""


def update_of(judge: RunJudge, raised: list[Violation]) -> Update:
    """Return what is known now, with what was just raised; delays are counted anew from here."""
    memory = judge.memory
    first = memory.alarm_count - len(raised) - len(memory.held_back) + 1
    delays, memory.delays = memory.delays, Distribution()
    now, if_over = conclude(judge, is_over=False), conclude(judge, is_over=True)
    return Update(
        run=memory.name,
        read_ms=memory.now_ms,
        rows=memory.row_count,
        messages=memory.message_count,
        deliveries=memory.delivery_count,
        processes=[
            ProcessState(name=each.name, rows=each.row_count, ended=_how_ended(each))
            for each in memory.processes
            if each.row_count
        ],
        now=now,
        if_over=if_over,
        alarms=[
            Alarm(number=first + place, raised_ms=memory.now_ms, violation=violation)
            for place, violation in enumerate(raised)
        ],
        alarm_count=memory.alarm_count - len(memory.held_back),
        delays=delays,
        is_skewed=memory.is_skewed,
        newest_us=memory.newest_us,
        remembered=sum(scope.stretch_count for scope in judge.scopes.values()),
        open_views=len(judge.scopes),
        ended_views=memory.ended_count,
        suspicions=sum(judge.suspicions(scope) for scope in judge.scopes.values()),
        is_finished=_is_finished(judge),
    )


def _how_ended(process: ProcessRecord) -> str:
    if process.has_crash:
        return "crash"
    return "" if process.stop is None else process.stop or "stop"


def _is_finished(judge: RunJudge) -> bool:
    """Whether nothing more is to be expected of anybody."""
    memory = judge.memory
    begun = [number for number, each in enumerate(memory.processes) if each.row_count]
    left = [number for number in begun if not memory.processes[number].is_ended]
    if len(left) == len(begun):
        return False
    members: set[int] = set()
    for group in memory.groups:
        rows = [each.latest for each in group.standings.values() if each.latest is not None]
        members.update(max(rows, key=lambda row: row.view).members if rows else ())
    return all(
        memory.now_ms - memory.processes[number].heard_ms
        >= (SILENT_MS if number in members else QUIET_MS)
        for number in left
    )
