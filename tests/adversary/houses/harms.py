"""What harm is done to a house: slow ways, crashes, partitions, pauses, comings and goings.

Law: a harm that is not possible just now is none.
"""

from collections.abc import Callable, Sequence
from random import Random

from tests.adversary.houses.world import House, Program

Say = Callable[[Program, str], None]


class Harms:
    """Harms a house."""

    def __init__(self, house: House, random: Random, say: Say, kills_max: int) -> None:
        """Do nothing yet; ``say`` has a program say something in a group."""
        self.house, self.random = house, random
        self._say, self._kills_max = say, kills_max
        self.paused: set[str] = set()

    def do(self, kind: str) -> None:
        """Do harm of one kind to somebody."""
        one = self.random.choice(self.house.names)
        of_all: dict[str, Callable[[], None]] = {
            "plot": self._plot, "part": self._part, "heal": self.house.cluster.heal,
        }  # fmt: skip
        of_one: dict[str, Callable[[Program], None]] = {
            "slow": self._slow, "kill": self._kill, "restart": self._restart, "end": self._end,
            "leave": self._leave, "join": self._join, "hop": self._hop, "pause": self._pause,
            "cut": self._cut, "half": self._half, "stall": self._stall, "flush": self._flush,
        }  # fmt: skip
        if kind in of_all:
            of_all[kind]()
        else:
            of_one[kind](self.house.programs[one])

    def _other(self, program: Program) -> str:
        return self.random.choice([name for name in self.house.names if name != program.name])

    # Ways.

    def _slow(self, program: Program) -> None:
        delay_us = self.random.choice((2_000, 20_000, 60_000))
        network, names = self.house.cluster.network, self.house.names
        for to in self.random.sample(names, self.random.randint(1, len(names))):
            if to != program.name:
                network.set_delay_us(program.name, to, (delay_us, delay_us + 500))

    def _part(self) -> None:
        names = self.house.names
        side = set(self.random.sample(names, self.random.randint(1, len(names) - 1)))
        self.house.cluster.partition(side, set(names) - side)

    def _cut(self, program: Program) -> None:
        self.house.cluster.cut(program.name, self._other(program))

    def _half(self, program: Program) -> None:
        silently = self.random.random() < 0.5
        self.house.cluster.half_open(program.name, self._other(program), silently=silently)

    def _stall(self, program: Program) -> None:
        self.house.cluster.stall(program.name, self._other(program))

    # Processes.

    def _kill(self, program: Program) -> None:
        if program.is_there and self._kills_max:
            self._kills_max -= 1
            self.house.kill(program.name, silently=self.random.random() < 0.5)

    def _pause(self, program: Program) -> None:
        name = program.name
        if name in self.paused:
            self.paused.discard(name)
            self.house.cluster.resume(name)
        elif program.simulated.is_alive:
            self.paused.add(name)
            self.house.cluster.pause(name)

    def _restart(self, program: Program) -> None:
        if program.simulated.is_alive:
            return
        self.paused.discard(program.name)
        self.house.cluster.restart(program.name)
        again = self.house.begin(program.name)
        self.house.cluster.advance(0.01)
        for group in self.house.groups:
            if self.random.random() < 0.6:
                self._enter(again, group)

    # Groups.

    def _end(self, program: Program) -> None:
        """A program ends: it leaves all its groups."""
        if program.is_there:
            program.reader.left |= set(self.house.groups)
            program.ending.set()

    def _leave(self, program: Program) -> None:
        if program.inside:
            program.leaving[self.random.choice(program.inside)].set()

    def _join(self, program: Program, but: Sequence[str] = ()) -> None:
        groups = [one for one in self.house.groups if one not in program.handles and one not in but]
        if groups and program.is_there:
            self._enter(program, self.random.choice(groups))

    def _hop(self, program: Program) -> None:
        """Leave one group, and join another at once."""
        before = program.inside
        self._leave(program)
        self._join(program, before)

    def _enter(self, program: Program, group: str) -> None:
        if any(group in other.inside for other in self.house.programs.values() if other.is_there):
            program.do(program.stay(group, found=False))

    def _flush(self, program: Program) -> None:
        if program.is_there:
            program.do(program.flush())

    # The scene of 6.5.

    def _scenes(self) -> list[tuple[str, str, Program, Program]]:
        """Return two groups, who speaks in the first, and who hears it there or in the second."""
        programs, groups = self.house.programs, self.house.groups
        return [
            (first, second, programs[speaker], programs[relay])
            for first in groups
            for second in groups
            for speaker in groups[first]
            for relay in groups[second]
            if first != second and speaker != relay
            and first in programs[speaker].inside
            and second in programs[relay].inside
            and (relay in groups[first] or speaker in groups[second])
        ]  # fmt: skip

    def _plot(self) -> None:
        """What one says reaches few, or nobody; one of them answers elsewhere; both may die.

        What is on its way from who spoke is lost then.
        """
        random, house, scenes = self.random, self.house, self._scenes()
        if not scenes:
            return
        first, second, speaker, relay = random.choice(scenes)
        others = [name for name in house.names if name not in {speaker.name, relay.name}]
        for to in others:
            house.cluster.network.close_path(speaker.name, to)
        self._say(speaker, first)
        house.cluster.advance(random.choice((0.0, 0.001, 0.03)))
        if second in speaker.inside:
            self._say(speaker, second)
        house.cluster.advance(random.choice((0.001, 0.005, 0.03)))
        if relay.is_there:
            self._say(relay, random.choice((second, *relay.inside)))
        house.cluster.advance(random.choice((0.0005, 0.002, 0.03)))
        for program in (speaker, relay)[: random.randint(1, 2)]:
            self._kill(program)
        if speaker.simulated.is_alive:
            for to in others:
                house.cluster.network.open_path(speaker.name, to)
