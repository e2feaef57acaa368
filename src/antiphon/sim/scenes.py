"""Scenes: short plays of a few messages in given orders, for random scenarios.

Law: each scene brings about one situation that random messages hardly ever do, at moments that are
left to chance: a token that moves, a past that dies with its senders, lists that reach only some,
a vote that only the coordinator hears, letters in a triangle, an answer in a part that is left
behind. Times are in units of about what a message takes, because that is what decides who hears
of what first.
"""

from random import Random

from antiphon.sim.scenario import Step, Verb

_TOLD: dict[str, tuple[Verb, ...]] = {
    "view-atomic": ("fifo", "causal", "total", "uniform", "uniform-fifo", "uniform-total"),
    "coordinator": ("fifo", "causal", "total"),
    "all-to-all": ("fifo", "causal", "total"),
}
"""What may be multicast in a scene: only the view-atomic flush gives uniform delivery."""

_CAST_MIN = 3
_PARTED_CAST_MIN = 4
_PARTED_US = 600_000


class Scenes:
    """Writes the scenes of one scenario."""

    def __init__(self, seed: int, flush: str, names: list[str]) -> None:
        self._random = Random(f"{seed}/scenes")
        self._names = names
        self._orders = _TOLD[flush]
        self._firm = [order for order in self._orders if order.startswith("uniform")]
        self._unit_us = 0
        self._steps: list[Step] = []
        self.quiet_us = self._random.choice([0, 15_000, 40_000]) if len(names) >= _CAST_MIN else 0
        """For how long nothing else happens."""
        self._apart = Random(f"{seed}/apart")  # its own: other scenes are as they were
        self._is_parted = len(names) >= _PARTED_CAST_MIN and self._apart.random() < 0.15
        if self._is_parted:
            self.quiet_us = _PARTED_US
        self.answers = self._random.choice([0.0, 0.0, 1.0])
        """How much of the usual talk is left."""

    def play(self, until_us: int, delay_us: int) -> list[Step]:
        """Return the steps of a few scenes, not in order of time."""
        random = self._random
        self._unit_us = delay_us + 300  # what a message takes, and a list or a confirmation
        harmless = (self._talkers, self._talkers, self._triangle, self._letters_between_views)
        deadly = (
            self._dead_past, self._lost_turn, self._torn_list, self._last_to_know,
            self._split_decision if self._firm else self._lost_turn,
        )  # fmt: skip
        if len(self._names) < _CAST_MIN:
            return self._steps
        for _ in range(random.choice([0, 0, 1, 1, 2])):
            random.choice(harmless)(self._begin(until_us))
        if random.random() < 0.6:
            random.choice(deadly)(self._begin(until_us))
        if self._is_parted:
            self._answer_left_behind()
        return self._steps

    def _begin(self, until_us: int) -> int:
        """Return when a scene begins: before all faults, among them, or after them."""
        random = self._random
        after_us = until_us + random.choice([0, 20_000, 150_000])
        return random.choice([self.quiet_us // 4, random.randint(0, until_us), after_us])

    def _talkers(self, time_us: int) -> None:
        """One after the other multicasts so much in total order that the token comes to it."""
        random = self._random
        gap_us = random.choice([150, 400, self._unit_us])
        before = self._names[0]
        for who in self._cast(random.choice([1, 2, 2, 3])):
            until_us = time_us + random.randint(8, 14) * gap_us
            if random.random() < 0.4:
                self._slow(random.randint(time_us, until_us), before, who)
            for when_us in range(time_us, until_us, gap_us):
                self._add(when_us, "total", who, amount=1)
            for _ in range(random.randint(0, 3)):
                when_us = random.randint(until_us - 3 * gap_us, until_us + 3 * self._unit_us)
                self._add(when_us, random.choice(self._orders), self._somebody(), amount=1)
            self._disturb(until_us)
            time_us = until_us + random.randint(0, 3) * self._unit_us
            before = who

    def _disturb(self, time_us: int) -> None:
        """Let somebody go or come, perhaps, at about the moment when the token moves."""
        random = self._random
        time_us = max(0, time_us + random.randint(-3, 5) * self._unit_us)
        match random.randint(0, 5):
            case 0 | 1:
                self._add(time_us, "crash", self._somebody(), amount=1)
            case 2 | 3:
                self._add(time_us, "join", "q3")
            case _:
                pass

    def _dead_past(self, time_us: int) -> None:
        """A message reaches only one, which makes a uniform one depend on it; then both die."""
        random, unit_us = self._random, self._unit_us
        first, second = self._cast(2, self._names[0])
        self._whisper(time_us, first, second)
        self._add(time_us + 100, random.choice(self._orders[:2]), first, amount=1)
        if random.random() < 0.3:
            other = self._somebody()
            self._add(time_us + 2 * unit_us, random.choice(self._orders), other, amount=1)
        time_us += random.randint(2, 4) * unit_us
        if random.random() < 0.4:
            self._add(time_us - 100, random.choice(self._orders[:2]), second, amount=1)
        self._add(time_us, random.choice(self._firm or self._orders), second, amount=1)
        self._die(time_us + random.randint(2, 6) * unit_us, first, second)

    def _lost_turn(self, time_us: int) -> None:
        """A message reaches only the token holder, which gives it a turn; then both die."""
        random, unit_us = self._random, self._unit_us
        holder, first, *others = self._names[:1] + self._cast(len(self._names), self._names[0])
        self._whisper(time_us, first, holder)
        self._add(time_us + 100, "total", first, amount=1)
        for who in others[:2]:
            self._add(time_us + random.randint(0, 4) * unit_us, "total", who, amount=1)
        self._die(time_us + random.randint(3, 7) * unit_us, first, holder)

    def _last_to_know(self, time_us: int) -> None:
        """A message reaches all but the most senior member, and all whom it reached die."""
        random, unit_us = self._random, self._unit_us
        senior, *others = self._names[:1] + self._cast(3, self._names[0])
        for who in others:
            self._add(time_us, "slow", who, senior, amount=60_000)
        self._add(time_us + 100, random.choice(self._firm or self._orders), others[0], amount=1)
        time_us += 100 + unit_us // 2
        for who in others[1:]:  # only what was said so far is slow: their votes will be needed
            self._add(time_us, "slow", who, senior)
        time_us += random.randint(2, 4) * unit_us
        for who in others:
            self._add(time_us, "crash", who, amount=1)
            time_us += random.randint(1, 6) * unit_us + random.choice([0, 3_000])

    def _split_decision(self, time_us: int) -> None:
        """The last vote reaches only the coordinator, which decides; then both die."""
        random, unit_us = self._random, self._unit_us
        coordinator, voter, *_ = self._names[:1] + self._cast(1, self._names[0])
        self._add(time_us, "begin", self._somebody())
        self._whisper(time_us + random.randint(3, 6) * unit_us, voter, coordinator)
        self._die(time_us + random.randint(4, 8) * unit_us + 3_000, voter, coordinator)

    def _whisper(self, time_us: int, source: str, target: str) -> None:
        """What ``source`` says comes to ``target`` long before it comes to anybody else."""
        for other in self._names:
            if other not in (source, target):
                self._add(time_us, "slow", source, other, amount=60_000)

    def _die(self, time_us: int, *who: str) -> None:
        """Let processes die together; perhaps nothing comes from them any more."""
        random = self._random
        if random.random() < 0.6:
            self._add(time_us, "partition", *who)
            self._add(time_us + random.choice([60_000, 150_000]), "heal")
        for process in who:
            self._add(time_us + random.randint(0, self._unit_us), "crash", process, amount=1)

    def _torn_list(self, time_us: int) -> None:
        """Two multicast in total order at once, and who gives them their turns dies with these."""
        random, unit_us = self._random, self._unit_us
        holder = self._names[0] if random.random() < 0.9 else self._somebody()
        is_firm = bool(self._firm) and random.random() < 0.8
        start_us = time_us
        # The juniors first: without turns, seniors would go first.
        for who in sorted(self._cast(2, holder), reverse=True):
            first: Verb = random.choice(self._firm) if is_firm else random.choice(self._orders)
            self._add(start_us, first, who, amount=1)
            self._add(start_us + 20, "uniform-total" if is_firm else "total", who, amount=1)
            start_us += random.randint(0, unit_us // 2)
        silent_us = time_us + random.randint(3 * unit_us // 2, 7 * unit_us // 2)
        for other in self._names:
            if other != holder:
                self._add(silent_us, "slow", holder, other, amount=60_000)
        self._die(silent_us + random.randint(unit_us // 2, 4 * unit_us), holder)

    def _triangle(self, time_us: int) -> None:
        """A letter is slow, or held; its sender goes on; a third brings the news first."""
        random, unit_us = self._random, self._unit_us
        sender, addressee, third, *others = self._cast(4)
        if random.random() < 0.5:
            earlier = random.choice(others or [third])
            for other in (addressee, third):
                self._add(time_us, "slow", earlier, other, amount=40 * unit_us)
            self._add(time_us + 50, random.choice(self._orders[:2]), earlier, amount=1)
            time_us += random.randint(2, 4) * unit_us
        else:
            self._slow(time_us, sender, addressee)
        self._add(time_us + 100, "send", sender, addressee)
        time_us += 100 + random.choice([100, unit_us, 4 * unit_us])
        self._pass_on(time_us, sender, third)
        self._pass_on(time_us + random.randint(1, 5) * unit_us, third, addressee)

    def _pass_on(self, time_us: int, who: str, to: str) -> None:
        if self._random.random() < 0.5:
            self._add(time_us, "send", who, to)
        else:
            self._add(time_us, self._random.choice(self._orders), who, amount=1)

    def _letters_between_views(self, time_us: int) -> None:
        """Everybody writes while views are being left: the letters go out as soon as they can."""
        random, unit_us = self._random, self._unit_us
        slow, late = self._cast(2)
        self._add(time_us, "slow", slow, late, amount=random.choice([10, 40]) * unit_us)
        self._add(time_us + 20 * unit_us, "slow", slow, late)
        time_us += unit_us
        self._add(time_us, "join", "q3")
        if random.random() < 0.6:
            self._add(time_us + random.randint(0, 4) * unit_us, "join", "q2")
        for who in (*self._names, "q3", "q2"):
            for _ in range(random.choice([0, 1, 2, 3])):
                when_us = time_us + random.randint(0, 60) * unit_us
                self._add(when_us, "send", who, late if who != late else slow)

    def _answer_left_behind(self) -> None:
        """Two are cut off; one asks, the other answers then or when it comes back, too late."""
        random = self._apart
        answerer, asker = random.sample(self._names[1:], 2)
        heal_us = random.choice([250_000, 400_000])
        self._add(0, "partition", answerer, asker)
        if random.random() < 0.5:  # it waits for an acknowledgement that cannot come
            self._add(500, "send", answerer, self._names[0])
        self._add(1_000, random.choice(["fifo", "causal"]), asker, amount=1)
        times_us = [
            1_000 + random.randint(4, 20) * self._unit_us,
            random.randint(100_000, heal_us),
            heal_us + random.randint(2_000, 80_000),
        ]
        for when_us in random.sample(times_us, random.choice([1, 2, 3])):
            self._add(when_us, "answer", answerer)
        self._add(heal_us, "heal")

    def _slow(self, time_us: int, source: str, target: str) -> None:
        extra_us = self._random.choice([3, 8, 20]) * self._unit_us
        self._add(time_us, "slow", source, target, amount=extra_us)
        until_us = time_us + self._random.choice([2, 8, 20]) * self._unit_us
        self._add(until_us, "slow", source, target)

    def _cast(self, count: int, but: str = "") -> list[str]:
        names = [name for name in self._names if name != but]
        return self._random.sample(names, min(count, len(names)))

    def _somebody(self) -> str:
        return self._random.choice(self._names)

    def _add(self, time_us: int, verb: Verb, *who: str, amount: int = 0) -> None:
        self._steps.append(Step(time_us, verb, who, amount))
