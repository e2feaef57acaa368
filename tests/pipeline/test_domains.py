"""Causality across groups, in the pipeline: what the oracle says of it, word for word."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.oracle.known_domains import CASES, Case, chain, in_domain
from tests.oracle.known_groups import ASKED
from tests.oracle.known_names import NAME_CASES
from tests.pipeline.domain_worlds import Planted, random_world, right_world
from tests.pipeline.large_trace import write_large_domain
from tests.pipeline.shares import share_of
from tests.pipeline.slices import sliced
from tests.pipeline.test_agrees_with_oracle import TINY, Row, differences
from tests.pipeline.test_large_traces import overlapping_groups
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import write_rows

from antiphon.core.errors import TraceError
from antiphon.oracle import judge
from antiphon.pipeline.compact import compact
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify, verify_all
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import EVERYBODY, Property, Status, Terms

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

ALL_CASES = [*CASES, *NAME_CASES]
FILE_COUNT = 4

TWO_THOUSAND_PLANTED = range(10_000, 13_623)
"""Seeds of random structures; in 2,000 of them a violation is planted."""

AT_ONCE = 500
"""So many of them are judged together."""


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.__name__ for case in ALL_CASES])
def test_hand_written_traces_have_the_oracles_verdicts(
    executor: "Executor", tmp_path: Path, case: Callable[[], Case]
) -> None:
    """Status, counts, reasons and explanations are the oracle's, and what is expected."""
    rows, expected, terms = case()
    path = write_rows(tmp_path / "t.ndjson", rows)
    verdict = verify(executor, path, terms=terms)
    told = judge(read_rows(path, terms), path.stem, terms)
    assert differences(told, verdict) == []
    assert verdict == msgspec.structs.replace(told, engine=executor.name)
    found = {
        item.property: -1 if item.status is Status.UNKNOWN else item.violation_count
        for item in map(verdict.of, ASKED)
    }
    assert {which: count for which, count in found.items() if count} == expected


def test_two_domains_of_one_group_are_refused_in_the_oracles_words(
    executor: "Executor", tmp_path: Path
) -> None:
    """Be they in one file, or in two."""
    rows = in_domain(chain())
    rows[5].domain = "other"
    for number, row in enumerate(rows):
        row.index = sum(other.process == row.process for other in rows[:number])
    one = write_rows(tmp_path / "one" / "a.ndjson", rows)
    write_rows(tmp_path / "two" / "a.ndjson", rows[4:])
    write_rows(tmp_path / "two" / "b.ndjson", rows[:4])
    for path in (one, tmp_path / "two"):
        with pytest.raises(TraceError) as expected:
            judge(read_rows(path))
        with pytest.raises(TraceError) as refusal:
            verify(executor, path)
        assert str(refusal.value) == str(expected.value)


def write_worlds(folder: Path, traces: dict[str, list[Event]]) -> dict[str, list[Row]]:
    """Write traces over a few files; return their rows with their places."""
    folder.mkdir()
    lines: list[list[bytes]] = [[] for _ in range(FILE_COUNT)]
    placed: dict[str, list[Row]] = {run: [] for run in traces}
    for place, (run, rows) in enumerate(traces.items()):
        for event in rows:
            event.run = run
            number = (place + (event.index >= len(rows) // 8)) % FILE_COUNT
            lines[number].append(msgspec.json.encode(event))
            placed[run].append((event, str(folder / f"{number}.ndjson"), len(lines[number])))
    for number, of_file in enumerate(lines):
        (folder / f"{number}.ndjson").write_bytes(b"\n".join(of_file) + b"\n")
    return placed


def judge_worlds(
    executor: "Executor", folder: Path, traces: dict[str, list[Event]], grain: Grain
) -> Counter[tuple[Property, Status]]:
    """Judge traces by both; return how often each verdict was given."""
    placed = write_worlds(folder, traces)
    found = verify_all(executor, [folder], grain=grain)
    assert sorted(found) == sorted(traces)
    seen: Counter[tuple[Property, Status]] = Counter()
    for run, rows in placed.items():
        expected = judge(rows, run)
        assert differences(expected, found[run]) == [], run
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        seen.update((item.property, item.status) for item in expected.properties)
    return seen


def judge_structures(
    executor: "Executor", folder: Path, seeds: Iterable[int], grain: Grain
) -> tuple[Counter[tuple[Property, Status]], list[Planted]]:
    """Judge random structures; see that all that was planted is found."""
    worlds = {f"seed-{seed}": random_world(seed) for seed in seeds}
    seen = judge_worlds(executor, folder, {run: rows for run, (rows, _) in worlds.items()}, grain)
    planted = [(run, done) for run, (_, done) in worlds.items() if done is not None]
    for run, (which, process) in planted:
        verdict = judge(worlds[run][0], run).of(which)
        assert verdict.status is Status.VIOLATED, (run, which, process)
    return seen, [done for _, done in planted]


@pytest.mark.parametrize(
    ("grain", "seeds"),
    [(TINY, range(250)), (Grain(), range(250, 500))],
    ids=["tiny grain", "default grain"],
)
def test_random_structures_have_the_oracles_verdicts(
    executor: "Executor", tmp_path: Path, grain: Grain, seeds: range
) -> None:
    """Trees, rings, cliques, grids and others; every planted violation is found by both."""
    seen, planted = judge_structures(executor, tmp_path / "t", share_of(seeds, executor), grain)
    assert len(planted) > 0.4 * len(share_of(seeds, executor))
    assert seen[Property.CAUSAL, Status.VIOLATED] > 10
    assert seen[Property.NO_ORPHAN, Status.VIOLATED] > 5


@pytest.mark.slow
@pytest.mark.parametrize("grain", [TINY, Grain()], ids=["tiny grain", "default grain"])
def test_two_thousand_planted_violations_are_found_in_the_oracles_words(
    executor: "Executor", tmp_path: Path, grain: Grain
) -> None:
    """The same, at length; of Spark without the profile `soak`, a fifth."""
    seeds = share_of(TWO_THOUSAND_PLANTED, executor)
    seen: Counter[tuple[Property, Status]] = Counter()
    planted_count = 0
    for at in range(0, len(seeds), AT_ONCE):
        folder = tmp_path / str(at)
        found, planted = judge_structures(executor, folder, seeds[at : at + AT_ONCE], grain)
        seen += found
        planted_count += len(planted)
    assert planted_count >= (2_000 if len(seeds) == len(TWO_THOUSAND_PLANTED) else 0.5 * len(seeds))
    for status in Status:
        assert seen[Property.CAUSAL, status] >= len(seeds) // 200
        assert seen[Property.NO_ORPHAN, status] >= len(seeds) // 200


def test_spoilt_traces_of_a_domain_have_the_oracles_verdicts(
    executor: "Executor", tmp_path: Path
) -> None:
    """Anything may be wrong with them: repeated, made up, in circles, in the wrong view."""
    traces: dict[str, list[Event]] = {}
    for seed in share_of(range(5_000, 6_200), executor):
        dice, rows = Random(f"spoilt {seed}"), random_trace(seed)
        if len({row.group for row in rows if row.kind in {"multicast", "deliver"}}) < 2:
            continue
        one, other = dice.choice([("d", "d"), ("d", "d"), ("d", "e"), ("d", "")])
        for row in rows:
            row.domain = one if row.group == "g" else other
            if row.kind == "view" and dice.random() < 0.5:
                row.resilience = dice.choice([0, 1, 5])
            if row.kind == "multicast" and dice.random() < 0.05:
                row.detail = "sets-order"
        traces[f"seed-{seed}"] = rows
    seen = judge_worlds(executor, tmp_path / "t", traces, TINY)
    for status in Status:
        assert seen[Property.CAUSAL, status] >= len(traces) // 50, seen
        assert seen[Property.NO_ORPHAN, status] >= len(traces) // 50, seen


def test_slices_of_domains_have_the_oracles_verdicts(executor: "Executor", tmp_path: Path) -> None:
    """Right ones and wrong ones; nothing that a cut can seem to break is violated."""
    terms = Terms(begins_late=(EVERYBODY,), ends_early=(EVERYBODY,), domains="one")
    traces: dict[str, list[Event]] = {}
    for seed in share_of(range(300), executor):
        dice = Random(f"slice {seed}")
        rows = right_world(dice) if seed % 3 else random_world(seed)[0]
        part, _ = sliced([msgspec.structs.replace(row, index=-1) for row in rows], dice)
        traces[f"seed-{seed}"] = part
        if seed % 3:
            verdict = judge(part, terms=terms)
            assert not any(verdict.of(which).violation_count for which in ASKED), seed
    placed = write_worlds(tmp_path / "t", {run: part for run, part in traces.items() if part})
    found = verify_all(executor, [tmp_path / "t"], grain=TINY, terms=terms)
    for run, placed_rows in placed.items():
        expected = judge(placed_rows, run, terms)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run


def test_names_of_messages_are_told_along_the_chain(executor: "Executor", tmp_path: Path) -> None:
    """Each message of the chain is called by the user's own name for it."""
    rows = in_domain(chain())
    for row, name in zip(rows, ["ask", "", "pass on", "", "shout", "", ""], strict=True):
        row.id = name
    path = write_rows(tmp_path / "t.ndjson", rows)
    verdict = verify(executor, path)
    assert verdict == msgspec.structs.replace(judge(read_rows(path), "t"), engine=executor.name)
    [violation] = verdict.of(Property.CAUSAL).violations
    assert violation.chain[3].text == 'c delivered message 1 of b ("pass on") (group B, view 1)'
    assert 'message 1 of c ("shout")' in violation.text
    assert 'message 1 of a ("ask")' in violation.text


def test_compact_traces_keep_their_domains(tmp_path: Path) -> None:
    """Written as columns, a trace is judged as before."""
    rows, planted = next(world for world in map(random_world, range(100)) if world[1] is not None)
    assert planted is not None
    path = write_rows(tmp_path / "t" / "events" / "all.ndjson", rows).parent.parent
    executor = LocalExecutor()
    compact(executor, path, tmp_path / "c")
    expected = verify(executor, path).of(planted[0])
    found = verify(executor, tmp_path / "c").of(planted[0])
    assert (found.status, found.violation_count) == (Status.VIOLATED, expected.violation_count)


def test_fifty_groups_have_the_oracles_verdict(executor: "Executor", tmp_path: Path) -> None:
    """One delivery is held back among overlapping groups of many processes."""
    groups = overlapping_groups()
    folder = write_large_domain(tmp_path / "t", groups, 12, swapped_at=7)
    verdict = verify(executor, folder)
    assert verdict.of(Property.CAUSAL).status is Status.VIOLATED
    assert differences(judge(read_rows(folder), "t"), verdict) == []
