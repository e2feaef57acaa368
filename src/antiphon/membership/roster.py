"""What a process knows of the others beside the views: who is gone, who left, how far each is.

Law: who failed in a view agreed on is not listened to any more about views before that (003-3,
000-17 b). Former members are remembered, the latest ones, so that they can be told when they speak.
"""

from antiphon.core.ids import ProcessId
from antiphon.core.views import NUMBER_MAX, View
from antiphon.membership.transition import Transition

GONE_MAX = 1024
"""Former members that are remembered, of each kind."""


class Roster:
    """Former members, and the view that each process is known to have installed."""

    __slots__ = ("_in_view", "_transition", "gone", "left")

    def __init__(self, transition: Transition) -> None:
        """Nobody is gone."""
        self._transition = transition
        self.gone: dict[ProcessId, int] = {}
        """Who failed, and in which view."""
        self.left: dict[ProcessId, int] = {}
        """Who left of its own will, and in which view."""
        self._in_view: dict[ProcessId, int] = {}

    def takes_from(self, peer: ProcessId, view_number: int) -> bool:
        """Whether messages of a view that come from ``peer`` still count."""
        return peer not in self.gone and not any(
            peer in view.failed for view in self._transition.pending if view.number > view_number
        )

    def excluded_in(self, process: ProcessId) -> int:
        """Return the view in which ``process`` failed, installed here or not; 0: in none."""
        views = [view.number for view in self._transition.pending if process in view.failed]
        return self.gone.get(process) or (views[0] if views else 0)

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
