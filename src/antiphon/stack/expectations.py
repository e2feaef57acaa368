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

    __slots__ = ("_attention", "_known", "_needs", "_transition", "idle")

    def __init__(self, transition: Transition, attention: Attention) -> None:
        """Nothing was said."""
        self._transition = transition
        self._attention = attention
        self._known: dict[ProcessId, None] = {}
        self._needs = attention.version
        self.idle: dict[ProcessId, None] = {}
        """With whom no channel is needed."""

    @property
    def is_due(self) -> bool:
        """Whether whom channels are needed with may have changed."""
        known = self._transition.known  # the same object as long as it says the same
        return known is not self._known or self._attention.version != self._needs

    def news(self) -> Iterable[ExpectPeers]:
        """Return what is to be said now, if anything."""
        known, idle = self._known, self.idle
        said = self._say()
        has_changed = self._known is not known or idle != self.idle
        return (said,) if self._known and has_changed else ()

    def _say(self) -> ExpectPeers:
        self._known = self._transition.everybody()
        self.idle, self._needs = self._attention.idle, self._attention.version
        return ExpectPeers(tuple(self._known), tuple(self.idle))

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
