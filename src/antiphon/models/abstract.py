"""Flooding among very many members: delays of links, FIFO, crashes; no bandwidth, no queues.

Law: every copy is simulated, one by one, with a delay of its own, and every delivery is judged for
causal order; nothing is sampled. Messages are kept as bits of one word: at most 63.

Cost: memory of a few hundred bytes per member, and time by copies: about ten million per second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from time import process_time_ns

import numpy as np

from antiphon.core.errors import UsageError
from antiphon.models import flood_loop as loop
from antiphon.ordering.overlay.topologies import Neighbours, Topology, check_overlay

MESSAGES_MAX = 63


@dataclass(frozen=True, slots=True)
class Flood:
    """What happened."""

    copies: int
    deliveries: int
    wrong: int
    """Deliveries before something in their past."""
    unequal: int
    """Survivors that have not delivered what the others have."""
    delay_mean: float
    """In steps of the model: a copy takes 1 to 1,024 on a link."""
    delay_most: int
    hops_most: int
    """The longest way on which a message came first somewhere."""
    in_flight_most: int
    memory_bytes: int
    """Of the members, the links, and the copies in flight."""
    seconds: float
    """Of processor time."""


def flood(
    topology: Topology, size: int, senders: Sequence[int], *, count: int = 1, gap: int = 100,
    seed: int = 1, crashes: Mapping[int, int] | None = None,
) -> Flood:  # fmt: skip
    """Have senders broadcast ``count`` messages each, one every ``gap`` steps.

    ``crashes``: members that crash, by how many copies they put on links before.
    """
    if not 1 <= len(senders) * count <= MESSAGES_MAX:
        message = f"{len(senders)} senders of {count} messages: at most {MESSAGES_MAX} in all"
        raise UsageError(message)
    if gap < 1 or any(not 0 <= sender < size for sender in senders):
        message = f"senders are members, 0 to {size - 1}, and send every step or more rarely"
        raise UsageError(message)
    for rank, copies in (crashes or {}).items():
        if not 0 <= rank < size or copies < 0:
            message = (
                f"who crashes is a member, 0 to {size - 1}, and puts 0 or more copies on links "
                f"before, not {rank} after {copies}"
            )
            raise UsageError(message)
    begin_ns = process_time_ns()
    near = topology.overlay(size)
    check_overlay(near)
    links = _links(near)
    life = np.full(size, -1, np.int64)
    for rank, copies in (crashes or {}).items():
        life[rank] = copies
    members = loop.Members(life, np.zeros((size, len(senders)), np.int32), np.zeros(size, np.int64))
    pasts = np.zeros(len(senders) * count, np.int64)
    plan = loop.Plan(np.array(senders, np.int32), count, gap, seed, pasts)
    totals = np.zeros(loop.TOTALS, np.int64)
    degree = int(np.diff(links.offsets).max())
    flying = loop.flood(plan, links, members, degree, totals)
    alive = members.bits[life != 0]
    others = int(totals[loop.DELIVERIES]) - _own(senders, count, members.bits)
    arrays = (*links, *members, pasts)
    return Flood(
        copies=int(totals[loop.COPIES]), deliveries=int(totals[loop.DELIVERIES]),
        wrong=int(totals[loop.WRONG]), unequal=int((alive != alive[0]).sum()) if len(alive) else 0,
        delay_mean=float(totals[loop.DELAY_SUM]) / max(1, others),
        delay_most=int(totals[loop.DELAY_MOST]), hops_most=int(totals[loop.DEPTH_MOST]),
        in_flight_most=int(totals[loop.IN_FLIGHT_MOST]),
        memory_bytes=flying + sum(array.nbytes for array in arrays),
        seconds=(process_time_ns() - begin_ns) / 1e9,
    )  # fmt: skip


def _own(senders: Sequence[int], count: int, bits: np.ndarray) -> int:
    """Return how many messages their own senders have delivered."""
    return sum(
        int(bits[rank]) >> index * count + number & 1
        for index, rank in enumerate(senders)
        for number in range(count)
    )


def _links(near: Sequence[Neighbours]) -> loop.Links:
    offsets = np.zeros(len(near) + 1, np.int64)
    np.cumsum([len(each) for each in near], out=offsets[1:])
    peers = np.fromiter(chain.from_iterable(near), np.int32, int(offsets[-1]))
    return loop.Links(offsets, peers, np.zeros(len(peers), np.int64))
