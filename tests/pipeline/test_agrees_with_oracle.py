"""The pipeline and the oracle state the same properties twice: they must agree on everything.

Thousands of random traces, most of them spoilt, are judged by one job, and one by one by the
oracle, which shares no idea with it. Not only statuses and counts are compared, but every word:
reasons, examples, chains, files and lines.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.pipeline.shares import share_of
from tests.pipeline.trace_generator import random_trace

from antiphon.oracle import judge
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.verify import verify_all
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

FILE_COUNT = 6
Row = tuple[Event, str, int]

TINY = Grain(
    cells_per_bucket=1,
    rows_per_bucket_min=20,
    numbers_per_bucket_min=2,
    rows_per_block=3,
    rows_per_partition=20_000,
)
"""Every border there is gets crossed: buckets of two numbers, blocks of three rows."""


def write_traces(folder: Path, seeds: Iterable[int]) -> dict[str, list[Row]]:
    """Write one trace per seed, over a few files; return its rows with their places.

    The rows of a numbered process go on in another file, as the segments of a journal do.
    """
    folder.mkdir()
    lines: list[list[bytes]] = [[] for _ in range(FILE_COUNT)]
    traces: dict[str, list[Row]] = {}
    for seed in seeds:
        run = f"seed-{seed}"
        rows = random_trace(seed)
        traces[run] = []
        for event in rows:
            event.run = run
            half = event.index >= len(rows) // 8
            number = (seed + half) % FILE_COUNT
            lines[number].append(msgspec.json.encode(event))
            traces[run].append((event, str(folder / f"{number}.ndjson"), len(lines[number])))
    for number, of_file in enumerate(lines):
        (folder / f"{number}.ndjson").write_bytes(b"\n".join(of_file) + b"\n")
    return traces


def differences(expected: Verdict, found: Verdict) -> list[str]:
    """Say where two verdicts differ, property by property."""
    pairs = zip(expected.properties, found.properties, strict=True)
    parts = [f"{one}\n  != {two}" for one, two in pairs if one != two]
    counts = ("process_count", "event_count", "message_count", "delivery_count")
    return parts + [
        f"{name}: {getattr(expected, name)} != {getattr(found, name)}"
        for name in counts
        if getattr(expected, name) != getattr(found, name)
    ]


@pytest.mark.parametrize(
    ("grain", "seeds"),
    [(TINY, range(1_600)), (Grain(), range(1_600, 2_800))],
    ids=["tiny grain", "default grain"],
)
def test_random_traces_have_the_oracles_verdicts(
    executor: "Executor", tmp_path: Path, grain: Grain, seeds: range
) -> None:
    """Status, counts, reasons and explanations are the oracle's, for every seed."""
    seeds = share_of(seeds, executor)
    traces = write_traces(tmp_path / "traces", seeds)
    found = verify_all(executor, [tmp_path / "traces"], grain=grain)
    assert sorted(found) == sorted(traces)
    seen: Counter[tuple[Property, Status]] = Counter()
    for run, rows in traces.items():
        expected = judge(rows, run)
        assert differences(expected, found[run]) == [], run
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        seen.update((item.property, item.status) for item in expected.properties)
    # All of this must really have come up.
    for which in Property:
        assert min(seen[which, status] for status in Status) >= len(seeds) // 100, (which, seen)
