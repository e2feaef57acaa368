"""The oracle on hand-written traces: views, their borders, and what is missing altogether."""

from collections.abc import Sequence

from tests.trace.hand_written import crash, deliver, multicast, start, stop, view

from antiphon.oracle import judge
from antiphon.trace import words
from antiphon.trace.schema import LEFT, Event
from antiphon.trace.verdict import MessageId, Property, Status, Violation

VIEWS, SENDING_VIEW = Property.VIEWS, Property.SENDING_VIEW
VIEW_ATOMIC, NO_ORPHAN = Property.VIEW_ATOMIC, Property.NO_ORPHAN
SELF_DELIVERY, LIVENESS = Property.SELF_DELIVERY, Property.LIVENESS

SIX = (VIEWS, SENDING_VIEW, VIEW_ATOMIC, NO_ORPHAN, SELF_DELIVERY, LIVENESS)


def broken(rows: Sequence[Event]) -> dict[Property, int]:
    """Return how often each of the six is broken; -1: nothing is known about views."""
    verdict = judge(rows)
    counts = {
        which: -1
        if verdict.of(which).reason == words.NO_VIEW
        else verdict.of(which).violation_count
        for which in SIX
    }
    return {which: count for which, count in counts.items() if count}


def only(rows: Sequence[Event], which: Property) -> Violation:
    """Return the one violation of a property."""
    (violation,) = judge(rows).of(which).violations
    return violation


def told(violation: Violation) -> list[str]:
    """Return the words of a chain."""
    return [link.text for link in violation.chain]


def some_delivery() -> list[Event]:
    """Return what makes a trace one that can be judged, and breaks nothing."""
    return [multicast("Z", group="other"), deliver("Z", "Z", group="other")]


def installs(processes: str, members: str, number: int = 1) -> list[Event]:
    """Return the rows in which processes install a view of group g."""
    return [view(process, *members, group="g", view=number) for process in processes]


def test_a_trace_without_views_leaves_views_unknown() -> None:
    """What is about views is unknown, for that reason; the rest is judged."""
    rows = [multicast("A"), deliver("B", "A")]
    assert broken(rows) == {VIEWS: -1, SENDING_VIEW: -1, VIEW_ATOMIC: -1}
    assert judge(rows).of(VIEWS).reason == words.NO_VIEW


def test_a_join_a_leave_and_a_crash_done_well_hold() -> None:
    """C joins in view 2, B leaves with view 3, which it installs; D crashes in view 1."""
    rows = [*map(start, "ABD"), *installs("ABD", "ABD")]
    rows += [multicast("D", 1, 2, group="g"), deliver("D", "D", group="g"), crash("D")]
    rows += [deliver(name, "D", 1, 2, group="g") for name in "AB"]
    rows += [start("C"), *installs("ABC", "ABC", 2), multicast("B", group="g", view=2)]
    rows += [deliver(name, "B", group="g", view=2) for name in "ABC"]
    rows += [*installs("ABC", "AC", 3), stop("B", LEFT), stop("A"), stop("C")]
    assert broken(rows) == {}
    verdict = judge(rows)
    assert verdict.of(LIVENESS).reason.endswith(": D")
    assert verdict.of(SELF_DELIVERY).reason.endswith(": D")
    assert verdict.of(VIEW_ATOMIC).reason == ""


def test_other_members_than_those_of_the_first_by_name_are_wrong() -> None:
    """Another order of seniority is another view; rows are compared with that of A."""
    rows = [*installs("B", "BA"), *installs("C", "AB"), *installs("A", "AB"), *some_delivery()]
    assert broken(rows) == {VIEWS: 2}  # B differs, and C is not in its own view
    other, absent = judge(rows).of(VIEWS).violations
    assert other.text == "B installed view 1 of group g with B, A, but A with A, B"
    assert told(other) == ["A installed view 1 with A, B", "B installed view 1 with B, A"]
    assert absent.text == "C installed view 1 of group g, of which it is not a member"
    assert (other.message, absent.message) == (None, None)


def test_long_lists_of_members_are_told_by_where_they_differ() -> None:
    """A thousand names help nobody: ten do, and the place of the difference."""
    names = [f"p{number:03}" for number in range(100)]
    others = [*names[:70], *names[71:]]
    rows = [view("p000", *names), view("p001", *others), *some_delivery()]
    text = only(rows, VIEWS).text
    assert text.endswith("they differ from place 71 on")
    assert len(text) < 300


def test_a_view_that_does_not_follow_the_one_before_is_wrong() -> None:
    """One is left out, one comes again; each process is judged by its own last view."""
    rows = [*installs("A", "A", 4), *installs("A", "A", 6), *installs("A", "A", 6)]
    assert broken([*rows, *some_delivery()]) == {VIEWS: 2}
    skipped, again = judge([*rows, *some_delivery()]).of(VIEWS).violations
    assert skipped.text == "A installed view 6 of group g after view 4, not view 5"
    assert again.text == "A installed view 6 of group g after view 6, not view 7"
    assert told(skipped) == ["A installed view 4", "A installed view 6"]


def test_a_wrong_view_row_counts_once() -> None:
    """Other members, the wrong number and not in it: the first of these is told."""
    rows = [*installs("A", "A", 1), *installs("B", "B", 3), *installs("A", "A", 3)]
    rows += [*installs("C", "C", 1), *installs("C", "D", 3)]
    assert broken([*rows, *some_delivery()]) == {VIEWS: 4}
    told_of = [item.text for item in judge([*rows, *some_delivery()]).of(VIEWS).violations]
    assert "after view 1" in told_of[0]
    assert "but A with A" in told_of[1]


def test_only_a_leaver_may_install_a_view_without_itself_and_only_as_its_last() -> None:
    """B may end with view 2 if it stops because it left; not otherwise, and not with view 1."""
    rows = [start("B"), *installs("AB", "AB"), *installs("AB", "A", 2), *some_delivery()]
    assert broken([*rows, stop("B", LEFT)]) == {}
    assert broken([*rows, stop("B", "excluded")]) == {VIEWS: 1}
    assert broken(rows) == {}, "it may have been about to say that it left"
    assert broken([*rows, *installs("AB", "A", 3), stop("B", LEFT)]) == {VIEWS: 1}


def test_messages_outside_their_view_are_counted_one_by_one() -> None:
    """A run of three delivered one view too late is three; the chain names both views."""
    rows = [*installs("AB", "AB"), multicast("A", 1, 3, group="g"), *installs("AB", "AB", 2)]
    rows += [deliver("B", "A", 1, 3, group="g")]
    assert broken(rows) == {SENDING_VIEW: 3}
    first = judge(rows).of(SENDING_VIEW).violations[0]
    assert first.message == MessageId("A", 1, "g", 1)
    assert told(first) == [
        "A multicast message 1 of A",
        "B installed view 2",
        "B delivered message 1 of A, of view 1 of group g, while in view 2",
    ]


def test_a_multicast_before_any_view_is_outside_its_view() -> None:
    """Nothing may happen in a view before it is installed."""
    rows = [multicast("A", group="g"), *installs("A", "A"), *some_delivery()]
    assert broken(rows) == {SENDING_VIEW: 1}
    assert only(rows, SENDING_VIEW).text == (
        "A multicast message 1 of A, of view 1 of group g, before it had installed a view"
    )


def test_a_process_without_view_rows_of_a_group_is_not_held_to_them() -> None:
    """Nothing is known of its views there, and the reason names it."""
    rows = [*installs("A", "AB"), multicast("A", group="g"), deliver("B", "A", group="g")]
    assert broken(rows) == {}
    assert judge(rows).of(SENDING_VIEW).reason == (
        "1 process is not held to it in a group of which there is no view row: B"
    )


def test_two_that_go_on_with_different_messages_break_view_atomicity() -> None:
    """It binds those who crash later, too: B crashes in view 2, and C is to blame all the same."""
    rows = [*map(start, "ABC"), *installs("ABC", "ABC"), multicast("A", group="g"), crash("A")]
    rows += [deliver("B", "A", group="g"), *installs("BC", "BC", 2), crash("B"), stop("C")]
    assert broken(rows) == {VIEW_ATOMIC: 1}
    violation = only(rows, VIEW_ATOMIC)
    assert (violation.process, violation.message) == ("C", MessageId("A", 1, "g", 1))
    assert told(violation) == [
        "A multicast message 1 of A",
        "B delivered message 1 of A",
        "B installed view 2",
        "C installed view 2 without having delivered message 1 of A",
    ]
    assert violation.text == (
        "C never delivered message 1 of A, which B delivered, and both went on to view 2 "
        "(group g, view 1)"
    )


def test_what_only_those_who_stayed_behind_delivered_binds_nobody_who_went_on() -> None:
    """B delivered A's message and never went on: C and D may go on without it."""
    rows = [*map(start, "ABCD"), *installs("ABCD", "ABCD"), multicast("A", group="g"), crash("A")]
    rows += [deliver("B", "A", group="g"), crash("B"), *installs("CD", "CD", 2)]
    assert broken(rows) == {}


def test_view_atomicity_of_a_single_view_is_unknown() -> None:
    """Where no two went on, nothing was put to the test, and it is said."""
    rows = [*installs("AB", "AB"), multicast("A", group="g"), deliver("A", "A", group="g")]
    verdict = judge([*rows, *installs("A", "A", 2)])
    assert verdict.of(VIEW_ATOMIC).status is Status.UNKNOWN
    assert verdict.of(VIEW_ATOMIC).reason == words.NO_VIEW_LEFT


def test_an_answer_without_its_question_is_an_orphan_also_at_a_crash() -> None:
    """C crashes with the answer and never had the question; D had it later, so that is none."""
    rows = [start("C"), multicast("A"), deliver("B", "A"), multicast("B"), deliver("A", "B")]
    rows += [deliver("C", "B"), crash("C"), deliver("D", "B"), deliver("D", "A")]
    verdict = judge(rows)
    assert verdict.of(Property.CAUSAL).violation_count == 2
    assert verdict.of(NO_ORPHAN).violation_count == 1
    violation = only(rows, NO_ORPHAN)
    assert (violation.process, violation.earlier) == ("C", MessageId("A", 1))
    assert told(violation) == [
        "A multicast message 1 of A",
        "B delivered message 1 of A",
        "B multicast message 1 of B",
        "C delivered message 1 of B, but message 1 of A never",
    ]


def test_a_message_in_fifo_order_is_no_orphan() -> None:
    """It is not held to what its sender had delivered, and the reason says so."""
    fifo = Event(process="B", kind="multicast", first=1, order="fifo")
    rows = [start("C"), multicast("A"), deliver("B", "A"), fifo, deliver("A", "B")]
    verdict = judge([*rows, deliver("C", "B"), crash("C")])
    assert verdict.of(NO_ORPHAN).violation_count == 0
    assert verdict.of(NO_ORPHAN).reason == words.IN_FIFO_ORDER


def test_an_own_message_not_delivered_is_missed_once_its_sender_goes_on() -> None:
    """A delivers its first message and not its second: wrong if it goes on, or ends well."""
    rows = [start("A"), *installs("A", "A"), multicast("A", 1, 2, group="g")]
    rows += [deliver("A", "A", group="g")]
    assert broken(rows) == {}
    assert judge(rows).of(SELF_DELIVERY).reason.endswith(": A")
    went_on = [*rows, *installs("A", "A", 2)]
    assert broken(went_on) == {SELF_DELIVERY: 1}
    assert told(only(went_on, SELF_DELIVERY)) == [
        "A multicast message 2 of A",
        "A installed view 2 without having delivered message 2 of A",
    ]
    ended = [*rows, stop("A")]
    assert broken(ended) == {SELF_DELIVERY: 1, LIVENESS: 1}
    assert told(only(ended, SELF_DELIVERY))[-1] == (
        "A never delivered message 2 of A up to the end of its record"
    )


def test_a_multicast_that_is_the_only_record_of_an_own_delivery_is_one() -> None:
    """As everywhere: who records none of its own deliveries delivers by multicasting."""
    rows = [*installs("AB", "AB"), multicast("A", group="g"), deliver("B", "A", group="g")]
    assert broken([*rows, *installs("AB", "AB", 2)]) == {}


def test_a_message_that_nobody_delivered_is_missed_at_every_whole_member() -> None:
    """A is there to the end, so what it multicast must arrive at B and C; D crashed."""
    rows = [*map(start, "ABCD"), *installs("ABCD", "ABCD"), multicast("A", 1, 2, group="g")]
    rows += [deliver(name, "A", 1, group="g") for name in "ABC"]
    rows += [*map(stop, "ABC"), crash("D")]
    assert broken(rows) == {SELF_DELIVERY: 1, LIVENESS: 3}
    assert judge(rows).of(Property.AGREEMENT).violation_count == 0
    assert judge(rows).of(LIVENESS).reason.endswith(": D")
    assert told(judge(rows).of(LIVENESS).violations[1]) == [
        "A multicast message 2 of A",
        "B never delivered message 2 of A up to the end of its record",
    ]


def test_a_message_of_a_sender_that_crashed_need_not_arrive() -> None:
    """Its multicast may have reached nobody."""
    rows = [*map(start, "AB"), *installs("AB", "AB"), multicast("A", group="g"), crash("A")]
    assert broken([*rows, stop("B"), *some_delivery()]) == {}


def test_a_leaver_is_held_to_all_of_its_last_view() -> None:
    """It takes part until the end: what it misses of view 1 is missed."""
    rows = [*map(start, "AB"), *installs("AB", "AB"), multicast("A", group="g")]
    rows += [deliver("A", "A", group="g"), *installs("AB", "A", 2), stop("B", LEFT), stop("A")]
    assert broken(rows) == {VIEW_ATOMIC: 1, LIVENESS: 1}


def test_each_incarnation_of_a_process_is_one_of_its_own() -> None:
    """B crashes and comes back as B~2, which owes nothing of view 1."""
    rows = [*map(start, "AB"), *installs("AB", "AB"), multicast("A", group="g"), crash("B")]
    rows += [deliver("A", "A", group="g"), view("A", "A", group="g", view=2), start("B~2")]
    rows += [view(name, "A", "B~2", group="g", view=3) for name in ("A", "B~2")]
    rows += [stop("A"), stop("B~2")]
    assert broken(rows) == {}
