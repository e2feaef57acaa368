"""Traces in which somebody takes over, sound and spoilt: Spark and the oracle agree on each."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
from tests.pipeline.shares import share_of
from tests.pipeline.test_simulated_traces import spoil

from antiphon.core.views import lineage_of
from antiphon.oracle import judge
from antiphon.pipeline.verify import verify_all
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.takeovers import takeover_world
from antiphon.sim.world import World
from antiphon.trace.schema import Event

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SEEDS = range(240)


def trace_of(seed: int) -> list[Event]:
    """Return the rows of a world with a take-over, perhaps spoilt, numbered again."""
    dice = Random(f"{seed}/spoil")
    scenario = takeover_world(random_scenario(seed), Random(f"{seed}/over"))
    per_process: dict[str, list[Event]] = {}
    for row in World(scenario).run().events:
        per_process.setdefault(row.process, []).append(row)
    for _ in range(dice.choice([0, 1, 2, 4])):
        spoil(per_process[dice.choice(sorted(per_process))], dice)
    return [
        msgspec.structs.replace(row, run=f"seed-{seed}", index=index)
        for of_process in per_process.values()
        for index, row in enumerate(of_process)
    ]


def test_pipeline_and_oracle_agree_on_takeovers(executor: "Executor", tmp_path: Path) -> None:
    """Every status, count, reason and explanation; many of the traces have two lineages."""
    file, traces = [], {}
    place = str(tmp_path / "rows.ndjson")
    lineages: Counter[int] = Counter()
    seeds = share_of(SEEDS, executor)
    for seed in seeds:
        placed = []
        for row in trace_of(seed):
            file.append(msgspec.json.encode(row))
            placed.append((row, place, len(file)))
        traces[f"seed-{seed}"] = placed
        lineages[len({lineage_of(row.view) for row, _, _ in placed if row.kind == "view"})] += 1
    Path(place).write_bytes(b"\n".join(file) + b"\n")
    found = verify_all(executor, [tmp_path])
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
    assert sum(count for lineage, count in lineages.items() if lineage > 1) > len(seeds) // 4
