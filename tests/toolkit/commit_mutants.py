"""Planted bugs of distributed commit: each is one plausible mistake, made for a while.

Law: a mistake replaces one method of the real machine, and worlds of chance must find it.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.toolkit.ballot import Ballot
from antiphon.toolkit.commit import Commit, Decided, Effect, Multicast, Outcome
from antiphon.toolkit.commit_messages import State, Transaction, Vote
from antiphon.toolkit.commit_parts import Gathering

_RIGHT_BEGIN = Commit.begin
_RIGHT_DECIDE = Commit._decide
_RIGHT_ENTER = Commit.enter
_RIGHT_BEGIN_VIEW = Commit._begin_view
_RIGHT_ON_VOTE = Commit._on_vote
_RIGHT_STATE = Commit._state
_RIGHT_LEARN = Commit._learn
_RIGHT_GATHER = Commit._gather

MUTANTS: dict[str, tuple[type, str, Any]] = {}


def _plant(method: str, target: type = Commit) -> Callable[[Any], Any]:
    """Register a wrong method under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        MUTANTS[wrong.__name__.replace("_", " ")] = (target, method, wrong)
        return wrong

    return register


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Make the mistake, for a while."""
    with patch.object(*MUTANTS[name]):
        yield


@_plant("_decide")
def decision_is_multicast_plainly(
    self: Commit, transaction: Transaction, ballot: Ballot, now_us: int
) -> list[Effect]:
    """The coordinator saves the second phase."""
    effects = _RIGHT_DECIDE(self, transaction, ballot, now_us)
    return [Multicast(one.payload) for one in effects if isinstance(one, Multicast)]


@_plant("begin")
def beginning_is_multicast_plainly(
    self: Commit, body: bytes, needs: Iterable[str] = ()
) -> tuple[Transaction, list[Effect]]:
    """Who is asked may be the only one who knows."""
    transaction, effects = _RIGHT_BEGIN(self, body, needs)
    return transaction, [Multicast(one.payload) for one in effects if isinstance(one, Multicast)]


@_plant("enter")
def new_coordinator_decides_again(self: Commit, view: View, now_us: int) -> list[Effect]:
    """A new coordinator has its own way with what was decided in the view before."""
    before = self.coordinator
    effects = _RIGHT_ENTER(self, view, now_us)
    if before not in {None, self.coordinator} and self.coordinator == self._me:
        for transaction in self._decided:
            effects.append(Decided(transaction, Outcome.ABORT, "nobody knows why"))
    return effects


@_plant("obstacle", Ballot)
def who_is_gone_counts_as_yes(
    self: Ballot, members: Container[ProcessId], now_us: int, vote_us_max: int
) -> str | None:
    """Participants that are gone are not waited for, whether or not they voted."""
    return _obstacle(self, [who for who in self.participants if who in members])


@_plant("obstacle", Ballot)
def votes_of_the_dead_are_void(
    self: Ballot, members: Container[ProcessId], now_us: int, vote_us_max: int
) -> str | None:
    """Who voted and crashed has not voted."""
    if any(who not in members for who in self.participants):
        return "gone"
    return _obstacle(self, self.participants)


def _obstacle(ballot: Ballot, counted: Iterable[ProcessId]) -> str | None:
    votes = [ballot.votes.get(who) for who in counted]
    if any(vote is not None and not vote.is_yes for vote in votes):
        return "refused"
    return None if None in votes else ""


@_plant("_begin_view")
def new_coordinator_waits_for_votes(self: Commit, view: View, now_us: int) -> list[Effect]:
    """A new coordinator looks at a transaction only when one more vote comes."""
    with patch.object(self, "_decide_all", lambda _: []):
        return _RIGHT_BEGIN_VIEW(self, view, now_us)


@_plant("_state")
def joiner_is_not_told_the_votes(self: Commit) -> State:
    """A joiner learns what is open, and not who has voted."""
    state = _RIGHT_STATE(self)
    opened = tuple(
        type(one)(one.transaction, one.participants, (), one.lacks) for one in state.opened
    )
    return State(state.number, opened, state.decided)


@_plant("_state")
def joiner_is_not_told_what_is_open(self: Commit) -> State:
    """A joiner learns what was decided, and not what will have to be."""
    state = _RIGHT_STATE(self)
    return State(state.number, (), state.decided)


@_plant("_learn")
def joiner_forgets_what_came_meanwhile(self: Commit, state: State, now_us: int) -> list[Effect]:
    """What was delivered before the past came is thrown away."""
    assert self._early is not None
    self._early = [event for event in self._early if isinstance(event[0], View)]
    return _RIGHT_LEARN(self, state, now_us)


@_plant("_gather")
def first_part_is_taken_for_the_whole(self: Commit, sender: ProcessId, part: State) -> State | None:
    """A joiner stops listening when it has heard something."""
    return part


@_plant("_gather")
def who_is_told_a_part_counts_as_told(self: Commit, sender: ProcessId, part: State) -> State | None:
    """Nobody tells again what a coordinator has begun to tell."""
    self._told = max(self._told, part.number)
    return _RIGHT_GATHER(self, sender, part)


@_plant("add", Gathering)
def parts_are_only_counted(self: Gathering, sender: ProcessId, part: State) -> State | None:
    """It does not matter whose parts they are, as long as there are enough."""
    self._parts.append(part)
    if len(self._parts) < part.part_count:
        return None
    opened = tuple(one for each in self._parts for one in each.opened)
    decided = tuple(one for each in self._parts for one in each.decided)
    self._parts = []
    return State(part.number, opened, decided)


@_plant("_hear_lack")
def lost_past_is_waited_for(self: Commit, *_: object) -> list[Effect]:
    """Joiners among themselves wait for somebody who knows."""
    return []


@_plant("_on_vote")
def first_vote_decides(self: Commit, sender: ProcessId, vote: Vote, now_us: int) -> list[Effect]:
    """Who votes yes votes for all."""
    ballot = self._open.get(vote.transaction)
    if ballot is not None:
        for who in ballot.participants[1:]:
            ballot.votes.setdefault(who, vote)
        ballot.votes.pop(sender, None)
    return _RIGHT_ON_VOTE(self, sender, vote, now_us)
