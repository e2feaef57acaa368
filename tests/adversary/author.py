"""Random worlds for the adversary: structures, faults and applications that others do not have.

Law: a world is a function of its seed, resilience and flush. Beyond crashes, joins and leaves there
are here: channels held for long and let go at once, a process that leaves one group and joins
another while a third changes its view, who comes back as another incarnation into several groups,
groups founded on the way, wrong suspicions, calls and letters in several groups at once, processes
in ten groups, operators who take a group over. A world fails if the judge finds something wrong
(``judge``), or, when all faults have ended and time has passed, something still waits.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random

from tests.adversary.judge import Judge
from tests.adversary.world import Actor, AdversaryWorld

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order, Run
from antiphon.stack import inputs as on
from antiphon.stack.domain import ALL
from antiphon.toolkit.calls import Wanted

_SETTLE_US = 3_000_000
_HOLDS_US = (300, 2_000, 8_000, 25_000, 60_000)
_PAUSE_US = 15_000
"""Between two times for which a channel is held: who is silent for long is suspected."""

_LONG_HOLDS_US = (*_HOLDS_US, 150_000, 400_000)
_ANSWERS_MAX = 150

Groups = dict[int, str]


def examine(seed: int, resilience: int = 1, flush: str = "view-atomic") -> str:
    """Live through a world; say what went wrong, if anything did."""
    author = Author(seed, resilience, flush)
    try:
        return author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError, IndexError, TypeError) as error:
        return f"at {author.world.now_us} us: {type(error).__name__}: {error}"


def structure(random: Random, names: str) -> Groups:
    """Return groups of some of these processes."""
    size = len(names)

    def any_of(least: int) -> str:
        return "".join(sorted(random.sample(names, random.randint(least, size))))

    kinds: list[Callable[[], Groups]] = [
        lambda: {i: _sorted(names[i], names[(i + 1) % size]) for i in range(size)},
        lambda: {i: _sorted(names[i], names[(i + 1) % size], names[(i + 2) % size])
                 for i in range(size)},
        lambda: dict(enumerate(map("".join, combinations(names[:4], 2)))),
        lambda: dict(enumerate(map("".join, combinations(names[:4], 3)))),
        lambda: {i: names[0] + names[1 + i % (size - 1)] for i in range(10)},
        lambda: {i: _sorted(names[0], *random.sample(names, 2)) for i in range(10)},
        lambda: dict.fromkeys(range(random.randint(2, 3)), names),
        lambda: {i: _sorted(names[i], names[i // 2 - 1 if i > 1 else 0], names[-1])
                 for i in range(1, size)},
        lambda: dict(enumerate((names[:3], names[-3:], names[::2], names[1::2] + names[0]))),
        lambda: {i: any_of(2) for i in range(random.randint(2, 5))},
        lambda: {i: any_of(3) for i in range(random.randint(2, 4))},
    ]  # fmt: skip
    groups = random.choice(kinds)()
    return {number: _sorted(*members) for number, members in groups.items()}


def _sorted(*names: str) -> str:
    return "".join(sorted(set(names)))


class Author:
    """Does random things to groups of one domain."""

    def __init__(self, seed: int, resilience: int, flush: str) -> None:
        """Found some groups."""
        self.random = random = Random(f"{seed}/author of the adversary")
        token = random.choice(("follow", "follow", "fixed"))
        self.world = world = AdversaryWorld(seed, resilience=resilience, flush=flush, token=token)
        self.names = "abcdefg"[: random.randint(3, 7)]
        self.groups = structure(random, self.names)
        world.takes_short_way = random.random() < 0.5
        world.probes = random.random() < 0.5
        world.hands_on = random.random() < 0.5
        world.start(self.names, self.groups)
        world.on_delivery = self._answer
        self._answers = random.choice((0.0, 0.15, 0.3, 0.5))
        self._answered = 0
        ways = [
            (Order.FIFO, False), (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.TOTAL, False),
            (Order.TOTAL, False),
        ]  # fmt: skip
        if flush == "view-atomic":
            ways += [(Order.CAUSAL, True), (Order.TOTAL, True)]
        self._ways = random.choice((ways, ways, [(Order.CAUSAL, False)], ways[3:], ways[1:4]))
        self._letters = random.choice((0.0, 0.0, 0.1, 0.4))
        self._calls = random.choice((0.0, 0.0, 0.1))
        self._holds = random.choice((0.05, 0.3, 0.6))
        self._patience = random.choice((_HOLDS_US, _HOLDS_US, _LONG_HOLDS_US))
        faults = ["", "", "", "crash", "crash leave join", "leave join", "leave join hop found",
                  "crash restart leave join hop", "cut", "crash cut restart join", "suspect",
                  "crash leave join hop cut restart suspect found", "take over"]  # fmt: skip
        self._faults = random.choice(faults).split()
        self._rate = random.choice((0.05, 0.15, 0.3)) if self._faults else 0.0
        self._crashes_max = random.choice((1, 2, resilience if resilience < ALL else 3))
        self._crashed = 0
        self._calls_made = 0

    # What applications do.

    def _answer(self, actor: Actor, group: GroupNumber, run: Run) -> None:
        """Say something when something is delivered: mostly in another group, at once."""
        del run
        if self.random.random() > self._answers or self._answered > _ANSWERS_MAX:
            return
        self._answered += 1
        elsewhere = [other for other in actor.going if other != group] or actor.going
        if elsewhere:
            to = self.random.choice(elsewhere)
            actor.todo.append(lambda: self._say(actor, to))

    def _say(self, actor: Actor, group: GroupNumber) -> None:
        if group not in actor.going or self.world.actors[actor.me.name] is not actor:
            return
        name, dice = actor.me.name, self.random.random()
        if dice < self._letters:
            self.world.write(name, group, self.random.choice(self.names))
        elif dice < self._letters + self._calls:
            self._calls_made += 1
            call = on.CallRequested(self._calls_made, b"call", Wanted.MAJORITY, None, Order.CAUSAL)
            actor.give((group, call))
        else:
            order, uniform = self.random.choice(self._ways)
            self.world.say(name, group, order, uniform=uniform)

    # What happens.

    def live(self) -> str:
        """Do some things, end all faults, and look what became of it."""
        random, world = self.random, self.world
        for _ in range(random.randint(15, 60)):
            world.run(random.choice((20, 100, 400, 2_000, 12_000)))
            self._act()
        world.cut = []
        world.release()
        world.run(_SETTLE_US)
        judge = world.judge
        judge.judge()
        self._look_at_the_end(judge)
        return judge.wrong[0] if judge.wrong else ""

    def _act(self) -> None:
        random, world = self.random, self.world
        while random.random() < self._holds:
            one, other = random.choice(self.names), random.choice(self.names)
            if world.held.get((one, other), -1) < world.now_us - _PAUSE_US:
                world.hold(one, other, random.choice(self._patience))
        if random.random() < 0.1:
            world.release()
        if random.random() < self._rate:
            self._harm(random.choice(self._faults))
        name = random.choice(self.names)
        actor = world.actors[name]
        for _ in range(random.choice((1, 1, 2, 5))):
            if actor.going:
                self._say(actor, random.choice(actor.going))

    def _harm(self, kind: str) -> None:
        """Do harm of one kind to somebody, if that is possible."""
        actor = self.world.actors[self.random.choice(self.names)]
        harms: dict[str, Callable[[Actor], None]] = {
            "crash": self._crash, "cut": self._cut, "leave": self._leave, "join": self._join,
            "hop": self._hop, "found": self._found, "suspect": self._suspect,
            "restart": self._restart, "take": self._take_over, "over": self._cut,
        }  # fmt: skip
        harms[kind](actor)

    def _crash(self, actor: Actor) -> None:
        if actor.is_up and self._crashed < self._crashes_max:
            self._crashed += 1
            is_known = self.random.random() < 0.5
            self.world.crash(actor.me.name, is_known=is_known, loses=self.random.random())

    def _cut(self, actor: Actor) -> None:
        del actor
        sides = [{who for who in self.names if self.random.random() < 0.3} for _ in range(2)]
        self.world.cut = self.random.choice(([], sides[:1], sides))

    def _leave(self, actor: Actor) -> None:
        if actor.going:
            self.world.leave(actor.me.name, self.random.choice(actor.going))

    def _hop(self, actor: Actor) -> None:
        """Leave one group, and join another at once."""
        before = actor.going
        self._leave(actor)
        self._join(actor, before)

    def _suspect(self, actor: Actor) -> None:
        """Somebody is taken for dead for certain, and is not."""
        other = self.world.actors[self.random.choice(self.names)]
        is_there = actor.is_up and other is not actor and other.is_up
        if is_there and other.me in actor.expected and self._crashed < self._crashes_max:
            self._crashed += 1
            actor.give(on.PeerLost(other.me))

    def _restart(self, actor: Actor) -> None:
        """Come back as another incarnation, into several groups."""
        if actor.is_up and not actor.machine.is_over:
            return
        self.world.begin(actor.me.name)
        for number in list(self.groups):
            if self.random.random() < 0.6:
                self._enter(actor.me.name, number)

    def _join(self, actor: Actor, but: Sequence[int] = ()) -> None:
        if not actor.is_up or actor.machine.is_over:
            return
        open_ones = set(actor.machine.groups)
        numbers = [one for one in self.groups if one not in open_ones and one not in but]
        if numbers:
            self._enter(actor.me.name, self.random.choice(numbers))

    def _enter(self, name: str, number: int) -> None:
        if any(GroupNumber(number) in one.going for one in self.world.actors.values()):
            self.world.join(name, number, self.names)

    def _found(self, actor: Actor) -> None:
        del actor
        members = [
            name
            for name in self.names
            if self.world.actors[name].is_up and not self.world.actors[name].machine.is_over
        ]
        if len(members) > 1:
            chosen = self.random.sample(members, self.random.randint(2, min(3, len(members))))
            number = max(self.groups) + 1
            self.groups[number] = _sorted(*chosen)
            self.world.found(number, self.groups[number])

    def _take_over(self, actor: Actor) -> None:
        for group in actor.going:
            if actor.machine.endpoint(group).is_blocked:
                self.world.judge.took_over.add(group)
                actor.give((group, on.TakeOverRequested(self.random.randint(1, 1000))))

    # The end.

    def _look_at_the_end(self, judge: Judge) -> None:
        """Nothing waits, everybody is in one view, everything has been delivered."""
        actors = [one for one in self.world.actors.values() if one.is_up]
        is_blocked = any(
            one.machine.endpoint(group).is_blocked for one in actors for group in one.going
        )
        if is_blocked or self.world.judge.took_over:
            return
        living = {one.key for one in actors}
        for actor in actors:
            self._look_at_groups(judge, actor, living)
            if not self._faults and self._patience is _HOLDS_US and actor.ends:
                judge.complain(f"{actor.key} is out, and nothing had happened: {actor.ends}")

    def _look_at_groups(self, judge: Judge, actor: Actor, living: set[str]) -> None:
        for group in actor.going:
            endpoint = actor.machine.endpoint(group)
            latest, here = endpoint.latest, actor.views[group]
            if latest is not here and latest != here:
                judge.complain(f"{actor.key} is in view {here.number} of {group}, not {latest}")
            gone = [who for who in here.members if f"{who.name}.{who.boot}" not in living]
            if gone:
                judge.complain(f"{actor.key} is in {group} with {gone[0]}, who is dead")
            if endpoint.queue.waiting:
                waiting = endpoint.queue.waiting[0]
                judge.complain(f"liveness: {actor.key} has still to send {waiting} in {group}")
            if endpoint.queue_depth:
                held = endpoint.member.ordering.waiting()
                judge.complain(f"liveness: {actor.key} holds {held}")
            if missing := judge.undelivered(actor.key, group, here, living):
                judge.complain(f"liveness: {actor.key} has not delivered {missing[0]}")
