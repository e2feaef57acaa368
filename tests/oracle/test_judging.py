"""The oracle on hand-written traces with a known verdict: orders, duplicates, creation, agreement.

What it says about views, and about what is missing altogether: ``test_oracle_views``.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.oracle.definitions import FIVE
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view, write_rows

from antiphon.core.errors import UsageError
from antiphon.oracle import judge
from antiphon.oracle.event_graph import MULTICASTS_MAX
from antiphon.trace import words
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import LEFT, RUN_COUNT_MAX, Event
from antiphon.trace.verdict import MessageId, Property, Status

FIFO, CAUSAL = Property.FIFO, Property.CAUSAL
NO_DUPLICATE, NO_CREATION = Property.NO_DUPLICATE, Property.NO_CREATION
AGREEMENT = Property.AGREEMENT

PAGE = (Path(__file__).parents[2] / "docs" / "properties.md").read_text(encoding="utf-8")
QUESTION = PAGE.partition("```json\n")[2].partition("```")[0]


def found(rows: Sequence[Event]) -> dict[Property, int]:
    """Return how often each of the five is broken; -1 stands for "unknown"."""
    verdict, counts = judge(rows), {}
    for item in map(verdict.of, FIVE):
        assert (item.status is Status.VIOLATED) == (item.violation_count > 0)
        assert bool(item.violations) == (item.violation_count > 0)
        counts[item.property] = -1 if item.status is Status.UNKNOWN else item.violation_count
    return counts


def broken(rows: Sequence[Event]) -> dict[Property, int]:
    """Return how often each of the five is broken, leaving out those that hold."""
    return {which: count for which, count in found(rows).items() if count}


def test_an_answer_delivered_before_its_question_is_violated(tmp_path: Path) -> None:
    """C delivers B's answer before A's question: the chain names A, B and C and the lines."""
    path = tmp_path / "question.ndjson"
    path.write_text(QUESTION)
    verdict = judge(read_rows(path), "question")
    assert [item.property for item in verdict.properties if item.violation_count] == [CAUSAL]
    assert verdict.of(CAUSAL).violation_count == 1
    assert verdict.is_violated
    (violation,) = verdict.of(CAUSAL).violations
    assert violation.process == "C"
    assert violation.message == MessageId("B", 1)
    assert violation.earlier == MessageId("A", 1)
    assert violation.run == "question"
    assert [(link.process, link.line, link.text) for link in violation.chain] == [
        ("A", 1, "A multicast message 1 of A"),
        ("B", 3, "B delivered message 1 of A"),
        ("B", 4, "B multicast message 1 of B"),
        ("C", 5, "C delivered message 1 of B, but message 1 of A only later"),
    ]
    assert {link.file for link in violation.chain} == {str(path)}
    assert violation.text == (
        "C delivered message 1 of B, but only later message 1 of A, "
        "which B had delivered before multicasting it"
    )


def test_the_worked_example_is_told_as_on_the_page(tmp_path: Path) -> None:
    """The page's words, lines and variations are the oracle's."""
    path = tmp_path / "question.ndjson"
    path.write_text(QUESTION)
    (violation,) = judge(read_rows(path)).of(CAUSAL).violations
    assert f"> {violation.text}\n" in PAGE
    for link in violation.chain:
        assert f"question.ndjson:{link.line}  {link.text}\n" in PAGE
    rows = [event for event, _, _ in read_rows(path)]
    assert not judge([*rows[:4], rows[5], rows[4]]).is_violated
    violated = [item.property for item in judge(rows[:5]).properties if item.violation_count]
    assert violated == [CAUSAL, AGREEMENT, Property.NO_ORPHAN, Property.LIVENESS]


def test_a_verdict_counts_what_it_judged(tmp_path: Path) -> None:
    """Rows, processes, single messages and single deliveries are counted."""
    path = tmp_path / "question.ndjson"
    path.write_text(QUESTION)
    verdict = judge(read_rows(path), "question")
    assert (verdict.run, verdict.engine) == ("question", "oracle")
    assert (verdict.process_count, verdict.event_count) == (3, 6)
    assert (verdict.message_count, verdict.delivery_count) == (2, 4)


def test_two_parties_in_order_hold() -> None:
    """Runs cut differently at the receiver are the same messages."""
    rows = [multicast("A", 1, 3), deliver("A", "A", 1, 3), multicast("A", 4)]
    rows += [deliver("A", "A", 4), deliver("B", "A", 1), deliver("B", "A", 2, 3)]
    verdict = judge(rows)
    assert [verdict.of(which).status for which in FIVE] == [Status.HOLDS] * 5
    assert [verdict.of(which).reason for which in FIVE] == [""] * 5


def test_messages_of_one_sender_swapped_break_fifo_and_causal() -> None:
    """Number 2 before number 1 is one wrong delivery."""
    rows = [multicast("A", 1, 2), deliver("B", "A", 2), deliver("B", "A", 1)]
    assert broken(rows) == {FIFO: 1, CAUSAL: 1}
    (violation,) = judge(rows).of(FIFO).violations
    assert [link.text for link in violation.chain] == [
        "A multicast message 1 of A",
        "A multicast message 2 of A",
        "B delivered message 2 of A, but message 1 of A only later",
    ]


def test_a_hole_breaks_fifo_causal_and_agreement() -> None:
    """What is never delivered was not delivered before: every later message is wrong."""
    rows = [multicast("A", 1, 4), deliver("B", "A", 1), deliver("B", "A", 3, 2)]
    assert broken(rows) == {FIFO: 2, CAUSAL: 2, AGREEMENT: 1}
    verdict = judge(rows)
    assert verdict.of(FIFO).violations[0].chain[-1].text.endswith("but message 2 of A never")
    (missing,) = verdict.of(AGREEMENT).violations
    assert (missing.process, missing.message) == ("B", MessageId("A", 2))
    assert missing.text == "B never delivered message 2 of A, which A delivered"


def test_fifo_goes_by_the_senders_order_not_by_numbers() -> None:
    """A sender that multicasts 2 before 1 is to be delivered so."""
    rows = [multicast("A", 2), multicast("A", 1), deliver("B", "A", 2), deliver("B", "A", 1)]
    assert broken(rows) == {}


def test_a_long_chain_breaks_where_it_is_first_broken() -> None:
    """A's question, B's answer, C's comment: D has all but the question, C never had it."""
    rows = [
        multicast("A"),
        deliver("B", "A"),
        multicast("B"),
        deliver("C", "B"),
        multicast("C"),
        deliver("D", "B"),
        deliver("D", "C"),
    ]
    verdict = judge(rows)
    broken_at = [(item.process, item.message) for item in verdict.of(CAUSAL).violations]
    assert broken_at == [("C", MessageId("B", 1)), ("D", MessageId("B", 1))]
    assert verdict.of(CAUSAL).violation_count == 2


def test_of_several_missing_messages_the_latest_is_named() -> None:
    """The one that its sender came to know last is the nearest cause."""
    rows = [multicast("A", 1, 2), multicast("C"), deliver("B", "A"), deliver("B", "C")]
    rows += [deliver("B", "A", 2), multicast("B"), deliver("D", "B")]
    (violation,) = judge(rows).of(CAUSAL).violations
    assert violation.earlier == MessageId("A", 2)


def test_a_delivery_repeated_is_a_duplicate_and_changes_no_order() -> None:
    """Each surplus delivery counts; orders look at first deliveries only."""
    rows = [multicast("A", 1, 2), deliver("B", "A", 1, 2), deliver("B", "A", 1), deliver("B", "A")]
    assert broken(rows) == {NO_DUPLICATE: 2}
    assert judge(rows).of(NO_DUPLICATE).violations[0].text == (
        "B delivered message 1 of A a second time"
    )


def test_a_number_multicast_twice_is_a_duplicate() -> None:
    """Also where the multicast stands for the sender's own delivery, it counts once."""
    rows = [multicast("A", 1, 2), multicast("A", 2, 2), deliver("B", "A", 1, 3)]
    assert broken(rows) == {NO_DUPLICATE: 1}


def test_a_message_never_multicast_is_a_creation_and_no_order() -> None:
    """Both deliveries count; the orders leave them out and say so."""
    rows = [multicast("A"), deliver("B", "A"), deliver("B", "A", 9), deliver("A", "A", 9)]
    rows += [deliver("A", "A", 1)]
    assert broken(rows) == {NO_CREATION: 2}
    assert judge(rows).of(CAUSAL).reason == (
        "2 deliveries of messages without a recorded multicast left out"
    )
    assert judge(rows).of(NO_CREATION).violations[0].text == (
        "A delivered message 9 of A, which A never multicast"
    )


def test_an_own_delivery_before_the_multicast_is_a_creation() -> None:
    """Nobody can deliver what it has not multicast yet; at others the order is not known."""
    rows = [deliver("A", "A"), multicast("A"), deliver("B", "A")]
    assert broken(rows) == {NO_CREATION: 1}
    assert judge(rows).of(NO_CREATION).violations[0].text == (
        "A delivered message 1 of A before multicasting it"
    )


def test_a_cycle_is_judged_not_looped_over() -> None:
    """A trace in which each question answers the other is forged, and violated at both."""
    rows = [deliver("A", "B"), multicast("A"), deliver("B", "A"), multicast("B")]
    assert broken(rows) == {CAUSAL: 2}


def test_a_multicast_in_a_lost_tail_leaves_no_creation_unknown() -> None:
    """A killed sender's last multicasts may never have reached its journal."""
    rows = [start("A"), multicast("A"), deliver("A", "A")]
    rows += [start("B"), deliver("B", "A"), deliver("B", "A", 2, 3), stop("B")]
    assert broken(rows) == {NO_CREATION: -1, AGREEMENT: -1}
    reason = judge(rows).of(NO_CREATION).reason
    assert reason.startswith("3 deliveries are of messages whose multicast may be in the part")
    assert reason.endswith(": A")


def test_a_lost_tail_excuses_no_lower_numbers() -> None:
    """A number below one that was recorded cannot be in the lost tail; the others are in doubt."""
    rows = [start("A"), multicast("A", 5), deliver("B", "A", 4), deliver("B", "A", 6)]
    assert found(rows)[NO_CREATION] == 1
    assert judge(rows).of(NO_CREATION).reason.startswith("1 delivery is of messages")
    rows = [start("A"), multicast("A", 5), multicast("A", 2), deliver("B", "A", 4)]
    assert found(rows)[NO_CREATION] == 1


def test_a_sender_without_any_record_leaves_no_creation_unknown() -> None:
    """Nothing is known of what it multicast."""
    assert broken([deliver("B", "ghost")])[NO_CREATION] == -1


@pytest.mark.parametrize(
    ("record", "is_held"),
    [
        ([], True),
        ([start("B"), stop("B")], True),
        ([start("B"), stop("B", LEFT)], True),
        ([start("B")], False),
        ([start("B"), stop("B", "interrupted")], False),
        ([stop("B", "interrupted")], True),
        ([start("B"), crash("B")], False),
        ([crash("B"), stop("B")], False),
        ([start("B"), stop("B"), deliver("B", "A", 1)], False),
    ],
)
def test_only_processes_with_a_whole_record_are_held_to_agreement(
    record: list[Event], is_held: bool
) -> None:
    """Crashed, killed or interrupted: what it would have delivered is not known."""
    rows = [multicast("A", 1, 3), deliver("A", "A", 1, 3), deliver("C", "A", 1, 3)]
    rows += [deliver("B", "A", 1), *record]
    if record and record[0].kind == "start":
        rows = [*rows[:3], record[0], rows[3], *record[1:]]
    agreement = judge(rows).of(AGREEMENT)
    assert agreement.violation_count == (2 if is_held else 0)
    assert ("not held to it" in agreement.reason) == (not is_held)


def test_what_only_unfinished_processes_delivered_binds_nobody() -> None:
    """Agreement is about what some whole member delivered."""
    rows = [start("A"), multicast("A", 1, 2), deliver("A", "A", 1, 2), deliver("B", "A", 1)]
    assert broken(rows) == {AGREEMENT: -1}
    assert broken([*rows, deliver("C", "A", 1)]) == {}


def test_members_come_from_views_if_there_are_any() -> None:
    """A member that delivered nothing is missed, one that is not listed is not."""
    rows = [multicast("A"), deliver("B", "A"), Event(process="C", kind="receive")]
    assert broken(rows) == {}
    assert broken([view("A", "A", "B", "C"), *rows]) == {AGREEMENT: 1}
    assert broken([view("A", "A"), view("B", "B"), *rows, deliver("D", "A")]) == {}


def test_a_member_without_a_record_is_not_held_to_agreement() -> None:
    """Its log may not have been brought along."""
    verdict = judge([view("A", "A", "B"), multicast("A"), deliver("A", "A")])
    assert verdict.of(AGREEMENT).status is Status.UNKNOWN
    assert verdict.of(AGREEMENT).reason == (
        f"{words.NONE_TO_AGREE}; A is the only process with rows: add those of the others; "
        "1 process is not held to it, as the record ends early or is missing: B"
    )


def test_multicasts_stand_for_own_deliveries_that_are_not_recorded() -> None:
    """A users' log without them holds; with one of them, the others are missed."""
    rows = [multicast("A", 1, 2), deliver("B", "A", 1, 2)]
    assert broken(rows) == {}
    assert broken([*rows, deliver("A", "A", 1)]) == {AGREEMENT: 1}
    assert broken([*rows, deliver("A", "A", 2)]) == {FIFO: 1, CAUSAL: 1, AGREEMENT: 1}


def test_groups_views_and_runs_are_judged_apart() -> None:
    """The same numbers elsewhere are other messages, and nothing crosses from one to the other."""
    rows = [multicast("A", 1, group="g"), multicast("A", 1, group="h")]
    rows += [deliver("B", "A", 1, group="h"), deliver("B", "A", 1, group="g")]
    assert broken(rows) == {CAUSAL: -1}
    apart = {FIFO: -1, CAUSAL: -1, AGREEMENT: -1}
    rows = [multicast("A", view=1), deliver("B", "A", view=2)]
    assert broken(rows) == {NO_CREATION: 1, **apart}
    rows = [multicast("A", run="x"), deliver("B", "A", run="y")]
    assert broken(rows) == {NO_CREATION: -1, **apart}
    assert broken([multicast("A", run="x"), deliver("B", "A", run="x")]) == {}


def test_the_index_orders_rows_wherever_they_are() -> None:
    """Numbered rows may come in any order."""
    rows = [deliver("B", "A", 2, index=1), multicast("A", 1, 2), deliver("B", "A", 1, index=0)]
    assert broken(rows) == {}


def test_without_deliveries_nothing_is_known() -> None:
    """There is nothing to judge, not even a number multicast twice."""
    for rows in ([], [multicast("A"), multicast("A")]):
        verdict = judge(rows)
        assert {item.status for item in verdict.properties} == {Status.UNKNOWN}
        assert [item.property for item in verdict.properties] == list(Property)
        assert all(item.reason for item in verdict.properties)


def test_the_smallest_examples_are_shown_first() -> None:
    """Three of many: by process, then by place in its record."""
    rows = [multicast("A", 1, 9)]
    rows += [deliver(process, "A", number) for process in "CB" for number in (9, 7, 5, 3, 1)]
    fifo = judge(rows).of(FIFO)
    assert fifo.violation_count == 8
    shown = [(item.process, item.message) for item in fifo.violations]
    assert shown == [("B", MessageId("A", number)) for number in (9, 7, 5)]


def test_more_than_it_is_made_for_is_refused() -> None:
    """One row can stand for a million messages: better a sentence than no memory."""
    with pytest.raises(UsageError, match="judge more with `antiphon verify` without"):
        judge([multicast("A", 1, MULTICASTS_MAX + 1)])
    with pytest.raises(UsageError, match="judge more with `antiphon verify` without"):
        judge([deliver("B", "A", 1, RUN_COUNT_MAX)] * 3)


def causal_world(message_count: int, seed: int) -> list[Event]:
    """Return a right trace: all deliver in one order, a sender only after catching up with it."""
    dice, names = random.Random(seed), "ABCDE"
    sent: list[tuple[str, int]] = []
    rows: list[Event] = []
    numbers, delivered = dict.fromkeys(names, 0), dict.fromkeys(names, 0)

    def catch_up(process: str, until: int) -> None:
        rows.extend(deliver(process, *item) for item in sent[delivered[process] : until])
        delivered[process] = max(until, delivered[process])

    for _ in range(message_count):
        sender = dice.choice(names)
        catch_up(sender, len(sent))
        numbers[sender] += 1
        sent.append((sender, numbers[sender]))
        rows.append(multicast(*sent[-1]))
        catch_up(sender, len(sent))
        for process in names:
            catch_up(process, dice.randint(0, len(sent)))
    for process in names:
        catch_up(process, len(sent))
    return rows


def test_two_thousand_messages_are_judged_at_once() -> None:
    """A right trace holds, in about a second even on a busy machine; two rows swapped break it."""
    rows = causal_world(2_000, seed=7)
    begun = time.perf_counter()
    assert broken(rows) == {}
    assert time.perf_counter() - begun < 5
    at_b = [place for place, row in enumerate(rows) if row.process == "B" and row.kind == "deliver"]
    one, other = at_b[1_000], at_b[1_050]
    rows[one], rows[other] = rows[other], rows[one]
    assert found(rows)[CAUSAL] > 0


def test_a_trace_read_from_files_has_the_verdict_of_its_rows(tmp_path: Path) -> None:
    """Lines order rows that are not numbered."""
    rows = causal_world(50, seed=1)
    rows[20], rows[60] = rows[60], rows[20]
    path = write_rows(tmp_path / "log.ndjson", rows)
    verdict = judge(read_rows(path))
    counts = {which: verdict.of(which).violation_count for which in FIVE}
    assert counts == {which: max(count, 0) for which, count in found(rows).items()}
