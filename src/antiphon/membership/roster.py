"""What a process knows of the others beside the views: who is gone, who left, how far each is.

Law: who failed in a view agreed on is not listened to any more about views before that (003-3,
000-17 b); about messages not at all, whatever the group (``failures``). Former members
are remembered, the latest ones, so that they can be told when they speak; also those of whom only
earlier incarnations of this process knew (``exclusions``), when they ask.
"""

from collections.abc import Iterable, Mapping, Sequence

from antiphon.core.ids import ProcessId
from antiphon.core.views import NUMBER_MAX, View
from antiphon.membership.failures import Failures
from antiphon.membership.transition import Transition

GONE_MAX = 1024
"""Former members that are remembered, of each kind."""


class Roster:
    """Former members, and the view that each process is known to have installed."""

    __slots__ = ("_failures", "_former", "_in_view", "_transition", "gone", "left")

    def __init__(
        self, transition: Transition, former: Mapping[ProcessId, int], failures: Failures
    ) -> None:
        """Nobody is gone but, to earlier incarnations' knowledge, ``former`` members.

        ``failures`` are those in any group of the process.
        """
        self._failures = failures
        self._transition = transition
        self._former = former
        self.gone: dict[ProcessId, int] = {}
        """Who failed, and in which view."""
        self.left: dict[ProcessId, int] = {}
        """Who left of its own will, and in which view."""
        self._in_view: dict[ProcessId, int] = {}

    def takes_from(self, peer: ProcessId, view_number: int) -> bool:
        """Whether messages of a view that come from ``peer`` still count."""
        if peer in self.gone or self._failures.has(peer):
            return False
        return not any(
            peer in view.failed for view in self._transition.pending if view.number > view_number
        )

    def takes_from_all(self, members: Iterable[ProcessId]) -> bool:
        """Whether none of these failed in any group of the process."""
        return not self._failures.has_any(members)

    def failed_among(
        self, before: Mapping[ProcessId, tuple[ProcessId, ...]], now: Sequence[ProcessId]
    ) -> list[ProcessId]:
        """Return who has failed: in a view that the group has learnt of, or, if new to it, before.

        ``before``, by process, and ``now`` tell whom it needed and needs.
        """
        needed = set(now)
        gone = [who for each in before.values() for who in each if who not in needed]
        excluded = self.excluded() if gone else {}
        new = (who for who in now if self._failures.has(who) and who.bare() not in before)
        return [*(who for who in gone if who in excluded), *new]

    def excluded_in(self, process: ProcessId) -> int:
        """Return the view in which ``process`` failed, installed here or not; 0: in none."""
        return self.excluded().get(process, 0)

    def excluded(self) -> dict[ProcessId, int]:
        """Return who failed in a view agreed on, and in which: in the first, if in several."""
        newest = self._transition.newest
        members = newest.members if newest is not None else ()
        # Who took the group over is a member again, whatever was agreed on before.
        known = {who: number for who, number in self._former.items() if who not in members}
        for view in reversed(self._transition.pending):
            known |= dict.fromkeys(view.failed, view.number)
        return known | self.gone

    def is_forgotten(self, peer: ProcessId) -> bool:
        """Whether a process left, is waited for no longer, and has failed in no view."""
        is_out = peer in self.gone or peer in self._transition.failed_until(NUMBER_MAX)
        return peer in self.left and not is_out and peer not in self._transition.everybody()

    def view_of(self, peer: ProcessId) -> int:
        """Return the last view that ``peer`` is known to have installed."""
        return self._in_view.get(peer, 0)

    def note_view(self, peer: ProcessId, number: int) -> None:
        """``peer`` has installed a view."""
        if peer in self._transition.everybody():
            self._in_view[peer] = max(number, self.view_of(peer))

    def enter(self, view: View) -> None:
        """A view has become the current one."""
        assert view is self._transition.current, "the transition has been made"
        self._in_view = {who: self.view_of(who) for who in self._transition.everybody()}
        for known, news in ((self.gone, view.failed), (self.left, view.left)):
            known.update(dict.fromkeys(news, view.number))
            while len(known) > GONE_MAX:
                known.pop(next(iter(known)))
