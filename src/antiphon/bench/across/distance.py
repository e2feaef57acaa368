"""How often a group's stamp changes, as seen some groups away (ISIS 6.3: k / n^d).

Law: a chain of groups, neighbours share one process. Groups take turns, the even ones and the odd
ones, and in its turn each has ``burst`` multicasts by members drawn at random: so whoever is in two
groups sees that many in one before it sees any in the other, as the paper supposes. Counted at
distance d: the multicasts that carry a new stamp of the first group, for each multicast in that
one. Each is delivered everywhere before the next.

Where nothing is known to be stable, every change is passed on; else what has reached everybody is
left out, which the paper's figure does not reckon with.
"""

from collections import Counter
from functools import partial
from random import Random

from antiphon.bench.across.quick_world import DELAY_US, NO_HEARTBEAT_US, QuickProcess, QuickWorld
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run

_SIZE = 4
_GAP_US = 3 * DELAY_US
_PAYLOAD = bytes(8)


def measure_rates(
    burst: int, *, distance: int = 4, turns: int = 200, heartbeat_us: int = NO_HEARTBEAT_US
) -> list[float]:
    """Return, by distance from 1 on, changes seen for each multicast in the first group."""
    random = Random(burst)
    step = _SIZE - 1
    chain = [range(step * place, step * place + _SIZE) for place in range(distance + 1)]
    world = QuickWorld(chain, heartbeat_us=heartbeat_us)
    sent: Counter[GroupNumber] = Counter()
    carries: Counter[GroupNumber] = Counter()
    first = world.groups[0]

    def note(_member: QuickProcess, group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION:
            sent[group] += 1
            carries[group] += any(name == first and entries for name, _, entries in run.foreign)

    world.on_send = note
    time_us = 0
    for turn in range(2 * turns):
        for _ in range(burst):
            time_us += _GAP_US
            for group in world.groups[turn % 2 :: 2]:
                member = random.choice(world.members[group])
                world.at(time_us, partial(member.multicast, group, [_PAYLOAD]))
        time_us += _GAP_US
    world.run(time_us + _GAP_US)
    return [carries[group] / sent[first] for group in world.groups[1:]]
