"""Random worlds for one group with a protocol of its own: who does harm to whom, and when.

Law: a world is a function of its seed and its protocol. It fails if the judge finds something
wrong, or, when all faults have ended and time has passed, something still waits, or is kept.
"""

from collections.abc import Callable
from random import Random

from tests.adversary.dissemination.world import Actor, World

from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Order
from antiphon.stack import inputs as on
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.settings import Limits

SETTLE_US = 5_000_000
"""As long as some need to recover all where two of five datagrams go on being lost."""
_HOLDS_US = (300, 2_000, 8_000, 25_000, 60_000)
_FAULTS = (
    "", "crash", "crash", "crash crash crash massacre", "join leave", "crash join leave",
    "suspect", "suspect restart join", "cut", "sleep", "rest massacre", "strike",
    "crash suspect restart join leave sleep", "crash join leave cut sleep restart suspect",
    "strike join leave", "massacre join leave strike",
)  # fmt: skip


def examine(seed: int, protocol: GroupProtocol | None) -> str:
    """Live through a world; say what went wrong, if anything did."""
    author = Author(seed, protocol)
    try:
        return author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError, IndexError, TypeError) as error:
        return f"at {author.world.now_us} us: {type(error).__name__}: {error}"


class Author:
    """Does random things to a group."""

    def __init__(self, seed: int, protocol: GroupProtocol | None) -> None:
        """Found it."""
        self.random = random = Random(f"{seed}/author of dissemination")
        limits = random.choice(
            (
                None,
                None,
                Limits(unstable_bytes=400, queued_bytes=400, confirmed_bytes=100, held_bytes=200),
            )
        )
        self.world = world = World(seed, protocol, limits)
        world.loss = random.choice((0.0, 0.05, 0.2, 0.4))
        world.repeat = random.choice((0.0, 0.1, 0.4))
        self.names = "abcdefghijkl"[: random.randint(2, random.choice((4, 7, 12)))]
        founders = self.names[: random.randint(max(2, len(self.names) - 3), len(self.names))]
        shuffled = "".join(random.sample(founders, len(founders)))
        world.found(shuffled)
        world.on_delivery = self._answer
        self._answers = random.choice((0.0, 0.1, 0.3))
        self._answers_left = 60
        self._letters, self._calls = random.choice((0.0, 0.1, 0.4)), random.choice((0.0, 0.0, 0.1))
        self._fifo = random.choice((0.0, 0.0, 0.3))
        self._holds = random.choice((0.05, 0.3, 0.6))
        self._patience = random.choice((_HOLDS_US[:3], _HOLDS_US, (*_HOLDS_US, 150_000, 400_000)))
        if self._patience[-1] > 50_000:
            world.judge.suspects |= {f"{name}.{boot}" for name in self.names for boot in range(9)}
        self.faults = random.choice(_FAULTS).split()
        self._rate = random.choice((0.05, 0.15, 0.3)) if self.faults else 0.0
        self.is_blocked = False
        self.views = 0

    def _answer(self, actor: Actor) -> None:
        if self._answers_left and self.random.random() < self._answers:
            self._answers_left -= 1
            actor.later(lambda: self._say(actor))

    def _say(self, actor: Actor) -> None:
        world, name, dice = self.world, actor.me.name, self.random.random()
        if not actor.is_in or world.actors[name] is not actor:
            return
        if dice < self._letters:
            world.write(name, self.random.choice([*world.actors]))
        elif dice < self._letters + self._calls:
            world.call(name)
        else:
            order = Order.FIFO if self.random.random() < self._fifo else Order.CAUSAL
            world.say(name, self.random.choice((1, 1, 1, 3)), order, self.random.choice((0, 0, 90)))

    def live(self) -> str:
        """Do some things, end all faults, and look what became of it."""
        random, world = self.random, self.world
        for _ in range(random.randint(15, 50)):
            world.run(random.choice((20, 100, 400, 2_000, 12_000)))
            self._act()
        world.part()
        world.held.clear()
        for actor in list(world.actors.values()):
            actor.asleep_until_us = 0
            actor.give(on.ReaderLagged(is_behind=False))
        world.run(SETTLE_US)
        world.judge.judge()
        self._look_at_the_end()
        self.views = len(world.judge.agreed)
        return world.judge.wrong[0] if world.judge.wrong else ""

    def _act(self) -> None:
        random, world = self.random, self.world
        while random.random() < self._holds:
            one, other = random.choice(self.names), random.choice(self.names)
            if world.held.get((one, other), -1) < world.now_us - 15_000:
                world.hold(one, other, random.choice(self._patience))
        if random.random() < 0.1:
            world.held.clear()
        if random.random() < self._rate:
            self._harm(random.choice(self.faults))
        actor = world.actors[random.choice([*world.actors])]
        for _ in range(random.choice((1, 1, 2, 6))):
            self._say(actor)
        if random.random() < 0.05 and actor.is_in:
            world.flush(actor.me.name)
        if random.random() < 0.1:
            actor.give(on.ReaderLagged(is_behind=random.random() < 0.5))

    def _harm(self, kind: str) -> None:
        """Do harm of one kind to somebody, if that is possible."""
        name = self.random.choice(self.names)
        actor = self.world.actors.get(name)
        comes = kind == "join" if actor is None else kind == "restart" and not actor.is_in
        if comes:
            self.world.join(name)
        harms: dict[str, Callable[[Actor], None]] = {
            "crash": self._crash, "massacre": self._massacre, "strike": self._strike,
            "leave": lambda one: one.give(on.LeaveRequested()), "suspect": self._suspect,
            "cut": self._cut, "sleep": self._sleep,
        }  # fmt: skip
        if actor is not None and actor.is_in and kind in harms:
            harms[kind](actor)

    def _crash(self, actor: Actor) -> None:
        loses, is_known = self.random.choice((0.0, 0.5, 0.9)), self.random.random() < 0.5
        self.world.crash(actor.me.name, loses=loses, is_known=is_known)

    def _suspect(self, actor: Actor) -> None:
        self.world.suspect(actor.me.name, self.random.choice([*self.world.actors]))

    def _cut(self, actor: Actor) -> None:
        del actor
        side = {who for who in self.names if self.random.random() < 0.3}
        self.world.part(*self.random.choice(([], [side])))

    def _sleep(self, actor: Actor) -> None:
        self.world.sleep(actor.me.name, self.random.choice((5_000, 30_000, 150_000, 500_000)))

    def _strike(self, actor: Actor) -> None:
        """Who has just spoken reaches some at once, and others late, when it is out already."""
        world, random, name = self.world, self.random, actor.me.name
        others = [who for who in world.actors if who != name]
        late = random.sample(others, random.randint(1, max(1, len(others) - 1)))
        for who in late:
            world.hold(name, who, random.choice((5_000, 40_000, 200_000)))
        for _ in range(random.randint(1, 3)):
            self._say(actor)
        world.run(random.choice((20, 100, 500)))
        if not actor.is_in:
            return
        witness = random.choice(others)
        if random.random() < 0.5:
            world.suspect(witness, name)
        else:
            world.crash(name, loses=random.choice((0.0, 0.5)))
            if world.actors[witness].is_in:
                world.actors[witness].give(on.PeerLost(actor.me.bare()))
        if random.random() < 0.5:  # what was on its way to whom it had reached, too
            for who in set(others) - set(late):
                world.hold(who, random.choice(others), random.choice((2_000, 20_000)))

    def _massacre(self, actor: Actor) -> None:
        """A minority, such as all neighbours of somebody who has just spoken, dies at once."""
        self._say(actor)
        self.world.run(self.random.choice((10, 50, 200)))
        if not actor.is_in:
            return
        view = actor.view
        assert view is not None
        members = [who.name for who in view.members]
        neighbours = getattr(actor.endpoint.member.dissemination, "neighbours", ())
        victims = [who.name for who in neighbours if self.random.random() < 0.8]
        up = [name for name in members if self.world.actors[name].is_in]
        for name in victims[: max(0, len(up) - len(members) // 2 - 1)]:
            if self.world.actors[name].is_in:
                self.world.crash(name, loses=self.random.choice((0.3, 0.9)))

    # The end.

    def _look_at_the_end(self) -> None:
        world, judge = self.world, self.world.judge
        there = [one for one in world.actors.values() if one.is_in]
        living = {one.key for one in there}
        self.is_blocked = any(one.endpoint.is_blocked for one in there)
        if self.is_blocked:
            if not (judge.failed | judge.suspects):
                judge.complain("the group is blocked, for nothing")
            return
        for actor in there:
            self._look_at(actor, living)
        for actor in world.everybody:
            has_to_go = actor.key in judge.suspects or (
                actor.end is not None and "it left" in actor.end.why
            )
            if actor.end is not None and actor.end.why and not has_to_go:
                judge.complain(f"{actor.key} is out: {actor.end.why}")

    def _look_at(self, actor: Actor, living: set[str]) -> None:
        judge, endpoint, view = self.world.judge, actor.endpoint, actor.view
        assert view is not None
        last = judge.agreed[max(judge.agreed)]
        sent = [
            one.payload for one in judge.sent
            if one.sender == actor.key and not one.to and one.payload.startswith(b"t")
        ]  # fmt: skip
        wrongs: dict[str, object] = {
            f"is in view {view.number} of {last.number}": endpoint.latest != view or view != last,
            "is in a view with somebody who is not there":
                {f"{who.name}.{who.boot}" for who in view.members} - living,
            "has still to send": endpoint.queue.waiting,
            "holds something": endpoint.queue_depth,
            "has not delivered something": judge.undelivered(actor.key, view.number, living),
            "waits for a call": actor.calls,
            "waits for a flush": actor.flushes,
            "keeps bytes at rest": endpoint.member.kept_bytes,
            "has not sent what was handed over": sent != self.world.handed[actor.key],
        }  # fmt: skip
        for what, wrong in wrongs.items():
            if wrong:
                judge.complain(f"{actor.key} {what}: {wrong}")
