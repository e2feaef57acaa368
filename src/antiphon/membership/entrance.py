"""The way in: whom to ask, whom to ask to be taken in, and when to give up.

    places known  --Inquire-->  answers: who is there, in which view, blocked or not
    best answer   --Knock---->  a contact, asked again and again; another one if it takes too long

Law: a process goes on looking for the way in until it is in, or until the group itself refuses it:
a member says that its name is taken, or whoever answers anywhere is something else. Nothing that
one place does ends the search: not silence, a refused connection, a hang-up in place of an answer,
an answer of one that is itself out, blocked or founding, nor a contact that is lost or slow. Nor
does being taken in and excluded before the first view could be installed: that is bad luck, and
the next incarnation tries again.

Of those that answer as members that can go on, the one that knows the highest view is asked to take
the process in; likewise one that has done so already, and may be blocked without it. One that was
tried in vain comes after those that were not. An answer names places of members, so whoever knew
only the dead finds the living through anybody who is heard.

One that is known to have failed in another group, and does not know it yet, is about to be out of
all groups: who is taken in by it alone may be left with nobody to go on with. It is given the time
to hear of it, and to come back, before it is asked.

Incarnations are numbered upwards: a number is never used again by the process that had it.

Time is told, and so are dice: pauses are doubled up to a bound and spread, so that several that
come back together do not do so in step. Patience follows from the group's timing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from antiphon.core.control import Standing
from antiphon.core.ids import ProcessId
from antiphon.membership.failure_detector import Timing

PLACES_MAX = 256
"""Places known, at most: those given at the start and the first that are heard of."""


@final
@dataclass(slots=True)
class Inquire:
    """Ask whoever is at each of these places how it stands."""

    places: tuple[str, ...]


@final
@dataclass(slots=True)
class Knock:
    """Ask ``contact`` to be taken in, as the incarnation of this number."""

    contact: ProcessId
    number: int


@final
@dataclass(slots=True)
class GiveUp:
    """There is no use in going on."""

    why: str


Effect = Inquire | Knock | GiveUp


@final
@dataclass(slots=True)
class Found:
    """An answer: who is at a place, and how it stands."""

    process: ProcessId
    standing: Standing | None
    """None: it is in no view."""
    next_incarnation: int = 0
    """The number that the next incarnation of the asker may have, as far as it knows."""

    @property
    def can_help(self) -> bool:
        """Whether it is a member that can take others in, or has taken the asker in already.

        In the latter case its group may wait for the asker, blocked as it is.
        """
        standing = self.standing
        return standing is not None and (standing.is_known or not standing.is_blocked)


HOW_TO_FOUND = "write seeds=[], or found=True with the addresses of all founders as seeds"
"""What an application is to do that wants to found a group, and not to join one."""

_NAMED_MAX = 5
"""Processes named in a sentence."""


class _AskedPlace:
    """What is known of one place."""

    __slots__ = ("asked_us", "due_us", "found", "pause_us", "who_elsewhere", "why_foreign")

    def __init__(self, now_us: int, pause_us: int) -> None:
        self.due_us = now_us
        self.pause_us = pause_us
        self.asked_us: int | None = None  # None: no answer is awaited
        self.found: Found | None = None
        self.why_foreign = ""
        self.who_elsewhere = ""  # who answers here, and is not in the group


class Search:
    """One search for the way into a group."""

    def __init__(
        self,
        group: str,
        places: list[str],
        timing: Timing,
        now_us: int,
        *,
        last_number: int = 0,
        here: str = "",
        has_failed: Callable[[ProcessId], bool] | None = None,
    ) -> None:
        """Look for the group of this name at these places.

        The process has had ``last_number`` incarnations, as far as it knows; it is not asked
        itself, at the place where it listens (``here``). ``has_failed`` tells of others whether
        they have failed in another group.
        """
        self._has_failed = has_failed
        self._doomed: dict[ProcessId, int] = {}  # who has, and when it was first heard here
        self._group = group
        self._timing = timing
        self._here = here
        self._places: dict[str, _AskedPlace] = {}
        self._number = last_number
        self._is_living = False
        self._contact: ProcessId | None = None
        self._contact_us = 0
        self._knock_us = 0
        self._good_us: int | None = None
        self._tried: dict[ProcessId, int] = {}
        self._drop_count = 0
        self._refusal = ""
        self.learn(places, now_us)

    # What others ask.

    @property
    def places(self) -> list[str]:
        """All places known."""
        return list(self._places)

    @property
    def contact(self) -> ProcessId | None:
        """Who is being asked to take the process in."""
        return self._contact

    @property
    def is_due_us(self) -> int:
        """When to look again, at the latest, if nothing happens before."""
        if self._contact is not None:
            return self._knock_us
        due = [place.due_us for place in self._places.values()]
        if self._good_us is not None:
            due.append(self._good_us + self._gather_us)
        return min(due, default=0)

    @property
    def _pause_us(self) -> int:
        return self._timing.heartbeat_us // 2

    @property
    def _pause_us_max(self) -> int:
        return self._timing.timeout_us // 2

    @property
    def _gather_us(self) -> int:
        """How long a good answer waits for a better one."""
        return self._timing.heartbeat_us

    @property
    def _answer_us(self) -> int:
        """How long an answer may take before the place is asked again."""
        return 2 * self._timing.timeout_us

    @property
    def patience_us(self) -> int:
        """How long a contact may take: a failure may have to be noticed and agreed on first."""
        return 2 * self._timing.timeout_us + 10 * self._timing.heartbeat_us

    def say(self) -> str:
        """Say what keeps the process out, as far as it is known; empty if nobody is heard.

        With what can be done about it: trying again is said to help only where it can.
        """
        if self._contact is not None:
            at = f"{self._contact} at {self._contact.address}"
            return f"{at} has not taken this process in: try again, with more time"
        foreign = [place.why_foreign for place in self._places.values() if place.why_foreign]
        if foreign:
            return foreign[0]
        found = [place.found for place in self._places.values() if place.found is not None]
        if members := [one for one in found if one.standing is not None]:
            return self._say_blocked(members)
        if found:
            return "nobody who answers is in the group: try again when one of them is"
        if elsewhere := [one.who_elsewhere for one in self._places.values() if one.who_elsewhere]:
            named = ", ".join(elsewhere[:_NAMED_MAX]) + ", ..." * (len(elsewhere) > _NAMED_MAX)
            return (
                f"nobody who answers ({named}) is in the group: is its name right? to found it "
                f"{HOW_TO_FOUND}"
            )
        return ""

    def _say_blocked(self, members: list[Found]) -> str:
        """Say that the group has lost its majority, as far as those who answer can tell."""
        answering = ", ".join(f"{one.process} at {one.process.address}" for one in members)
        best = max(members, key=lambda one: one.standing.number if one.standing is not None else 0)
        silent = [at for at, place in self._places.items() if place.found is None]
        nobody = f", and nobody answers at {', '.join(silent)}" if silent else ""
        return (
            f"the members that answer ({answering}) cannot go on: they reach too few of their last "
            f"view{nobody}: the group goes on only with a majority of that view, of the processes "
            "that they were, not of ones started anew; if they are gone for good, an operator can "
            f"have one of those that answer take over: antiphon takeover {best.process.place} "
            f"--group {self._group}"
        )

    # What happens.

    def learn(self, places: list[str], now_us: int) -> None:
        """Know these places too."""
        for place in places:
            is_new = place not in self._places and place != self._here
            if is_new and len(self._places) < PLACES_MAX:
                self._places[place] = _AskedPlace(now_us, self._pause_us)

    def hear(self, at: str, found: Found, now_us: int, dice: float) -> None:
        """Somebody has answered at a place; ``dice`` is a number from 0 to below 1."""
        place = self._settle(at, now_us, dice)
        place.found, place.why_foreign = found, ""
        if found.standing is not None:
            self.learn(list(found.standing.places), now_us)
        if found.can_help and not self._is_doomed(found.process, now_us):
            place.due_us = now_us + self._answer_us  # it has said what there is to say
            self._good_us = now_us if self._good_us is None else self._good_us

    def _is_doomed(self, process: ProcessId, now_us: int) -> bool:
        """Whether somebody has failed in another group, and may not have heard of it yet."""
        if self._has_failed is None or not self._has_failed(process):
            return False
        return now_us - self._doomed.setdefault(process.bare(), now_us) < self.patience_us

    def miss(self, at: str, now_us: int, dice: float) -> None:
        """Nobody has answered at a place: it is down, silent, or hangs up."""
        place = self._settle(at, now_us, dice)
        place.found, place.why_foreign = None, ""

    def refuse(self, at: str, why: str, now_us: int, dice: float) -> None:
        """Something else is at a place: another group, other settings, another program."""
        place = self._settle(at, now_us, dice)
        place.found, place.why_foreign = None, why

    def pass_on(self, at: str, who: str, places: list[str], now_us: int, dice: float) -> None:
        """Who is at a place has no part in the group; it knows processes at ``places``."""
        place = self._settle(at, now_us, dice)
        place.found, place.why_foreign, place.who_elsewhere = None, "", who
        self.learn(places, now_us)

    def _settle(self, at: str, now_us: int, dice: float) -> _AskedPlace:
        self.learn([at], now_us)
        place = self._places.get(at) or _AskedPlace(now_us, self._pause_us)
        place.asked_us, place.who_elsewhere = None, ""
        place.due_us = now_us + int(place.pause_us * (0.5 + dice))
        place.pause_us = min(2 * place.pause_us, self._pause_us_max)
        return place

    def lose(self, contact: ProcessId, now_us: int, dice: float) -> None:
        """A contact is gone, or out itself: look for another one."""
        if contact == self._contact:
            self._drop_contact(now_us, dice)

    def end(
        self, why: str, next_incarnation: int, now_us: int, dice: float, *, is_refused: bool
    ) -> None:
        """The incarnation that asked to be taken in has ended.

        Refused for good, or asked to come with another number, or excluded again.
        """
        self._is_living = False
        self._number = max(self._number, next_incarnation - 1)
        if is_refused:
            self._refusal = why
        self._drop_contact(now_us, dice)

    def _drop_contact(self, now_us: int, dice: float) -> None:
        """Ask everybody anew: at once the first time, then after longer and longer pauses."""
        contact, self._contact = self._contact, None
        if contact is not None:
            self._tried[contact] = self._tried.get(contact, 0) + 1
        pause_us = min(self._pause_us * 2**self._drop_count, self._pause_us_max)
        wait_us = int(pause_us * dice) if self._drop_count else 0
        self._drop_count = min(self._drop_count + 1, 16)
        self._good_us = None
        for place in self._places.values():
            place.found = place.asked_us = None
            place.due_us, place.pause_us = now_us + wait_us, pause_us

    def look(self, now_us: int, dice: float) -> list[Effect]:
        """Look at the time; called when :attr:`is_due_us`, and whenever something has happened."""
        if why := self._hopeless():
            return [GiveUp(why)]
        if self._contact is not None and now_us - self._contact_us >= self.patience_us:
            self._drop_contact(now_us, dice)
        if self._contact is None:
            self._choose(now_us)
        if self._contact is not None:
            return self._knock(now_us)
        due = [at for at, place in self._places.items() if place.due_us <= now_us]
        for at in due:
            self._places[at].asked_us = now_us
            self._places[at].due_us = now_us + self._answer_us
        return [Inquire(tuple(due))] if due else []

    def _hopeless(self) -> str:
        """Say why there is no use in going on; empty if there is."""
        if self._refusal:
            return self._refusal
        places = self._places.values()
        if places and all(place.why_foreign for place in places):
            return next(iter(places)).why_foreign
        return ""

    def _choose(self, now_us: int) -> None:
        """Choose a contact, if everybody asked has answered or a good answer has waited enough."""
        if self._good_us is None:
            return
        is_complete = all(place.asked_us is None for place in self._places.values())
        if not is_complete and now_us - self._good_us < self._gather_us:
            return
        good = [place.found for place in self._places.values() if place.found is not None]
        good = [
            found for found in good if found.can_help and not self._is_doomed(found.process, now_us)
        ]
        self._good_us = None
        if not good:
            return
        best = min(good, key=self._rank)
        if not self._is_living or best.next_incarnation > self._number:
            self._number = max(self._number + 1, best.next_incarnation)
            self._is_living = True
        self._contact, self._contact_us, self._knock_us = best.process, now_us, now_us

    def _rank(self, found: Found) -> tuple[int, int]:
        assert found.standing is not None, "it can help"
        return self._tried.get(found.process, 0), -found.standing.number

    def _knock(self, now_us: int) -> list[Effect]:
        assert self._contact is not None, "the caller has looked"
        if now_us < self._knock_us:
            return []
        self._knock_us = now_us + 2 * self._timing.heartbeat_us
        return [Knock(self._contact, self._number)]
