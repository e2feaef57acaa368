"""Hand-written traces about total order, uniform delivery and transactions, with their verdicts.

Both judges are asked about each of them. A number is how often a property is broken; -1 stands for
"unknown", and what is not listed holds.
"""

from collections.abc import Callable

from tests.trace.hand_written import crash, decide, deliver, multicast, start, stop, view, vote

from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property

TOTAL, TOTAL_CAUSAL = Property.TOTAL, Property.TOTAL_CAUSAL
UNIFORM, COMMIT = Property.UNIFORM, Property.COMMIT
ASKED = (TOTAL, TOTAL_CAUSAL, UNIFORM, COMMIT)

Case = tuple[list[Event], dict[Property, int]]

NO_TRANSACTION = {COMMIT: -1}
NOT_UNIFORM = {COMMIT: -1, UNIFORM: -1}


def two_messages(*, uniform: tuple[bool, bool] = (False, False)) -> list[Event]:
    """A and B multicast in total order, and both deliver A's message first."""
    one, two = uniform
    return [
        start("A"), start("B"), start("C"),
        multicast("A", order="total", uniform=one), multicast("B", order="total", uniform=two),
        deliver("A", "A"), deliver("A", "B"), deliver("B", "A"), deliver("B", "B"),
    ]  # fmt: skip


def quiet(*names: str) -> list[Event]:
    """Return quiet ends."""
    return [stop(name) for name in names]


def the_same_order_everywhere() -> Case:
    """All deliver the two messages in one order."""
    rows = [*two_messages(), deliver("C", "A"), deliver("C", "B"), *quiet("A", "B", "C")]
    return rows, NOT_UNIFORM


def another_order_at_one() -> Case:
    """C has them the other way round: one delivery too early."""
    rows = [*two_messages(), deliver("C", "B"), deliver("C", "A"), *quiet("A", "B", "C")]
    return rows, {TOTAL: 1, **NOT_UNIFORM}


def another_order_at_the_first_by_name() -> Case:
    """The first by name is what the others are measured by: B and C are told to be wrong."""
    rows = [*two_messages(), deliver("C", "A"), deliver("C", "B"), *quiet("A", "B", "C")]
    rows[5], rows[6] = rows[6], rows[5]
    return rows, {TOTAL: 2, **NOT_UNIFORM}


def another_order_at_one_who_died() -> Case:
    """C crashed: what it did is not held against it, as the messages are not uniform."""
    rows = [*two_messages(), deliver("C", "B"), deliver("C", "A"), crash("C"), *quiet("A", "B")]
    return rows, NOT_UNIFORM


def another_order_of_uniform_messages_at_one_who_died() -> Case:
    """Both messages are uniform: a dead process's order counts like any other."""
    rows = two_messages(uniform=(True, True))
    rows += [deliver("C", "B"), deliver("C", "A"), crash("C"), *quiet("A", "B")]
    return rows, {TOTAL: 1, **NO_TRANSACTION}


def another_order_of_one_uniform_message_at_one_who_died() -> Case:
    """Only one of the two is uniform: a dead process is not held to their order."""
    rows = two_messages(uniform=(True, False))
    rows += [deliver("C", "B"), deliver("C", "A"), crash("C"), *quiet("A", "B")]
    return rows, NO_TRANSACTION


def another_order_at_one_who_went_on_and_died() -> Case:
    """C installed the next view before it crashed: it is held to the order."""
    rows = [*two_messages(), deliver("C", "B"), deliver("C", "A")]
    rows += [view("C", "A", "B", "C", view=2), crash("C"), *quiet("A", "B")]
    return rows, {TOTAL: 1, **NOT_UNIFORM}


def another_order_of_causal_messages() -> Case:
    """One of the two is in causal order: they may come as they like."""
    rows = [*two_messages(), deliver("C", "B"), deliver("C", "A"), *quiet("A", "B", "C")]
    rows[4] = multicast("B", order="causal")
    return rows, NOT_UNIFORM


def another_order_in_another_view() -> Case:
    """The same numbers in different views are different messages."""
    rows = two_messages()
    rows += [deliver("C", "B", view=2), deliver("C", "A"), *quiet("A", "B", "C")]
    return rows, NOT_UNIFORM


def another_order_of_long_runs() -> Case:
    """Counts are of messages, not of rows: three of B came before those of A."""
    rows = [
        multicast("A", 1, 4, order="total"), multicast("B", 1, 3, order="total"),
        deliver("A", "A", 1, 4), deliver("A", "B", 1, 3),
        deliver("B", "A", 1, 2), deliver("B", "A", 3, 2), deliver("B", "B", 1, 3),
        deliver("C", "A", 1), deliver("C", "B", 1, 3), deliver("C", "A", 2, 3),
    ]  # fmt: skip
    return rows, {TOTAL: 3, **NOT_UNIFORM}


def another_order_where_multicasts_are_lost() -> Case:
    """The sender's record is gone: what the deliver rows say was asked for counts."""
    rows = [
        start("Z"), crash("Z"),
        deliver("A", "Z", 1, order="total"), deliver("A", "Z", 2, order="total"),
        deliver("B", "Z", 2, order="total"), deliver("B", "Z", 1, order="total"),
    ]  # fmt: skip
    return rows, {TOTAL: 1, TOTAL_CAUSAL: -1, **NOT_UNIFORM}


def what_the_multicast_says_counts() -> Case:
    """The deliver rows ask for total order, the multicasts do not: there is nothing to hold."""
    rows = [
        multicast("A", order="causal"), multicast("B"),
        deliver("A", "A", order="total"), deliver("A", "B", order="total"),
        deliver("B", "B", order="total"), deliver("B", "A", order="total"),
    ]  # fmt: skip
    return rows, NOT_UNIFORM


def own_deliveries_that_are_not_recorded() -> Case:
    """A and B record no delivery of their own: that they multicast it first says nothing."""
    rows = [
        multicast("A", order="total"), multicast("B", order="total"),
        deliver("A", "B"), deliver("B", "A"), deliver("C", "A"), deliver("C", "B"),
    ]  # fmt: skip
    return rows, NOT_UNIFORM


def two_dead_ones_disagree_on_what_nobody_else_has() -> Case:
    """B survives with neither message: it lacks both, and the dead disagree about their order."""
    rows = two_messages(uniform=(True, True))
    rows[5:9] = [deliver("A", "A"), deliver("A", "B"), crash("A")]
    rows += [deliver("C", "B"), deliver("C", "A"), crash("C"), *quiet("B")]
    return rows, {TOTAL: 1, UNIFORM: 2, **NO_TRANSACTION}


def answer_before_its_question() -> Case:
    """A and C deliver B's answer before A's question; B itself and C differ from those before."""
    rows = [
        multicast("A", order="total"), deliver("B", "A"), multicast("B", order="total"),
        deliver("B", "B"), deliver("A", "B"), deliver("A", "A"), deliver("C", "B"),
        deliver("C", "A"),
    ]  # fmt: skip
    return rows, {TOTAL: 2, TOTAL_CAUSAL: 2, **NOT_UNIFORM}


def answer_before_a_question_in_causal_order() -> Case:
    """The question was not in total order: that breaks causal order, but not total-causal."""
    rows, _ = answer_before_its_question()
    rows[0] = multicast("A", order="causal")
    return rows, NOT_UNIFORM


def uniform_message_of_the_dead() -> Case:
    """A delivered its message and died; B went on to the next view without it, C did not."""
    rows = [
        *(start(name) for name in "ABC"), *(view(name, "A", "B", "C") for name in "ABC"),
        multicast("A", uniform=True), deliver("A", "A"), crash("A"),
        deliver("C", "A"), view("C", "B", "C", view=2), view("B", "B", "C", view=2),
        crash("C"), crash("B"),
    ]  # fmt: skip
    return rows, {UNIFORM: 1, TOTAL: -1, TOTAL_CAUSAL: -1, **NO_TRANSACTION}


def uniform_message_that_a_survivor_never_got() -> Case:
    """B ends quietly without what A delivered before it died."""
    rows = [
        start("A"), start("B"), multicast("A", uniform=True), deliver("A", "A"), crash("A"),
        deliver("B", "B", 7), stop("B"),
    ]  # fmt: skip
    return rows, {UNIFORM: 1, TOTAL: -1, TOTAL_CAUSAL: -1, **NO_TRANSACTION}


def uniform_message_that_nobody_delivered() -> Case:
    """A multicast and died: without a delivery on record it owes nothing, nor do the others."""
    rows = [
        start("A"), start("B"), multicast("A", uniform=True), crash("A"),
        multicast("B", uniform=True), deliver("B", "B"), stop("B"),
    ]  # fmt: skip
    return rows, {UNIFORM: -1, TOTAL: -1, TOTAL_CAUSAL: -1, **NO_TRANSACTION}


def ordinary_message_of_the_dead() -> Case:
    """What is not uniform may be lost with those who delivered it."""
    rows, _ = uniform_message_of_the_dead()
    rows[6] = multicast("A")
    return rows, {UNIFORM: -1, TOTAL: -1, TOTAL_CAUSAL: -1, **NO_TRANSACTION}


def decisions(*rows: Event) -> list[Event]:
    """Return a trace in which something was delivered, and decided."""
    return [multicast("A"), deliver("B", "A"), *rows]


ONLY_DECISIONS = {TOTAL: -1, TOTAL_CAUSAL: -1, UNIFORM: -1}


def one_decision() -> Case:
    """All decide the same; one learns it twice."""
    rows = decisions(
        vote("A", "yes", "A"), vote("B", "yes", "A"),
        decide("A", "commit", "A"), decide("B", "commit", "A"), decide("B", "commit", "A"),
        vote("B", "no", "A", 2), decide("A", "abort", "A", 2),
    )  # fmt: skip
    return rows, ONLY_DECISIONS


def two_decisions() -> Case:
    """B, which crashed, and C decide otherwise than A."""
    rows = decisions(
        decide("A", "commit", "A", 3), decide("B", "abort", "A", 3), crash("B"),
        decide("C", "abort", "A", 3),
    )  # fmt: skip
    return rows, {COMMIT: 2, **ONLY_DECISIONS}


def two_decisions_of_one_process() -> Case:
    """A changes its mind."""
    rows = decisions(decide("A", "commit", "A"), decide("A", "abort", "A"))
    return rows, {COMMIT: 1, **ONLY_DECISIONS}


def commit_of_what_was_refused() -> Case:
    """C voted no: A and B may not commit, and that C aborts is no contradiction of its own."""
    rows = decisions(
        vote("C", "no", "B", 7), decide("A", "commit", "B", 7), decide("B", "commit", "B", 7),
    )  # fmt: skip
    return rows, {COMMIT: 2, **ONLY_DECISIONS}


def transactions_of_others() -> Case:
    """The same number of another initiator, or in another group, is another transaction."""
    rows = decisions(
        decide("A", "commit", "A"), decide("B", "abort", "B"),
        decide("B", "abort", "A", group="g"), vote("B", "no", "A", 2), vote("B", "no", "B"),
    )  # fmt: skip
    return rows, ONLY_DECISIONS


def two_decisions_without_any_delivery() -> Case:
    """Transactions are judged even if nothing else can be."""
    rows = [decide("A", "commit", "A", group="g"), decide("B", "abort", "A", group="g")]
    return rows, {COMMIT: 1, **ONLY_DECISIONS}


CASES: list[Callable[[], Case]] = [
    the_same_order_everywhere, another_order_at_one, another_order_at_the_first_by_name,
    another_order_at_one_who_died, another_order_of_uniform_messages_at_one_who_died,
    another_order_of_one_uniform_message_at_one_who_died,
    another_order_at_one_who_went_on_and_died, another_order_of_causal_messages,
    another_order_in_another_view, another_order_of_long_runs,
    another_order_where_multicasts_are_lost, what_the_multicast_says_counts,
    own_deliveries_that_are_not_recorded, two_dead_ones_disagree_on_what_nobody_else_has,
    answer_before_its_question, answer_before_a_question_in_causal_order,
    uniform_message_of_the_dead, uniform_message_that_a_survivor_never_got,
    uniform_message_that_nobody_delivered, ordinary_message_of_the_dead,
    one_decision, two_decisions, two_decisions_of_one_process, commit_of_what_was_refused,
    transactions_of_others, two_decisions_without_any_delivery,
]  # fmt: skip
