"""What a process knows of other groups: when it passes on that something may be forgotten."""

import pytest

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


def test_who_was_told_an_older_view_is_told_the_one_that_has_followed() -> None:
    """What was said of the older one is not forgotten: the new view is to be named in its place."""
    knowledge = known_and_told()
    knowledge.merge(((FAR, 3, ()),), HERE)
    assert knowledge.collectable() == [(THERE, ((FAR, 3, ()),))]
    assert knowledge.collectable() == []
    assert knowledge.stamp(THERE) == ((FAR, 3, ()),), "others may not have heard that word"
    knowledge.forget(((FAR, 3, ((VIEW, 0),)),), HERE)
    assert knowledge.collectable() == [(THERE, ((FAR, 3, ((VIEW, 0),)),))]
    assert not knowledge.foreign


def test_who_is_told_the_view_that_has_followed_names_it_in_all_groups() -> None:
    """Also in the group that told it: others there may have yet to hear that word."""
    knowledge = known_and_told()
    knowledge.forget(((FAR, 3, ()),), HERE)
    assert knowledge.stamp(HERE) == ((FAR, 3, ()),)
    assert knowledge.collectable() == [(THERE, ((FAR, 3, ()),))]


def test_view_that_has_followed_is_no_news_of_what_is_forgotten() -> None:
    """Nothing is to be named in place of nothing."""
    knowledge = Knowledge({HERE: clock_in(1), THERE: clock_in(1)})
    knowledge.forget(((FAR, 3, ()),), HERE)
    assert not knowledge.foreign


def test_word_of_a_newer_view_takes_what_is_known_of_the_older_with_it() -> None:
    """All have left the older one, or they would not have left the newer."""
    knowledge = known_and_told()
    knowledge.forget(((FAR, 3, ((VIEW, 0),)),), HERE)
    assert not knowledge.foreign
    assert knowledge.collectable() == [(THERE, ((FAR, 2, ((VIEW, 0), (0, 3), (1, 4))),))]


def test_views_that_are_never_forgotten_are_remembered_of_so_many_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The group goes of which nothing but its view has been known for longest."""
    monkeypatch.setattr("antiphon.ordering.knowledge.GROUPS_MAX", 3)
    knowledge = Knowledge({HERE: clock_in(1)})
    for number in range(5):
        knowledge.merge(((FAR + number, 2, ((0, 1),) if number == 0 else ()),), HERE)
    assert list(knowledge.foreign) == [FAR, FAR + 3, FAR + 4]
