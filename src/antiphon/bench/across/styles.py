"""Entries of timestamps where groups overlap as applications make them do (ISIS 7.1, Table I).

Law: counted on every multicast of an application, own entries and those of other groups alike, in
one causality domain of static groups.

    client/server   a group for each client, of it and all servers. Clients ask, one server answers:
                    so servers know of all clients' groups, and causality passes between them
    hierarchical    subgroups, and a root of one representative of each. The overlaps are declared:
                    they make a tree. Members speak in their subgroup, one in ten times a
                    representative in the root
"""

from functools import partial
from random import Random
from typing import NamedTuple

from antiphon.bench.across.quick_world import QuickProcess, QuickWorld
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run
from antiphon.ordering.structure import Structure

_PAYLOAD = b"x"
_ANSWER = b"answer"


class StampEntries(NamedTuple):
    """Entries of the timestamps of one world."""

    most: int
    mean: float
    multicasts: int


class _EntryCounter:
    """Counts entries of all timestamps that are sent, by the number of their sender's groups."""

    def __init__(self, world: QuickWorld) -> None:
        self.counts: dict[int, list[int]] = {}
        world.on_send = self._note

    def _note(self, member: QuickProcess, _group: GroupNumber, run: Run) -> None:
        if run.port == PORT_APPLICATION:
            others = sum(len(entries) for _, _, entries in run.foreign)
            counts = self.counts.setdefault(len(member.groups), [])
            counts.append(len(run.stamp) + others)

    def take(self, *group_counts: int) -> StampEntries:
        """Return what was counted of those who are in so many groups."""
        counts = [entries for number in group_counts for entries in self.counts.get(number, ())]
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
    return counter.take(1, clients)


def measure_hierarchy(
    subgroups: int,
    size: int,
    *,
    multicasts: int,
    is_declared: bool = True,
    pause_us: int = 2_000,
    seed: int = 1,
) -> tuple[StampEntries, StampEntries]:
    """Return the entries of those who are in a subgroup alone, and of representatives."""
    random = Random(seed)
    leaves = [range(place * size, (place + 1) * size) for place in range(subgroups)]
    tree = Structure([("g0", f"g{place + 1}") for place in range(subgroups)])
    world = QuickWorld(
        [[leaf[0] for leaf in leaves], *leaves], structure=tree if is_declared else None
    )
    counter = _EntryCounter(world)
    root = world.groups[0]
    time_us = 0.0
    for _ in range(multicasts):
        time_us += random.expovariate(1 / pause_us)
        group = root if random.random() < 0.1 else random.choice(world.groups[1:])
        member = random.choice(world.members[group])
        world.at(int(time_us), partial(member.multicast, group, [_PAYLOAD]))
    world.run(int(time_us) + 1_000_000)
    return counter.take(1), counter.take(2)
