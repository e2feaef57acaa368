"""The physical model: small networks by hand, then the compiled loop against the plain one."""

import random
import time
from dataclasses import astuple, replace

import pytest
from tests.models.plain_network import PlainNetwork, TimestampNode

from antiphon.core.errors import UsageError
from antiphon.models.network import PhysicalNetwork, network_of, random_network, routes_to
from antiphon.models.physical import INCOMPLETE, measure
from antiphon.models.traffic import Load, NetworkMeasures, Protocol
from antiphon.ordering.overlay.topologies import TOPOLOGIES, Topology, copies_per_broadcast

US = 1_000
PAIR = network_of(2, [(0, 1, 300 * US)])


def comparable(found: NetworkMeasures) -> tuple[object, ...]:
    """Return what is measured, with the load of links as a list."""
    *numbers, carried = astuple(found)
    return (*numbers, carried.tolist())


def test_two_messages_queue_on_one_link() -> None:
    """32 bytes take 25.6 us to send and 300 us to arrive; the second waits for the first."""
    load = Load(senders=1, messages=2, gap_ns=10 * US)
    found = measure(PAIR, Protocol.OVERLAY, load, seed=1)
    first, second = 25.6 + 300, 2 * 25.6 + 300 - 10
    assert found.delay_mean_ms == pytest.approx((first + second) / 2 / 1000)
    assert found.delay_max_ms == pytest.approx(second / 1000)
    assert (found.messages, found.total_bytes, found.hops, found.queue_max) == (2, 64, 2, 1)
    assert sorted(found.link_bytes) == [0, 64]


def test_message_beyond_the_mtu_goes_in_fragments() -> None:
    """Each has a header; the message is there when its last fragment is."""
    load = Load(data_bytes=3000)
    assert load.fragments(Protocol.OVERLAY, 600) == [1500, 1500, 96]
    assert load.fragments(Protocol.TIMESTAMP, 600) == [
        1500,
        1500,
        1500,
        3000 + 2400 - 3 * 1468 + 32,
    ]
    assert Load(data_bytes=1468).fragments(Protocol.OVERLAY, 600) == [1500]
    assert Load().fragments(Protocol.OVERLAY, 600) == [32]
    one = Load(senders=1, messages=1, data_bytes=3000)
    found = measure(PAIR, Protocol.OVERLAY, one, seed=1)
    assert found.delay_max_ms == pytest.approx((3096 * 0.8 + 300) / 1000)
    assert (found.messages, found.queue_max) == (3, 2)


def test_long_queues_of_large_fragments_are_counted_in_full() -> None:
    """Bytes times nanoseconds of a day's queue are more than a word of 64 bits holds."""
    load = Load(senders=1, messages=2_000, gap_ns=1, data_bytes=1_468, ns_per_byte=10_000_000)
    found = measure(PAIR, Protocol.OVERLAY, load, seed=1)
    assert found.load_bytes_mean == pytest.approx(1_500 * found.load_mean)


def test_tree_carries_one_copy_per_link_and_unicast_one_per_node() -> None:
    """On a path of three nodes with the sender at one end."""
    path = network_of(3, [(0, 1, 1), (1, 2, 1)])
    load = Load(senders=1, messages=1)
    seed = next(s for s in range(99) if random.Random(f"{s}/senders").sample(range(3), 1) == [0])
    tree = measure(path, Protocol.TIMESTAMP, load, seed)
    single = measure(path, Protocol.TIMESTAMP_UNICAST, load, seed)
    assert (tree.hops, tree.messages) == (2, 2)
    assert (single.hops, single.messages) == (3, 2)
    assert tree.total_bytes == single.total_bytes == 2 * (32 + 3 * 4)


def test_routes_have_the_fewest_hops_and_form_trees() -> None:
    """Every step leads one hop nearer."""
    network = random_network(60, 0.05, 3)
    for target in range(60):
        via, hops = routes_to(network, target)
        for node in range(60):
            if node != target:
                assert hops[int(network.ends[via[node]])] == hops[node] - 1
                assert all(
                    hops[int(network.ends[link])] >= hops[node] - 1
                    for link in network.leaving[node]
                )


def test_random_networks_are_connected_and_repeatable() -> None:
    """As many edges as the probability says, about, and what it takes to join the parts."""
    for probability in (0.0, 0.01, 0.04, 1.0):
        network = random_network(100, probability, 7)
        routes_to(network, 0)
        expected = max(99, probability * 4950)
        assert 0.7 * expected <= network.edges <= 1.8 * expected
        again = random_network(100, probability, 7)
        assert again.ends.tolist() == network.ends.tolist()
        assert again.delays_ns.tolist() == network.delays_ns.tolist()
    assert 1 <= network.delays_ns.min() <= network.delays_ns.max() <= 1_000_000


def random_case(seed: int) -> tuple[PhysicalNetwork, Load]:
    """Return a small network and a load that makes queues."""
    dice = random.Random(seed)
    size = dice.choice([2, 3, 5, 8, 13, 20])
    network = random_network(
        size, dice.choice([0.0, 0.1, 0.4]), seed, dice.choice([1, 50_000, 10**6])
    )
    load = Load(
        senders=dice.randint(1, min(size, 4)), messages=dice.randint(1, 12),
        gap_ns=dice.choice([1, 25_600, 100_000, 900_000]),
        data_bytes=dice.choice([0, 100, 1000, 2000]), mtu_bytes=dice.choice([100, 1500]),
    )  # fmt: skip
    return network, load


@pytest.mark.parametrize("protocol", Protocol)
def test_model_gives_the_numbers_of_the_plain_one(protocol: Protocol) -> None:
    """All measures, and the load of every link, to the last digit."""
    for seed in range(60):
        network, load = random_case(seed)
        found = measure(network, protocol, load, seed)
        plain = PlainNetwork(network, protocol, load, seed, INCOMPLETE.overlay(network.size))
        assert comparable(found) == plain.run(), seed


@pytest.mark.parametrize("protocol", [Protocol.TIMESTAMP, Protocol.TIMESTAMP_UNICAST])
def test_messages_are_held_as_in_the_plain_one(protocol: Protocol) -> None:
    """Busy networks, in which answers overtake what they answer, and wait for it."""
    for seed, gap_ns in enumerate((100_000, 300_000)):
        network, load = random_network(20, 0.2, seed), Load(senders=5, messages=30, gap_ns=gap_ns)
        found = measure(network, protocol, load, seed)
        plain = PlainNetwork(network, protocol, load, seed, INCOMPLETE.overlay(20))
        assert comparable(found) == plain.run()
        assert found.held_max >= 4
        assert found.held_mean > 0


def test_other_overlays_can_be_measured() -> None:
    """Copies are those of the overlay."""
    network = random_network(32, 0.2, 1)
    load = Load(senders=2, messages=3)
    for name in ("hypercube", "ring", "tree"):
        kind = TOPOLOGIES[name]
        found = measure(network, Protocol.OVERLAY, load, 1, kind)
        assert found.messages == 6 * copies_per_broadcast(kind.overlay(32))
        plain = PlainNetwork(network, Protocol.OVERLAY, load, 1, kind.overlay(32))
        assert comparable(found) == plain.run()


def test_answer_waits_for_what_it_answers() -> None:
    """002-6: a timestamp counts what was delivered before the upcall; s holds the answer."""
    p, q, s = (TimestampNode(rank, 3) for rank in range(3))
    first = p.send()
    assert q.receive(first) == [first]
    answer = q.send()
    assert s.receive(answer) == []
    assert s.receive(first) == [first, answer]


def test_nonsense_is_refused() -> None:
    """Networks and loads that there cannot be."""
    with pytest.raises(UsageError, match="no network of 0 nodes"):
        random_network(0, 0.1, 1)
    with pytest.raises(UsageError, match="edge probability 2"):
        random_network(5, 2, 1)
    with pytest.raises(UsageError, match="not connected: 2 nodes"):
        routes_to(network_of(4, [(0, 1, 1), (2, 3, 1)]), 0)
    for wrong in (replace(Load(), senders=3), replace(Load(senders=1), mtu_bytes=32)):
        with pytest.raises(UsageError, match="cannot be sent among 2 nodes"):
            measure(PAIR, Protocol.OVERLAY, wrong, 1)
    pairs = Topology("pairs", lambda _, rank: (rank ^ 1,), lambda _: 1)
    with pytest.raises(UsageError, match="no way from member 0 to member 2"):
        measure(random_network(4, 1, 1), Protocol.OVERLAY, Load(senders=1), 1, pairs)


@pytest.mark.slow
def test_six_hundred_nodes_are_measured_within_three_minutes() -> None:
    """A thousand broadcasts over the overlay, on one core, with whatever is compiled first."""
    network = random_network(600, 0.02, 1)
    begin_s = time.process_time()
    found = measure(network, Protocol.OVERLAY, Load(data_bytes=100), 1)
    assert time.process_time() - begin_s < 180
    assert found.deliveries == 1_000 * 599
    assert found.messages == 1_000 * copies_per_broadcast(INCOMPLETE.overlay(600))
