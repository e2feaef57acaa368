"""Traces of causal blocks and of flooding under views: pipeline and oracle agree on each.

Worlds with faults as they are explored; some of their traces are spoilt, and in some of flooding a
member delivers before it forwards.
"""

from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import msgspec
import pytest
from tests.mutants import planted_overlay
from tests.pipeline.shares import share_of
from tests.pipeline.test_simulated_traces import spoil

from antiphon.oracle import judge
from antiphon.pipeline.verify import verify_all
from antiphon.sim.other_protocols import protocol_scenario
from antiphon.sim.world import World
from antiphon.trace.schema import Event

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SEEDS = range(45)
WRONG = next(
    mutant for mutant in planted_overlay.MUTANTS
    if mutant.name == "runs are delivered before they are forwarded"
)  # fmt: skip


def events_of(kind: str, seed: int) -> list[Event]:
    """Return what happened in a world of a protocol; in every third of flooding, by a wrong one."""
    with ExitStack() as stack:
        if kind == "overlay" and seed % 3 == 0:
            for target, method, wrong in ((WRONG.target, WRONG.method, WRONG.wrong), *WRONG.also):
                stack.enter_context(patch.object(target, method, wrong))
        return World(protocol_scenario(seed, "view-atomic", kind)).run().events


def trace_of(kind: str, seed: int) -> list[Event]:
    """Return the rows of a world, perhaps spoilt, numbered again."""
    dice = Random(f"{seed}/spoil")
    per_process: dict[str, list[Event]] = {}
    for row in events_of(kind, seed):
        per_process.setdefault(row.process, []).append(row)
    for _ in range(dice.choice([0, 0, 1, 2]) if per_process else 0):
        spoil(per_process[dice.choice(sorted(per_process))], dice)
    return [
        msgspec.structs.replace(row, run=f"seed-{seed}", index=index)
        for of_process in per_process.values()
        for index, row in enumerate(of_process)
    ]


@pytest.mark.parametrize("kind", ["blocks", "overlay"])
def test_pipeline_and_oracle_agree_under_views(
    kind: str, executor: "Executor", tmp_path: Path
) -> None:
    """Every status, count, reason and explanation."""
    file, traces = [], {}
    place = str(tmp_path / "rows.ndjson")
    for seed in share_of(SEEDS, executor):
        placed = []
        for row in trace_of(kind, seed):
            file.append(msgspec.json.encode(row))
            placed.append((row, place, len(file)))
        if placed:
            traces[f"seed-{seed}"] = placed
    Path(place).write_bytes(b"\n".join(file) + b"\n")
    found = verify_all(executor, [tmp_path])
    statuses: set[str] = set()
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        statuses |= {item.status.value for item in expected.properties}
    assert statuses >= {"holds", "violated"}


def test_delivering_before_forwarding_is_seen_in_traces() -> None:
    """One of these worlds at least is violated without being spoilt."""
    wrong = [seed for seed in SEEDS if seed % 3 == 0 and _is_violated(seed)]
    assert wrong


def _is_violated(seed: int) -> bool:
    rows = [(row, "", 0) for row in events_of("overlay", seed)]
    return bool(rows) and any(item.status == "violated" for item in judge(rows, "").properties)
