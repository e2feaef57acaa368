"""Attention: whom a member has channels with, beats to and watches, where that is not everybody.

For groups whose messages flood an overlay. Others have no use for it: there it is always alarmed.

Rule. A member is *alarmed* while it has a reason: it suspects somebody, or knows somebody to be
dead; it is blocked; a view is pending, or not known to be installed by everybody; somebody joins,
leaves or asks for a change; it has something to say to everybody (``Alive``). And for a while after
that. Who is alarmed says so to everybody (``AlarmSaid``), has channels with everybody and watches
everybody, as in any other group; so membership works as it does there. When it ends, it says that.

Who is *calm* watches its neighbours in the overlay, and no one else. It beats to them, and to
whoever is alarmed and has said so, and has channels with these; and for a while with those to whom
it has sent anything else.

Invariant. Whoever watches another one is beaten to by it, or has told it to: neighbours beat to
each other always, and an alarmed member that is watching has an ``AlarmSaid`` on its way. What ends
that comes after the watching has ended, on the same channel. So a link that sleeps is no silence.

Everybody is watched by all its neighbours, always; so whoever stops is suspected as soon as in
other groups, by some. They are alarmed then, tell everybody, and who leads. Who has lost all its
neighbours is alarmed by that, and learns within two more timeouts whom it reaches: it is blocked
then, if it must.

Fault model: as of the failure detector. Cost: an alarm is n - 1 messages at its beginning and its
end, answered by n - 1; in calm a member has as many channels, and beats, as it has neighbours.
"""

from collections.abc import Callable, Iterable

from antiphon.core.control import AlarmSaid
from antiphon.core.ids import ProcessId
from antiphon.membership.effects import Outbox
from antiphon.membership.failure_detector import Timing
from antiphon.membership.transition import Transition

ALARMED_MAX = 4096
"""Processes that are remembered to be alarmed: as many as a view may have members."""

Neighbours = Callable[[], Iterable[ProcessId]]


class Attention:
    """One process's part in it, in one group."""

    __slots__ = (
        "_alarmed", "_calm_us", "_idle", "_is_ending", "_met", "_neighbours", "_out", "_quiet_us",
        "_told", "_transition", "is_alarmed", "version",
    )  # fmt: skip

    def __init__(
        self, outbox: Outbox, transition: Transition, timing: Timing, neighbours: Neighbours | None
    ) -> None:
        """Be alarmed; for good, if there are no ``neighbours``."""
        self._out = outbox
        self._transition = transition
        self._neighbours = neighbours
        self._quiet_us = timing.timeout_us
        self._calm_us = 0
        self._alarmed: dict[ProcessId, None] = {}
        self._told: dict[ProcessId, None] = {}
        self._met: dict[ProcessId, int] = {}
        self._idle: tuple[object, int, dict[ProcessId, None]] = (None, -1, {})
        self._is_ending = False
        self.is_alarmed = True
        self.version = 0
        """Another number whenever somebody may be needed, or needed no longer."""

    @property
    def is_sparse(self) -> bool:
        """Whether there may be members whom this one needs not."""
        return self._neighbours is not None

    # Whom this process needs.

    @property
    def idle(self) -> dict[ProcessId, None]:
        """Who is known, and is not needed just now: no channel with them, no beat to them."""
        everybody = self._transition.everybody()
        known, version, idle = self._idle
        if known is not everybody or version != self.version:
            idle = {who: None for who in everybody if not self.needs(who)}
            self._idle = everybody, self.version, idle
        return idle

    def needs(self, process: ProcessId) -> bool:
        """Whether this process has a channel with another one, and beats to it."""
        is_told = self._is_ending or self.watches(process)
        return is_told or process in self._alarmed or process in self._met

    def watches(self, process: ProcessId) -> bool:
        """Whether this process is to notice if another one is silent."""
        if self.is_alarmed or self._neighbours is None or process == self._out.me:
            return True
        return process in self._neighbours()

    def meet(self, processes: Iterable[ProcessId], now_us: int) -> bool:
        """Something is sent to these; return whether one of them was not needed until now."""
        is_new = False
        for process in processes:
            is_idle = process in self.idle
            is_new = is_new or is_idle
            if is_idle or process in self._met:
                self._met[process] = now_us + self._quiet_us
        self.version += is_new
        return is_new

    # Alarms.

    def look(self, now_us: int, *, has_reason: bool) -> bool:
        """Be alarmed, or calm again, as there is a reason; return whether that has changed.

        Whoever stops to watch does so before anybody is told: see :meth:`tell`.
        """
        if has_reason:
            self._calm_us = now_us + self._quiet_us
        is_alarmed = has_reason or now_us < self._calm_us
        has_changed = is_alarmed != self.is_alarmed
        self.is_alarmed = is_alarmed
        gone = [who for who, until_us in self._met.items() if until_us <= now_us]
        for who in gone:
            del self._met[who]
        # Everybody is told that it ends, and needed as long.
        was_ending, self._is_ending = self._is_ending, has_changed and not is_alarmed
        self.version += has_changed or bool(gone) or was_ending
        return has_changed

    def tell(self) -> None:
        """Tell everybody whom it concerns whether this process is alarmed, once."""
        everybody = self._transition.everybody()
        if self.is_alarmed:
            untold = [who for who in everybody if who not in self._told]
            if untold:
                self._out.send_each(untold, AlarmSaid(is_raised=True))
                self._told = dict.fromkeys(everybody)
        elif self._told:
            over = AlarmSaid(is_raised=False)
            self._out.send_each([who for who in self._told if who in everybody], over)
            self._told = {}

    @property
    def is_quiet(self) -> bool:
        """Whether nothing ends by itself: no alarm, and no channel that was needed for a while."""
        return not self.is_sparse or not (self.is_alarmed or self._is_ending or self._met)

    def hear(self, peer: ProcessId, *, is_raised: bool) -> bool:
        """``peer`` is alarmed, or no longer; return whether it is, and was not."""
        is_new = is_raised and peer not in self._alarmed
        if is_raised:
            self._alarmed[peer] = None
            if len(self._alarmed) > ALARMED_MAX:
                del self._alarmed[next(iter(self._alarmed))]
        else:
            self._alarmed.pop(peer, None)
        self.version += 1
        return is_new
