"""What becomes of wishes and suspicions: the view that a coordinator would propose."""

import pytest
from tests.membership.hands import A, B, C, D, X, Y, view_of

from antiphon.core.control import Ask
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.changes import DOUBTED_MAX, PAST_MAX, Changes, certainly_dead

FOUR = view_of(A, B, C, D)


def ask(
    suspected: tuple[ProcessId, ...] = (),
    joining: tuple[ProcessId, ...] = (),
    *,
    leaving: bool = False,
    has_state: bool = False,
) -> Ask:
    """Return what a member asks for."""
    return Ask(suspected, joining, leaving, has_state)


def next_view(
    changes: Changes,
    latest: View = FOUR,
    suspected: tuple[ProcessId, ...] = (),
    leavers: tuple[ProcessId, ...] = (),
    *,
    is_flushing: bool = False,
) -> View | None:
    """Return what would be proposed."""
    return changes.next_view(latest, list(suspected), list(leavers), is_flushing=is_flushing)


def test_nothing_asked_for_makes_no_view() -> None:
    """A group at rest stays as it is."""
    assert next_view(Changes(A)) is None


def test_what_comes_together_makes_one_view() -> None:
    """A failure, two joins and a leave end in one view, the joiners last."""
    changes = Changes(A)
    changes.joining[X] = None
    changes.take(B, ask(joining=(Y,)))
    changes.take(C, ask(leaving=True))
    view = next_view(changes, suspected=(D,))
    assert view is not None
    assert view.number == 2
    assert view.members == (A, B, X, Y)
    assert (view.joined, view.left, view.failed) == ((X, Y), (C,), (D,))


def test_newest_word_replaces_the_earlier_ones() -> None:
    """A member that trusts again what it suspected takes its accusation back."""
    changes = Changes(A)
    changes.take(B, ask((C,)))
    changes.take(B, ask())
    assert next_view(changes) is None


def test_of_two_that_accuse_each_other_the_senior_stays() -> None:
    """Accusations are heard from the senior down, and not from who is accused already."""
    changes = Changes(A)
    changes.take(C, ask((B,)))
    changes.take(B, ask((C,)))
    view = next_view(changes)
    assert view is not None
    assert view.failed == (C,)


def test_nobody_accuses_the_coordinator_to_its_face() -> None:
    """Who suspects the coordinator turns to another one; here it is not counted."""
    changes = Changes(A)
    changes.take(B, ask((A,)))
    assert next_view(changes) is None


def test_accused_go_only_as_far_as_a_quorum_stays() -> None:
    """Two that cannot reach each other do not keep the coordinator from excluding the dead."""
    five = view_of(A, B, C, D, X)
    changes = Changes(A)
    changes.take(B, ask((C, D, X)))
    changes.take(C, ask((B, D, X)))
    view = next_view(changes, five, (D, X))
    assert view is not None
    assert (view.members, view.failed) == ((A, B, C), (D, X))
    changes.learn(view)
    view = next_view(changes, view, is_flushing=True)
    assert view is not None
    assert (view.members, view.failed) == ((A, B), (C,))


def test_unfit_go_before_the_accused_and_accuse_nobody() -> None:
    """Who has lost touch with the coordinator, or with a majority, is not asked who should go."""
    changes = Changes(A)
    changes.take(B, ask((C, D)))
    view = changes.next_view(FOUR, [], [], is_flushing=False, unfit=[B])
    assert view is not None
    assert view.failed == (B,)


def test_suspect_is_told_that_it_is_not_heard_and_when_it_is_again() -> None:
    """It may hear this process; others whom one suspects are no business of its."""
    changes = Changes(C)
    told = changes.news(FOUR, B, [A, D], [A, D])
    assert told == [(A, ask((A,))), (D, ask((D,))), (B, ask((A, D)))]
    assert changes.news(FOUR, B, [A, D], [A, D]) == []
    assert sorted(changes.news(FOUR, A, [D], [D])) == sorted([(A, ask((D,))), (B, ask())])
    assert changes.news(FOUR, A, [], []) == [(A, ask()), (D, ask())]


def test_condemned_process_is_told_nothing() -> None:
    """There is nobody to tell."""
    assert Changes(C).news(FOUR, A, [D]) == [(A, ask((D,)))]


def test_blocked_process_accuses_nobody() -> None:
    """Who hears too few is the one that is cut off."""
    changes = Changes(C)
    told = changes.news(FOUR, A, [B, D], [B, D], is_blocked=True)
    assert told == [(B, ask((B,))), (D, ask((D,)))]


def test_accusations_by_strangers_do_not_count() -> None:
    """Only members of the last view have a say."""
    changes = Changes(A)
    changes.take(X, ask((B,), (Y,), leaving=True))
    assert next_view(changes) is None


def test_too_many_suspects_make_no_view() -> None:
    """Without a quorum of the last view there is nothing to propose."""
    changes = Changes(D)
    assert next_view(changes, suspected=(A, B)) is None
    view = next_view(Changes(A), suspected=(C, D))
    assert view is not None
    assert view.members == (A, B)


def test_joins_and_leaves_wait_while_a_view_is_being_left() -> None:
    """During a flush only failures make another view, so a view cannot be starved."""
    changes = Changes(A)
    changes.joining[X] = None
    changes.take(B, ask(leaving=True))
    assert next_view(changes, is_flushing=True) is None
    view = next_view(changes, suspected=(D,), is_flushing=True)
    assert view is not None
    assert view.members == (A, B, C)
    assert (view.joined, view.left, view.failed) == ((), (), (D,))


def test_leaver_that_dies_on_the_way_fails() -> None:
    """A process that is out already, but waited for, is put among the failed."""
    changes = Changes(A)
    view = next_view(changes, view_of(A, B, C, number=2), (D,), (D,), is_flushing=True)
    assert view is not None
    assert view.failed == (D,)
    assert view.members == (A, B, C)


def test_stranger_that_is_suspected_makes_no_view() -> None:
    """Who is neither member nor leaver cannot fail."""
    assert next_view(Changes(A), suspected=(X,)) is None


@pytest.mark.parametrize(("stateless", "keeper"), [((), A), ((A,), B), ((A, B), C)])
def test_when_everybody_leaves_the_senior_with_the_state_stays_for_now(
    stateless: tuple[ProcessId, ...], keeper: ProcessId
) -> None:
    """Somebody has to be in the next view, and to know the group's state."""
    changes = Changes(B)
    changes.is_leaving, changes.has_state = True, B not in stateless
    for peer in (A, C):
        changes.take(peer, ask(leaving=True))
    view = next_view(changes, view_of(A, B, C, stateless=stateless))
    assert view is not None
    assert view.members == (keeper,)
    assert view.left == tuple(member for member in (A, B, C) if member != keeper)


def test_everybody_leaves_also_when_the_state_is_lost() -> None:
    """With nobody left who has the state, leaving all together still makes a view."""
    changes = Changes(A)
    changes.is_leaving, changes.has_state = True, False
    changes.take(B, ask(leaving=True))
    view = next_view(changes, view_of(A, B, stateless=(A, B)))
    assert view is not None
    assert len(view.members) == 1


def test_last_holder_of_the_state_waits_for_a_joiner_to_have_it() -> None:
    """Who alone has the state leaves when somebody who stays has got it, and not before."""
    latest = view_of(A, X, number=2, stateless=(X,))
    changes = Changes(A)
    changes.is_leaving = True
    assert next_view(changes, latest) is None
    changes.take(X, ask(has_state=True))
    view = next_view(changes, latest)
    assert view is not None
    assert (view.members, view.left, view.stateless) == ((X,), (A,), ())


def test_last_one_alone_proposes_nothing_to_leave() -> None:
    """A view without members does not exist."""
    changes = Changes(A)
    changes.is_leaving = True
    assert next_view(changes, view_of(A)) is None


def test_namesake_of_a_member_is_not_taken_in() -> None:
    """Names are unique among those that stay; another incarnation comes in when one fails."""
    again = ProcessId("d", 2, 1, "elsewhere")
    changes = Changes(A)
    changes.joining[again] = None
    assert next_view(changes) is None
    view = next_view(changes, suspected=(D,))
    assert view is not None
    assert view.members == (A, B, C, again)
    assert (view.failed, view.joined) == ((D,), (again,))


@pytest.mark.parametrize(("number", "is_taken"), [(2, False), (3, False), (4, True)])
def test_only_an_incarnation_after_the_last_is_taken_in(number: int, is_taken: bool) -> None:
    """Whoever asks with a number that has been used is no new incarnation."""
    latest = View(FOUR.group, FOUR.number, FOUR.members, past=(("x", 3),))
    changes = Changes(A)
    changes.joining[ProcessId("x", number)] = None
    assert (next_view(changes, latest) is not None) is is_taken


def test_two_lives_of_one_name_make_one_joiner() -> None:
    """Of two that ask under one name, the first one heard of comes in."""
    changes = Changes(A)
    changes.joining[ProcessId("x", 2)] = None
    changes.take(B, ask(joining=(ProcessId("x", 3),)))
    view = next_view(changes)
    assert view is not None
    assert view.joined == (ProcessId("x", 2),)


def test_lives_of_the_departed_are_remembered_until_somebody_bears_the_name() -> None:
    """Views carry the last incarnation of each name that is gone, and of no name that is there."""
    latest = View(FOUR.group, FOUR.number, FOUR.members, past=(("x", 3), ("y", 1)))
    changes = Changes(A)
    changes.joining[ProcessId("x", 4)] = None
    view = next_view(changes, latest, (D,))
    assert view is not None
    assert dict(view.past) == {"y": 1, "d": 1}
    assert view.last_incarnation_of("x") == 4


def test_memory_of_the_departed_is_bounded() -> None:
    """The oldest names are forgotten first."""
    past = tuple((f"n{number}", 1) for number in range(PAST_MAX))
    latest = View(FOUR.group, FOUR.number, FOUR.members, past=past)
    view = next_view(Changes(A), latest, (D,))
    assert view is not None
    assert len(view.past) == PAST_MAX
    assert view.past[-1] == ("d", 1)
    assert view.past[0] == ("n1", 1)


def test_joiners_lack_the_state_until_they_say_otherwise() -> None:
    """A view lists who is not known to have the state: new members, and recent ones."""
    latest = view_of(A, B, C, number=2, stateless=(B, C))
    changes = Changes(A)
    changes.joining[X] = None
    changes.take(C, ask(has_state=True))
    view = next_view(changes, latest)
    assert view is not None
    assert view.stateless == (B, X)


def test_member_tells_once_that_it_has_the_state() -> None:
    """It is news only while the last view still says that the state is lacking."""
    changes = Changes(A)
    lacking = view_of(A, B, stateless=(A,))
    assert changes.news(lacking, B, []) == [(B, Ask((), (), leaving=False, has_state=True))]
    assert changes.news(lacking, B, []) == []
    assert Changes(A).news(view_of(A, B), B, []) == []


def test_what_a_view_brought_about_is_forgotten() -> None:
    """Joiners that are in, or gone, and the words of former members are dropped."""
    changes = Changes(A)
    changes.joining |= {X: None, Y: None}
    changes.take(D, ask((B,)))
    changes.take(B, ask(leaving=True))
    changes.learn(view_of(A, B, C, X, number=2, joined=(X,), failed=(D,)))
    assert list(changes.joining) == [Y]
    assert list(changes._asked) == [B]
    view = next_view(changes, view_of(A, B, C, X, number=2))
    assert view is not None
    assert (view.left, view.joined, view.failed) == ((B,), (Y,), ())


def test_joiner_that_is_gone_is_dropped() -> None:
    """Nobody is taken in who is known to be dead."""
    changes = Changes(A)
    changes.joining[X] = None
    changes.drop_joiner(X)
    changes.drop_joiner(Y)
    assert next_view(changes) is None


def test_who_failed_is_doubted_unless_certainly_dead() -> None:
    """C was suspected, nobody listens where D was."""
    view = next_view(Changes(A, is_dead=D.__eq__), suspected=(C, D))
    assert view is not None
    assert view.failed == (C, D)
    assert view.doubted == (C,)


def test_who_is_doubted_is_so_until_somebody_else_is_where_it_was() -> None:
    """C comes back as another incarnation, in the view after the next."""
    changes = Changes(A)
    latest = next_view(changes, suspected=(C,))
    assert latest is not None
    later = next_view(changes, latest, suspected=(D,))
    assert later is not None
    assert later.doubted == (C, D)
    changes.joining[ProcessId(C.name, 2, 7, C.address)] = None
    last = next_view(changes, later)
    assert last is not None
    assert last.doubted == (D,)


def test_who_is_doubted_no_more_for_want_of_room_does_not_count_as_dead() -> None:
    """More fail at once than are remembered: of those left out nothing is certain."""
    many = tuple(ProcessId(f"m{number}") for number in range(DOUBTED_MAX + 1))
    view = next_view(Changes(A), view_of(A, *many, *(ProcessId(f"n{i}") for i in range(70))), many)
    assert view is not None
    assert len(view.doubted) == DOUBTED_MAX < len(view.failed)
    assert certainly_dead(view) == []
    few = next_view(Changes(A, is_dead=D.__eq__), suspected=(C, D))
    assert few is not None
    assert certainly_dead(few) == [D]
