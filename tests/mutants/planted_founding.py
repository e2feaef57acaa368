"""Planted bugs of the bootstrap: shorter ways to a first view, that make two of them.

Those that random worlds do not meet are found by schedules of the machine alone
(``tests/membership/test_bootstrap.py``).
"""

from tests.mutants.registry import MUTANTS, Mutant, plant

from antiphon.core.control import FoundingAnswer, FoundingQuestion
from antiphon.membership import bootstrap
from antiphon.membership.bootstrap import Founding

_RIGHT_ANSWER = Founding.answer
_RIGHT_COUNT = Founding._count_promises
_RIGHT_PROPOSE = Founding._propose


def votes_are_given_twice(self: Founding, asked: FoundingQuestion) -> FoundingAnswer:
    """Whoever asks is promised what it asks for."""
    self._promised = min(self._promised, asked.ballot) if asked.ballot else self._promised
    return _RIGHT_ANSWER(self, asked)


def accepted_first_views_are_overruled(self: Founding, present: list[str]) -> None:
    """Everybody proposes those whom it hears itself."""
    self._promises = {at: (0, None, process) for at, (_, _, process) in self._promises.items()}
    _RIGHT_COUNT(self, present)


@plant(Founding, "_propose", "founding: halves")
def half_of_the_places_found(self: Founding, now_us: int, dice: float) -> None:
    """Both halves of a list that is cut in two begin."""
    right = bootstrap.is_majority
    bootstrap.is_majority = lambda count, size: 2 * count >= size
    try:
        _RIGHT_PROPOSE(self, now_us, dice)
    finally:
        bootstrap.is_majority = right


@plant(Founding, "_give_up", "founding: a distance")
def ballots_are_never_given_up(self: Founding, _now_us: int, _dice: float) -> None:
    """A ballot that another has overtaken is asked for again and again."""


SEARCHED: list[Mutant] = [
    *(mutant for mutant in MUTANTS if mutant.name == "half of the places found"),
    Mutant(
        "votes are given twice", "view-atomic", "founding: votes", Founding, "answer",
        votes_are_given_twice,
    ),
    Mutant(
        "accepted first views are overruled", "view-atomic", "founding: votes", Founding,
        "_count_promises", accepted_first_views_are_overruled,
    ),
]  # fmt: skip
"""What schedules of the machine alone find, where worlds hardly ever do."""
