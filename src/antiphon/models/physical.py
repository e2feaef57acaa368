"""Overlay 5: flooding and timestamps over one physical network, under one load.

Law: exact: every fragment on every link, one by one, in integers; see ``packet_loop``. Nodes take
no time to compute. Senders are drawn by the seed.

Cost: memory by fragments in flight, 64 bytes each, and by the square of the number of nodes for
routes; time by physical hops, some millions per second.
"""

from itertools import chain
from operator import mul
from random import Random

import numpy as np

from antiphon.models import packet_loop as loop
from antiphon.models.compiling import Int32s, Int64s
from antiphon.models.network import PhysicalNetwork, routes_to
from antiphon.models.timestamps import HELD_MAX, HELD_NS, Clocks
from antiphon.models.traffic import NS_PER_MS, Load, NetworkMeasures, Protocol
from antiphon.ordering.overlay.topologies import TOPOLOGIES, Topology, check_overlay

INCOMPLETE = TOPOLOGIES["incomplete-hypercube"]


def senders_of(network: PhysicalNetwork, load: Load, seed: int) -> list[int]:
    """Return who broadcasts."""
    return sorted(Random(f"{seed}/senders").sample(range(network.size), load.senders))


def measure(
    network: PhysicalNetwork, protocol: Protocol, load: Load, seed: int,
    topology: Topology = INCOMPLETE,
) -> NetworkMeasures:  # fmt: skip
    """Carry a load by a protocol until everything has arrived."""
    load.check(network.size)
    senders = senders_of(network, load, seed)
    parts = load.fragments(protocol, network.size)
    sending = loop.Broadcasts(
        np.array(senders, np.int32), load.messages, load.gap_ns, np.array(parts, np.int64),
        load.ns_per_byte,
    )  # fmt: skip
    ways, fan_out = _ways(network, protocol, senders, topology)
    links = loop.make_links(network.ends, network.delays_ns)
    clocks = _clocks(network.size, load)
    totals = np.zeros(loop.ON_LINKS_NS + len(parts), np.int64)
    loop.run(links, ways, sending, clocks, fan_out * len(parts) + 1, totals)
    return _measures(network.size, parts, links, clocks, totals)


def _ways(
    network: PhysicalNetwork, protocol: Protocol, senders: list[int], topology: Topology
) -> tuple[loop.Routing, int]:
    """Return where fragments go, and the most that one event puts on links, in messages."""
    if protocol is Protocol.TIMESTAMP:
        return _trees(network, senders)
    routes = np.array([routes_to(network, node)[0] for node in range(network.size)], np.int32)
    if protocol is Protocol.TIMESTAMP_UNICAST:
        nothing = loop.Routing(loop.UNICAST, routes, np.zeros(1, np.int64), np.zeros(1, np.int32))
        return nothing, network.size
    near = topology.overlay(network.size)
    check_overlay(near)
    offsets = np.cumsum([0, *map(len, near)]).astype(np.int64)
    peers = np.fromiter(chain.from_iterable(near), np.int32, int(offsets[-1]))
    return loop.Routing(loop.OVERLAY, routes, offsets, peers), max(map(len, near))


def _trees(network: PhysicalNetwork, senders: list[int]) -> tuple[loop.Routing, int]:
    """Return each sender's tree of routes: the links to each node's children."""
    counts, near = [0], list[int]()
    routes = []
    for sender in senders:
        via, _ = routes_to(network, sender)
        routes.append(via)
        children: list[list[int]] = [[] for _ in range(network.size)]
        for node, link in enumerate(via):
            if node != sender:
                children[int(network.ends[link])].append(link ^ 1)
        near += chain.from_iterable(children)
        counts += map(len, children)
    ways = loop.Routing(
        loop.TREE, np.array(routes, np.int32), np.cumsum(counts).astype(np.int64), _array(near)
    )
    return ways, max(counts)


def _array(numbers: list[int]) -> Int32s:
    return np.array(numbers or [0], np.int32)


def _clocks(size: int, load: Load) -> Clocks:
    count = load.senders * load.messages
    return Clocks(
        delivered=np.zeros((size, load.senders), np.int32),
        received=np.zeros((size, load.senders), np.int32),
        stamps=np.zeros((count, load.senders), np.int32),
        since=np.zeros((size, count), np.int64), held=np.zeros(2, np.int64),
    )  # fmt: skip


def _measures(
    size: int, parts: list[int], links: Int64s, clocks: Clocks, totals: Int64s
) -> NetworkMeasures:
    on_links_ns = [int(each) for each in totals[loop.ON_LINKS_NS :]]
    deliveries, duration = int(totals[loop.DELIVERIES]), max(1, int(totals[loop.NOW]))
    return NetworkMeasures(
        delay_mean_ms=int(totals[loop.DELAY_NS]) / max(1, deliveries) / NS_PER_MS,
        delay_max_ms=int(totals[loop.DELAY_MAX_NS]) / NS_PER_MS,
        messages=int(totals[loop.MESSAGES]), total_bytes=int(totals[loop.BYTES]),
        hops=int(totals[loop.HOPS]),
        held_mean=int(clocks.held[HELD_NS]) / duration / size,
        held_max=int(clocks.held[HELD_MAX]),
        load_mean=sum(on_links_ns) / duration / max(1, len(links)),
        load_bytes_mean=sum(map(mul, parts, on_links_ns)) / duration / max(1, len(links)),
        queue_max=int(totals[loop.QUEUE_MAX]), duration_ms=duration / NS_PER_MS,
        deliveries=deliveries, link_bytes=loop.carried(links),
    )  # fmt: skip
