"""Between views: who takes part in leaving one, and whom it concerns."""

from tests.membership.hands import A, B, C, D, X, Y, view_of

from antiphon.core.views import View
from antiphon.membership.transition import Transition


def between(current: View | None, *pending: View) -> Transition:
    """Return a transition with these views agreed on."""
    transition = Transition(current)
    for view in pending:
        transition.learn(view)
    return transition


def test_process_outside_is_in_no_view_and_takes_part_in_nothing() -> None:
    """Before its first view a process has number 0."""
    transition = between(None)
    assert transition.number == 0
    assert transition.newest is None
    assert transition.participants() == []
    assert transition.excluded_ranks() == []
    assert list(transition.everybody()) == []


def test_everybody_but_the_failed_takes_part() -> None:
    """Whoever failed in any view since is no participant, by seniority the others are."""
    transition = between(
        view_of(A, B, C, D),
        view_of(A, B, C, number=2, failed=(D,)),
        view_of(A, C, number=3, failed=(B,)),
    )
    assert transition.participants() == [A, C]
    assert transition.participants(2) == [A, B, C]
    assert transition.excluded_ranks() == [1, 3]
    assert transition.number == 1
    newest = transition.newest
    assert newest is not None
    assert newest.number == 3


def test_leaver_takes_part_until_it_fails() -> None:
    """A voluntary leaver is a participant (000-17 f); one that dies is removed by a view."""
    leaving = view_of(A, B, number=2, left=(C,))
    transition = between(view_of(A, B, C), leaving)
    assert transition.participants() == [A, B, C]
    assert transition.excluded_ranks() == []
    transition.learn(view_of(A, B, number=3, failed=(C,)))
    assert transition.participants() == [A, B]
    assert transition.participants(2) == [A, B, C]
    assert transition.excluded_ranks() == [2]


def test_joiner_infers_the_participants_from_its_first_view() -> None:
    """Who was there before, and who left, takes part; joiners do not."""
    transition = between(None, view_of(A, B, X, Y, number=5, joined=(X, Y), left=(C,)))
    assert transition.participants() == [A, B, C]
    assert transition.excluded_ranks() == []
    assert list(transition.everybody()) == [A, B, X, Y, C]


def test_views_are_entered_one_by_one_in_order() -> None:
    """However many are agreed on, the next one is the first of them."""
    second = view_of(A, B, X, number=2, joined=(X,))
    third = view_of(A, B, X, Y, number=3, joined=(Y,))
    transition = between(view_of(A, B), second, third)
    assert transition.enter() is second
    assert transition.current is second
    assert transition.pending == [third]
    assert transition.participants() == [A, B, X]


def test_leaver_lingers_until_it_is_through() -> None:
    """Who left is told what happens until it says that it needs nothing more."""
    transition = between(view_of(A, B, C), view_of(A, B, number=2, left=(C,)))
    transition.enter()
    assert list(transition.everybody()) == [A, B, C]
    assert transition.forget(C)
    assert not transition.forget(C)
    assert list(transition.everybody()) == [A, B]


def test_leaver_that_failed_does_not_linger() -> None:
    """Who is out by failure is nobody's business any more, in whatever order views come."""
    transition = between(
        view_of(A, B, C),
        view_of(A, B, number=2, left=(C,)),
        view_of(A, B, number=3, failed=(C,)),
    )
    assert list(transition.everybody()) == [A, B]
    transition.enter()
    assert list(transition.everybody()) == [A, B]
    transition.enter()
    assert list(transition.everybody()) == [A, B]


def test_leaver_that_fails_while_it_lingers_is_forgotten() -> None:
    """A view that says it failed ends the lingering, also after that view has begun."""
    transition = between(view_of(A, B, C), view_of(A, B, number=2, left=(C,)))
    transition.enter()
    transition.learn(view_of(A, B, number=3, failed=(C,)))
    assert list(transition.everybody()) == [A, B]
    transition.enter()
    assert list(transition.everybody()) == [A, B]


def test_everybody_is_who_is_in_any_view_and_has_not_failed() -> None:
    """Joiners of pending views are told, those who failed in one are not."""
    transition = between(
        view_of(A, B, C),
        view_of(A, B, X, number=2, joined=(X,), failed=(C,)),
        view_of(A, X, Y, number=3, joined=(Y,), failed=(B,)),
    )
    assert list(transition.everybody()) == [A, X, Y]
