"""Endpoint and fast machine against the slow one and the event graph, over random schedules.

In each world both judges look on: the slow machine after every step (same deliveries, same order,
as much held), the event graph at the end (causal order, nothing twice, nothing invented, nothing
missing). Everything under way arrives in the end, so nothing may stay held.
"""

from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from tests.properties.event_graph import complaints
from tests.properties.schedules import Schedule, random_schedule, schedules
from tests.properties.worlds import World, judge

SEEDS = range(8 * settings().max_examples)
"""So the profile decides here as well: hundreds in the inner loop, tens of thousands in a soak."""


@given(schedules(fifo_channels=True))
def test_any_schedule_over_fifo_channels_is_delivered_as_by_the_slow_machine(
    schedule: Schedule,
) -> None:
    """However channels interleave, order and outcome are those of rescanning from the head."""
    assert judge(schedule) == []
    assert judge(schedule, is_whole=False) == []


@given(schedules(fifo_channels=False))
def test_any_schedule_over_unordered_channels_is_delivered_as_by_the_slow_machine(
    schedule: Schedule,
) -> None:
    """Reordered, repeated and cut parcels change neither order nor outcome."""
    assert judge(schedule) == []


@pytest.mark.parametrize(
    ("fifo_channels", "is_whole"),
    [(True, True), (True, False), (False, False)],
    ids=["endpoint", "fifo", "unordered"],
)
def test_seeded_schedules_are_delivered_as_by_the_slow_machine(
    fifo_channels: bool, is_whole: bool
) -> None:
    """Worlds with starving channels, where much is held for long, come out right too."""
    for seed in SEEDS:
        found = judge(random_schedule(seed, fifo_channels=fifo_channels), is_whole=is_whole)
        assert not found, f"seed {seed}: {found[:3]}"


def test_seeded_schedules_hold_back_and_release_in_cascades() -> None:
    """The seeds are worth their time: many runs wait, and single arrivals release several."""
    held = cascades = 0
    for seed in SEEDS[:50]:
        schedule = random_schedule(seed, fifo_channels=True)
        world = World(schedule.size)
        for step in schedule.steps:
            before = [process.ordering.queue_depth for process in world.processes]
            world.take(step)
            after = [process.ordering.queue_depth for process in world.processes]
            held += sum(b > a for a, b in zip(before, after, strict=True))
            cascades += sum(a > b + 1 for a, b in zip(before, after, strict=True))
    assert held > 200, f"only {held} arrivals were held"
    assert cascades > 10, f"only {cascades} arrivals released more than one run"


class _Choice(NamedTuple):
    """One thing that can happen next: a multicast by ``sender``, or an arrival of it."""

    sender: int
    receiver: int | None


def _choices(world: World, has_sent: list[bool]) -> list[_Choice]:
    sends = [_Choice(sender, None) for sender, sent in enumerate(has_sent) if not sent]
    return sends + [_Choice(*pair) for pair, channel in world.channels.items() if channel]


def _replay(path: list[int], size: int) -> tuple[World, list[int]]:
    """Follow ``path``; return the world and how many choices there were at each step."""
    world = World(size)
    has_sent = [False] * size
    widths: list[int] = []
    for depth in count():
        choices = _choices(world, has_sent)
        if not choices:
            return world, widths
        widths.append(len(choices))
        if depth == len(path):
            path.append(0)
        choice = choices[path[depth]]
        if choice.receiver is None:
            has_sent[choice.sender] = True
            world.multicast(choice.sender, 1)
        else:
            world.arrive(choice.sender, choice.receiver)
    raise AssertionError  # pragma: no cover - count() does not end


def test_all_interleavings_of_three_multicasts_are_delivered_in_causal_order() -> None:
    """Three processes, one multicast each at any moment, all arrivals in any order: all right.

    Only the schedules that begin with the first process are run; the others are the same with the
    names exchanged.
    """
    path: list[int] = [0]
    worlds = 0
    while path[0] == 0:
        world, widths = _replay(path, 3)
        worlds += 1
        found = complaints(world.history, is_complete=True)
        assert not found, f"path {path}: {found}"
        while len(path) > 1 and path[-1] + 1 == widths[len(path) - 1]:
            path.pop()
        path[-1] += 1
    assert worlds == 13_440 // 3, "9 events, of which 3 come each before 2 others: 9!/27"
