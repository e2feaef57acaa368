"""Who lies in a stamp of another group is told off where that can be known; nobody else is harmed.

A={p,q,s} B={l,p,r,s} C={r,s} D={l,p}: l lies in B of A. If l is in A, what it names of A is its own
knowledge. If it is not, it may have been lied to itself: then what cannot be is taken for nothing,
and what only others can know is asked of them (``stack.lacks``).
"""

import pytest
from tests.adversary.world import Actor, AdversaryWorld

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run, Stamp
from antiphon.stack.inputs import PeerLost

A, B, C = (GroupNumber(number) for number in range(3))

LIES: dict[str, tuple[int, int, Stamp]] = {
    "rank out of range": (A, 1, ((99, 1),)),
    "what p never sent": (A, 1, ((0, 50),)),
    "unknown group": (77, 1, ((0, 1),)),
    "view that nobody has": (A, 99, ((0, 1),)),
    "view of another lineage": (A, 2**60, ()),
    "next view": (A, 2, ((0, 1),)),
    "what q never sent": (A, 1, ((1, 10**9),)),
    "what q has yet to send": (A, 1, ((1, 1),)),
}

FOUND_OUT = ["view that nobody has", "view of another lineage", "next view", "what q never sent"]
"""What others have to be asked about."""


class Court(AdversaryWorld):
    """A world with a liar, in which rejections have consequences."""

    def __init__(self, liar: str, lie: tuple[int, int, Stamp]) -> None:
        super().__init__("liars")
        self.rejections: list[tuple[str, str, str]] = []
        self.has_lied = False
        self._liar, self._lie = liar, lie
        self.lie = self._lie_once

    def _lie_once(self, actor: Actor, run: Run) -> Run:
        if actor.me.name != self._liar or run.group != B or self.has_lied:
            return run
        self.has_lied = True
        return Run(
            run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads, None,
            run.uniform, run.port, run.sets_order, (self._lie,),
        )  # fmt: skip

    def reject(self, actor: Actor, peer: ProcessId, why: str) -> None:
        """Note it; the channel ends."""
        self.rejections.append((actor.me.name, peer.name, why))
        actor.todo.append(lambda: actor.give(PeerLost(peer)))


def _try(lie: str, members_of_a: str) -> Court:
    world = Court("l", LIES[lie])
    world.start("lpqrs", {A: members_of_a, B: "lprs", C: "rs"})
    world.run(115_000)
    world.say("l", B)
    world.run(3_000)
    assert world.has_lied
    for name, group in (("r", C), ("r", B), ("p", B), ("s", C)):
        world.say(name, group)
        world.run(3_000)
    world.run(600_000)
    for name, group in (("s", B), ("p", B), ("q", A), ("r", C)):
        world.say(name, group)
    world.run(300_000)
    return world


def _assert_nobody_is_harmed(world: Court) -> None:
    assert world.judge.judge() == []
    honest = {f"{name}.1" for name in "pqrs"}
    for name in "pqrs":
        actor = world.actors[name]
        assert not actor.ends, (name, actor.ends)
        for group in actor.going:
            assert world.judge.undelivered(actor.key, group, actor.views[group], honest) == []
            assert not actor.machine.endpoint(group).queue.waiting


@pytest.mark.parametrize("lie", LIES)
def test_hearsay_harms_nobody(lie: str) -> None:
    """The liar is not in A; r, who is not either, passes on what it was told."""
    world = _try(lie, "pqs")
    assert [who for _, who, _ in world.rejections if who != "l"] == []
    _assert_nobody_is_harmed(world)


@pytest.mark.parametrize("lie", ["rank out of range", "what p never sent"])
def test_who_lies_of_its_own_group_is_told_off(lie: str) -> None:
    """The liar is in A: it is rejected, and what others have of it is taken from them."""
    world = _try(lie, "pqsl")
    rejections = {(by, who) for by, who, _ in world.rejections}
    assert rejections  # by whoever takes it first: after that, nobody takes anything of l
    assert rejections <= {("p", "l"), ("s", "l")}
    assert all("group" in why for _, _, why in world.rejections)
    _assert_nobody_is_harmed(world)


@pytest.mark.parametrize("lie", FOUND_OUT)
def test_who_lies_of_its_own_group_is_found_out(lie: str) -> None:
    """The liar is in A; p and s, who cannot know, ask the others in A, and name both groups."""
    world = _try(lie, "pqsl")
    assert {(by, who) for by, who, _ in world.rejections} == {("p", "l"), ("s", "l")}
    assert all("of group g0, in group g1, a stamp names" in why for *_, why in world.rejections)
    _assert_nobody_is_harmed(world)


def test_own_count_in_its_own_group_is_no_fault_of_who_relays_it() -> None:
    """In the group itself l names what p never sent: r, who has that and relays it, is honest."""
    world = Court("l", LIES["unknown group"])
    world.lie = lambda actor, run: (
        Run(run.group, run.view, run.sender, run.first, run.order, ((1, 50),), run.payloads)
        if actor.me.name == "l"
        else run
    )
    world.start("lprs", {B: "lprs"})
    world.run(15_000)
    world.say("l", B)
    world.run(600_000)
    for name in "prs":
        world.say(name, B)
    world.run(300_000)
    assert {(by, who) for by, who, _ in world.rejections} == {("p", "l")}
    assert world.judge.wrong == []
    assert all(not world.actors[name].ends for name in "prs")
