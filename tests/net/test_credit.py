"""Credit: what is withheld is said later, and nothing is said twice or of another view."""

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.net.credit import Credit

BOB = ProcessId("bob")


def test_withheld_receipts_are_said_when_they_may_be() -> None:
    """The latest of each sender, all at once; what is stable is said at any time."""
    credit = Credit()
    credit.begin(3)
    assert credit.give(Alive(3, ((0, 5), (1, 2)), 7, 3), withhold=True) == Alive(3, (), 7, 3)
    assert credit.give(Alive(3, ((1, 4),), 8, 3), withhold=True) == Alive(3, (), 8, 3)
    said = credit.give(Alive(3, ((2, 1),), 9, 3), withhold=False)
    assert said == Alive(3, ((0, 5), (1, 4), (2, 1)), 9, 3)
    assert credit.give(Alive(3, ((1, 5),), 9, 3), withhold=False) == Alive(3, ((1, 5),), 9, 3)


def test_new_view_makes_what_was_withheld_void() -> None:
    """Numbers of one view say nothing about another."""
    credit = Credit()
    credit.begin(3)
    credit.give(Alive(3, ((0, 5),), 0, 3), withhold=True)
    credit.begin(4)
    assert credit.give(Alive(4, ((0, 1),), 0, 4), withhold=False) == Alive(4, ((0, 1),), 0, 4)


def test_confirmations_are_noted_by_member() -> None:
    """Only those of the current view, and of this process's own messages."""
    credit = Credit()
    credit.begin(3)
    credit.get(BOB, 1, Alive(3, ((0, 9), (1, 4)), 0, 3))
    credit.get(BOB, 1, Alive(2, ((1, 8),), 0, 3))
    assert credit.confirmed == {BOB: 4}
    credit.begin(4)
    assert credit.confirmed == {}
