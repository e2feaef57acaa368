"""Flooding among many: the compiled loop against the machine itself, and at full size."""

import random

import pytest
from tests.models.plain_flood import PlainFlood, delay_of

from antiphon.core.errors import UsageError
from antiphon.models import flood_loop
from antiphon.models.abstract import Flood, flood
from antiphon.ordering.overlay.topologies import TOPOLOGIES, Topology, copies_per_broadcast


def plain(world: PlainFlood) -> tuple[object, ...]:
    """Return what a plain world found, in the order of ``found``."""
    world.run()
    alive = [set(told) for rank, told in enumerate(world.delivered) if world.life[rank]]
    return (
        world.copies, sum(map(len, world.delivered)), world.wrong,
        sum(told != alive[0] for told in alive),
        sum(world.delays) / max(1, len(world.delays)), max(world.delays, default=0),
        world.hops_most, world.in_flight_most,
    )  # fmt: skip


def found(model: Flood) -> tuple[object, ...]:
    """Return what the model found."""
    return (
        model.copies, model.deliveries, model.wrong, model.unequal, model.delay_mean,
        model.delay_most, model.hops_most, model.in_flight_most,
    )  # fmt: skip


def test_hash_is_the_same_in_both() -> None:
    """Delays are 1 to 1,024, all of them, and the same numbers compiled and plain."""
    args = [
        (seed, link, message) for seed in range(9) for link in range(99) for message in range(9)
    ]
    delays = [delay_of(*each) for each in args]
    assert delays == [flood_loop.delay_of(*each) for each in args]
    assert min(delays) == 1
    assert max(delays) == 1024


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_model_gives_the_numbers_of_the_machine(name: str) -> None:
    """Copies, deliveries, delays and hops, to the last digit, with crashes and without."""
    for seed in range(40):
        dice = random.Random(seed)
        size = dice.choice([4, 8, 16, 32] if name == "hypercube" else [3, 5, 9, 17, 30])
        senders = dice.sample(range(size), dice.randint(1, 3))
        count, gap = dice.randint(1, 5), dice.choice([1, 50, 400])
        doomed = dice.sample(range(size), dice.randint(0, 2))
        crashes = {rank: dice.randint(0, 20) for rank in doomed}
        kind = TOPOLOGIES[name]
        model = flood(kind, size, senders, count=count, gap=gap, seed=seed, crashes=crashes)
        world = PlainFlood(kind.overlay(size), senders, count, gap, seed, crashes)
        assert found(model) == plain(world), seed


def test_crashes_fewer_than_the_connectivity_change_nothing_for_survivors() -> None:
    """Causal order, and the same messages at all."""
    kind = TOPOLOGIES["incomplete-hypercube"]
    for seed in range(20):
        dice = random.Random(seed)
        size = dice.randint(100, 1000)
        doomed = dice.sample(range(size), kind.connectivity(size) - 1)
        crashes = {rank: dice.randint(0, 60) for rank in doomed}
        senders = dice.sample(range(size), 10)
        model = flood(kind, size, senders, count=6, seed=seed, crashes=crashes)
        assert (model.wrong, model.unequal) == (0, 0)


def test_hundred_thousand_members_are_flooded() -> None:
    """Ten senders, every copy one by one: as many as the overlay's degrees say, none wrong."""
    kind = TOPOLOGIES["incomplete-hypercube"]
    size = 100_000
    model = flood(kind, size, range(0, size, size // 10))
    assert model.copies == 10 * copies_per_broadcast(kind.overlay(size))
    assert model.deliveries == 10 * size
    assert (model.wrong, model.unequal) == (0, 0)
    assert model.seconds < 600


def test_what_does_not_fit_is_refused() -> None:
    """Too many messages for a word, senders that there are not."""
    kind = TOPOLOGIES["ring"]
    with pytest.raises(UsageError, match="at most 63"):
        flood(kind, 100, range(32), count=2)
    with pytest.raises(UsageError, match="0 to 9"):
        flood(kind, 10, [10])
    for wrong in ({9: 1}, {-1: 1}, {1: -5}):
        with pytest.raises(UsageError, match="who crashes is a member, 0 to 4, and puts 0 or more"):
            flood(kind, 5, [0], crashes=wrong)


def test_overlay_that_is_not_connected_is_refused() -> None:
    """Also one in which only one of two knows the other."""
    pairs = Topology("pairs", lambda _, rank: (rank ^ 1,), lambda _: 1)
    with pytest.raises(UsageError, match="no way from member 0 to member 2"):
        flood(pairs, 8, [0])
    one_way = Topology("one way", lambda size, rank: ((rank + 1) % size,), lambda _: 1)
    with pytest.raises(UsageError, match="0 and 1 are not each other's neighbours"):
        flood(one_way, 8, [0])
