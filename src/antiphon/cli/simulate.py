"""``antiphon simulate``: a world from a seed, its trace in a run folder."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from antiphon.cli.engines import verify_command
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.core.errors import TraceError, UsageError
from antiphon.sim.faulty_group import FaultCounts, play
from antiphon.sim.parameters import (
    ORDERS,
    check_world,
    faults_of,
    options_of,
    replay_command,
)
from antiphon.sim.steady_group import Options, SteadyGroup, process_names
from antiphon.trace.run_folder import RunFolder

if TYPE_CHECKING:
    from antiphon.pipeline.ingest.parquet import ColumnJournal
    from antiphon.trace.journal import Journal

_WHAT = "simulate"


def simulate(
    processes: Annotated[int, typer.Option(help="How many processes.")] = 5,
    messages: Annotated[int, typer.Option(help="Messages multicast in all.")] = 2_000,
    seed: Annotated[int, typer.Option(help="The world: same seed, same trace, byte for byte.")] = 1,
    out: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("runs/simulated"),
    order: Annotated[
        str, typer.Option(help="Order of delivery: causal, fifo or total.")
    ] = "causal",
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Deliver only what all will deliver.")
    ] = False,
    delay_us: Annotated[
        int, typer.Option(help="Mean of the exponential delay of a copy, above --delay-us-min.")
    ] = 1_000,
    delay_us_min: Annotated[int, typer.Option(help="Shortest delay of a copy.")] = 50,
    interval_us: Annotated[
        int, typer.Option(help="Mean time between the bursts a process starts by itself.")
    ] = 2_000,
    answers: Annotated[
        float, typer.Option(help="Mean number of answers a burst gets, from 0 to 1.")
    ] = 0.7,
    burst: Annotated[int, typer.Option(help="Longest burst of messages.")] = 4,
    payload_bytes: Annotated[int, typer.Option(help="Size of a message.")] = 32,
    crashes: Annotated[int, typer.Option(min=0, help="Processes that crash; a minority.")] = 0,
    pauses: Annotated[int, typer.Option(min=0, help="Times that a process hangs.")] = 0,
    partitions: Annotated[int, typer.Option(min=0, help="Times that a minority is cut off.")] = 0,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="Write Parquet instead of JSON lines: smaller, and judged sooner."
        ),
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace a run folder of another kind.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate a group of processes that multicast, react and answer; journal what happens.

    The processes run the same machine as on a real network, whole. None of them fails, unless
    --crashes, --pauses or --partitions say so; `antiphon explore` looks for the worst moments.
    Judge the trace with `antiphon verify`. A folder that was simulated before is replaced: it can
    be replayed.
    """
    if order not in ORDERS:
        message = f"order {order!r} cannot be simulated: choose causal, fifo or total"
        raise UsageError(message)
    config = {
        "processes": processes, "messages": messages, "order": order, "uniform": uniform,
        "delay_us": delay_us, "delay_us_min": delay_us_min, "interval_us": interval_us,
        "answers": answers, "burst": burst, "payload_bytes": payload_bytes, "crashes": crashes,
        "pauses": pauses, "partitions": partitions,
    }  # fmt: skip
    check_world(seed, config)
    if parquet:
        from antiphon.pipeline.tables.packages import require_tables

        require_tables()
        config["parquet"] = True
    summary = _run(options_of(seed, config), config, out, force=force)
    if as_json:
        print_json(json.dumps(summary).encode())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in summary.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        table.add_row(name.replace("_", " "), shown)
    output.print(table)
    output.print(f"next: {verify_command(out, messages)}", soft_wrap=True, markup=False)


def _run(
    options: Options, config: dict[str, Any], out: Path, *, force: bool
) -> dict[str, int | str]:
    folder = RunFolder.create(
        out,
        what=_WHAT,
        seed=options.seed,
        config=config,
        replay=replay_command(options.seed, config, out),
        overwrite=force or _was_simulated(out),
    )
    begin_s = time.perf_counter()
    faults = faults_of(config)
    world = _played(options, faults, config, folder) if faults else _steady(options, config, folder)
    took_s = time.perf_counter() - begin_s
    return {
        "run": str(out),
        "seed": options.seed,
        "processes": options.process_count,
        "messages": world.message_count,
        "copies": world.copy_count,
        "simulated_us": world.time_us,
        "events": world.event_count,
        "held_runs_max": world.held_runs_max,
        "events_per_second": int(world.event_count / took_s),
        "replay": replay_command(options.seed, config, out),
    }


class _Summary(NamedTuple):
    """What became of a world."""

    message_count: int
    copy_count: int
    time_us: int
    event_count: int
    held_runs_max: int


def _steady(options: Options, config: dict[str, Any], folder: RunFolder) -> _Summary:
    """Simulate a group in which nobody fails; rows are journalled as they come."""
    names = process_names(options.process_count)
    with ExitStack() as stack:
        journals = _journals(stack, folder, names, config)
        group = SteadyGroup(options, {name: journals[name].append for name in names})
        total = options.workload.message_count
        with progress_bar("simulating", total) as (bar, task):
            for message_count in group.run():
                bar.update(bar.task_ids[task], completed=message_count)
    return _Summary(
        group.message_count, group.copy_count, group.scheduler.now_us,
        sum(journal.row_count for journal in journals.values()), group.held_runs_max,
    )  # fmt: skip


def _played(
    options: Options, faults: FaultCounts, config: dict[str, Any], folder: RunFolder
) -> _Summary:
    """Simulate a group in which processes fail; rows are journalled in the end."""
    with progress_bar("simulating"):
        world = play(options, faults)
    names = list(dict.fromkeys(event.process for event in world.events))
    with ExitStack() as stack:
        journals = _journals(stack, folder, names, config)
        for event in world.events:
            journals[event.process].append(event)
    if world.stuck:
        message = f"the group did not come to rest ({world.stuck}): this is a bug, report the seed"
        raise TraceError(message)
    return _Summary(
        world.message_count, world.copy_count, world.time_us, len(world.events),
        world.held_runs_max,
    )  # fmt: skip


def _journals(
    stack: ExitStack, folder: RunFolder, names: list[str], config: dict[str, Any]
) -> "dict[str, Journal | ColumnJournal]":
    journals = {name: _journal(folder, name, is_parquet="parquet" in config) for name in names}
    for journal in journals.values():
        stack.enter_context(journal)
    return journals


def _journal(folder: RunFolder, name: str, *, is_parquet: bool) -> "Journal | ColumnJournal":
    if not is_parquet:
        return folder.journal(name)
    from antiphon.pipeline.ingest.parquet import ColumnJournal

    return ColumnJournal(folder.events_path, name)


def _was_simulated(out: Path) -> bool:
    try:
        return RunFolder.open(out).record.what == _WHAT
    except TraceError:  # whatever is there, it is not a simulated run
        return False
