"""One process in several groups: what is of the process exists once, and failure is of a process.

Each group is judged by the oracle alone, from what was delivered in it.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from antiphon.core.control import JoinRequest
from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.sim.random_groups import examine_groups
from antiphon.sim.several_groups import TIMING, Node, SeveralGroups
from antiphon.stack.acquaintances import Acquaintances
from antiphon.stack.effects import Effect, LeaveGroup, SendRun, SetTimer
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    ControlReceived,
    MulticastRequested,
    PeerFilled,
    PeerLost,
    RunsReceived,
    Timer,
    TimerFired,
)
from antiphon.stack.process import BEATS_PER_TIMEOUT, InGroup, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings


def nobody_is_expected(_: Process) -> tuple[ProcessId, ...]:
    """Whoever it is."""
    return ()


def only_one_group_ends(self: Process, group: GroupNumber, end: LeaveGroup) -> None:
    """Go on in the other groups."""
    self._done.append(InGroup(group, end))


WRONG_RULES: dict[str, tuple[type, Any]] = {
    "others": (Acquaintances, property(nobody_is_expected)),
    "_end": (Process, only_one_group_ends),
}
"""Nobody is beaten to; who failed in one group goes on in the others."""

B = ProcessId("b", 0)

REST_US = TIMING.timeout_us // BEATS_PER_TIMEOUT
BEATS_PER_S = 1_000_000 // REST_US
"""Where nothing happens."""


def views_of(world: SeveralGroups, group: int) -> dict[str, tuple[int, str]]:
    """Return, by living member, the view of a group that it is in: number, and names."""
    number = GroupNumber(group)
    return {
        node.me.name: (view.number, "".join(who.name for who in view.members))
        for node in world.nodes.values()
        if node.is_up and (view := node.views.get(number)) is not None and number not in node.ends
    }


@pytest.mark.parametrize("group_count", [1, 10])
def test_idle_groups_cost_one_heartbeat_per_pair(group_count: int) -> None:
    """Whatever the number of groups that two processes share."""
    world = SeveralGroups(1)
    world.start("abc", dict.fromkeys(range(group_count), "abc"))
    for group in range(group_count):
        world.say("a", group)
    world.run(1_000_000)  # receipts and what is stable are said, and then there is no news
    before = world.sent
    world.run(1_000_000)
    assert world.sent - before == 3 * 2 * BEATS_PER_S
    assert not world.judge()


def at_rest(seed: int) -> SeveralGroups:
    """Return a world of three in one group, in which nothing has happened for a while."""
    world = SeveralGroups(seed)
    world.start("abc", {0: "abc"})
    world.say("a", 0)
    world.run(1_000_000)
    return world


@pytest.mark.parametrize("seed", range(20))
def test_what_happens_at_rest_is_looked_at_as_soon_as_ever(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who multicasts, and who receives it, has its next heartbeat as soon as one who is awake."""
    due_us: dict[str, int] = {}
    set_timer = Node.set_timer

    def noted(self: Node, asked: SetTimer) -> None:
        set_timer(self, asked)
        if asked.timer == HEARTBEAT:
            due_us[self.me.name] = asked.time_us

    monkeypatch.setattr(Node, "set_timer", noted)
    world = at_rest(seed)
    world.run(seed * REST_US // 20)
    began_us = world.now_us
    world.say("b", 0)
    world.run(5_000)
    assert len(due_us) == 3
    assert max(due_us.values()) <= began_us + 5_000 + TIMING.heartbeat_us
    assert not world.judge()


def beats_us(effects: Sequence[InGroup | Effect]) -> list[int]:
    """Return the times that are set for the next heartbeat."""
    timers = [effect for effect in effects if isinstance(effect, SetTimer)]
    return [one.time_us for one in timers if one.timer == HEARTBEAT]


@pytest.mark.parametrize("happened", [PeerLost(B), PeerFilled(B, is_full=True)])
def test_what_happens_to_a_channel_at_rest_is_looked_at_as_soon_as_ever(
    happened: PeerLost | PeerFilled,
) -> None:
    """A process that is lost, or takes no more, ends the rest of who notices."""
    world = at_rest(1)
    process, now_us = world.node("a").machine, world.now_us + REST_US
    assert beats_us(process.step(TimerFired(HEARTBEAT), now_us)) == [now_us + REST_US]
    assert beats_us(process.step(happened, now_us + 1)) == [now_us + 1 + TIMING.heartbeat_us]


@pytest.mark.parametrize("seed", range(20))
def test_crash_at_rest_is_suspected_in_time(seed: int) -> None:
    """Whoever stops is out of the view within the timeout, and what agreement takes."""
    world = at_rest(seed)
    world.run(seed * REST_US // 20)
    world.crash("c")
    world.run(TIMING.timeout_us + 30_000)
    assert views_of(world, 0) == dict.fromkeys("ab", (2, "ab"))
    assert not world.judge()


def test_crash_is_noticed_once_and_changes_every_group_concerned() -> None:
    """And no other."""
    world = SeveralGroups(2)
    world.start("abcd", {0: "abcd", 1: "abc", 2: "bcd", 3: "ad"})
    world.run(10_000)
    world.crash("d")
    world.run(1_000_000)
    assert views_of(world, 0) == dict.fromkeys("abc", (2, "abc"))
    assert views_of(world, 1) == dict.fromkeys("abc", (1, "abc"))
    assert views_of(world, 2) == dict.fromkeys("bc", (2, "bc"))
    assert views_of(world, 3) == {"a": (2, "a")}
    assert not world.judge()


def test_minority_in_one_group_and_majority_in_another() -> None:
    """One is blocked, the other goes on."""
    world = SeveralGroups(3)
    world.start("abcde", {0: "abcde", 1: "abc"})
    world.run(10_000)
    for name in "cde":
        world.crash(name)
    world.run(1_000_000)
    assert views_of(world, 0) == dict.fromkeys("ab", (1, "abcde"))
    assert views_of(world, 1) == dict.fromkeys("ab", (2, "ab"))
    for group in (0, 1):
        world.say("a", group)
    world.run(200_000)
    b = world.node("b")
    assert len(b.delivered[GroupNumber(1)]) == 1
    assert not b.delivered[GroupNumber(0)]


def test_who_failed_in_one_group_is_out_of_all() -> None:
    """Both sides: it stops everywhere, and is excluded where nobody had noticed anything."""
    world = SeveralGroups(4)
    world.start("abcd", {0: "abd", 1: "acd"})
    world.run(10_000)
    d = world.node("d")
    for name in "ab":  # of group 0; c, of group 1 alone, knows nothing
        world.node(name).give(PeerLost(d.me))
    world.run(1_000_000)
    assert views_of(world, 0) == dict.fromkeys("ab", (2, "ab"))
    assert views_of(world, 1) == dict.fromkeys("ac", (2, "ac"))
    assert set(d.ends) == {0, 1}
    assert all(d.ends.values())
    assert d.machine.is_over


def test_leaving_is_of_one_group() -> None:
    """The others do not notice."""
    world = SeveralGroups(5)
    world.start("abc", {0: "abc", 1: "abc"})
    world.run(10_000)
    world.leave("c", 0)
    world.run(500_000)
    assert views_of(world, 0) == dict.fromkeys("ab", (2, "ab"))
    assert views_of(world, 1) == dict.fromkeys("abc", (1, "abc"))
    assert world.node("c").ends == {0: ""}
    world.say("c", 1)
    world.run(500_000)
    assert all(len(world.node(name).delivered[GroupNumber(1)]) == 1 for name in "abc")
    assert not world.judge()


def test_channels_are_for_all_groups_together() -> None:
    """A process that shares no group any more is no longer expected."""
    world = SeveralGroups(6)
    world.start("abc", {0: "ab", 1: "abc"})
    world.run(10_000)
    assert [who.name for who in world.node("a").expected] == ["a", "b", "c"]
    world.leave("c", 1)
    world.run(500_000)
    assert [who.name for who in world.node("a").expected] == ["a", "b"]


def test_who_is_met_again_in_another_group_is_not_taken_for_silent() -> None:
    """What a group that was left had heard last is forgotten with it: in this world it was not."""
    assert examine_groups(80) == ""


def test_group_is_opened_once() -> None:
    """A second time is a mistake of the application; so is one after the end."""
    me = ProcessId("a")
    process = Process(me, TIMING, 0)
    process.open(GroupNumber(1), me, None, Settings(timing=TIMING), 0)
    with pytest.raises(UsageError, match="is in that group already"):
        process.open(GroupNumber(1), me, None, Settings(timing=TIMING), 0)


def test_what_is_of_a_group_that_was_left_is_ignored() -> None:
    """Late frames, requests and timers of it harm nobody, nor the group that goes on."""
    a, b = ProcessId("a", 1), ProcessId("b", 1)
    left, kept = GroupNumber(7), GroupNumber(8)
    process = Process(a, TIMING, 0)
    process.start()
    for group, name in ((left, "left"), (kept, "kept")):
        view = View(GroupName(name), ViewNumber(1), (a, b))
        process.open(group, a, view, Settings(timing=TIMING), 0)
    request = MulticastRequested([b"x"], How(Order.CAUSAL), 1)
    run = next(done.run for done in process.step_in(left, request, 1) if isinstance(done, SendRun))
    process.close(left)
    assert process.step_in(left, RunsReceived(b, [run]), 2) == []
    assert process.step_in(left, ControlReceived(b, JoinRequest(ProcessId("c"))), 2) == []
    assert process.step_in(left, request, 2) == []
    assert process.step(TimerFired(Timer(ACKNOWLEDGE.kind, left)), 3) == []
    assert any(isinstance(done, SendRun) for done in process.step_in(kept, request, 4))


@pytest.mark.parametrize("seed", range(60))
def test_random_groups_keep_their_promises(seed: int) -> None:
    """Overlapping groups, crashes, partitions, leaves, joins and multicasts in any order."""
    assert examine_groups(seed) == ""


def test_planted_bugs_of_several_groups_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exploration is able to fail: each of these is found within a few worlds."""
    for name, (where, wrong) in WRONG_RULES.items():
        with monkeypatch.context() as patched:
            patched.setattr(where, name, wrong)
            assert any(examine_groups(seed) for seed in range(200)), name
