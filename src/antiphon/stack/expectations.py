"""Whom an endpoint has its driver have channels with (``ExpectPeers``).

Law: whoever is known to the group is expected, and those are idle that are not needed just now
(``membership.attention``). It is said when it has changed, ahead of all that follows from that. And
if something is sent to one that is idle, that one is needed for a while, and that is said first.
"""

from collections.abc import Iterable, Sequence

from antiphon.core.control import Beat
from antiphon.core.ids import ProcessId
from antiphon.membership.attention import Attention
from antiphon.membership.transition import Transition
from antiphon.stack.effects import Effect, ExpectPeers, RelayRuns, SendControl, SendLetter


class Expectations:
    """What was said last."""

    __slots__ = ("_attention", "_transition", "idle", "known", "version")

    def __init__(self, transition: Transition, attention: Attention) -> None:
        """Nothing was said."""
        self._transition = transition
        self._attention = attention
        self.known: dict[ProcessId, None] = {}
        """Who was expected last: the very object that the transition returned."""
        self.version = attention.version
        """What the attention's was then: while both are the same, nothing is to be said."""
        self.idle: dict[ProcessId, None] = {}
        """With whom no channel is needed."""

    def news(self) -> Iterable[ExpectPeers]:
        """Return what is to be said now, if anything."""
        known, idle = self.known, self.idle
        said = self._say()
        has_changed = self.known is not known or idle != self.idle
        return (said,) if self.known and has_changed else ()

    def _say(self) -> ExpectPeers:
        self.known = self._transition.everybody()
        self.idle, self.version = self._attention.idle, self._attention.version
        return ExpectPeers(tuple(self.known), tuple(self.idle))

    def waken(self, done: Sequence[Effect], now_us: int) -> list[Effect]:
        """Return what is to be done, with a channel for each to whom something is sent."""
        for place, effect in enumerate(done):
            if self._attention.meet(receivers(effect), now_us):
                rest = [each for each in done[place:] if type(each) is not ExpectPeers]
                return [*done[:place], self._say(), *self.waken(rest, now_us)]
        return list(done)


def receivers(effect: Effect) -> tuple[ProcessId, ...]:
    """Return to whom something is sent, if it says so; a heartbeat needs no channel."""
    match effect:
        case SendLetter(to):
            return (to,)
        case SendControl(_, Beat()):
            return ()
        case SendControl(others) | RelayRuns(others):
            return others
        case _:
            return ()
