"""Very many groups of one causality domain: what they take to simulate.

    python -m antiphon.bench.across.many GROUPS PROCESSES BURSTS [HEARTBEAT_MS]

Law: one world in one process; time is processor time, memory the most that the process ever had.
Every group has five members, drawn at random; processes drawn at random multicast bursts of 20 in
one of their groups, 100 ms apart each. All that was multicast must have been delivered by
everybody at the end, or it is no figure.
"""

import resource
import sys
import time
from functools import partial
from random import Random

import msgspec

from antiphon.bench.across.quick_world import NO_HEARTBEAT_US, QuickProcess, QuickWorld
from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run

_GROUP_SIZE = 5
_PAYLOADS = (bytes(64),) * 20
_PAUSE_US = 100_000
_REST_US = 1_000_000


class ManyGroups(msgspec.Struct, frozen=True, kw_only=True):
    """What a world took."""

    groups: int
    processes: int
    bursts: int
    found_s: float
    """Processor time until all groups were founded."""
    live_s: float
    """Processor time of the rest."""
    simulated_s: float
    messages: int
    delivered: int
    stamps_per_run: float
    """Stamps of other groups, on the average."""
    found_mb: float
    """Memory when all groups were founded."""
    memory_mb: float


def measure_many(
    group_count: int, process_count: int, bursts: int, heartbeat_us: int, seed: int = 1
) -> ManyGroups:
    """Measure one world, in this process."""
    random = Random(seed)
    groups = [random.sample(range(process_count), _GROUP_SIZE) for _ in range(group_count)]
    began_s = time.process_time()
    world = QuickWorld(groups, heartbeat_us=heartbeat_us)
    found_s, found_mb = time.process_time() - began_s, _memory_mb()
    counts = {"runs": 0, "stamps": 0, "sent": 0, "delivered": 0}

    def note_send(_member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION:
            counts["runs"] += 1
            counts["stamps"] += len(run.foreign)
            counts["sent"] += run.count

    def note_delivery(_member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION:
            counts["delivered"] += run.count

    world.on_send, world.on_delivery = note_send, note_delivery
    time_us = 0.0
    for _ in range(bursts):
        time_us += random.expovariate(len(world.processes) / _PAUSE_US)
        member = random.choice(world.processes)
        group = random.choice(member.groups)
        world.at(int(time_us), partial(member.multicast, group, list(_PAYLOADS)))
    world.run(int(time_us) + _REST_US)
    sent, delivered = counts["sent"], counts["delivered"]
    if sent != bursts * len(_PAYLOADS) or delivered != sent * _GROUP_SIZE:
        message = f"{bursts * len(_PAYLOADS)} messages, {sent} sent, {delivered} delivered"
        raise AntiphonError(message)
    return ManyGroups(
        groups=group_count, processes=process_count, bursts=bursts, found_s=found_s,
        live_s=time.process_time() - began_s - found_s, simulated_s=world.now_us / 1e6,
        messages=sent, delivered=delivered, stamps_per_run=counts["stamps"] / counts["runs"],
        found_mb=found_mb, memory_mb=_memory_mb(),
    )  # fmt: skip


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    beat_us = 1_000 * given[3] if len(given) > 3 else NO_HEARTBEAT_US
    found = measure_many(given[0], given[1], given[2], beat_us)
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
