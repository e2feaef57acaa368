"""How long a switch of groups takes, in round trips (ISIS 6.5, 6.7).

Law: an idle network in which every way takes the same time. A process multicasts in one group and
at once in another; or it answers, in another group, what it has just delivered. Measured from the
moment in which the second message is handed over until it leaves, and until the last member of its
group has delivered it. Without a wait the first is nothing, and the second half a round trip.
"""

import statistics
from random import Random
from typing import NamedTuple

from antiphon.bench.across.quick_world import ROUND_TRIP_US, QuickProcess, QuickWorld
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run

_GAP_US = 500_000
"""Between two switches: several heartbeats, after which all is known to be everywhere."""

_FIRST, _SECOND = b"first", b"second"


class SwitchTimes(NamedTuple):
    """In round trips, medians and the longest."""

    switches: int
    leaves: float
    delivered: float
    leaves_max: float
    delivered_max: float


def measure_switches(resilience: int, count: int = 200, seed: int = 1) -> SwitchTimes:
    """Measure so many switches among random groups."""
    random = Random(seed)
    groups = [random.sample(range(20), random.randint(2, 6)) for _ in range(12)]
    world = QuickWorld(groups, resilience=resilience)
    switches = [_Switch(world, random) for _ in range(count)]
    for number, switch in enumerate(switches):
        world.at((number + 1) * _GAP_US, switch.begin)
    world.run((count + 2) * _GAP_US)
    left_us = [switch.left_us - switch.began_us for switch in switches]
    taken_us = [switch.taken_us - switch.began_us for switch in switches]
    return SwitchTimes(
        count,
        *(statistics.median(times) / ROUND_TRIP_US for times in (left_us, taken_us)),
        *(max(times) / ROUND_TRIP_US for times in (left_us, taken_us)),
    )


class _Switch:
    """One switch of groups by one process."""

    def __init__(self, world: QuickWorld, random: Random) -> None:
        self._world = world
        self._who = random.choice([one for one in world.processes if len(one.groups) > 1])
        self._before, self._after = random.sample(self._who.groups, 2)
        others = [one for one in world.members[self._before] if one is not self._who]
        self._asker = random.choice(others) if random.random() < 0.5 else None
        self.began_us = self.left_us = self.taken_us = -1

    def begin(self) -> None:
        """Multicast in the first group; the second follows, or is the answer."""
        self._world.on_send, self._world.on_delivery = self._note_send, self._note_delivery
        if self._asker is not None:
            self._asker.multicast(self._before, [_FIRST])
        else:
            self._who.multicast(self._before, [_FIRST])
            self._go_on()

    def _go_on(self) -> None:
        self.began_us = self._world.now_us
        self._who.multicast(self._after, [_SECOND])

    def _note_send(self, _member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION and run.payloads[0] == _SECOND:
            self.left_us = self._world.now_us

    def _note_delivery(self, member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port != PORT_APPLICATION:
            return
        if run.payloads[0] == _SECOND:
            self.taken_us = self._world.now_us
        elif member is self._who and self._asker is not None:
            # Not while the machine's effects are still being done.
            self._world.at(self._world.now_us, self._go_on)
