"""The live judge, situation by situation: what it raises, waits for, and forgets."""

from collections import Counter
from itertools import permutations

import pytest
from tests.live.playing import Play, placed
from tests.live.rows import NAMES, begin, deliver, multicast, sent, start, stop, view

from antiphon.live.forgetting import ABSENT_MS, HOLD_MS
from antiphon.live.judge import LINGER_MS
from antiphon.live.stories import ALARM_MS
from antiphon.live.updates import QUIET_MS, update_of
from antiphon.oracle import judge
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

QUESTION = [*begin("A"), *sent("A", 1), deliver("A", "B", 1)]
ANSWER = [*begin("B"), deliver("B", "A", 1), *sent("B", 1)]
HASTY = [*begin("C"), deliver("C", "B", 1), deliver("C", "A", 1)]
"""Hears B's answer before A's question."""


def test_answer_before_its_question_is_raised_once_in_the_words_of_the_verdict() -> None:
    """Three parties: C breaks causal order by way of B, whose past A's question is in."""
    play = Play()
    [alarm] = play.batch(QUESTION, ANSWER, HASTY)
    expected = judge(placed([*QUESTION, *ANSWER, *HASTY]), "run").of(Property.CAUSAL)
    assert [alarm] == list(expected.violations)
    assert alarm.text.startswith(
        "C delivered message 1 of B, but only later message 1 of A, which B"
    )
    assert [(link.process, link.file, link.line) for link in alarm.chain] == [
        ("A", "A.ndjson", 3), ("B", "B.ndjson", 3), ("B", "B.ndjson", 4), ("C", "C.ndjson", 3),
    ]  # fmt: skip
    assert play.batch() == []
    assert play.verdict().of(Property.CAUSAL).violation_count == 1


def test_what_has_not_come_yet_is_told_as_that_and_later_as_it_ended() -> None:
    """While the question may still come, it is `not yet` there; then it came only later."""
    play = Play()
    [alarm] = play.batch(QUESTION, ANSWER, HASTY[:-1])
    assert "but not yet message 1 of A" in alarm.text
    assert "not yet" in play.verdict(is_over=False).of(Property.CAUSAL).violations[0].text
    assert "but never message 1 of A" in play.verdict().of(Property.CAUSAL).violations[0].text
    play.batch(HASTY[-1:])
    assert "only later" in play.verdict(is_over=False).of(Property.CAUSAL).violations[0].text


@pytest.mark.parametrize("order", list(permutations([QUESTION, ANSWER, HASTY])))
def test_journals_may_be_read_in_any_order(order: tuple[list[Event], ...]) -> None:
    """Nothing is raised before the rows that prove it are there, and then the same."""
    play = Play()
    raised = [play.batch(journal) for journal in order]
    assert [len(alarms) for alarms in raised] == [0, 0, 1]


def test_late_journal_is_no_false_alarm() -> None:
    """Deliveries of what the sender's journal does not show yet are in doubt, no more."""
    play = Play()
    play.batch(ANSWER, [*begin("C"), deliver("C", "A", 1), deliver("C", "B", 1)])
    assert play.raised == []
    now = play.verdict(is_over=False)
    assert now.of(Property.NO_CREATION).status is Status.UNKNOWN
    assert (
        now.of(Property.NO_CREATION).reason == "2 deliveries wait for the record of the multicast"
    )
    play.batch(QUESTION)
    assert play.raised == []
    assert play.verdict(is_over=False).of(Property.CAUSAL).status is Status.HOLDS


def test_what_a_killed_process_sent_last_is_held_against_nobody() -> None:
    """A's journal lacks its last message; the others have it, in whatever order."""
    play = Play()
    play.batch(
        [*begin("A"), *sent("A", 1)],
        [*begin("B"), deliver("B", "A", 1), deliver("B", "A", 2), *sent("B", 1)],
        [*begin("C"), deliver("C", "A", 1), deliver("C", "B", 1), deliver("C", "A", 2)],
    )
    assert play.raised == []
    verdict = play.verdict()
    assert verdict.of(Property.CAUSAL).status is Status.HOLDS
    assert verdict.of(Property.NO_CREATION).status is Status.UNKNOWN


def test_message_that_was_skipped_is_made_up_after_a_while() -> None:
    """B delivers A's second message, of which A's journal shows the first and the third only."""
    play = Play()
    journals = (
        [*begin("A"), *sent("A", 1), *sent("A", 3)],
        [*begin("B"), deliver("B", "A", 1), deliver("B", "A", 2)],
    )
    assert play.batch(*journals) == []
    [alarm] = play.batch(ms=6_000)
    assert alarm.text == "B delivered message 2 of A, which A never multicast (group g, view 1)"


def test_messages_are_forgotten_when_all_members_have_delivered_them() -> None:
    """What is remembered does not grow with the run, but with who is behind."""
    play = Play()
    play.batch(*map(begin, NAMES))
    for number in range(1, 200):
        play.batch(
            sent("A", number),
            [deliver("B", "A", number)],
            [deliver("C", "A", number - 3)] if number > 3 else [],
        )
        assert play.remembered <= 4
    assert play.raised == []
    play.batch([deliver("C", "A", number) for number in range(197, 200)])
    assert play.remembered == 0
    assert play.verdict(is_over=False).message_count == 199


def test_views_are_forgotten_when_all_have_left_them() -> None:
    """A group that changes views for ever needs as much memory as one that does not."""
    play = Play()
    play.batch(*map(begin, NAMES))
    sizes = []
    for number in range(1, 60):
        rows = [
            [
                *(
                    sent("A", 1, number=number)
                    if name == "A"
                    else [deliver(name, "A", 1, number=number)]
                )
            ]
            for name in NAMES
        ]
        for name, of_name in zip(NAMES, rows, strict=True):
            of_name.append(view(name, number + 1))
        play.batch(*rows)
        assert len(play.judge.scopes) == 1
        sizes.append(len(play.judge.memory.ended))
    assert sizes[-1] == 1
    assert play.judge.memory.ended_count == 59
    verdict = play.verdict()
    assert verdict.of(Property.VIEW_ATOMIC).status is Status.HOLDS
    assert not verdict.is_violated


def test_who_goes_on_without_a_message_is_raised_when_it_does() -> None:
    """B installs view 2 without what A and C delivered in view 1."""
    play = Play()
    play.batch(
        [*begin("A"), *sent("A", 1), view("A", 2)],
        begin("B"),
        [*begin("C"), deliver("C", "A", 1), view("C", 2)],
    )
    assert play.raised == []
    [alarm] = play.batch([view("B", 2)])
    assert alarm.property is Property.VIEW_ATOMIC
    assert alarm.text.startswith(
        "B never delivered message 1 of A, which A delivered, and both went"
    )


def test_view_with_other_members_is_raised_though_the_first_process_is_read_last() -> None:
    """Whoever is wrong in the end, that they differ is certain."""
    play = Play()
    [alarm] = play.batch([*begin("B"), *sent("B", 1)], [start("C"), view("C", members=["B", "C"])])
    assert alarm.text == "C installed view 1 of group g with B, C, but B with A, B, C"


def test_two_orders_count_once_both_are_sure_to_live() -> None:
    """Total order binds those who leave the view; until then a difference is told, not raised."""
    play = Play()
    one = [*begin("A"), multicast("A", 1, order="total"), deliver("A", "A", 1, order="total")]
    two = [*begin("B"), multicast("B", 1, order="total"), deliver("B", "B", 1, order="total")]
    play.batch(
        [*one, deliver("A", "B", 1, order="total")], [*two, deliver("B", "A", 1, order="total")]
    )
    assert play.raised == []
    now = play.verdict(is_over=False).of(Property.TOTAL)
    assert now.status is Status.UNKNOWN
    assert "1 delivery differs in order" in now.reason
    [alarm] = play.batch([view("A", 2, ["A", "B"])], [view("B", 2, ["A", "B"])])
    assert alarm.property is Property.TOTAL


def test_two_orders_at_one_who_dies_are_none() -> None:
    """B differs, and is killed: it was not bound to that order."""
    play = Play()
    one = [*begin("A"), multicast("A", 1, order="total"), deliver("A", "A", 1, order="total")]
    two = [*begin("B"), multicast("B", 1, order="total"), deliver("B", "B", 1, order="total")]
    play.batch(
        [*one, deliver("A", "B", 1, order="total")], [*two, deliver("B", "A", 1, order="total")]
    )
    play.batch([view("A", 2, ["A"])])
    assert play.raised == []
    assert not play.verdict().is_violated


def test_message_in_the_wrong_view_is_raised_at_once() -> None:
    """C delivers in view 2 what was multicast in view 1."""
    play = Play()
    [alarm] = play.batch(
        [*begin("A"), *sent("A", 1)], [*begin("C"), view("C", 2), deliver("C", "A", 1)]
    )
    assert alarm.property is Property.SENDING_VIEW


def test_decision_against_a_vote_is_raised() -> None:
    """B commits what A refused."""
    play = Play()
    vote = Event(process="A", kind="vote", group="g", sender="A", first=1, detail="no")
    decision = Event(process="B", kind="decide", group="g", sender="A", first=1, detail="commit")
    [alarm] = play.batch(
        [*begin("A"), vote, *sent("A", 1)], [*begin("B"), decision, deliver("B", "A", 1)]
    )
    assert alarm.text == ("B decided to commit transaction 1 of A, on which A voted no (group g)")


def test_killed_process_does_not_keep_a_view_for_ever() -> None:
    """The others go on without C, of which nothing is heard any more."""
    play = Play()
    play.batch(
        [*begin("A"), *sent("A", 1), view("A", 2, ["A", "B"])],
        [*begin("B"), deliver("B", "A", 1), view("B", 2, ["A", "B"])],
        begin("C"),
    )
    assert len(play.judge.scopes) == 2
    play.batch(ms=LINGER_MS)
    assert len(play.judge.scopes) == 1
    late = play.batch([deliver("C", "A", 1)])
    assert late == []
    assert "too late to be judged" in play.verdict().of(Property.CAUSAL).reason


def test_member_without_a_journal_is_not_waited_for_for_ever() -> None:
    """C's rows are written elsewhere: what A and B have is forgotten all the same."""
    play = Play()
    play.batch([*begin("A"), *sent("A", 1)], [*begin("B"), deliver("B", "A", 1)])
    assert play.remembered == 1
    play.batch(ms=ABSENT_MS)
    assert play.remembered == 0
    assert play.raised == []


def test_log_without_views_is_judged_and_forgotten_after_a_while() -> None:
    """Who is to deliver a message is not known: whoever turns up within seconds is waited for."""
    play = Play()
    rows = [
        Event(process="A", kind="multicast", first=1),
        Event(process="B", kind="deliver", sender="A", first=1),
    ]
    play.batch(rows)
    assert play.remembered == 1
    play.batch([Event(process="C", kind="deliver", sender="A", first=1)])
    play.batch([Event(process="A", kind="multicast", first=2)], ms=HOLD_MS)
    assert play.remembered == 1
    assert play.verdict(is_over=False).of(Property.AGREEMENT).status is Status.UNKNOWN
    assert play.verdict().of(Property.AGREEMENT).violation_count == 2
    assert play.verdict().of(Property.LIVENESS).violation_count == 2


def test_run_is_finished_when_all_have_ended_or_are_gone() -> None:
    """C was killed, and excluded: after some silence nobody waits for it."""
    play = Play()
    last = view("A", 2, ["A", "B"]), view("B", 2, ["A", "B"])
    play.batch(*map(begin, NAMES))
    assert not update_of(play.judge, []).is_finished
    play.batch([last[0], stop("A")], [last[1], stop("B")])
    assert not update_of(play.judge, []).is_finished
    play.batch(ms=QUIET_MS)
    assert update_of(play.judge, []).is_finished


def test_update_measures_delays_of_its_batch() -> None:
    """From multicast to delivery at another process; the next update begins anew."""
    play = Play()
    play.batch(
        [*begin("A"), multicast("A", 1, time_us=1_000)],
        [*begin("B"), deliver("B", "A", 1, time_us=1_700)],
    )
    update = update_of(play.judge, [])
    assert (update.delays.total, round(update.delays.quantile(0.5), -2)) == (1, 700)
    assert update_of(play.judge, []).delays.total == 0


def test_alarms_are_numbered_on() -> None:
    """Whoever is told twice can tell."""
    play = Play()
    first = update_of(play.judge, play.batch(QUESTION, ANSWER, HASTY))
    second = update_of(play.judge, play.batch([deliver("C", "A", 1)]))
    assert [alarm.number for alarm in first.alarms] == [1]
    assert [(alarm.number, alarm.violation.property) for alarm in second.alarms] == [
        (2, Property.NO_DUPLICATE)
    ]
    assert second.alarm_count == 2


def test_storm_of_violations_is_counted_and_a_few_are_raised() -> None:
    """Everything that C delivers after a hole is wrong: a few are told, now and then; all count."""
    play = Play()
    play.batch(*map(begin, NAMES))
    play.batch(
        [row for number in range(1, 101) for row in sent("A", number)],
        [deliver("B", "A", number) for number in range(1, 101)],
        [deliver("C", "A", number) for number in range(2, 101)],
    )
    raised = Counter(alarm.property for alarm in play.raised)
    assert raised == {Property.FIFO: 3, Property.CAUSAL: 3}
    assert play.verdict().of(Property.FIFO).violation_count == 99
    again = play.batch(sent("A", 101), [deliver("C", "A", 101)])
    assert again == []
    later = play.batch(sent("A", 102), [deliver("C", "A", 102)], ms=ALARM_MS)
    assert {alarm.property for alarm in later} == {Property.FIFO, Property.CAUSAL}
    assert play.verdict().of(Property.NO_ORPHAN).violation_count == 101


def test_who_has_two_names_is_in_the_groups_of_both() -> None:
    """What passes through it from one to the other is not judged here, and that is said."""
    there = [
        Event(process="A~2", kind="start", recorded_as="A"),
        Event(process="A~2", kind="view", group="h", members=["A~2", "D"], recorded_as="A"),
    ]
    play = Play()
    play.batch(QUESTION, ANSWER, [*begin("C"), deliver("C", "A", 1), deliver("C", "B", 1)], there)
    found = play.verdict().of(Property.CAUSAL)
    assert found.status is Status.UNKNOWN
    assert "1 process is in more than one group" in found.reason
    assert ": A (antiphon verify RUN judges it when the run has ended)" in found.reason


@pytest.mark.parametrize("domain", ["", "d"])
def test_of_causality_across_groups_it_is_said_who_judges_it(domain: str) -> None:
    """Whether rows name a domain or not, the advice can be followed; nothing is said to hold."""
    groups = [
        Event(process=name, kind="view", group=group, members=["A", "B", "C"], domain=domain)
        for group in "gh"
        for name in "ABC"
    ]
    found = Play()
    found.batch(groups, QUESTION, ANSWER, [deliver("C", "A", 1), deliver("C", "B", 1)])
    for which in (Property.CAUSAL, Property.NO_ORPHAN):
        item = found.verdict().of(which)
        assert item.status is Status.UNKNOWN
        assert "3 processes are in more than one group" in item.reason
        assert "antiphon verify RUN judges it when the run has ended" in item.reason
        assert "--domains" not in item.reason
