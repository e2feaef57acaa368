"""Wide worlds: distances, links, busy processes, clocks apart, and everybody comes and goes.

Law: a wide world is a function of the seed, the flush and what it is aimed at. Where the worlds of
``random_scenario`` are near and quick, these are as far apart as processes can be (a tenth of a
millisecond to a second, unequal by pair and direction), most often with the timing of real groups.
Leaves and joins are as frequent as crashes, in the same clusters, which are about as long as a
view change takes there; applications multicast at awkward moments.

Aimed at a pair of events (``coverage``), a world brings both about again and again, so close
together that they fall into one view change.
"""

from math import exp, log
from random import Random

from antiphon.sim.coverage import Pair
from antiphon.sim.plots import PLOTS, Plot
from antiphon.sim.scenario import TIMINGS, Scenario
from antiphon.sim.scenes import Scenes
from antiphon.sim.script import Script
from antiphon.sim.themes import vary

_DISTANCE_US_MIN, _DISTANCE_US_MAX = 100, 1_000_000

_EVENTS = {
    "crash": 6, "leave": 10, "join": 8, "rejoin": 2, "partition": 2, "heal": 2, "pause": 2,
    "resume": 2, "slow": 4, "down": 3, "up": 2, "busy": 3, "condemn": 2, "transfer": 2,
    "transaction": 3, "multicast": 3, "uniform": 4, "letter": 3,
}  # fmt: skip
"""Single events, and how often each happens in a cluster."""

_CAUSES = ("crash", "leave", "join", "rejoin")

_THEMATIC = 0.3
"""How many worlds are variations of themes (``themes``)."""

_SCENIC = 0.6
"""How many of the other worlds have scenes (``scenes``)."""

_SCENE_MESSAGES = 80

_PLOTTED = 0.5
"""How many worlds have a plot, besides what else happens."""


def wide_scenario(seed: int, flush: str, aim: Pair | None = None) -> Scenario:
    """Return the wide world of ``seed``; some are variations of themes instead."""
    random = Random(f"{seed}/theme")
    if aim is None and random.random() < _THEMATIC:
        return vary(random, seed, flush)
    return _WideAuthor(seed, flush, aim).write()


class _WideAuthor:
    """Writes one scenario."""

    def __init__(self, seed: int, flush: str, aim: Pair | None) -> None:
        aimed = f"/{aim[0]}+{aim[1]}" if aim is not None else ""
        self._seed, self._flush, self._aim = seed, flush, aim
        self._random = random = Random(f"{seed}/wide{aimed}")
        self._timing = random.choice(["quick", "quick", "default"])
        is_quick = self._timing == "quick"
        self._founders = random.choice([2, 3, 3, 4, 4, 5, 5] if is_quick else [2, 3, 3, 4, 5])
        self._delay_us = random.choice([100, 300, 1_000])
        self._distance_us = self._choose_distance(is_quick=is_quick)
        self._plot: Plot | None = None
        if random.random() < _PLOTTED and aim is None:
            self._plot = random.choices(PLOTS, [plot.weight for plot in PLOTS])[0]
            self._founders = random.choice(self._plot.founders)
        self._is_even = self._plot is not None and self._plot.is_even
        if self._is_even:
            self._delay_us = 100
            self._distance_us = max(5_000, self._distance_us)
        elif self._plot is not None and self._plot.is_near:
            limit_us = TIMINGS[self._timing].timeout_us // 100
            self._distance_us = min(limit_us, self._distance_us)
        names = [f"p{number}" for number in range(1, self._founders + 1)]
        way_us = self._distance_us + self._delay_us + 300
        self._names = names[:]
        self._script = Script(random, names, flush, self._timing, way_us)

    def _choose_distance(self, *, is_quick: bool) -> int:
        if is_quick:
            return self._random.choice([0, 0, 0, 1_000, 5_000, 30_000])
        low, high = log(_DISTANCE_US_MIN), log(_DISTANCE_US_MAX)
        return int(exp(low + (high - low) * max(self._random.random(), self._random.random())))

    def write(self) -> Scenario:
        random, script = self._random, self._script
        self._spread()
        time_us = 2 * script.beat_us + script.soon(8)
        if self._aim is not None:
            time_us = self._aim_at(self._aim, time_us)
        else:
            for _ in range(random.choice([0, 0, 0, 0, 1]) if self._plot else 0):
                time_us = self._cluster(time_us)
            if self._plot is not None:
                self._plot.play(script, time_us)
                time_us = self._after()
            for _ in range(random.choice([0, 0, 1]) if self._plot else random.choice([1, 1, 2])):
                time_us = self._cluster(time_us)
        for _ in range(random.randint(3, 12)):
            script.add(
                random.randint(0, time_us), "multicast", script.somebody(),
                amount=random.randint(1, 2),
            )  # fmt: skip
        messages = random.choice([30, 60])
        if self._plot is None and self._aim is None and random.random() < _SCENIC:
            scenes = Scenes(self._seed, self._flush, self._names)
            script.steps += scenes.play(time_us, script.way_us)
            messages += _SCENE_MESSAGES
        is_atomic = self._flush == "view-atomic"
        return Scenario(
            seed=self._seed, founders=self._founders, flush=self._flush,
            messages=messages, answers=random.choice([0.0, 0.1, 0.2]),
            delay_us=self._delay_us, orders="mixed" if is_atomic else "ordered",
            letters=random.choice([0, 1]),
            transactions=int(
                is_atomic
                and (random.random() < 0.5 or any(step.verb == "begin" for step in script.steps))
            ),
            token=random.choice(["follow", "fixed"]),
            timing=self._timing, distance_us=self._distance_us,
            clocks=random.choice(["same", "apart"]),
            state=self._choose_state(),
            awkward=random.choice([0, 1]),
            steps=tuple(sorted(script.steps, key=lambda step: step.time_us)),
        )  # fmt: skip

    def _choose_state(self) -> str:
        if self._is_even:
            return "none"
        is_needed = self._aim is not None and "transfer" in self._aim
        return "kept" if is_needed else self._random.choice(["kept", "kept", "none"])

    def _spread(self) -> None:
        """Put some pairs farther from each other than others, or nearer, each way by itself."""
        random = self._random
        if not self._distance_us or self._is_even or random.random() < 0.5:
            return
        everybody = [*self._script.names, *self._script.newcomers[:2]]
        for source in everybody:
            for target in everybody:
                if source != target and random.random() < 0.3:
                    distance_us = int(self._distance_us * random.choice([0.01, 0.3, 0.6, 1.5, 3.0]))
                    self._script.add(
                        0, "far", source, target, amount=max(1, min(distance_us, _DISTANCE_US_MAX))
                    )

    def _after(self) -> int:
        """Return when something more may come."""
        script = self._script
        last_us = max(step.time_us for step in script.steps)
        return last_us + self._random.choice([2 * script.way_us, script.silence_us])

    def _cluster(self, time_us: int) -> int:
        """Add events that come together; return when the next ones may come."""
        random, script = self._random, self._script
        gap_us = random.choice([0, script.way_us, 3 * script.way_us, script.beat_us])
        for _ in range(random.choice([2, 3, 3, 4, 5])):
            kind = random.choices(list(_EVENTS), list(_EVENTS.values()))[0]
            getattr(script, kind)(time_us)
            time_us += int(random.expovariate(1.0) * gap_us)
        script.multicast(time_us)
        return self._after()

    def _aim_at(self, aim: Pair, time_us: int) -> int:
        """Bring two events about, close together and inside a view change, a few times."""
        random, script = self._random, self._script
        for _ in range(4):
            time_us += 3 * script.silence_us
            if not any(kind in _CAUSES for kind in aim):
                getattr(script, random.choice(_CAUSES[:3]))(time_us)
            for kind in random.sample(aim, 2):
                time_us += script.soon(2)
                getattr(script, kind)(time_us)
        return time_us
