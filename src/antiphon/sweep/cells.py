"""One cell of a sweep: a world that is simulated, judged and measured where the task runs.

Law: a cell's address is the digest of its parameters, its seed, and the code of this package that
its result depends on; so what was computed before a change of a protocol is never taken for what
comes after it. Whatever goes wrong in a cell is its result: the others go on.
"""

import hashlib
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import antiphon
from antiphon.core.errors import AntiphonError
from antiphon.oracle.judging import judge
from antiphon.pipeline.measures.measuring import measure_events
from antiphon.pipeline.measures.tables import run_row, statistics_of
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify
from antiphon.sim.faulty_group import Played, play
from antiphon.sim.parameters import options_of, replay_command, scenario_for
from antiphon.sim.steady_group import SteadyGroup, process_names
from antiphon.trace.measures import MEASURES
from antiphon.trace.schema import Event
from antiphon.trace.sweep_folder import CellResult
from antiphon.trace.verdict import Verdict

ORACLE_ACTS_MAX = 100_000
"""Multicasts and deliveries: beyond, the vectorised judge is faster, though it has to be given
files."""

_JUDGED = "cell"
_ADDRESS_BYTES = 16


class Cell(NamedTuple):
    """What to simulate."""

    digest: str
    parameters: dict[str, Any]
    seed: int


def cell_of(parameters: Mapping[str, Any], seed: int) -> Cell:
    """Return a cell with its address."""
    content = msgspec.json.encode([dict(parameters), seed, code_digest()], order="sorted")
    digest = hashlib.sha256(content).hexdigest()[: 2 * _ADDRESS_BYTES]
    return Cell(digest, dict(parameters), seed)


@cache
def code_digest() -> str:
    """Return the digest of the version, and of every module that a result can depend on."""
    root = Path(antiphon.__file__).parent
    folders = (
        "core", "membership", "oracle", "ordering", "pipeline", "sim", "stack", "sweep", "toolkit",
        "trace",
    )  # fmt: skip
    found = hashlib.sha256(antiphon.__version__.encode())
    files = [file for name in folders for file in (root / name).rglob("*.py")]
    for file in sorted(files):
        found.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[: 2 * _ADDRESS_BYTES]


def run_cell(cell: Cell) -> CellResult:
    """Simulate, judge and measure."""
    begin_s = time.perf_counter()
    out = Path("runs") / f"cell-{cell.digest[:12]}"
    result = CellResult(
        digest=cell.digest, seed=cell.seed, parameters=cell.parameters, status="done",
        replay=replay_command(cell.seed, cell.parameters, out),
    )  # fmt: skip
    try:
        _fill(result)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this cell's alone
        result.status = "failed"
        result.error = f"{type(error).__name__}: {error}"
    result.seconds = round(time.perf_counter() - begin_s, 6)
    return result


def _simulated(seed: int, parameters: Mapping[str, Any]) -> Played:
    """Return what becomes of the world, with faults or without."""
    scenario = scenario_for(seed, parameters)
    if scenario is not None:
        return play(scenario)
    options = options_of(seed, parameters)
    rows: dict[str, list[Event]] = {name: [] for name in process_names(options.process_count)}
    group = SteadyGroup(options, {name: rows[name].append for name in rows})
    for _ in group.run():
        pass
    for of_process in rows.values():
        for index, event in enumerate(of_process):
            event.index = index
    return Played(
        [event for of_process in rows.values() for event in of_process],
        group.message_count, group.copy_count, group.held_runs_max, group.scheduler.now_us, "",
    )  # fmt: skip


def _fill(result: CellResult) -> None:
    world = _simulated(result.seed, result.parameters)
    if world.stuck:
        message = f"the group did not come to rest: {world.stuck}"
        raise AntiphonError(message)
    events = world.events
    acts = world.message_count * (result.parameters["processes"] + 1)
    verdict = _judged(events) if acts > ORACLE_ACTS_MAX else judge(events, _JUDGED)
    result.properties = {item.property.value: item.status.value for item in verdict.properties}
    measured = measure_events(events, _JUDGED)
    row = run_row(measured)
    result.counts = {name: row[name] for name in _COUNTS} | {
        "copies": world.copy_count, "held_runs_max": world.held_runs_max,
    }  # fmt: skip
    result.measures = {
        measure.name: statistics_of(measured.of(measure.name))
        for measure in MEASURES
        if measured.of(measure.name).total
    }


_COUNTS = (
    "rows", "messages", "deliveries", "payload_bytes", "header_bytes", "unstable_messages",
    "duration_us",
)  # fmt: skip


def _judged(events: Iterable[Event]) -> Verdict:
    """Return the verdict of the vectorised judge."""
    with tempfile.TemporaryDirectory(prefix="antiphon-cell-") as folder:
        file = Path(folder) / f"{_JUDGED}.ndjson"
        file.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
        return verify(LocalExecutor(), file)
