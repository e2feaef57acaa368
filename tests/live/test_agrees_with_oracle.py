"""The live judge sees a trace bit by bit, forgets most of it, and says what the oracle says.

The same random traces, most of them spoilt, that the pipeline is tried on: played journal by
journal, in random pieces and order, with all that is remembered put into bytes and back each time.
"""

from collections import Counter
from random import Random

import pytest
from tests.live.playing import RUN, placed, played
from tests.pipeline.trace_generator import _SPOILERS, _number, random_trace
from tests.pipeline.view_worlds import changing_views

from antiphon.live.conclusions.conclusion import JUDGED_LATER
from antiphon.live.judge import RunJudge
from antiphon.oracle import judge
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict
from antiphon.trace.words import NAME_DOMAINS

COUNTS = ("process_count", "event_count", "message_count", "delivery_count")


def came_too_late(verdict: Verdict) -> bool:
    """Whether the judge has left something out."""
    return any("too late" in item.reason for item in verdict.properties)


def may_be_taken_back(expected: Verdict, rows: list[Event]) -> bool:
    """Whether a trace does what may undo an alarm: messages in wrong views, rows after the end."""
    last = {row.process: row.kind for row in rows}
    ended = {row.process for row in rows if row.kind in {"stop", "crash"}}
    is_after = any(last[process] not in {"stop", "crash"} for process in ended)
    ends = Counter(row.process for row in rows if row.kind in {"stop", "crash"})
    return (
        is_after
        or max(ends.values(), default=0) > 1
        or bool(expected.of(Property.SENDING_VIEW).violation_count)
    )


def test_random_traces_have_the_oracles_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, counts and reasons are the oracle's, and so is nearly every explanation.

    But for the advice about causality across groups, which cannot be taken while a run is followed.
    """
    # In most of these traces several views go on at once: they must not be taken to have ended.
    monkeypatch.setattr(RunJudge, "_close", lambda _: None)
    seen: Counter[tuple[Property, Status]] = Counter()
    texts: Counter[bool] = Counter()
    late_count = 0
    for seed in range(1_200):
        rows = random_trace(seed)
        expected = judge(placed(rows), RUN)
        found = played(rows, Random(seed)).verdict()
        if came_too_late(found):
            late_count += 1
            continue
        assert [getattr(found, name) for name in COUNTS] == [
            getattr(expected, name) for name in COUNTS
        ], seed
        for one, two in zip(expected.properties, found.properties, strict=True):
            assert (one.property, one.status, one.violation_count, one.reason) == (
                two.property, two.status, two.violation_count,
                two.reason.replace(JUDGED_LATER, NAME_DOMAINS),
            ), seed  # fmt: skip
            texts.update([[v.text for v in one.violations] == [v.text for v in two.violations]])
            seen[one.property, one.status] += 1
    assert late_count < 30
    assert texts[False] < 20
    for which in Property:
        assert min(seen[which, status] for status in Status) >= 12, (which, seen)


def test_groups_that_change_views_have_the_oracles_verdicts() -> None:
    """Views are forgotten as they end; nothing is claimed that the oracle denies, or missed."""
    ended = Counter[bool]()
    for seed in range(1_000):
        dice = Random(seed)
        rows = changing_views(dice)
        for _ in range(dice.choice([0, 0, 1, 2])):
            dice.choice(_SPOILERS)(rows, dice)
        _number(rows)
        expected, play = judge(placed(rows), RUN), played(rows, Random(seed))
        found = play.verdict()
        ended[bool(play.judge.memory.ended_count)] += 1
        is_late, undone = came_too_late(found), may_be_taken_back(expected, rows)
        for one, two in zip(expected.properties, found.properties, strict=True):
            assert one.status is two.status or (is_late and (undone or two.status == "unknown")), (
                seed, one, two,
            )  # fmt: skip
    assert ended[True] > ended[False]


def test_nothing_is_raised_that_does_not_stay_wrong() -> None:
    """An alarm is of something that the oracle finds wrong in the end, too."""
    alarm_count = 0
    for seed in range(1_000):
        dice = Random(seed)
        rows = random_trace(seed) if dice.random() < 0.5 else changing_views(dice)
        expected, play = judge(placed(rows), RUN), played(rows, Random(seed))
        if may_be_taken_back(expected, rows):
            continue
        wrong = {item.property for item in expected.properties if item.violation_count}
        assert {alarm.property for alarm in play.raised} <= wrong, seed
        alarm_count += len(play.raised)
    assert alarm_count > 100
