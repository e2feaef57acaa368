"""Bytes of timestamps on the wire, across groups (ISIS 6.1, 6.3).

Law: counted from the frames that would be sent, as the difference between a run with its stamps and
the same run without. Beside it what plain ISIS would send with the same multicasts (6.1): on each
message a vector of every group, dense, so without the ranks that ours names; counts and names are
written as ours are. What its sender knows is worked out apart, by merging whole vectors.

Workload: processes multicast bursts, each of them in one of their groups, now in this one, now in
that one. What is compared (nothing declared, overlaps declared, ISIS 6.6) has the same bursts at
the same times. Groups are drawn at random, or make a tree: no process is in more than two, and
there is one way from each group to each other one. Fifty groups of five among sixty processes
cannot make a tree: most processes are in three and more, which overlap in a circle.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from random import Random
from typing import NamedTuple

from antiphon.bench.across.quick_world import QuickProcess, QuickWorld
from antiphon.core.control import AnyMessage, Forgettable, GroupsNamed
from antiphon.core.frames import encode_control, encode_runs
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_APPLICATION, Run
from antiphon.core.varint import append_varints
from antiphon.ordering.structure import Structure

_PAYLOAD = bytes(64)
_WARM_UP = 0.25
"""Of the bursts, before anything is counted."""


class StampBytes(NamedTuple):
    """What was counted."""

    runs: int
    messages: int
    plain: int
    """Bytes of stamps in plain ISIS, all messages together."""
    sent: int
    """Bytes of stamps in what was sent."""
    foreign: int
    """Of these, stamps of other groups."""
    stamps: int
    """Stamps of other groups."""
    words: int
    """Bytes of words that stamps may be forgotten, beside the runs: frames, once for a group."""
    names: int
    """Bytes of words that say how groups are called, counted alike; also those of the beginning."""

    @property
    def ratio(self) -> float:
        """What was sent, words included, to plain ISIS."""
        return (self.sent + self.words + self.names) / self.plain


class StampCounter:
    """Counts stamps, and knows what plain ISIS would send."""

    def __init__(self, world: QuickWorld) -> None:
        """Watch a world from now on."""
        self._known = {
            process: {group: [0] * len(members) for group, members in world.members.items()}
            for process in world.processes
        }
        self._carried: dict[tuple[GroupNumber, int, int], dict[GroupNumber, list[int]]] = {}
        self._is_counting = False
        self._runs = self._messages = self._plain = self._sent = self._foreign = self._stamps = 0
        self._words = self._names = 0.0
        self._sizes = {group: len(members) for group, members in world.members.items()}
        world.on_send, world.on_delivery = self._note_send, self._note_delivery
        world.on_control = self._note_control

    def begin(self) -> None:
        """Count from now on."""
        self._is_counting = True

    def _note_send(self, member: QuickProcess, group: GroupNumber, run: Run) -> None:
        known = self._known[member]
        known[group][run.sender] = run.last
        self._carried[group, run.sender, run.first] = {
            name: list(counts) for name, counts in known.items()
        }
        if self._is_counting and run.port == PORT_APPLICATION:
            bare = without_stamps(run)
            foreign = size_of(run) - size_of(without_foreign(run))
            self._runs += 1
            self._messages += run.count
            self._plain += run.count * plain_bytes(known)
            self._sent += size_of(run) - size_of(bare)
            self._foreign += foreign
            self._stamps += len(run.foreign)

    def _note_delivery(self, member: QuickProcess, group: GroupNumber, run: Run) -> None:
        known = self._known[member]
        for name, counts in self._carried[group, run.sender, run.first].items():
            known[name] = list(map(max, known[name], counts))

    def _note_control(self, group: GroupNumber, message: AnyMessage, count: int) -> None:
        if isinstance(message, Forgettable | GroupsNamed):
            frames = len(encode_control(group, 1, message)) * count / (self._sizes[group] - 1)
            if isinstance(message, GroupsNamed):
                self._names += frames
            elif self._is_counting:
                self._words += frames

    def take(self) -> StampBytes:
        """Return what was counted."""
        return StampBytes(
            self._runs, self._messages, self._plain, self._sent, self._foreign, self._stamps,
            round(self._words), round(self._names),
        )  # fmt: skip


def random_groups(
    group_count: int = 50, group_size: int = 5, process_count: int = 60, seed: int = 1
) -> list[list[int]]:
    """Draw groups."""
    dice = Random(f"groups {seed}")
    return [dice.sample(range(process_count), group_size) for _ in range(group_count)]


def tree_of_groups(group_count: int = 50, group_size: int = 5, seed: int = 1) -> list[list[int]]:
    """Return groups each of which shares one process with one group before it."""
    dice = Random(f"tree {seed}")
    groups = [list(range(group_size))]
    free, count = list(range(group_size)), group_size
    for _ in range(group_count - 1):
        shared = free.pop(dice.randrange(len(free)))
        others = list(range(count, count + group_size - 1))
        groups.append([shared, *others])
        free += others
        count += group_size - 1
    return groups


def overlaps_of(groups: Sequence[Sequence[int]]) -> Structure:
    """Declare the overlaps that there are."""
    return Structure(
        (f"g{one}", f"g{other}")
        for (one, these), (other, those) in combinations(enumerate(groups), 2)
        if set(these) & set(those)
    )


def measure_stamps(
    groups: Sequence[Sequence[int]],
    *,
    structure: Structure | None = None,
    burst: int = 20,
    bursts: int = 3_000,
    pause_us: int = 100_000,
    seed: int = 1,
) -> StampBytes:
    """Count; each process pauses so long between two bursts, on the average."""
    random = Random(f"bursts {seed}")
    world = QuickWorld(groups, structure=structure)
    counter = StampCounter(world)
    gap_us = pause_us / len(world.processes)
    time_us = 0.0
    for number in range(bursts):
        time_us += random.expovariate(1 / gap_us)
        member = random.choice(world.processes)
        group = random.choice(member.groups)
        world.at(int(time_us), partial(member.multicast, group, [_PAYLOAD] * burst))
        if number == int(_WARM_UP * bursts):
            world.at(int(time_us), counter.begin)
    world.run(int(time_us) + 1_000_000)
    return counter.take()


def size_of(run: Run) -> int:
    """Return the bytes of a frame with this run alone."""
    return len(encode_runs(run.group, 1, [run]))


def without_stamps(run: Run) -> Run:
    """Return a run that carries no stamp at all."""
    return Run(
        run.group, run.view, run.sender, run.first, run.order, (), run.payloads, run.byte_count
    )


def without_foreign(run: Run) -> Run:
    """Return a run that carries the stamp of its own group alone."""
    return Run(
        run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads,
        run.byte_count,
    )  # fmt: skip


def plain_bytes(known: dict[GroupNumber, list[int]]) -> int:
    """Return the bytes of a vector of every group: its name, its view, a count for each member."""
    out = bytearray()
    for group, counts in known.items():
        append_varints(out, [group, 1, *counts])
    return len(out)
