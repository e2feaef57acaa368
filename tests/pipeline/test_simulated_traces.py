"""Simulated traces, sound and spoilt: Spark and the oracle must agree on each of them.

The traces come from the simulators themselves: groups that never change, in every order, and
groups whose members crash, pause, leave and join. Most are then spoilt in a place or two. All are
judged by one Spark job, and one by one by the oracle.
"""

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
from tests.pipeline.shares import share_of

from antiphon.core.runs import Order
from antiphon.oracle import judge
from antiphon.pipeline.verify import verify_all
from antiphon.sim.delays import DelayOptions
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.steady_group import Options, simulate
from antiphon.sim.workload import WorkloadOptions
from antiphon.sim.world import World
from antiphon.trace.schema import ABORT, COMMIT, Event
from antiphon.trace.verdict import Property, Status

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SEEDS = range(1_500)
FILE_COUNT = 4
SELDOM_ASKED = (Property.TOTAL, Property.TOTAL_CAUSAL, Property.UNIFORM, Property.COMMIT)
FLUSHES = ("view-atomic", "view-atomic", "view-atomic", "coordinator", "all-to-all")

WAYS = (
    "drop", "repeat", "move", "renumber", "other sender", "fifo", "cut", "view", "decision",
    "decision",
)  # fmt: skip


def random_world(seed: int) -> Options:
    """Return a small world of any kind."""
    dice = Random(f"{seed}/world")
    return Options(
        seed=seed,
        process_count=dice.randint(1, 6),
        order=dice.choices(list(Order), [2, 10, 2])[0],
        uniform=dice.random() < 0.15,
        delays=DelayOptions(delay_us_mean=dice.choice([0, 200, 5_000])),
        workload=WorkloadOptions(
            message_count=dice.randint(1, 30), burst_max=dice.randint(1, 5), payload_bytes=0
        ),
    )


def spoil(rows: list[Event], dice: Random) -> None:  # noqa: C901 - an arm per way to spoil
    """Plant a violation, or something that looks like one."""
    places = [at for at, row in enumerate(rows) if row.kind in {"multicast", "deliver"}]
    if not places:
        return
    at = dice.choice(places)
    row = msgspec.structs.replace(rows[at])
    match dice.choice(WAYS):
        case "drop":
            del rows[at]
        case "repeat":
            rows.insert(dice.choice(places), row)
        case "move":
            same = [other for other in places if rows[other].process == row.process]
            rows.insert(dice.choice(same), rows.pop(at))
        case "renumber":
            rows[at] = msgspec.structs.replace(row, first=max(1, row.first + dice.choice([-1, 1])))
        case "other sender" if row.kind == "deliver":
            rows[at] = msgspec.structs.replace(row, sender=f"p{dice.randint(1, 7)}")
        case "fifo" if row.kind == "multicast":
            rows[at] = msgspec.structs.replace(row, order="fifo")
        case "cut":
            del rows[at:]
        case "view":
            spoil_view(rows, dice)
        case "decision":
            spoil_decision(rows, dice)
        case _:
            pass


def spoil_view(rows: list[Event], dice: Random) -> None:
    """Install a view late, or with its members in another order."""
    views = [at for at, row in enumerate(rows) if row.kind == "view"]
    if views:
        at = dice.choice(views)
        members = list(reversed(rows[at].members or []))
        rows[at] = msgspec.structs.replace(rows[at], members=members)
        rows.insert(dice.randint(at, len(rows) - 1), rows.pop(at))


def spoil_decision(rows: list[Event], dice: Random) -> None:
    """Let a process decide otherwise."""
    decisions = [at for at, row in enumerate(rows) if row.kind == "decide"]
    if decisions:
        at = dice.choice(decisions)
        other = COMMIT if rows[at].detail == ABORT else ABORT
        rows[at] = msgspec.structs.replace(rows[at], detail=other)


def simulated(seed: int) -> list[Event]:
    """Return what happened in a world: in every third the group goes from view to view."""
    if seed % 3:
        return simulate(random_world(seed))
    return World(random_scenario(seed, FLUSHES[seed // 3 % len(FLUSHES)])).run().events


def trace_of(seed: int) -> list[Event]:
    """Return the rows of a world, perhaps spoilt, numbered again."""
    dice = Random(f"{seed}/spoil")
    per_process: dict[str, list[Event]] = {}
    for row in simulated(seed):
        per_process.setdefault(row.process, []).append(row)
    count = dice.choice([0, 0, 1, 1, 2, 4])
    for _ in range(count if per_process else 0):  # a group that was never founded leaves nothing
        spoil(per_process[dice.choice(sorted(per_process))], dice)
    rows = []
    for of_process in per_process.values():
        for index, row in enumerate(of_process):
            rows.append(msgspec.structs.replace(row, run=f"seed-{seed}", index=index))
    return rows


def test_pipeline_and_oracle_agree_on_simulated_traces(
    executor: "Executor", tmp_path: Path
) -> None:
    """Every status, count, reason and explanation is the same; all kinds of verdict occur."""
    lines: list[list[bytes]] = [[] for _ in range(FILE_COUNT)]
    traces, seeds = {}, share_of(SEEDS, executor)
    for seed in seeds:
        file, placed = lines[seed % FILE_COUNT], []
        for row in trace_of(seed):
            file.append(msgspec.json.encode(row))
            placed.append((row, str(tmp_path / f"{seed % FILE_COUNT}.ndjson"), len(file)))
        if placed:
            traces[f"seed-{seed}"] = placed
    for number, of_file in enumerate(lines):
        (tmp_path / f"{number}.ndjson").write_bytes(b"\n".join(of_file) + b"\n")
    found = verify_all(executor, [tmp_path])
    assert sorted(found) == sorted(traces)
    seen: Counter[tuple[Property, Status]] = Counter()
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        seen.update((item.property, item.status) for item in expected.properties)
    for which in Property:
        is_rare = which in SELDOM_ASKED
        assert seen[which, Status.HOLDS] > len(seeds) // (100 if is_rare else 10), (which, seen)
        assert seen[which, Status.VIOLATED] > (0 if is_rare else len(seeds) // 100), (which, seen)
