"""Planted bugs of the way in and back: a place that ends the search, a blocked process that waits.

They are what the code once did, put into the machine that replaced it.
"""

from tests.mutants.registry import plant

from antiphon.core.ids import ProcessId
from antiphon.membership.entrance import Search
from antiphon.membership.probing import Probing

_RIGHT_MISS = Search.miss
_RIGHT_END = Search.end


@plant(Search, "miss", "coming back")
def place_that_hangs_up_ends_the_search(self: Search, at: str, now_us: int, dice: float) -> None:
    """One seed without an answer is taken for a group without a place."""
    _RIGHT_MISS(self, at, now_us, dice)
    self._refusal = f"{at} is no member: it hangs up without an answer"


@plant(Search, "end", "coming back")
def exclusion_before_the_first_view_is_a_refusal(
    self: Search, why: str, next_incarnation: int, now_us: int, dice: float, *, is_refused: bool
) -> None:
    """Who was taken in and excluded again is out for good."""
    is_excluded = not next_incarnation and bool(why)
    _RIGHT_END(self, why, next_incarnation, now_us, dice, is_refused=is_refused or is_excluded)


@plant(Probing, "look", "a group of two")
def condemned_are_never_asked_again(
    _self: Probing, _members: object, _now_us: int, *, is_blocked: bool
) -> None:
    """Who has given up the others never learns that they have gone on."""


@plant(Probing, "hear", "a group of two, kin")
def stalled_are_never_pardoned(
    _self: Probing, _peer: ProcessId, _standing: object, _now_us: int
) -> bool:
    """Who was given up for a stall stays given up, though nothing can be decided without it."""
    return False
