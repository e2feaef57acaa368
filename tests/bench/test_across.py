"""What causality across groups costs: the measurements, in small."""

from collections import Counter
from functools import partial

import pytest

from antiphon.bench.across.checks import measure_check
from antiphon.bench.across.distance import measure_rates
from antiphon.bench.across.many import measure_many
from antiphon.bench.across.quick_world import (
    NO_HEARTBEAT_US,
    ROUND_TRIP_US,
    QuickProcess,
    QuickWorld,
)
from antiphon.bench.across.real_switches import Resilience, measure_real_switches
from antiphon.bench.across.stamps import (
    measure_stamps,
    overlaps_of,
    random_groups,
    tree_of_groups,
)
from antiphon.bench.across.styles import measure_clients, measure_hierarchy
from antiphon.bench.across.switches import measure_switches
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Run
from antiphon.stack.domain import ALL


def when_second_leaves(groups: list[tuple[int, ...]], resilience: int) -> float:
    """Return after how many round trips a second multicast, in another group, leaves."""
    world = QuickWorld(groups, resilience=resilience)
    world.run(100 * ROUND_TRIP_US)
    began_us, left_us = world.now_us, list[int]()

    def note(_member: QuickProcess, _group: GroupNumber, _run: Run) -> None:
        left_us.append(world.now_us)

    world.on_send = note
    for group in world.groups:
        world.processes[0].multicast(group, [b"said"])
    world.run(10 * ROUND_TRIP_US)
    assert len(left_us) == 2
    return (left_us[1] - began_us) / ROUND_TRIP_US


@pytest.mark.parametrize(
    ("groups", "resilience", "round_trips"),
    [
        ([(0, 1, 2), (0, 1, 2)], 1, 0),
        ([(0, 1, 2), (0, 2)], 1, 0),
        ([(0, 2), (0, 1, 2)], 1, 1),
        ([(0, 1, 2), (0, 3)], 1, 1),
        ([(0, 1, 2), (0, 1, 2)], 2, 1),
        ([(0, 1, 2), (0, 1, 2)], ALL, 1),
    ],
)
def test_switch_waits_for_a_receipt(
    groups: list[tuple[int, ...]], resilience: int, round_trips: int
) -> None:
    """But with a resilience of 1 not where all members of the second group are in the first."""
    assert when_second_leaves(groups, resilience) == round_trips


def test_switch_takes_one_round_trip_with_any_resilience() -> None:
    """And half another to be delivered."""
    for resilience in (2, ALL):
        times = measure_switches(resilience, 20)
        assert (times.leaves, times.delivered, times.delivered_max) == (1.0, 1.5, 1.5)


@pytest.mark.net
@pytest.mark.parametrize("on_asyncio", [False, True])
@pytest.mark.parametrize("resilience", [1, "all"])
def test_switch_on_sockets_waits_for_no_delayed_receipt(
    resilience: Resilience, *, on_asyncio: bool
) -> None:
    """On loopback it takes a millisecond; with TCP_NODELAY at one end only, 40."""
    times = measure_real_switches(resilience, 5, on_asyncio=on_asyncio)
    assert times.round_trip_us < times.delivered_us < 20_000


def test_stamps_are_a_small_part_of_plain_ones() -> None:
    """Bursts of 20, small groups."""
    counted = measure_stamps(random_groups(10, process_count=15), bursts=200)
    assert counted.messages >= 20 * 140
    assert counted.sent / counted.plain < 0.05
    assert counted.names == 0


def test_declared_tree_carries_stamps_of_own_groups_alone() -> None:
    """So fewer than if nothing is declared, with the same bursts; names are said besides."""
    groups = tree_of_groups(12)
    overlaps = overlaps_of(groups)
    assert not any(overlaps.are_linked("g0", f"g{other}") for other in range(1, 12))
    open_, declared = (
        measure_stamps(groups, structure=structure, bursts=300, pause_us=20_000)
        for structure in (None, overlaps)
    )
    assert (declared.runs, declared.plain) == (open_.runs, open_.plain)
    assert declared.stamps < open_.stamps / 2
    assert declared.sent < open_.sent
    assert declared.names > 0


def test_declared_circles_save_nothing() -> None:
    """Where every two groups are on one, all stamps ride along (ISIS 6.6)."""
    groups = [[0, 1, 2], [2, 3, 4], [4, 5, 0]]
    overlaps = overlaps_of(groups)
    open_, declared = (
        measure_stamps(groups, structure=structure, bursts=200, pause_us=20_000)
        for structure in (None, overlaps)
    )
    assert declared.stamps == open_.stamps > 0


def test_stamps_of_client_groups_that_rest_are_left_out() -> None:
    """The more clients ask between two heartbeats, the more groups are named; not for ever."""
    busy, calm = (measure_clients(3, 12, requests=150, pause_us=us) for us in (2_000, 200_000))
    assert busy.multicasts == calm.multicasts == 300, "each request is answered once"
    assert busy.most > 2 * calm.most
    assert calm.most <= 3 + 12


def test_members_of_a_subgroup_name_their_subgroup_alone() -> None:
    """If overlaps are declared; if not, what representatives learn in the root rides along."""
    declared, _ = measure_hierarchy(6, 4, multicasts=200)
    undeclared, _ = measure_hierarchy(6, 4, multicasts=200, is_declared=False)
    assert declared.most <= 4 < undeclared.most
    assert declared.multicasts == undeclared.multicasts


def test_stamp_of_a_neighbour_changes_once_a_burst() -> None:
    """As the paper has it at distance 1; further away, more often than it says."""
    near, far = measure_rates(10, distance=2, turns=60)
    assert near == pytest.approx(1 / 10, rel=0.15)
    assert 1 / 10**2 < far <= near


def test_check_looks_at_what_a_run_carries() -> None:
    """The same stamps, whatever the number of groups."""
    few, many = measure_check(2, 2, 50, 1), measure_check(40, 2, 50, 1)
    assert few.entries == many.entries == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("heartbeat_us", [100_000, NO_HEARTBEAT_US])
def test_many_groups_deliver_everything(heartbeat_us: int) -> None:
    """All messages at all members."""
    found = measure_many(40, 20, 60, heartbeat_us)
    assert (found.messages, found.delivered) == (1_200, 6_000)


def test_words_that_stamps_may_be_forgotten_are_few() -> None:
    """At most one to each other member, group and heartbeat."""
    world = QuickWorld([(0, 1, 2), (2, 3, 4), (4, 5, 6)])
    said: Counter[str] = Counter()

    def note(_group: GroupNumber, message: object, count: int) -> None:
        said[type(message).__name__] += count

    world.on_control = note
    for number in range(30):
        member = world.processes[number % 7]
        world.at(10_000 * number, partial(member.multicast, member.groups[-1], [b"x"]))
    world.run(1_000_000)
    assert 0 < said["Forgettable"] <= 3 * 6 * 11
