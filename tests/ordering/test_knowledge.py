"""What a process knows of other groups: when it passes on that something may be forgotten."""

from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.views import View
from antiphon.ordering.knowledge import Knowledge
from antiphon.ordering.own_stamps import VIEW, GroupClock
from antiphon.ordering.vector_clock import VectorClock

HERE, THERE, FAR = GroupNumber(1), GroupNumber(2), GroupNumber(9)


def clock_in(view: int) -> GroupClock:
    """Return the clock of a group in its first view, or a later one."""
    members = (ProcessId("p"), ProcessId("q"))
    return VectorClock(View(GroupName("g"), ViewNumber(view), members), Rank(0))


def known_and_told() -> Knowledge:
    """Return what a member of two groups knows: two entries of a third, which it has passed on."""
    knowledge = Knowledge({HERE: clock_in(1), THERE: clock_in(1)})
    knowledge.merge(((FAR, 2, ((0, 3), (1, 4))),), HERE)
    assert knowledge.stamp(THERE) == ((FAR, 2, ((0, 3), (1, 4))),)
    return knowledge


def test_words_that_come_one_by_one_are_passed_on_together() -> None:
    """One message to a group for all that may be forgotten there, with the next heartbeat."""
    knowledge = known_and_told()
    for rank, count in ((VIEW, 0), (0, 3), (1, 4)):
        knowledge.forget(((FAR, 2, ((rank, count),)),), HERE)
    assert not knowledge.foreign
    assert knowledge.collectable() == [(THERE, ((FAR, 2, ((VIEW, 0), (0, 3), (1, 4))),))]
    assert knowledge.collectable() == []


def test_word_of_an_older_count_leaves_what_was_told_since() -> None:
    """Who has told more since then owes the word for that still."""
    knowledge = known_and_told()
    knowledge.forget(((FAR, 2, ((0, 2),)),), HERE)
    assert knowledge.collectable() == []
    knowledge.forget(((FAR, 2, ((0, 3),)),), HERE)
    assert knowledge.collectable() == [(THERE, ((FAR, 2, ((0, 3),)),))]


def test_who_leaves_a_group_has_no_word_for_it() -> None:
    """What was to be said in a group that has been left is said to nobody."""
    knowledge = known_and_told()
    knowledge.forget(((FAR, 2, ((0, 3),)),), HERE)
    knowledge.leave(THERE, clock_in(1), 1)
    assert knowledge.collectable() == []
    knowledge.forget(((FAR, 2, ((1, 4),)),), HERE)
    assert knowledge.collectable() == []


def test_founding_view_is_not_told_by_itself() -> None:
    """Nobody has left another view for it; a later view is told before anything is sent in it."""
    clocks: dict[int, GroupClock] = {HERE: clock_in(1), THERE: clock_in(1), FAR: clock_in(2)}
    knowledge = Knowledge(clocks)
    for group, clock in clocks.items():
        knowledge.note_view(group, clock)
    assert knowledge.stamp(THERE) == ((FAR, 2, ()),)
    knowledge.note(HERE, clocks[HERE], 1)
    clocks[HERE].delivered[1] = 5
    assert knowledge.stamp(THERE) == ((HERE, 1, ((1, 5),)),)


def test_group_in_its_founding_view_is_forgotten_with_its_last_entry() -> None:
    """Of a founding view nothing else is kept."""
    knowledge = Knowledge({HERE: clock_in(1), THERE: clock_in(1)})
    knowledge.merge(((FAR, 1, ((0, 3),)),), HERE)
    knowledge.forget(((FAR, 1, ((0, 3),)),), HERE)
    assert not knowledge.foreign
