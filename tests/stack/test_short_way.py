"""The short way of a plain run does what the long way does, on random inputs.

Two endpoints of one process get the same inputs, in a world with others that multicast in all
orders, write letters, join, leave and crash, and with an echo that repeats, distorts and misplaces
what was sent. One takes runs the short way where it can, the other never: what they want done and
what they know is compared after each input, and now and then.
"""

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from tests.membership.hands import run_of
from tests.stack.memory_driver import MemoryDriver, Where

from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_CALLS, Order, Run
from antiphon.core.views import View
from antiphon.ordering.mixed import MixedDomain
from antiphon.stack.effects import DeliverRuns, Effect, RejectPeer, SetTimer
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    Input,
    JoinRequested,
    LeaveRequested,
    LetterRequested,
    MulticastRequested,
    PeerHeard,
    ReaderLagged,
    RunsReceived,
)
from antiphon.stack.process import InGroup, Process
from antiphon.stack.receiver import Receiver
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Limits, Settings

pytestmark = pytest.mark.long

A, B, C, D, E = (ProcessId(name, address=f"at {name}") for name in "abcde")
FOUNDING = View(GroupName("g"), ViewNumber(1), (A, B, C, D))
G = GroupNumber(1)
SECOND_US = 1_000_000
WAYS = [How(Order.CAUSAL)] * 3 + [How(order) for order in Order] + [How(Order.CAUSAL, uniform=True)]
SEEDS = range(12)


class Twins(Endpoint):
    """One endpoint that takes the short way, held beside one that never does."""

    def __init__(self, me: ProcessId, view: View | None, settings: Settings) -> None:
        """Begin twice."""
        super().__init__(me, view, settings, 0)
        self.other = Endpoint(me, view, settings, 0)
        self.short_count = self.step_count = self.refused = 0

    _OWN = ("other", "short_count", "step_count", "refused")

    def start(self) -> list[Effect]:
        """Start both."""
        self.other.start()
        return super().start()

    def step(self, happened: Input, now_us: int) -> list[Effect]:
        """Give an input to both; they must want the same done."""
        self.step_count += 1
        copy = deepcopy(happened)
        want = super().step(happened, now_us)
        done = self._step_shortly(copy, now_us)
        assert _timeless(done) == _timeless(want), f"step {self.step_count}: {happened}"
        if self.step_count % 50 == 0:
            self.compare()
        self.refused += any(isinstance(effect, RejectPeer) for effect in want)
        # It is the echo that lies, not the peer.
        return [effect for effect in want if not isinstance(effect, RejectPeer)]

    def _step_shortly(self, happened: Input, now_us: int) -> list[Effect]:
        if not isinstance(happened, RunsReceived) or happened.is_relayed or self.other.is_over:
            return self.other.step(happened, now_us)
        (run,) = happened.runs
        if not self.other.receive(happened.peer, run):
            return self.other.step(happened, now_us)
        self.short_count += 1
        return [DeliverRuns([run]), *self.other.step(PeerHeard(happened.peer), now_us)]

    def compare(self) -> None:
        """Both must know the same."""
        mine = {name: value for name, value in vars(self).items() if name not in self._OWN}
        assert _known(vars(self.other)) == _known(mine)


def _timeless(effects: list[Effect]) -> list[Any]:
    return [effect.timer if isinstance(effect, SetTimer) else effect for effect in effects]


def _known(thing: Any, seen: dict[int, int] | None = None) -> Any:
    """Return everything that a machine knows, as plain data; timers without their times.

    What is known in several places is said in the first, and numbered in the others.
    """
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return f"number {seen[id(thing)]}"
    module = type(thing).__module__
    if module.startswith(("antiphon", "tests")) and not module.startswith("antiphon.core"):
        seen[id(thing)] = len(seen)  # no plain value, which may well stand in several places
    if isinstance(thing, dict):
        return {str(key): _known(value, seen) for key, value in thing.items()}
    if isinstance(thing, list | tuple) or type(thing).__name__ == "deque":
        return [_known(value, seen) for value in thing]
    if callable(thing) or not module.startswith(("antiphon", "tests")):
        return repr(thing) if not callable(thing) else "something to call"
    names = list(getattr(thing, "__dict__", ()))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    found = {name: _known(getattr(thing, name), seen) for name in names if hasattr(thing, name)}
    if "_timers" in found:
        found["_timers"] = sorted(found["_timers"])
    return found or repr(thing)


class TwinProcess(Process):
    """A process whose one part in a group is the twins, which watch and beat for themselves."""

    def __init__(self, settings: Settings) -> None:
        """Be b."""
        super().__init__(B, settings.timing, 0)
        self.twins = Twins(B, FOUNDING, settings)
        self._endpoints[G] = self.twins

    def start(self) -> list[InGroup | Effect]:
        """Set no heartbeat: the twins set one each."""
        return self._see_to(G, self.twins.start())

    def _hear(self, peer: ProcessId) -> None:
        """Let the twins know, whatever they care for."""
        for member in self._known.members(G, peer):
            self._give(G, PeerHeard(member))

    def _forget(self, group: GroupNumber, endpoint: Endpoint) -> None:
        """Leave the twins alike to the end, which only one of them would be told of."""
        self._expect(group, ())


class World:
    """Processes around the twins."""

    def __init__(self, seed: int, settings: Settings) -> None:
        """Begin in a founding view of four, of which the twins are the second."""
        self.random = Random(f"{seed}/short way")
        self.driver = MemoryDriver(self.see, seed)
        self.ways = WAYS if seed % 2 else WAYS[:-1]  # where some are uniform, little is plain
        self.is_lying_well = seed % 4 == 3
        process = TwinProcess(settings)
        self.twins = process.twins
        for member in FOUNDING.members:
            if member != B:
                self.driver.open(G, member, FOUNDING)
        self.driver.processes[process.me] = process
        self.driver._parts[process.me, G] = self.twins
        self.driver._do_all(process.me, G, process.start())

    def give(self, who: ProcessId, happened: Input, time_us: int = 0) -> None:
        """Let something happen to a member, now or later."""
        self.driver.give(who.bare(), G, happened, time_us)

    def see(self, process: ProcessId, _: Where, effect: Effect) -> None:
        """Answer some of what is delivered; repeat some of it to the twins, or a distortion."""
        if not isinstance(effect, DeliverRuns):
            return
        who = process.numbered(1)
        for run in effect.runs:
            if who in (A, C) and self.random.random() < 0.1:
                self.say(who)
            if who != B and type(run) is Run and self.random.random() < 0.2:
                self._echo(run)

    def _echo(self, run: Run) -> None:
        """Repeat a run to the twins; in some worlds lies seem to come from whom they name."""
        said = self.distort(run)
        named = FOUNDING.members[said.sender % 4]
        peers = [peer for peer in (A, C, D, E) if self.is_lying_well or peer != named]
        peer = self.random.choice(peers) if said != run or self.random.random() < 0.5 else named
        if peer != B:
            self.give(B, RunsReceived(peer, [said]))

    def say(self, who: ProcessId) -> None:
        """Multicast something, or write to somebody."""
        size = self.random.choice((0, 1, 60))
        if self.random.random() < 0.1:
            to = self.random.choice([other for other in (A, B, C) if other != who])
            self.give(who, LetterRequested(to, bytes(size)))
        else:
            how = self.random.choice(self.ways)
            self.give(who, MulticastRequested([bytes(size)], how, size))

    def distort(self, run: Run) -> Run:
        """Return a run, or what somebody might make of it."""
        change: Callable[[Run], Run] = self.random.choice((
            lambda run: run,
            lambda run: _with(run, first=run.first + 1),
            lambda run: _with(run, view=run.view + 1),
            lambda run: _with(run, view=run.view - 1),
            lambda run: _with(run, sender=(run.sender + 1) % 6),
            lambda run: _with(run, stamp=((0, run.first + 3),)),
            lambda run: _with(run, stamp=((9, 1),)),
        ))  # fmt: skip
        return change(run)


def _with(run: Run, **changes: Any) -> Run:
    copy = deepcopy(run)
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy


def play(seed: int, limits: Limits | None = None) -> World:
    """Let a world run for a while."""
    world = World(seed, replace(Settings(), limits=limits or Limits()))
    driver, random = world.driver, world.random
    for _ in range(60):
        for _ in range(random.randrange(4)):
            world.say(random.choice((A, B, C)))
        if random.random() < 0.1:
            world.give(B, ReaderLagged(is_behind=random.random() < 0.5))
        driver.world.run(driver.world.now_us + random.randrange(20_000))
    driver.open(G, E, None)
    world.give(E, JoinRequested(A))
    world.give(D, LeaveRequested(), driver.world.now_us + random.randrange(300_000))
    for _ in range(60):
        world.say(random.choice((A, B, C)))
        driver.world.run(driver.world.now_us + random.randrange(20_000))
    if C.bare() in driver.processes:
        driver.crash(C.bare())
    for _ in range(30):
        world.say(random.choice((A, B)))
        driver.world.run(driver.world.now_us + random.randrange(20_000))
    driver.world.run(driver.world.now_us + 3 * SECOND_US)
    world.twins.compare()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_short_way_is_the_long_way_for_less(seed: int) -> None:
    """The same is wanted done after every input, and the same is known in the end."""
    assert play(seed).twins.step_count > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_short_way_keeps_limits_as_the_long_way_does(seed: int) -> None:
    """Also where little may be on its way, held, queued or unconfirmed."""
    limits = Limits(unstable_bytes=300, held_bytes=50, queued_bytes=300, confirmed_bytes=200)
    assert play(seed, limits).twins.step_count > 100


@pytest.mark.long
def test_worlds_reach_what_they_are_for() -> None:
    """Plain runs in number, several views, and lies that are refused are among the inputs."""
    worlds = [play(seed) for seed in SEEDS]
    assert sum(world.twins.short_count for world in worlds) > 300
    assert sum(world.twins.refused for world in worlds) > 0
    views = [world.twins.latest for world in worlds]
    assert max(view.number for view in views if view is not None) >= 4


_RIGHT = MixedDomain.receive_plain
_RIGHT_RECEIVER = Receiver.receive_plain


def _forgets_what_changed(self: MixedDomain, run: Run) -> bool:
    group = self._groups.get(run.group)
    before = dict(group.changed) if group is not None else {}
    is_taken = _RIGHT(self, run)
    if is_taken and group is not None:
        group.changed = before
    return is_taken


def _keeps_no_copy(self: Receiver, peer: ProcessId, run: Run) -> bool:
    with patch.object(type(self.stability), "keep", lambda *_: None):
        return _RIGHT_RECEIVER(self, peer, run)


def _ignores_the_stamp(self: MixedDomain, run: Run) -> bool:
    bare = _with(run, stamp=())
    return _RIGHT(self, bare)


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        (MixedDomain, _forgets_what_changed),
        (MixedDomain, _ignores_the_stamp),
        (Receiver, _keeps_no_copy),
    ],
)
def test_mistake_in_the_short_way_is_noticed(target: type, wrong: Any) -> None:
    """What this test is for, it finds."""
    with patch.object(target, "receive_plain", wrong), pytest.raises(AssertionError):
        deque(map(play, SEEDS))


def test_run_of_a_tool_is_no_plain_run() -> None:
    """A tool has to see its messages: they never go the short way."""
    endpoint = Endpoint(B, FOUNDING, Settings(), 0)
    endpoint.start()
    assert not endpoint.receive(A, _with(run_of(0, 1), port=PORT_CALLS))
    assert endpoint.receive(A, run_of(0, 1))
