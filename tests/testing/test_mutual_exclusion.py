"""Two that exclude each other at once, each in the group in which it is senior, both come back.

Each is out of all its groups when it hears that it is out of one. Who hears it first goes on alone
in the group from which it has excluded the other, as another incarnation, and tells the other.
"""

import pytest

import antiphon
from antiphon.core.ids import ProcessId
from antiphon.membership.entrance import Search
from antiphon.testing import Cluster

TIMING = antiphon.Timing(heartbeat_us=50_000, timeout_us=400_000)
SEEDS = range(1, 4)
GROUPS = {"attic": ("ann", "bob"), "cellar": ("bob", "ann")}
"""Who founds each group, and who joins it then."""


def amiss_in_the_end(seed: int) -> list[str]:
    """Have two processes miss each other a few times; say who is not with the other again."""
    with Cluster(seed) as cluster:
        here = {name: cluster.process(name) for name in ("ann", "bob")}

        async def opened(name: str) -> antiphon.Process:
            others = [other.address for other in here.values() if other.name != name]
            process = antiphon.Process(
                name, at=here[name].address, seeds=others, timing=TIMING, rejoin=True
            )
            return await process.__aenter__()

        processes = {name: here[name].run(opened(name)) for name in here}
        handles: dict[str, list[antiphon.Group]] = {group: [] for group in GROUPS}
        for group, entered in handles.items():
            for name in GROUPS[group]:
                handle = processes[name].join(group, seeds=None if entered else [])
                here[name].run(handle.__aenter__())
                here[name].collect(handle)
                entered.append(handle)
        for _ in range(3):
            cluster.half_open("ann", "bob", silently=True)  # what each tells the other is lost
            cluster.advance(8)
        cluster.raise_failures()
        assert any("~" in one.me for entered in handles.values() for one in entered), "none was out"
        return [
            f"{handle.me} in {group}: {handle.view}"
            for group, entered in handles.items()
            for handle in entered
            if not handle.view.primary or set(handle.members) != {one.me for one in entered}
        ]


@pytest.mark.parametrize("seed", SEEDS)
def test_both_are_in_both_groups_again(seed: int) -> None:
    """No group is lost: whoever was alone in one goes on with it, and takes the other in."""
    assert not amiss_in_the_end(seed)


def test_who_is_about_to_be_out_takes_others_in_and_loses_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who comes back first has to let the other hear that it is out, before it joins it."""

    def ask_at_once(_: Search, __: ProcessId, ___: int) -> bool:
        return False

    monkeypatch.setattr(Search, "_is_doomed", ask_at_once)
    assert any(map(amiss_in_the_end, SEEDS))
