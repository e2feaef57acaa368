"""Entries of timestamps where groups overlap as applications make them do (ISIS 7.1, Table I).

Law: counted on every multicast of an application, own entries and those of other groups alike, in
one causality domain of static groups.

    client/server   a group for each client, of it and all servers. Clients ask, one server answers:
                    so servers know of all clients' groups, and causality passes between them
"""

from functools import partial
from random import Random
from typing import NamedTuple

from antiphon.bench.across.quick_world import QuickProcess, QuickWorld
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run

_PAYLOAD = b"x"
_ANSWER = b"answer"


class StampEntries(NamedTuple):
    """Entries of the timestamps of one world."""

    most: int
    mean: float
    multicasts: int


class _EntryCounter:
    """Counts the entries of all timestamps that are sent."""

    def __init__(self, world: QuickWorld) -> None:
        self.counts: list[int] = []
        world.on_send = self._note

    def _note(self, _member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION:
            others = sum(len(entries) for _, _, entries in run.foreign)
            self.counts.append(len(run.stamp) + others)

    def take(self) -> StampEntries:
        """Return what was counted."""
        counts = self.counts
        return StampEntries(max(counts), sum(counts) / len(counts), len(counts))


def measure_clients(
    servers: int, clients: int, *, requests: int, pause_us: int = 2_000, seed: int = 1
) -> StampEntries:
    """Have clients ask, in turns drawn at random; one of the servers answers each of them."""
    random = Random(seed)
    groups = [[*range(servers), servers + client] for client in range(clients)]
    world = QuickWorld(groups)
    counter = _EntryCounter(world)

    def answer(member: QuickProcess, group: GroupNumber, run: Run) -> None:
        is_request = run.payloads[0] == _PAYLOAD and run.port == PORT_APPLICATION
        if is_request and member.number == run.first % servers:
            world.at(world.now_us, partial(member.multicast, group, [_ANSWER]))

    world.on_delivery = answer
    time_us = 0.0
    for _ in range(requests):
        time_us += random.expovariate(1 / pause_us)
        client = random.randrange(clients)
        member = next(one for one in world.processes if one.number == servers + client)
        world.at(int(time_us), partial(member.multicast, world.groups[client], [_PAYLOAD]))
    world.run(int(time_us) + 1_000_000)
    return counter.take()
