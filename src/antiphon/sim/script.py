"""The script of a wide world: its cast, its sense of time, and single events to put into it.

Law: times are in units of what decides in such a world: the way of a message, the heartbeat, and
the silence that is borne. Every event is a method named after its kind (``coverage``), called with
the moment at which it is to happen; what has to come before it (the cut before the healing) is put
before that moment, as far as there is time.
"""

from random import Random

from antiphon.sim.scenario import TIMINGS, Step, Verb

_SAYINGS: dict[str, tuple[Verb, ...]] = {
    "view-atomic": ("fifo", "causal", "total", "uniform", "uniform-fifo", "uniform-total"),
    "coordinator": ("fifo", "causal", "total"),
    "all-to-all": ("fifo", "causal", "total"),
}
"""What may be multicast: only the view-atomic flush gives uniform delivery."""


class Script:
    """Steps of one scenario, and who is in it."""

    def __init__(
        self, random: Random, names: list[str], flush: str, timing: str, way_us: int
    ) -> None:
        """Begin with no step; ``way_us`` is about what a message takes."""
        self.random = random
        self.names = names
        self.newcomers = ["q1", "q2", "q3"]
        self.steps: list[Step] = []
        self.way_us = way_us
        self.beat_us = TIMINGS[timing].heartbeat_us
        self.silence_us = TIMINGS[timing].timeout_us
        self.sayings = _SAYINGS[flush]
        self.is_atomic = flush == "view-atomic"

    def add(self, time_us: int, verb: Verb, *who: str, amount: int = 0) -> None:
        """Put a step in."""
        self.steps.append(Step(max(0, time_us), verb, who, amount))

    def somebody(self, *but: str) -> str:
        """Return any process but these; the senior one is always among the first to be hit."""
        names = [name for name in self.names if name not in but] or self.names
        return self.random.choice([names[0], *names])

    def cast(self, count: int, *but: str) -> list[str]:
        """Return some different processes, at most so many."""
        names = [name for name in self.names if name not in but]
        return self.random.sample(names, min(count, len(names)))

    def soon(self, ways: float = 3.0) -> int:
        """Return a short time: some ways of a message."""
        return int(self.random.random() * ways * self.way_us)

    def a_while(self) -> int:
        """Return how long a fault lasts: too short to be noticed, just so, or long."""
        silence_us = self.silence_us
        long_us = self.random.choice([2 * self.way_us, silence_us // 2, 8 * silence_us // 5])
        return long_us + self.soon()

    # Events, by kind.

    def crash(self, time_us: int) -> None:
        """Somebody dies; perhaps the others can tell at once."""
        self.add(time_us, "crash", self.somebody(), amount=self.random.choice([0, 1, 1]))

    def leave(self, time_us: int) -> None:
        """Somebody leaves, perhaps with last words in many orders."""
        who = self.random.choice(self.names)
        for _ in range(self.random.choice([0, 0, 1, 3])):
            self.add(time_us, self.random.choice(self.sayings), who, amount=1)
        self.add(time_us, "leave", who)

    def join(self, time_us: int) -> None:
        """Somebody new comes, or who was there before."""
        who = self.random.choice(self.newcomers)
        self.add(time_us, "join", who)
        if who not in self.names:
            self.names.append(who)

    def rejoin(self, time_us: int) -> None:
        """Who has died, or was stopped for too long, comes back."""
        who = self.random.choice(self.names)
        if self.random.random() < 0.5:
            self.add(time_us - self.soon(8) - self.beat_us, "crash", who, amount=1)
            self.add(time_us, "join", who)
        else:
            self.add(time_us - 2 * self.silence_us, "pause", who)
            self.add(time_us - self.soon(2), "resume", who)

    def partition(self, time_us: int) -> None:
        """Some are cut off for a while."""
        self._part(time_us, time_us + self.a_while())

    def heal(self, time_us: int) -> None:
        """Some were cut off for a while."""
        self._part(time_us - self.a_while(), time_us)

    def _part(self, time_us: int, until_us: int) -> None:
        count = self.random.randint(1, max(1, len(self.names) // 2))
        self.add(time_us, "partition", *self.cast(count))
        self.add(until_us, "heal")

    def pause(self, time_us: int) -> None:
        """Some stop, together, and go on, together."""
        self._stop(time_us, time_us + self.a_while())

    def resume(self, time_us: int) -> None:
        """Some go on who had stopped."""
        self._stop(time_us - self.a_while(), time_us)

    def _stop(self, time_us: int, until_us: int) -> None:
        for who in self.cast(self.random.choice([1, 1, 2, 3])):
            self.add(time_us + self.random.choice([0, self.soon()]), "pause", who)
            self.add(until_us + self.random.choice([0, self.soon()]), "resume", who)

    def slow(self, time_us: int) -> None:
        """What some say to some others takes long, for a while."""
        source = self.somebody()
        extra_us = self.random.choice([3 * self.way_us, self.silence_us // 2, 2 * self.silence_us])
        until_us = time_us + self.a_while()
        for target in self.cast(self.random.choice([1, 1, 2, 4]), source):
            one, other = self.random.choice([(source, target), (target, source)])
            self.add(time_us, "slow", one, other, amount=extra_us)
            self.add(until_us, "slow", one, other)

    def down(self, time_us: int) -> None:
        """A link goes down, one way or both, and comes up again."""
        self._cut(time_us, time_us + self.a_while())

    def up(self, time_us: int) -> None:
        """A link comes up that was down."""
        self._cut(time_us - self.a_while(), time_us)

    def _cut(self, time_us: int, until_us: int) -> None:
        pair = self.cast(2)
        ways = [pair, pair[::-1]][: self.random.choice([1, 2])]
        for way in ways if len(pair) == 2 else []:
            self.add(time_us, "down", *way)
            self.add(until_us, "up", *way)

    def busy(self, time_us: int) -> None:
        """An event loop is held up again and again."""
        who = self.somebody()
        slice_us = self.random.choice([self.way_us, self.beat_us, 13 * self.beat_us // 10])
        self.add(time_us, "busy", who, amount=max(1, slice_us))
        self.add(time_us + 2 * slice_us + self.a_while(), "busy", who)

    def condemn(self, time_us: int) -> None:
        """Somebody, or several, give up a member that lives, as one that takes nothing."""
        whom = self.somebody()
        for who in self.cast(self.random.choice([1, 1, 2]), whom):
            self.add(time_us, "condemn", who, whom)

    def transfer(self, time_us: int) -> None:
        """Somebody has just come and is being given the state."""
        self.join(time_us - 8 * self.way_us - 3_000)

    def transaction(self, time_us: int) -> None:
        """Somebody begins a transaction."""
        if self.is_atomic:
            self.add(time_us, "begin", self.somebody())

    def multicast(self, time_us: int) -> None:
        """Somebody multicasts."""
        self.add(time_us, self.random.choice(self.sayings[:3]), self.somebody(), amount=1)

    def uniform(self, time_us: int) -> None:
        """Somebody multicasts, uniformly if the flush gives that."""
        self.add(time_us, self.random.choice(self.sayings[-3:]), self.somebody(), amount=1)

    def letter(self, time_us: int) -> None:
        """Somebody sends letters."""
        pair = self.cast(2)
        for _ in range(self.random.choice([1, 2]) if len(pair) == 2 else 0):
            self.add(time_us, "send", *pair)
