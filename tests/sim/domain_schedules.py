"""Schedules for the process machine in several groups of one domain: who is slow, who has what."""

import pytest

from antiphon.core.runs import Foreign
from antiphon.ordering.structure import Structure
from antiphon.sim.several_groups import SeveralGroups

A, B, C, D = 0, 1, 2, 3
SLOW_US = 15_000


def domain_of(
    groups: dict[int, str],
    structure: Structure | None = None,
    resilience: int = 1,
    others: str = "",
) -> SeveralGroups:
    """Return a world of these groups, by the letters of their members, that has just begun."""
    world = SeveralGroups(1, causality="d", resilience=resilience, structure=structure)
    world.start("".join(sorted(set("".join(groups.values()) + others))), groups)
    world.run(1_000)
    return world


def slow(world: SeveralGroups, source: str, to: str) -> None:
    """Let what a process sends to some others take its time."""
    for one in to:
        world.slow[source, one] = SLOW_US


def delivered(world: SeveralGroups, name: str) -> list[str]:
    """Return what a process delivered, in order, as sender@group."""
    node = world.node(name)
    told = [what for who, what in world.across._events if who == node.me.name]
    return [f"{one[2]}{one[3]}@{'ABCD'[one[0]]}" for one in told if isinstance(one, tuple)]


def let_settle(world: SeveralGroups) -> None:
    """Let everything arrive; nothing may be wrong then."""
    world.run(2_000_000)
    assert [*world.judge(), world.across.judge(world.resilience)] == [""]


def stamps_in(world: SeveralGroups, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Foreign]]:
    """Note who sends which stamps of other groups."""
    noted: list[tuple[str, Foreign]] = []
    multicast = world.across.multicast

    def note(process, group, run, me):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        noted.append((f"{me}@{'ABCD'[group]}", run.foreign))
        multicast(process, group, run, me)

    monkeypatch.setattr(world.across, "multicast", note)
    return noted
