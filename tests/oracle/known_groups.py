"""Hand-written traces of several groups, with what is to be said of causality in them.

Both judges are asked about each of them. A number is how often causal order, or what rests on it,
is broken; -1 stands for "unknown", and what is not listed holds.
"""

from collections.abc import Callable

from tests.trace.hand_written import deliver, multicast, view, vote

from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property

CAUSAL, NO_ORPHAN, TOTAL_CAUSAL = Property.CAUSAL, Property.NO_ORPHAN, Property.TOTAL_CAUSAL
ASKED = (CAUSAL, NO_ORPHAN, TOTAL_CAUSAL)

Case = tuple[list[Event], dict[Property, int]]

NO_TOTAL = {TOTAL_CAUSAL: -1}
NOT_JUDGED = {CAUSAL: -1, NO_ORPHAN: -1, TOTAL_CAUSAL: -1}


def answer_in_another_group() -> Case:
    """A asks in one group, B answers in another, and C, who is in both, has the answer first."""
    rows = [
        multicast("A", group="g"), deliver("B", "A", group="g"), multicast("B", group="h"),
        deliver("C", "B", group="h"), deliver("C", "A", group="g"),
    ]  # fmt: skip
    return rows, NOT_JUDGED


def answer_in_another_group_in_right_order() -> Case:
    """As before, but in order: nothing looks at it, so nothing is said of it either."""
    rows, _ = answer_in_another_group()
    return [*rows[:3], rows[4], rows[3]], NOT_JUDGED


def answer_through_another_group() -> Case:
    """Both messages are of one group, but the way from one to the other leads through another."""
    rows = [
        multicast("A", group="g"), multicast("A", group="h"), deliver("B", "A", group="h"),
        multicast("B", group="g"), deliver("C", "B", group="g"), deliver("C", "A", group="g"),
        deliver("A", "B", group="g"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    return rows, NOT_JUDGED


def answer_before_its_question_inside_a_group() -> Case:
    """What is wrong within one group is wrong, whatever else there is."""
    rows, _ = answer_in_another_group()
    rows += [
        multicast("X", group="g"), deliver("Y", "X", group="g"), multicast("Y", group="g"),
        deliver("Z", "Y", group="g"), deliver("Z", "X", group="g"),
    ]  # fmt: skip
    return rows, {CAUSAL: 1, NO_ORPHAN: -1, TOTAL_CAUSAL: -1}


def total_order_in_two_groups() -> Case:
    """That total order respects causality is not known across groups either."""
    rows = [
        multicast("A", group="g", order="total"), deliver("A", "A", group="g"),
        multicast("A", group="h", order="total"), deliver("A", "A", group="h"),
        deliver("B", "A", group="h"), deliver("B", "A", group="g"),
    ]  # fmt: skip
    return rows, NOT_JUDGED


def view_of_another_group() -> Case:
    """A view row alone shows that a process is in a group."""
    return [multicast("A"), deliver("B", "A"), view("A", "A", "B", group="h")], NOT_JUDGED


def groups_without_a_common_process() -> Case:
    """Nothing passes from one group to the other: both are judged as ever."""
    rows = [multicast("A", group="g"), deliver("B", "A", group="g")]
    return [*rows, multicast("C", group="h"), deliver("D", "C", group="h")], NO_TOTAL


def two_views_of_one_group() -> Case:
    """Another view is no other group."""
    return [multicast("A"), deliver("B", "A"), view("A", "A", "B", view=2)], NO_TOTAL


def two_runs() -> Case:
    """The same name in another run is another process."""
    rows = [multicast("A", group="g", run="x"), deliver("B", "A", group="g", run="x")]
    rows += [multicast("A", group="h", run="y"), deliver("B", "A", group="h", run="y")]
    return rows, NO_TOTAL


def vote_in_another_group() -> Case:
    """A vote is no message, and its group does not count."""
    return [multicast("A"), deliver("B", "A"), vote("A", "yes", "B", group="h")], NO_TOTAL


def listed_in_another_group() -> Case:
    """Who has no row of a group has done nothing there, whatever views say."""
    rows = [multicast("A"), deliver("B", "A"), view("C", "A", "B", "C", group="h")]
    return rows, NO_TOTAL


CASES: list[Callable[[], Case]] = [
    answer_in_another_group, answer_in_another_group_in_right_order, answer_through_another_group,
    answer_before_its_question_inside_a_group, total_order_in_two_groups, view_of_another_group,
    groups_without_a_common_process, two_views_of_one_group, two_runs, vote_in_another_group,
    listed_in_another_group,
]  # fmt: skip
