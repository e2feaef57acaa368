"""Hand-written traces of several groups of a causality domain, with what is to be said of them.

All judges are asked about each of them. A number is how often causal order, or what rests on it,
is broken; -1 stands for "unknown", and what is not listed holds. Nothing here is in total order
unless it says so.
"""

from collections.abc import Callable

import msgspec
from tests.oracle.known_groups import CAUSAL, NO_ORPHAN, TOTAL_CAUSAL
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view

from antiphon.trace.schema import LEFT, SETS_ORDER, Event, Order
from antiphon.trace.verdict import ALL, Property, Terms

Case = tuple[list[Event], dict[Property, int], Terms]

NO_TOTAL = {TOTAL_CAUSAL: -1}
NOT_JUDGED = {CAUSAL: -1, NO_ORPHAN: -1, TOTAL_CAUSAL: -1}
ONE, EACH = Terms(domains="one"), Terms(domains="each")


def in_domain(rows: list[Event], domain: str = "d", **of_groups: str) -> list[Event]:
    """Return rows that name the domain of their groups."""
    return [
        msgspec.structs.replace(row, domain=of_groups.get(row.group, domain)) if row.group else row
        for row in rows
    ]


def question() -> list[Event]:
    """A asks in g, B answers in h, and C, who is in both, has the answer first."""
    return [
        multicast("A", group="g"), deliver("B", "A", group="g"), multicast("B", group="h"),
        deliver("C", "B", group="h"), deliver("C", "A", group="g"),
    ]  # fmt: skip


def chain(order: Order = "", detail: str = "") -> list[Event]:
    """A asks in A, b hears it and speaks in B, c hears b and speaks in C, e hears c before a."""
    return [
        multicast("a", group="A"), deliver("b", "a", group="A"),
        multicast("b", group="B", order=order, detail=detail),
        deliver("c", "b", group="B"), multicast("c", group="C"),
        deliver("e", "c", group="C"), deliver("e", "a", group="A"),
    ]  # fmt: skip


def answer_first() -> Case:
    """Across two groups, from somebody who delivered the question."""
    return in_domain(question()), {CAUSAL: 1} | NO_TOTAL, ALL


def answer_last() -> Case:
    """In order."""
    *rows, answer, asked = in_domain(question())
    return [*rows, asked, answer], NO_TOTAL, ALL


def answer_first_said_on_the_command_line() -> Case:
    """No row names a domain, but the terms do."""
    return question(), {CAUSAL: 1} | NO_TOTAL, ONE


def answer_first_in_another_domain() -> Case:
    """Nothing is promised from one domain to another."""
    return in_domain(question(), h="other"), NO_TOTAL, ALL


def answer_first_each_group_by_itself() -> Case:
    """Nothing is promised, as the terms say."""
    return question(), NO_TOTAL, EACH


def rows_say_more_than_terms() -> Case:
    """Where rows name a domain, terms do not matter."""
    return in_domain(question()), {CAUSAL: 1} | NO_TOTAL, EACH


def one_group_of_three_names_no_domain() -> Case:
    """C is in a third group, of which nothing is said: what is known to be wrong is wrong."""
    rows = [*in_domain(question()), deliver("C", "A", group="i"), multicast("A", group="i")]
    return rows, {CAUSAL: 1, NO_ORPHAN: -1, TOTAL_CAUSAL: -1}, ALL


def one_group_of_two_names_no_domain() -> Case:
    """It may be the same domain, or not."""
    rows = [
        msgspec.structs.replace(row, domain="d" if row.group == "g" else "") for row in question()
    ]
    return rows, NOT_JUDGED, ALL


def one_row_names_the_domain() -> Case:
    """It is that of all rows of the group."""
    asked, heard, answer, *rest = question()
    rows = [asked, *in_domain([heard, answer]), *rest]
    return rows, {CAUSAL: 1} | NO_TOTAL, ALL


def question_and_answer_by_one() -> Case:
    """A multicasts in g, then in h; C has them the other way round."""
    rows = [
        multicast("A", group="g"), multicast("A", group="h"),
        deliver("C", "A", group="h"), deliver("C", "A", group="g"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1} | NO_TOTAL, ALL


def way_through_another_group() -> Case:
    """Both messages are of one group, but the way from one to the other leads through another."""
    rows = [
        multicast("A", group="g"), multicast("A", group="h"), deliver("B", "A", group="h"),
        multicast("B", group="g"), deliver("C", "B", group="g"), deliver("C", "A", group="g"),
        deliver("A", "B", group="g"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    # B has the second message of A before the first; what it says itself then is not held to it.
    return in_domain(rows), {CAUSAL: 2} | NO_TOTAL, ALL


def chain_of_three_groups() -> Case:
    """No sender but b, whom e does not hear, delivered what e lacks."""
    return in_domain(chain()), {CAUSAL: 1} | NO_TOTAL, ALL


def chain_of_three_groups_in_order() -> Case:
    """In order."""
    *rows, last, first = in_domain(chain())
    return [*rows, first, last], NO_TOTAL, ALL


def chain_with_a_link_in_fifo_order() -> Case:
    """Causality does not pass through it."""
    return in_domain(chain(order="fifo")), NO_TOTAL, ALL


def chain_with_a_link_that_sets_the_order_of_others() -> Case:
    """Nor through what only tells the order of others: it says nothing about other groups."""
    return in_domain(chain(detail=SETS_ORDER)), NO_TOTAL, ALL


def chain_that_ends_with_an_order_of_others() -> Case:
    """What only tells the order of others is not held to it."""
    rows = question()
    rows[2] = multicast("B", group="h", detail=SETS_ORDER)
    return in_domain(rows), NO_TOTAL, ALL


def chain_with_a_link_that_nobody_multicast() -> Case:
    """What was not multicast on the record leads nowhere."""
    rows = in_domain(chain())
    return [*rows[:2], *rows[3:]], NO_TOTAL, ALL


def chain_to_somebody_who_is_not_in_the_group() -> Case:
    """E has no part in A: it need not have what was said there."""
    return in_domain(chain())[:-1], NO_TOTAL, ALL


def hole() -> Case:
    """E is in A, as another message shows, and never has the first."""
    rows = [*chain()[:-1], multicast("b", group="A"), deliver("e", "b", group="A")]
    # Within A, too, something is missing: what b said there, it said after it heard a.
    return in_domain(rows), {CAUSAL: 1, NO_ORPHAN: 2} | NO_TOTAL, ALL


def _views(resilience: int = 0) -> list[Event]:
    """Return the first rows of a and b, who are in A with e, of c, and of e, who is in C too."""
    groups = {"A": ("a", "b", "e"), "B": ("b", "c"), "C": ("c", "e")}
    return [
        *map(start, "abce"),
        *(
            view(name, *names, group=group, resilience=resilience)
            for group, names in groups.items()
            for name in names
        ),
    ]


def _hole_in_views(*ends: Event, resilience: int = 0) -> list[Event]:
    return in_domain([*_views(resilience), *chain()[:-1], *ends])


def hole_where_all_are_well() -> Case:
    """E is in A, as views show, and never hears a; nobody failed."""
    return _hole_in_views(*map(stop, "abce")), {NO_ORPHAN: 1} | NO_TOTAL, ALL


def hole_where_somebody_failed() -> Case:
    """A died: perhaps nobody has what it said but b, who cannot help."""
    return _hole_in_views(crash("a"), *map(stop, "bce")), {NO_ORPHAN: -1} | NO_TOTAL, ALL


def hole_where_no_more_failed_than_may() -> Case:
    """A died, but with a resilience of one that is no excuse."""
    rows = _hole_in_views(crash("a"), *map(stop, "bce"), resilience=1)
    return rows, {NO_ORPHAN: 1} | NO_TOTAL, ALL


def hole_where_more_failed_than_may() -> Case:
    """A and b died, and with them what a said: with a resilience of one that may happen."""
    rows = _hole_in_views(crash("a"), crash("b"), *map(stop, "ce"), resilience=1)
    return rows, {NO_ORPHAN: -1} | NO_TOTAL, ALL


def hole_where_others_failed() -> Case:
    """C died, who is not in A: that is no excuse."""
    return _hole_in_views(crash("c"), *map(stop, "abe")), {NO_ORPHAN: 1} | NO_TOTAL, ALL


def hole_of_a_view_that_all_left() -> Case:
    """All of A went on to the next view, e without what a said: nobody failed in the first."""
    later = [view(name, "a", "b", "e", group="A", view=2) for name in "abe"]
    rows = [*_views(), *chain()[:5], *later, chain()[5], crash("a"), *map(stop, "bce")]
    return in_domain(rows), {NO_ORPHAN: 1} | NO_TOTAL, ALL


def hole_of_a_view_before_one_joined() -> Case:
    """E joined A later: what was said before is nothing to it."""
    rows = [
        view("a", "a", "b", group="A"), view("b", "a", "b", group="A"), *chain()[:-1],
        view("e", "a", "b", "e", group="A", view=2), view("a", "a", "b", "e", group="A", view=2),
    ]  # fmt: skip
    return in_domain(rows), NO_TOTAL, ALL


def late_in_a_view_that_was_left() -> Case:
    """E delivers what a said after all, but in the next view: too late is too late."""
    rows = [
        *_views(), *chain()[:-1], view("e", "a", "b", "e", group="A", view=2),
        deliver("e", "a", group="A"), *map(stop, "abc"), stop("e", LEFT),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1} | NO_TOTAL, ALL


def message_before_its_own_cause() -> Case:
    """A heard B before it spoke, and B heard A: no order of events is possible."""
    rows = [
        deliver("A", "B", group="h"), multicast("A", group="g"),
        deliver("B", "A", group="g"), multicast("B", group="h"),
    ]  # fmt: skip
    return in_domain(rows), NOT_JUDGED, ALL


def own_message_before_it_is_multicast() -> Case:
    """A delivers what it has yet to multicast."""
    rows = [
        deliver("A", "A", group="g"), multicast("A", group="g"), multicast("A", group="h"),
        deliver("B", "A", group="h"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    return in_domain(rows), NOT_JUDGED, ALL


def wrong_within_a_group_that_cannot_be_ordered() -> Case:
    """What is wrong within a group is known in any case."""
    circle, _, _ = message_before_its_own_cause()
    rows = [
        multicast("X", group="g"), deliver("Y", "X", group="g"), multicast("Y", group="g"),
        deliver("Z", "Y", group="g"), deliver("Z", "X", group="g"),
    ]  # fmt: skip
    expected = {CAUSAL: 1, NO_ORPHAN: -1, TOTAL_CAUSAL: -1}
    return [*circle, *in_domain(rows)], expected, ALL


def total_order_across_groups() -> Case:
    """Both messages are in total order, each in its group."""
    rows = [
        multicast("A", group="g", order="total"), deliver("A", "A", group="g"),
        multicast("A", group="h", order="total"), deliver("A", "A", group="h"),
        deliver("B", "A", group="h"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1, TOTAL_CAUSAL: 1}, ALL


def total_order_through_another_group() -> Case:
    """The first and the last message are in total order; what links them is not."""
    rows = [
        multicast("a", group="A", order="total"), deliver("a", "a", group="A"),
        deliver("b", "a", group="A"), multicast("b", group="B"), deliver("c", "b", group="B"),
        multicast("c", group="C", order="total"), deliver("c", "c", group="C"),
        deliver("e", "c", group="C"), deliver("e", "a", group="A"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1, TOTAL_CAUSAL: 1}, ALL


def total_order_of_one_of_two() -> Case:
    """What comes late is in total order, what comes too early is not."""
    rows = [
        multicast("A", group="g", order="total"), deliver("A", "A", group="g"),
        multicast("A", group="h"), deliver("A", "A", group="h"),
        deliver("B", "A", group="h"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1}, ALL


def runs_of_messages() -> Case:
    """A speaks three times in g, then twice in h; C has the second group first: two are wrong."""
    rows = [
        multicast("A", count=3, group="g"), multicast("A", count=2, group="h"),
        deliver("C", "A", 1, 2, group="g"), deliver("C", "A", count=2, group="h"),
        deliver("C", "A", 3, group="g"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 2} | NO_TOTAL, ALL


def two_runs_of_a_domain() -> Case:
    """The same names in another run are another domain."""
    rows = [
        msgspec.structs.replace(row, run=f"r{place % 2}")
        for place in range(2)
        for row in in_domain(question()[:3] if place else question())
    ]
    return rows, {CAUSAL: 1} | NO_TOTAL, ALL


def not_subscribed() -> Case:
    """C need not have what is said in g."""
    terms = Terms(subscriptions={"g": ("B",)}, domains="one")
    return question()[:-1], NO_TOTAL, terms


def subscribed() -> Case:
    """C is to have what is said in g."""
    terms = Terms(subscriptions={"g": ("B", "C")}, domains="one")
    return question()[:-1], {NO_ORPHAN: 1} | NO_TOTAL, terms


def record_that_begins_late() -> Case:
    """C, whose record begins late, may have had the question before."""
    rows = [*question()[:-1], multicast("C", group="g")]
    return rows, NO_TOTAL, Terms(begins_late=("C",), domains="one")


def for_some(row: Event, *names: str) -> Event:
    """Return a multicast that is `to` these alone."""
    return msgspec.structs.replace(row, to=list(names))


def answer_first_to_some() -> Case:
    """Across groups, whom messages are `to` is not followed, so nothing is known."""
    asked, *rows = question()
    return in_domain([for_some(asked, "B", "C"), *rows]), NOT_JUDGED, ALL


def answer_to_some_last() -> Case:
    """Nor is it where nothing seems wrong."""
    asked, heard, answer, answered, asked_here = question()
    rows = [asked, heard, for_some(answer, "C"), asked_here, answered]
    return rows, NOT_JUDGED, ONE


def answer_first_to_some_each_group_by_itself() -> Case:
    """Nothing is promised across."""
    asked, *rows = question()
    return [for_some(asked, "B", "C"), *rows], NO_TOTAL, EACH


def answer_first_and_others_to_some() -> Case:
    """What is `to` some is in other groups."""
    rows = [for_some(multicast("X", group="i"), "Y"), deliver("Y", "X", group="i")]
    return in_domain([*question(), *rows]), {CAUSAL: 1} | NO_TOTAL, ALL


def circle_to_some() -> Case:
    """No order is possible, but that is not looked for."""
    rows = [
        deliver("A", "B", group="h"), for_some(multicast("A", group="g"), "B"),
        deliver("B", "A", group="g"), multicast("B", group="h"),
    ]  # fmt: skip
    return in_domain(rows), NOT_JUDGED, ALL


def wrong_within_a_group_to_some() -> Case:
    """What is wrong within a group is found, and counted once."""
    rows = [
        for_some(multicast("A", group="g"), "B", "C"), for_some(multicast("A", 2, group="g"), "C"),
        deliver("C", "A", 2, group="g"), deliver("C", "A", group="g"), deliver("B", "A", group="g"),
        multicast("B", group="h"), deliver("C", "B", group="h"),
    ]  # fmt: skip
    return in_domain(rows), {CAUSAL: 1, NO_ORPHAN: -1} | NO_TOTAL, ALL


def order_of_others_to_some() -> Case:
    """Messages that set the order of others may be `to` some, too, and some to all."""
    rows = [
        multicast("A", detail=SETS_ORDER), for_some(multicast("A", 2), "B"),
        for_some(multicast("A", 3, detail=SETS_ORDER), "B"), deliver("B", "A", count=3),
        deliver("C", "A"),
    ]  # fmt: skip
    return rows, NO_TOTAL, ALL


CASES: list[Callable[[], Case]] = [
    answer_first, answer_last, answer_first_said_on_the_command_line,
    answer_first_in_another_domain, answer_first_each_group_by_itself, rows_say_more_than_terms,
    one_group_of_three_names_no_domain, one_group_of_two_names_no_domain, one_row_names_the_domain,
    question_and_answer_by_one, way_through_another_group, chain_of_three_groups,
    chain_of_three_groups_in_order, chain_with_a_link_in_fifo_order,
    chain_with_a_link_that_sets_the_order_of_others, chain_that_ends_with_an_order_of_others,
    chain_with_a_link_that_nobody_multicast, chain_to_somebody_who_is_not_in_the_group, hole,
    hole_where_all_are_well, hole_where_somebody_failed, hole_where_no_more_failed_than_may,
    hole_where_more_failed_than_may, hole_where_others_failed, hole_of_a_view_that_all_left,
    hole_of_a_view_before_one_joined, late_in_a_view_that_was_left, message_before_its_own_cause,
    own_message_before_it_is_multicast, wrong_within_a_group_that_cannot_be_ordered,
    total_order_across_groups, total_order_through_another_group, total_order_of_one_of_two,
    runs_of_messages, two_runs_of_a_domain, not_subscribed, subscribed, record_that_begins_late,
    answer_first_to_some, answer_to_some_last, answer_first_to_some_each_group_by_itself,
    answer_first_and_others_to_some, circle_to_some, wrong_within_a_group_to_some,
    order_of_others_to_some,
]  # fmt: skip
