"""Every kind of damage is found, nothing is found in clean traces, and all judges say the same.

    python -m tests.pipeline.damage_campaign [--damaged 200] [--clean 2000] [--without-spark]

Clean traces are of simulated groups that never change, of simulated worlds with crashes, pauses,
partitions, joins and leaves, and of an all-knowing observer. Each kind of damage is done to so many
of them. The oracle judges them one by one; the pipeline all at once, in this process and on Spark;
verdicts must be equal, word for word. Prints a line per kind; exits with status 1 if anything is
missed, or found where there is nothing.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from tests.pipeline.test_simulated_traces import random_world
from tests.pipeline.view_worlds import changing_views
from tests.pipeline.whole_damage import WHOLE_DAMAGE, has_takeover

from antiphon.oracle import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.tables.table import Executor
from antiphon.pipeline.verify import verify_all
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.steady_group import simulate
from antiphon.sim.world import World
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

FILE_COUNT = 8
SEEDS_PER_FIND = 400
"""A kind of damage that cannot be done to one trace in so many is not looked for any further."""

_STEADY, _WORLD, _OBSERVED = range(3)


class Case(NamedTuple):
    """A trace, and what was done to it."""

    run: str
    rows: list[Event]
    damage: Property | None
    """What it breaks; None: it is clean."""


class Outcome(NamedTuple):
    """What one judge, or the comparison of judges, came to."""

    found: Counter[Property]
    """By what was damaged: in how many traces that was found to be violated."""
    missed: list[str]
    false_alarms: list[str]
    unlike: list[str]
    """Runs whose verdict is not the oracle's."""


def clean_trace(seed: int) -> list[Event]:
    """Return the rows of a trace in which every promise is kept, those of a process in order."""
    kind = seed % 3
    if kind == _STEADY:
        rows = simulate(random_world(seed))
    elif kind == _WORLD:
        rows = World(random_scenario(seed)).run().events
    else:
        rows = changing_views(Random(f"clean {seed}"))
    return [msgspec.structs.replace(row, index=-1) for row in rows]


def cases(damaged: int, clean: int) -> Iterator[Case]:
    """Yield so many damaged traces of each kind, and so many clean ones."""
    for number in range(clean):
        rows = clean_trace(number)
        if rows:  # a group that was never founded leaves nothing
            yield Case(f"clean-{number}", rows, None)
    for which, damage in WHOLE_DAMAGE.items():
        done = 0
        for seed in itertools.islice(itertools.count(clean), (damaged + 1) * SEEDS_PER_FIND):
            rows = clean_trace(seed)
            if done == damaged:
                break
            if not has_takeover(rows) and damage(rows, Random(f"{which} {seed}")):
                yield Case(f"{which.value}-{seed}", rows, which)
                done += 1


def written(of: Iterable[Case], folder: Path) -> dict[str, list[tuple[Event, str, int]]]:
    """Write traces over a few files; return their rows with their places."""
    files = [folder / f"{number}.ndjson" for number in range(FILE_COUNT)]
    lines: list[list[bytes]] = [[] for _ in files]
    placed: dict[str, list[tuple[Event, str, int]]] = {}
    for number, case in enumerate(of):
        path, known = files[number % FILE_COUNT], lines[number % FILE_COUNT]
        for row in case.rows:
            event = msgspec.structs.replace(row, run=case.run)
            known.append(msgspec.json.encode(event))
            placed.setdefault(case.run, []).append((event, str(path), len(known)))
    for file, of_file in zip(files, lines, strict=True):
        if of_file:
            file.write_bytes(b"\n".join(of_file) + b"\n")
    return placed


def outcome(of: list[Case], verdicts: dict[str, Verdict], expected: dict[str, Verdict]) -> Outcome:
    """Hold a judge's verdicts to what was done, and to the oracle's."""
    found: Counter[Property] = Counter()
    missed, false_alarms, unlike = list[str](), list[str](), list[str]()
    for case in of:
        verdict = verdicts[case.run]
        if msgspec.structs.replace(verdict, engine="oracle") != expected[case.run]:
            unlike.append(case.run)
        if case.damage is None:
            false_alarms += [case.run] if verdict.is_violated else []
        elif verdict.of(case.damage).status is Status.VIOLATED:
            found[case.damage] += 1
        else:
            missed.append(case.run)
    return Outcome(found, missed, false_alarms, unlike)


def judged_by_oracle(placed: dict[str, list[tuple[Event, str, int]]]) -> dict[str, Verdict]:
    """Return the oracle's verdicts."""
    return {run: judge(rows, run) for run, rows in placed.items()}


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damaged", type=int, default=200)
    parser.add_argument("--clean", type=int, default=2_000)
    parser.add_argument("--without-spark", action="store_true")
    arguments = parser.parse_args()
    of = list(cases(arguments.damaged, arguments.clean))
    with tempfile.TemporaryDirectory(prefix="antiphon-damage-") as folder:
        placed = written(of, Path(folder))
        row_count = sum(map(len, placed.values()))
        _say(f"{len(of):,} traces, {row_count:,} rows")
        expected = _timed("oracle", lambda: judged_by_oracle(placed))
        outcomes = {"oracle": outcome(of, expected, expected)}
        for executor in _executors(with_spark=not arguments.without_spark):
            found = _timed(executor.name, lambda: verify_all(executor, [Path(folder)]))  # noqa: B023
            outcomes[executor.name] = outcome(of, found, expected)
    return _report(of, outcomes)


def _executors(*, with_spark: bool) -> Iterator[Executor]:
    yield LocalExecutor()
    if with_spark:
        from antiphon.pipeline.session.spark import spark_session
        from antiphon.pipeline.tables.spark import SparkExecutor

        session = spark_session("damage")
        yield SparkExecutor(session)
        session.stop()


def _timed(name: str, work: Callable[[], dict[str, Verdict]]) -> dict[str, Verdict]:
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    found = work()
    took_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    _say(f"{name}: {took_s:.0f} s, {cpu_s:.0f} s of processor time in this process")
    return found


def _report(of: list[Case], outcomes: dict[str, Outcome]) -> int:
    planted = Counter(case.damage for case in of)
    _say(f"{'damage':16} {'planted':>8} " + " ".join(f"{name:>8}" for name in outcomes))
    for which in WHOLE_DAMAGE:
        counts = " ".join(f"{each.found[which]:>8}" for each in outcomes.values())
        _say(f"{which.value:16} {planted[which]:>8} {counts}")
    alarms = " ".join(f"{len(each.false_alarms):>8}" for each in outcomes.values())
    _say(f"{'clean':16} {planted[None]:>8} {alarms}  false alarms")
    is_wrong = False
    for name, each in outcomes.items():
        for what in ("missed", "false_alarms", "unlike"):
            runs = getattr(each, what)
            is_wrong |= bool(runs)
            if runs:
                _say(f"{name}: {what.replace('_', ' ')}: {len(runs)}, such as {runs[:5]}")
    _say("something is wrong" if is_wrong else "all found, no false alarm, all judges alike")
    return 1 if is_wrong else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
