"""What members say of who fails: when nothing of it is missing, nor will come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest
from tests.membership.hands import A, B, C, D, E, view_of

from antiphon.core.control import AnyMessage, HeardOf
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.membership.transition import Transition
from antiphon.ordering.mixed import MixedDomain
from antiphon.stack.failing import Failing

G = GroupNumber(4)
FIVE = view_of(A, B, C, D, E)
WITHOUT_E = view_of(A, B, C, D, number=2, failed=(E,))
WITHOUT_D = view_of(A, B, C, number=3, failed=(D,))


@dataclass
class Part:
    """The part of a in a group."""

    transition: Transition
    me: ProcessId = A
    early: Mapping[tuple[int, int], int] = field(default_factory=dict)
    said: list[AnyMessage] = field(default_factory=list)

    def early_from(self, rank: int, view_number: int) -> int:
        """Return what has come early."""
        return self.early.get((view_number, rank), 0)

    def tell(self, message: AnyMessage, *, later: bool = False) -> None:
        """Note it."""
        assert later
        self.said.append(message)


@dataclass
class Counts:
    """What a has received in its current view."""

    received: list[int]

    def received_of(self, group: GroupNumber, rank: int) -> int:
        """Tell."""
        assert group == G
        return self.received[rank]


def failing(*received: int) -> tuple[Failing, Part]:
    """Return what a, in the view of five, knows; having received so much of each."""
    part = Part(Transition(FIVE))
    return Failing({G: part}, cast("MixedDomain", Counts(list(received)))), part


def test_nothing_is_said_where_nobody_fails() -> None:
    """A view with a leaver or a joiner needs no word."""
    of_a, part = failing(0, 0, 0, 0, 0)
    of_a.look(G)
    part.transition.learn(view_of(A, B, C, D, number=2, left=(E,)))
    of_a.look(G)
    assert not part.said
    assert not of_a.complete(G)


def test_each_view_is_said_once_with_what_has_come_in_all_that_are_to_be_left() -> None:
    """Of later ones, what came early."""
    of_a, part = failing(9, 8, 7, 6, 5)
    part.early = {(2, 3): 4}
    part.transition.learn(WITHOUT_E)
    for _ in range(2):
        of_a.look(G)
    assert part.said == [HeardOf(2, ((1, ((4, 5),)),))]
    part.transition.learn(WITHOUT_D)
    of_a.look(G)
    assert part.said[1:] == [HeardOf(3, ((1, ((3, 6), (4, 5))), (2, ((3, 4),))))]


def test_member_is_complete_when_all_who_go_on_have_said_no_more() -> None:
    """It takes the word of each of them, but not of who fails itself."""
    of_a, part = failing(0, 0, 0, 0, 5)
    part.transition.learn(WITHOUT_E)
    part.transition.learn(WITHOUT_D)
    of_a.hear(G, B, HeardOf(3, ((1, ((3, 0), (4, 5))),)))
    assert not of_a.complete(G)
    of_a.hear(G, C, HeardOf(3, ((1, ((3, 0), (4, 2))), (2, ((3, 9),)))))
    assert of_a.complete(G) == [3, 4]


@pytest.mark.parametrize(
    "word",
    [
        HeardOf(3, ((1, ((3, 0), (4, 6))),)),
        HeardOf(2, ((1, ((4, 5),)),)),
        HeardOf(3, ((1, ((3, 0),)),)),
        HeardOf(3, ((2, ((4, 0),)),)),
    ],
    ids=["has more", "may have taken more since, from who failed", "does not say", "another view"],
)
def test_member_is_not_complete_while_anybody_may_have_more(word: HeardOf) -> None:
    """What c has is to be relayed; and what is not known may be."""
    of_a, part = failing(0, 0, 0, 0, 5)
    part.transition.learn(WITHOUT_E)
    part.transition.learn(WITHOUT_D)
    of_a.hear(G, B, HeardOf(3, ((1, ((3, 0), (4, 5))),)))
    of_a.hear(G, C, word)
    assert 4 not in of_a.complete(G)


def test_older_word_replaces_no_newer_one() -> None:
    """They come in order; but who says less later takes nothing back."""
    of_a, part = failing(0, 0, 0, 0, 5)
    part.transition.learn(WITHOUT_E)
    for who in (B, C, D):
        of_a.hear(G, who, HeardOf(2, ((1, ((4, 5),)),)))
        of_a.hear(G, who, HeardOf(1, ()))
    assert of_a.complete(G) == [4]
    of_a.enter_view(G, WITHOUT_E.members[:1])
    assert not of_a.complete(G), "who is no member is forgotten"
    of_a.leave(G)
    of_a.look(G)
    assert part.said, "another stay in the group begins anew"
