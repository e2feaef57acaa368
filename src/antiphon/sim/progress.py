"""How soon a world must go on: a bound that follows from its settings and its delays.

Law. When nothing more is done to a world, the following adds up, each at most so often: what is
under way arrives; whoever is dead is suspected, after the longest silence that anybody bears, and
so is whoever dies, or is found out of reach, while that is agreed on; a view change takes rounds of
messages (ask, prepare, promise, propose, accept, decide, report, install: eight ways at most), a
process that was excluded wrongly hears of it, comes back and is given the state (some twelve ways
more), and transactions wait for votes. Every step may wait for a heartbeat. Who leaves, and is
left behind by all whom it knew, gives up after twenty silences.

The same bound holds while faults go on, in the clear cases. Let S be the most senior living member
of the latest view agreed on. If S and a quorum of that view reach each other directly, and whoever
else lives reaches S too, and nothing has changed for as long as the bound, then S is in a view
without the dead, and was not between two views, or blocked, all that time. Members that cannot
reach each other meanwhile may be excluded, the junior of the two, and come back.
"""

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.sim.channels import Channels
from antiphon.sim.driver import Driver

_SILENCES = 3
_ROUNDS = 48
_VOTES = 3
_LEAVING = 21
_STALLS = 4
_SLOW_CLOCK = 1.25
"""What a clock that runs slow makes of a time, and some."""


def bound_us(timing: Timing, channels: Channels, drivers: list[Driver], stall_us: int = 0) -> int:
    """Return how long it may take until the group goes on, or is quiescent.

    ``stall_us``: where members are given up because they stall so long, they are restored one
    after the other.
    """
    patience_us = max(
        (driver.machine.membership.patience_us for driver in drivers if driver.is_up),
        default=timing.timeout_us,
    )
    ways_us = _ROUNDS * (timing.heartbeat_us + channels.distance_us_max)
    waits_us = _SILENCES * patience_us + _VOTES * timing.timeout_us + ways_us
    if any(driver.is_up and driver.is_leaving for driver in drivers):
        waits_us = max(waits_us, _LEAVING * timing.timeout_us)
    stalls_us = _STALLS * (2 * stall_us + 6 * timing.timeout_us) if stall_us else 0
    return channels.under_way_us + int(_SLOW_CLOCK * waits_us) + stalls_us


class Progress:
    """Watches whether the group goes on where it must."""

    def __init__(self, timing: Timing, channels: Channels) -> None:
        """Nothing has happened yet."""
        self._timing = timing
        self._channels = channels
        self._calm_us = 0
        self._open_us: dict[ProcessId, int] = {}
        self._dead_us: dict[ProcessId, int] = {}

    def disturb(self, now_us: int) -> None:
        """Something is done to the world: the bound begins anew."""
        self._calm_us = now_us

    def look(self, drivers: list[Driver], now_us: int) -> str:
        """Say what should have happened by now; empty if nothing should."""
        for driver in drivers:
            me = driver.machine.me
            if not driver.is_up:
                self._dead_us.setdefault(me, now_us)
            elif driver.machine.is_open:
                self._open_us[me] = now_us
        limit_us = now_us - bound_us(self._timing, self._channels, drivers)
        senior = self._clear_senior(drivers) if self._calm_us < limit_us else None
        if senior is None or senior.view is None:
            return ""
        dead = [who for who in senior.view.members if self._dead_us.get(who, now_us) < limit_us]
        waited_us = now_us - self._calm_us
        if dead:
            return f"{senior.machine.me} has not gone on without {dead[0]} for {waited_us} us"
        if self._open_us.get(senior.machine.me, 0) < limit_us:
            return f"{senior.machine.me} has been between two views for {waited_us} us"
        return ""

    def _clear_senior(self, drivers: list[Driver]) -> Driver | None:
        """Return the member that must go on, if it is clear that one must."""
        living = {driver.machine.me: driver for driver in drivers if driver.is_up}
        if not all(driver.pace.is_steady for driver in living.values()):
            return None
        latest = [driver.machine.membership.latest for driver in living.values()]
        known: list[View] = [view for view in latest if view is not None]
        if not known:
            return None
        newest = max(known, key=lambda view: view.number)
        members = [living[who] for who in newest.members if who in living]
        if not members or not newest.has_quorum([driver.machine.me for driver in members]):
            return None
        name = members[0].machine.me.name
        others = [driver.machine.me.name for driver in living.values() if driver is not members[0]]
        is_clear = all(self._is_linked(name, other) for other in others)
        return members[0] if is_clear and not members[0].is_leaving else None

    def _is_linked(self, one: str, other: str) -> bool:
        return self._channels.reaches(one, other) and self._channels.reaches(other, one)
