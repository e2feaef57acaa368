"""What it costs to receive a run, by the groups that its receiver is in and by what it carries.

Law: processor time of the machine of one receiver alone. What it is given is recorded first, in a
world in which somebody multicasts in some groups in turn; then a fresh machine, in as many groups
as are asked for, is given the same again and again, and timed. Three processes are in all groups;
the third hears nothing, so that nothing is known to be everywhere, and stamps are not left out.
"""

import gc
import time
from functools import partial
from typing import NamedTuple

from antiphon.bench.across.quick_world import DELAY_US, NO_HEARTBEAT_US, QuickProcess, QuickWorld
from antiphon.core.ids import GroupNumber
from antiphon.stack import inputs as on

_PAYLOAD = bytes(64)
_GAP_US = 10 * DELAY_US

Given = tuple[GroupNumber, on.RunsReceived]


class CheckCost(NamedTuple):
    """What one run took."""

    groups: int
    active: int
    """Groups in which something is multicast."""
    entries: float
    """Entries of other groups' stamps, in one run."""
    run_us: float
    """Processor time of the receiver's machine."""


def measure_check(groups: int, active: int, runs: int = 1_000, repeats: int = 5) -> CheckCost:
    """Measure a receiver in so many groups; the fastest of some times counts."""
    given = _record(groups, active, runs)
    best_s = min(_replay(groups, given) for _ in range(repeats))
    stamps = [stamp for _, one in given for run in one.runs for _, _, stamp in run.foreign]
    entries = sum(map(len, stamps)) / len(given)
    return CheckCost(groups, active, entries, 1e6 * best_s / len(given))


def _record(groups: int, active: int, runs: int) -> list[Given]:
    """Return the runs that a receiver is given while a process multicasts."""
    world = _world(groups)
    receiver, sender, _ = world.processes
    given: list[Given] = []

    def note(member: QuickProcess, group: GroupNumber, happened: on.Input) -> None:
        if member is receiver and isinstance(happened, on.RunsReceived):
            given.append((group, happened))

    world.on_arrival = note
    for number in range(runs):
        to = world.groups[number % active]
        world.at((number + 1) * _GAP_US, partial(sender.multicast, to, [_PAYLOAD]))
    world.run((runs + 2) * _GAP_US)
    return given


def _replay(groups: int, given: list[Given]) -> float:
    """Return the time in which a fresh machine takes all of it."""
    receiver, *_ = _world(groups).processes
    gc.collect()
    gc.disable()
    began_s = time.process_time()
    for group, happened in given:
        receiver.give(group, happened)
    took_s = time.process_time() - began_s
    gc.enable()
    return took_s


def _world(groups: int) -> QuickWorld:
    world = QuickWorld([(0, 1, 2)] * groups, heartbeat_us=NO_HEARTBEAT_US)
    world.processes[2].is_deaf = True
    return world
