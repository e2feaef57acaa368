"""What `antiphon verify` takes for logs of all sizes: wall time, processor time, memory.

    python benchmarks/pipeline_figures.py [--folder DATA] [--only NAME ...] [--json FILE]

Law: every figure is of the whole command, started from nothing, with all processes that it starts.
Processor time is what the system charges for all of them once they have ended, Java included,
which outlives the command by a moment: this process adopts it. Memory is sampled twice a second
over the whole tree: shared pages are divided among those who share them, and pages of mapped files,
which the system may drop, are told apart. The least of the repeats counts, for whatever disturbs a
machine only makes it slower; the load before each is shown, because on a busy one nothing here
means much. Traces are written once, by columns, and kept in DATA.

In each round each of 16 processes multicasts a run and delivers it, then delivers those of all
others in an order of its own, as in docs/pipeline.md.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PROCESSES = [f"p{number:02}" for number in range(16)]
ROUNDS_AT_ONCE = 8_192
ROWS_PER_GROUP = 2**17
LOOK_S = 0.5
PR_SET_CHILD_SUBREAPER = 36

SIX_LINES = """\
{"process":"A","kind":"multicast","first":1}
{"process":"B","kind":"deliver","sender":"A","first":1}
{"process":"B","kind":"multicast","first":1}
{"process":"C","kind":"deliver","sender":"B","first":1}
{"process":"C","kind":"deliver","sender":"A","first":1}
{"process":"A","kind":"deliver","sender":"B","first":1}
"""


@dataclass(frozen=True)
class Figure:
    """One command, and the bar that it is to stay below."""

    trace: str
    options: tuple[str, ...] = ()
    bar_s: float | None = None
    bar_gb: float | None = None
    cores: str = ""
    """Which cores it may use; all, if nothing is said."""
    repeats: int | None = None


FIGURES = {
    "six-lines": Figure("six-lines.ndjson", bar_s=1, repeats=5),
    "six-lines-spark": Figure("six-lines.ndjson", ("--engine", "spark"), bar_s=15),
    "json-1e7": Figure("json-1e7", bar_s=35),
    "parquet-1e7": Figure("parquet-1e7", bar_s=15),
    "json-1e7-spark": Figure("json-1e7", ("--engine", "spark"), bar_s=35),
    "parquet-1e7-spark": Figure("parquet-1e7", ("--engine", "spark"), bar_s=15),
    "parquet-1e8": Figure("parquet-1e8", bar_s=180, bar_gb=12, repeats=1),
    "parquet-1e8-local": Figure(
        "parquet-1e8", ("--engine", "local"), bar_s=180, bar_gb=12, repeats=1
    ),
    "runs-1e9": Figure("runs-1e9", bar_s=60),
    "runs-1e9-spark": Figure("runs-1e9", ("--engine", "spark"), bar_s=60),
    "runs-1e10": Figure("runs-1e10", repeats=1),
    "one-core": Figure("parquet-1e7", ("--engine", "spark", "--cores", "1"), cores="0"),
    "two-cores": Figure("parquet-1e7", ("--engine", "spark", "--cores", "2"), cores="0,1"),
    "one-core-json": Figure("json-1e7", ("--engine", "spark", "--cores", "1"), cores="0"),
    "two-cores-json": Figure("json-1e7", ("--engine", "spark", "--cores", "2"), cores="0,1"),
    "one-core-local": Figure("json-1e7", ("--engine", "local", "--cores", "1"), cores="0"),
    "two-cores-local": Figure("json-1e7", ("--engine", "local", "--cores", "2"), cores="0,1"),
}
PAIRS = {
    "Parquet, on Spark": ("one-core", "two-cores"),
    "JSON, on Spark": ("one-core-json", "two-cores-json"),
    "JSON, in this process": ("one-core-local", "two-cores-local"),
}
"""2 cores to 1: the bar is 1.6 times, processor time held equal."""

TRACES = {
    "json-1e7": (10**7, 1),
    "parquet-1e7": (10**7, 1),
    "parquet-1e8": (10**8, 1),
    "runs-1e9": (10**9, 64),
    "runs-1e10": (10**10, 64),
}
"""Deliveries, and messages in a run."""


@dataclass
class Measured:
    """What one figure came to."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_gb: float = 0.0
    anonymous_gb: float = 0.0
    """Of the peak, what is not of mapped files."""
    load: list[float] = field(default_factory=list)
    said: str = ""


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "antiphon-figures"
    )
    parser.add_argument("--only", nargs="+", choices=list(FIGURES), default=list(FIGURES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the large traces, for a look")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    found: dict[str, Measured] = {}
    for name in arguments.only:
        figure = FIGURES[name]
        trace = written(arguments.folder, figure.trace, arguments.scale)
        found[name] = Measured()
        for _ in range(min(arguments.repeats, figure.repeats or arguments.repeats)):
            run(figure, trace, found[name])
        say(line_of(name, figure, found[name]))
        if arguments.json:
            arguments.json.write_text(
                json.dumps({k: asdict(v) for k, v in found.items()}, indent=2)
            )
    for what, (one, two) in PAIRS.items():
        if one in found and two in found:
            ratio = min(found[one].wall_s) / min(found[two].wall_s)
            equal = ratio * min(found[two].cpu_s) / min(found[one].cpu_s)
            words = f"{ratio:.2f} times, {equal:.2f} with processor time held equal (bar 1.6)"
            say(f"2 cores to 1, {what}: {words}")
    return 0


def line_of(name: str, figure: Figure, measured: Measured) -> str:
    """Return a figure as a line."""
    wall_s, cpu_s = min(measured.wall_s), min(measured.cpu_s)
    bars = [f"bar {figure.bar_s:g} s"] if figure.bar_s else []
    bars += [f"bar {figure.bar_gb:g} GB"] if figure.bar_gb else []
    loads = "/".join(f"{load:.1f}" for load in measured.load)
    return (
        f"{name:18} {wall_s:7.1f} s wall, {cpu_s:7.1f} s processor, {measured.peak_gb:5.1f} GB "
        f"({measured.anonymous_gb:.1f} without mapped files), load {loads}, {', '.join(bars)}; "
        f"{measured.said}"
    )


def run(figure: Figure, trace: Path, measured: Measured) -> None:
    """Run a command once."""
    words = [sys.executable, "-m", "antiphon", "verify", str(trace), *figure.options]
    if figure.cores:
        words = ["taskset", "-c", figure.cores, *words]
    os.sync()
    measured.load.append(os.getloadavg()[0])
    before, begin_s = os.times(), time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        is_over = threading.Event()
        watcher = threading.Thread(target=watch, args=(process.pid, measured, is_over))
        watcher.start()
        said, _ = process.communicate()
        measured.wall_s.append(time.perf_counter() - begin_s)
        is_over.set()
        watcher.join()
    bury_orphans()
    after = os.times()
    children = after.children_user + after.children_system
    measured.cpu_s.append(children - before.children_user - before.children_system)
    lines = [line for line in said.splitlines() if " events of " in line or "judged by" in line]
    measured.said = " ".join(" ".join(lines).split())
    if process.returncode not in {0, 1}:
        sys.exit(f"{' '.join(words)} ended with status {process.returncode}")


def bury_orphans() -> None:
    """Wait for what a command left behind to end, so that its processor time is charged."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


def watch(root: int, measured: Measured, is_over: threading.Event) -> None:
    """Note the most memory that a process and all below it take."""
    while not is_over.wait(LOOK_S):
        pss = anonymous = 0
        for pid in tree(root):
            for line in lines_of(Path(f"/proc/{pid}/smaps_rollup")):
                if line.startswith("Pss:"):
                    pss += int(line.split()[1])
                elif line.startswith("Pss_Anon:"):
                    anonymous += int(line.split()[1])
        if pss / 1e6 > measured.peak_gb:
            measured.peak_gb, measured.anonymous_gb = pss / 1e6, anonymous / 1e6


def tree(root: int) -> list[int]:
    """Return a process and all below it."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for line in lines_of(task) for child in line.split()]
    return found


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file of the system's, unless the process has ended."""
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def written(folder: Path, name: str, scale: float) -> Path:
    """Return a trace; write it first if it is not there yet."""
    path = folder / (name if scale == 1 or name not in TRACES else f"{name}-{scale:g}")
    if path.exists():
        return path
    if name not in TRACES:
        path.write_text(SIX_LINES)
        return path
    deliveries, run_length = TRACES[name]
    round_count = -int(-deliveries * scale // (len(PROCESSES) ** 2 * run_length))
    draft = folder / f".{path.name}"
    begin_s = time.perf_counter()
    for number in range(len(PROCESSES)):
        journal = draft / "events" / PROCESSES[number]
        journal.mkdir(parents=True, exist_ok=True)
        tables = rows(number, round_count, run_length)
        if name.startswith("json"):
            write_lines(journal / "000001.ndjson", tables)
        else:
            write_columns(journal / "000001.parquet", tables)
    draft.rename(path)
    byte_count = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    took_s = time.perf_counter() - begin_s
    say(f"{name}: {byte_count / 1e6:,.0f} MB written in {took_s:.0f} s")
    return path


def rows(number: int, round_count: int, run_length: int) -> Iterator[pa.Table]:
    """Yield the rows of one process, many rounds at a time."""
    dice = np.random.default_rng(number)
    others = np.array([other for other in range(len(PROCESSES)) if other != number])
    width = len(PROCESSES) + 1
    yield edges(number, 0, ["start", "view"])
    for begin in range(0, round_count, ROUNDS_AT_ONCE):
        count = min(ROUNDS_AT_ONCE, round_count - begin)
        order = others[np.argsort(dice.random((count, len(others))), axis=1)]
        sender = np.concatenate([np.full((count, 2), number), order], axis=1).ravel()
        kind = np.tile(np.array([0] + [1] * (width - 1)), count)
        first = 1 + np.repeat(np.arange(begin, begin + count), width) * run_length
        yield pa.table({
            "process": texts(np.full(len(kind), number), PROCESSES),
            "index": np.arange(2 + begin * width, 2 + (begin + count) * width),
            "kind": texts(kind, ["multicast", "deliver"]),
            "group": texts(np.zeros(len(kind), dtype=int), ["g"]),
            "sender": texts(sender, PROCESSES),
            "first": first,
            "count": np.full(len(kind), run_length),
            "members": pa.nulls(len(kind), pa.list_(pa.string())),
            "detail": pa.nulls(len(kind), pa.string()),
        })  # fmt: skip
    yield edges(number, 2 + round_count * width, ["stop"])


def edges(number: int, index: int, kinds: list[str]) -> pa.Table:
    """Return the rows with which a process begins, or ends."""
    count = len(kinds)
    return pa.table({
        "process": pa.array([PROCESSES[number]] * count),
        "index": pa.array(range(index, index + count), pa.int64()),
        "kind": pa.array(kinds),
        "group": pa.array(["g" if kind == "view" else None for kind in kinds], pa.string()),
        "sender": pa.nulls(count, pa.string()),
        "first": pa.nulls(count, pa.int64()),
        "count": pa.nulls(count, pa.int64()),
        "members": pa.array([PROCESSES if kind == "view" else None for kind in kinds],
                            pa.list_(pa.string())),
        "detail": pa.array(["quiescent" if kind == "stop" else None for kind in kinds],
                           pa.string()),
    })  # fmt: skip


def texts(numbers: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]", names: list[str]) -> pa.Array:
    """Return names, given their numbers."""
    return pa.DictionaryArray.from_arrays(numbers.astype(np.int8), names).cast(pa.string())


def write_columns(path: Path, tables: Iterator[pa.Table]) -> None:
    """Write Parquet as `antiphon compact` does: sorted, typed, compressed."""
    first = next(tables)
    encodings = {"index": "DELTA_BINARY_PACKED", "first": "DELTA_BINARY_PACKED"}
    names = ["process", "kind", "group", "sender", "detail"]
    with pq.ParquetWriter(
        path, first.schema, compression="zstd", use_dictionary=names, column_encoding=encodings
    ) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)


def write_lines(path: Path, tables: Iterator[pa.Table]) -> None:
    """Write JSON lines."""
    with path.open("w", encoding="ascii") as file:
        for table in tables:
            for row in table.to_pylist():
                said = {name: value for name, value in row.items() if value is not None}
                file.write(json.dumps(said, separators=(",", ":")) + "\n")


def say(line: str) -> None:
    """Print a line now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
