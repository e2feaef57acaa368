"""Traces of causal blocks, sound and spoilt: pipeline and oracle agree on each."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
from tests.pipeline.shares import share_of
from tests.pipeline.test_simulated_traces import spoil

from antiphon.oracle import judge
from antiphon.pipeline.verify import verify_all
from antiphon.sim.lossy.author import BlockAuthor
from antiphon.trace.schema import Event

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SEEDS = range(160)


def trace_of(seed: int) -> list[Event]:
    """Return the rows of a world of datagrams, perhaps spoilt, numbered again."""
    dice = Random(f"{seed}/spoil")
    author = BlockAuthor(seed)
    assert not author.live()
    per_process: dict[str, list[Event]] = {}
    for row in author.world.events:
        per_process.setdefault(row.process, []).append(row)
    for _ in range(dice.choice([0, 0, 1, 2])):
        spoil(per_process[dice.choice(sorted(per_process))], dice)
    return [
        msgspec.structs.replace(row, run=f"seed-{seed}", index=index)
        for of_process in per_process.values()
        for index, row in enumerate(of_process)
    ]


def test_pipeline_and_oracle_agree_on_causal_blocks(executor: "Executor", tmp_path: Path) -> None:
    """Every status, count, reason and explanation."""
    file, traces = [], {}
    place = str(tmp_path / "rows.ndjson")
    for seed in share_of(SEEDS, executor):
        placed = []
        for row in trace_of(seed):
            file.append(msgspec.json.encode(row))
            placed.append((row, place, len(file)))
        traces[f"seed-{seed}"] = placed
    Path(place).write_bytes(b"\n".join(file) + b"\n")
    found = verify_all(executor, [tmp_path])
    statuses: set[str] = set()
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        statuses |= {item.status.value for item in expected.properties}
    assert statuses >= {"holds", "violated"}
