"""Views: members in order of seniority, ranks from 0."""

import pytest

from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View

ALICE, BOB = ProcessId("alice"), ProcessId("bob")


def test_rank_is_the_place_in_the_view() -> None:
    """The order of members, not of their names, decides."""
    view = View(GroupName("chat"), ViewNumber(1), (BOB, ALICE))
    assert [view.rank_of(BOB), view.rank_of(ALICE)] == [0, 1]


def test_member_listed_twice_is_an_error() -> None:
    """A process has one entry in a vector, so it can be listed once only."""
    with pytest.raises(ValueError, match="listed twice"):
        View(GroupName("chat"), ViewNumber(1), (ALICE, ALICE))


def test_view_number_zero_is_an_error() -> None:
    """0 means no view yet."""
    with pytest.raises(ValueError, match="numbered from 1"):
        View(GroupName("chat"), ViewNumber(0), (ALICE,))
