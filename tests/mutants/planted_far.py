"""Planted bugs that harm where processes are far apart, reach only some, or join with wishes.

Most of them are what the machines once did: each was found from outside, in worlds of which
exploration knew nothing.
"""

from typing import Any

from tests.mutants.registry import plant

from antiphon.core.control import Ask
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.changes import Changes
from antiphon.membership.coordination import Coordination
from antiphon.membership.pulses import Pulse
from antiphon.toolkit.commit import Commit, Effect
from antiphon.toolkit.commit_messages import Lack, State


@plant(Coordination, "_lead", "retries after a fixed time")
def late_answers_end_a_ballot(self: Coordination, latest: View, now_us: int) -> list[View]:
    """A ballot is given up after a few heartbeats, although its answers are on their way."""
    if now_us < self._patience.due_us:
        return []
    view = self._changes.next_view(
        latest, list(self._detector.suspected), self._leavers(),
        is_flushing=bool(self._transition.pending),
    )  # fmt: skip
    if view is None:
        return []
    rank = latest.members.index(self._me)
    self._agreement.give_up()
    self._patience.due_us = now_us + (4 + rank % 8) * self._timing.heartbeat_us
    return self._agreement.propose(view)


_RIGHT_NEWS = Changes.news


def _news_of_the_blocked(self: Changes, *args: Any, **_: object) -> list[tuple[ProcessId, Ask]]:
    return _RIGHT_NEWS(self, *args)


@plant(Changes, "failed", "all accusations count", also=((Changes, "news", _news_of_the_blocked),))
def accusations_may_break_the_quorum(
    self: Changes, own: list[ProcessId], unfit: list[ProcessId], latest: View
) -> dict[ProcessId, None]:
    """Whoever is accused is to go, and if too many are, nobody goes."""
    failed = dict.fromkeys(own)
    for member in latest.members:
        ask = self._asked.get(member)
        if ask is not None and member not in failed:
            failed |= {process: None for process in ask.suspected if process != self._me}
    return failed


@plant(Commit, "_hear_lack", "joiners begin with nothing")
def joiners_forget_what_they_saw(self: Commit, sender: ProcessId, lack: Lack) -> list[Effect]:
    """If nobody knows the past, what was begun since the first of them came is forgotten too."""
    view = self._view
    assert view is not None, "in a view"
    if lack.number != view.number:
        return []
    self._lacking[sender] = None
    if any(member not in self._lacking for member in view.members):
        return []
    return self._learn(State(view.number, (), ()), 0)


@plant(Coordination, "tell_last", "vote of the excluded")
def excluded_process_keeps_its_knowledge(self: Coordination, view: View) -> None:
    """Who learns that it is out ends without a word, though its own vote may have decided that."""


_RIGHT_LOOK = Coordination.look


def _look_without_beginning_anew(self: Coordination, latest: View, now_us: int) -> None:
    patience = self._patience
    kept = patience._tries, patience.due_us
    _RIGHT_LOOK(self, latest, now_us)
    patience._tries, patience.due_us = kept


@plant(
    Coordination, "hear_vote", "taking each other back", is_met=False,
    also=((Coordination, "look", _look_without_beginning_anew),),
)  # fmt: skip
def vote_that_was_held_up_tells_how_far_it_is(self: Coordination, now_us: int) -> None:
    """Every vote counts as a round trip, also one that was held up while the two were cut off."""
    self._patience.hear(now_us)


_RIGHT_BEGIN = Pulse.begin


@plant(Pulse, "begin", "heard a round trip later", is_met=False)
def first_sign_of_life_is_given_no_more_time(self: Pulse, now_us: int, floor_us: int) -> None:
    """Who was taken in counts as heard then, although it learns of it only a way later."""
    _RIGHT_BEGIN(self, now_us, floor_us)
    self.is_new = False
