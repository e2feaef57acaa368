"""Planted bugs of the way out of a lost majority: lineages that meet and do not notice.

Each is what a shorter design of the take-over would have done.
"""

from tests.mutants.registry import plant

from antiphon.core.ids import ProcessId
from antiphon.core.views import View, lineage_of
from antiphon.membership.changes import Changes
from antiphon.membership.ending import Departure
from antiphon.membership.probing import Probing

_RIGHT_VIEW = Changes.takeover_view


@plant(Changes, "takeover_view", "take-over: two at once")
def every_lineage_is_the_next_one(
    self: Changes, latest: View, _step: int, others: list[ProcessId]
) -> View:
    """Two that take over from the same view number theirs alike."""
    return _RIGHT_VIEW(self, latest, 1, others)


@plant(Departure, "hear_out", "take-over: the majority lives")
def old_lineage_contradicts_the_new_one(self: Departure, number: int) -> None:
    """Whoever says that this process is out is believed, whatever its lineage."""
    latest = self._agreement.latest
    is_other = latest is not None and lineage_of(number) != latest.lineage
    if latest is None or is_other or number > latest.number:
        self.end_without(number)


@plant(Probing, "abandon", "take-over: the majority lives")
def those_left_behind_are_forgotten(
    _self: Probing, _processes: list[ProcessId], _now_us: int
) -> None:
    """Nobody looks whether they live."""


@plant(Departure, "hear_question", "take-over: the majority lives")
def question_of_a_later_lineage_is_not_heeded(_self: Departure, _view_number: int) -> None:
    """Who goes on in the old lineage is asked, answers, and goes on."""


@plant(Departure, "end_without", "take-over: the majority lives")
def who_learns_that_it_is_out_tells_nobody(self: Departure, number: int) -> None:
    """Whom the one that took over does not know goes on in the old lineage."""
    self.end(f"the group goes on without this process since view {number}")
