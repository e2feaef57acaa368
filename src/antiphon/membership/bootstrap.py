"""Bootstrap: how a group begins, where nobody may begin it twice.

Two ways, each safe because any two majorities of one list share a place.

By a list of members (``RollCall``). Everybody on the list begins in view 1, which is the list, when
all of it is there; or, some time after, when more than half of it is. Whoever is not there by then
is excluded by the next view, as any member that is silent, and comes in as a joiner. A minority
that began would be blocked: only those with a majority of view 1 can make view 2.

By a list of places (``Founding``). Nobody knows who will be there. Each place has one vote, and the
first view is agreed on by more than half of the places: single-decree Paxos, on questions and
answers (each answer is what the place promises, has accepted, or knows to be decided). The lowest
place that is heard proposes those that answer; others take over if it does not get on. Who is in
the view that was decided begins in it; who is not joins. Where a member answers, the group runs:
there is nothing to found.

Law: of one list at most one first view is ever decided, whoever starts when, dies or is cut off; as
long as no place forgets its vote. A process that is started again has forgotten it: if those that
were started again, and those that never were, are a majority, and out of reach of all who run the
group, they can begin a second one.

Time is told, and so are dice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from antiphon.core.control import FoundingAnswer, FoundingQuestion
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing

PLACES_MAX = 32
"""Places on one list: what is proposed has to fit into a question."""

TRIES_MAX = 6
"""How often the time that a ballot may take is doubled."""


def is_majority(count: int, size: int) -> bool:
    """Tell whether so many are more than half."""
    return 2 * count > size


class RollCall:
    """Whether those on a list of members may begin."""

    def __init__(self, size: int, patience_us: int, now_us: int) -> None:
        """Wait ``patience_us`` for all of them, then for a majority."""
        assert size >= 1, "somebody is on the list"
        self._size = size
        self._due_us = now_us + patience_us

    def may_begin(self, present: int, now_us: int) -> bool:
        """Tell whether to begin, with so many there, this process included."""
        assert present <= self._size, "nobody is there twice"
        is_late = now_us >= self._due_us
        return present == self._size or (is_late and is_majority(present, self._size))


@final
@dataclass(slots=True)
class AskPlace:
    """Ask whoever is at a place about the founding; tell by ``hear``, ``miss`` or ``meet``."""

    place: str
    question: FoundingQuestion


class _ListedPlace:
    """What is known of one place."""

    __slots__ = ("due_us", "is_asked", "pause_us", "process")

    def __init__(self, now_us: int) -> None:
        self.process: ProcessId | None = None
        self.due_us = now_us
        self.pause_us = 0
        self.is_asked = False


class Founding:
    """One place's part in founding a group by a list of places."""

    def __init__(
        self, group: str, me: ProcessId, places: Sequence[str], timing: Timing, now_us: int
    ) -> None:
        """Begin to look who is there; ``me.place`` is one of the places."""
        self._group = GroupName(group)
        self._me = me
        self.places = sorted(set(places))
        assert me.place in self.places, "it founds with others, of whom it is one"
        self._timing = timing
        self._known = {place: _ListedPlace(now_us) for place in self.places if place != me.place}
        self._began_us = now_us
        self._quorate_us: int | None = None
        # As one that votes.
        self._promised = 0
        self._accepted_ballot = 0
        self._accepted: View | None = None
        # As one that proposes.
        self._ballot = 0
        self._highest = 0
        self._retry_us = 0
        self._try_count = 0
        self._proposal: View | None = None
        self._promises: dict[str, tuple[int, View | None, ProcessId]] = {}
        self._accepts: dict[str, None] = {}
        self.view: View | None = None
        """The first view, once it is decided."""
        self.is_running = False
        """Whether somebody who answers is a member: the group runs."""
        self.given_others = ""
        """A place that was given another list, if there is one."""

    # What others ask.

    @property
    def is_due_us(self) -> int:
        """When to look again, at the latest."""
        due = [place.due_us for place in self._known.values() if not place.is_asked]
        return min([*due, self._began_us + 10**9, *([self._retry_us] if self._ballot else [])])

    @property
    def missing(self) -> list[str]:
        """Where nobody answers."""
        return [at for at, place in self._known.items() if place.process is None]

    @property
    def _pause_us(self) -> int:
        return self._timing.heartbeat_us // 2

    @property
    def _patience_us(self) -> int:
        """How long a majority waits for the others, and one place for a lower one to get on."""
        return self._timing.timeout_us

    @property
    def _ballot_us(self) -> int:
        """How long a ballot may take: longer after each that was in vain, for distances vary."""
        return self._patience_us << self._try_count

    # As one that votes.

    def answer(self, asked: FoundingQuestion) -> FoundingAnswer:
        """Vote on what another place asks."""
        is_ok = asked.places == self._places_said and self.view is None
        if is_ok and asked.ballot:
            is_ok = asked.ballot >= self._promised
            if is_ok:
                self._promised = asked.ballot
                if asked.view is not None:
                    self._accepted_ballot, self._accepted = asked.ballot, asked.view
        if asked.places == self._places_said and asked.is_decided and asked.view is not None:
            self._decide(asked.view)
        return FoundingAnswer(
            self._me, self._places_said, asked.ballot, is_ok, self._promised,
            self._accepted_ballot, self._accepted, self.view,
        )  # fmt: skip

    @property
    def _places_said(self) -> tuple[str, ...]:
        return tuple(self.places)

    def _decide(self, view: View) -> None:
        assert self.view is None or self.view == view, "one view is decided"
        if self.view is None:
            self.view = view
            for place in self._known.values():
                place.due_us, place.pause_us = 0, 0

    # What happens.

    def hear(self, at: str, said: FoundingAnswer, now_us: int, dice: float) -> None:
        """Somebody at a place has answered."""
        place = self._settle(at, now_us, dice)
        if place is None:
            return
        if said.places != self._places_said:
            self.given_others = at
            place.process = None
            return
        place.process = said.process
        self._highest = max(self._highest, said.promised)
        if said.decided is not None:
            self._decide(said.decided)
        if not self._ballot or said.ballot != self._ballot or self.view is not None:
            return
        if not said.is_ok:
            self._give_up(now_us, dice)
        elif self._proposal is None:
            self._promises[at] = said.accepted_ballot, said.accepted, said.process
        elif said.accepted_ballot == self._ballot:
            self._accepts[at] = None

    def miss(self, at: str, now_us: int, dice: float) -> None:
        """Nobody has answered at a place."""
        place = self._settle(at, now_us, dice)
        if place is not None:
            place.process = None

    def meet(self, at: str, now_us: int, dice: float) -> None:
        """Who is at a place is a member: the group runs."""
        self._settle(at, now_us, dice)
        self.is_running = True

    def _settle(self, at: str, now_us: int, dice: float) -> _ListedPlace | None:
        place = self._known.get(at)
        if place is not None:
            place.is_asked = False
            place.pause_us = min(max(2 * place.pause_us, self._pause_us), self._patience_us // 4)
            place.due_us = now_us + int(place.pause_us * (0.5 + dice))
        return place

    def _give_up(self, now_us: int, dice: float) -> None:
        """Let others get on, each time for longer: a ballot is higher, or answers take long."""
        self._ballot, self._proposal = 0, None
        wait_us = self._ballot_us * (0.5 + dice + self._lower())
        self._try_count = min(self._try_count + 1, TRIES_MAX)
        self._retry_us = now_us + int(wait_us)

    def _lower(self) -> int:
        """Return at how many places before this one somebody answers."""
        return sum(
            at < self._me.place for at, place in self._known.items() if place.process is not None
        )

    # Going on.

    def look(self, now_us: int, dice: float) -> list[AskPlace]:
        """Look at the time and at what was heard; return whom to ask what."""
        if self.is_running or self.given_others:
            return []
        if self.view is None:
            self._propose(now_us, dice)
        question = self._question()
        asked: list[AskPlace] = []
        for at, place in self._known.items():
            if now_us >= place.due_us and not place.is_asked:
                place.is_asked = True
                asked.append(AskPlace(at, question))
        return asked

    def _question(self) -> FoundingQuestion:
        if self.view is not None:
            return FoundingQuestion(self._places_said, 0, self.view, is_decided=True)
        assert self._ballot or self._proposal is None, "what is proposed has a ballot"
        return FoundingQuestion(self._places_said, self._ballot, self._proposal)

    def _propose(self, now_us: int, dice: float) -> None:
        present = [at for at, place in self._known.items() if place.process is not None]
        size = len(self.places)
        if not is_majority(len(present) + 1, size):
            self._quorate_us = None
            return
        if self._quorate_us is None:
            self._quorate_us = now_us
        if not self._ballot:
            if now_us >= self._retry_us and self._is_turn(present, now_us):
                self._begin_ballot(now_us)
            return
        if now_us - self._retry_us >= self._ballot_us:  # it does not get on
            self._give_up(now_us, dice)
        elif self._proposal is None:
            self._count_promises(present)
        if self._proposal is not None and is_majority(len(self._accepts), size):
            self._decide(self._proposal)

    def _is_turn(self, present: list[str], now_us: int) -> bool:
        """Whether to propose: all are there, or enough for long; and who is lower had its time."""
        assert self._quorate_us is not None, "there are enough"
        waited_us = now_us - self._quorate_us
        is_complete = len(present) == len(self._known)
        need_us = self._lower() * self._patience_us + (0 if is_complete else self._patience_us)
        return waited_us >= need_us

    def _begin_ballot(self, now_us: int) -> None:
        rank, size = self.places.index(self._me.place), len(self.places)
        above = max(self._highest, self._promised)
        self._ballot = above + 1 + (rank - above) % size
        self._retry_us = now_us
        self._proposal, self._promises, self._accepts = None, {}, {}
        self._promised = self._ballot
        mine = self._me.place
        self._promises[mine] = self._accepted_ballot, self._accepted, self._me
        self._ask_all(now_us)

    def _count_promises(self, present: list[str]) -> None:
        """Propose what was accepted before; else, once all that are there have promised, these."""
        size = len(self.places)
        is_all = all(at in self._promises for at in present)
        if not is_majority(len(self._promises), size) or not is_all:
            return
        if self._promised != self._ballot:
            return  # to another, since: this ballot is not accepted here, nor anywhere
        _, accepted, _ = max(self._promises.values(), key=lambda given: given[0])
        if accepted is None:
            members = tuple(self._promises[at][2] for at in sorted(self._promises))
            accepted = View(self._group, ViewNumber(1), members)
        self._proposal = accepted
        self._promised = self._accepted_ballot = self._ballot
        self._accepted = accepted
        self._accepts = {self._me.place: None}
        self._ask_all(0)

    def _ask_all(self, now_us: int) -> None:
        for place in self._known.values():
            place.due_us, place.pause_us = now_us, 0
