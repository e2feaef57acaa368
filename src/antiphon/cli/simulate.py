"""``antiphon simulate``: a world from a seed, its trace in a run folder."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from antiphon.cli.engines import verify_command
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.core.errors import TraceError, UsageError
from antiphon.sim.parameters import ORDERS, options_of, replay_command
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

    The processes run the same machine as on a real network, whole, and none of them fails: faults
    are for `antiphon explore`. Judge the trace with `antiphon verify`. A folder that was simulated
    before is replaced: it can be replayed.
    """
    if order not in ORDERS:
        message = f"order {order!r} cannot be simulated: choose causal, fifo or total"
        raise UsageError(message)
    config = {
        "processes": processes, "messages": messages, "order": order, "uniform": uniform,
        "delay_us": delay_us, "delay_us_min": delay_us_min, "interval_us": interval_us,
        "answers": answers, "burst": burst, "payload_bytes": payload_bytes,
    }  # fmt: skip
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
    names = process_names(options.process_count)
    with ExitStack() as stack:
        is_parquet = "parquet" in config
        journals = {name: _journal(folder, name, is_parquet=is_parquet) for name in names}
        for journal in journals.values():
            stack.enter_context(journal)
        group = SteadyGroup(options, {name: journals[name].append for name in names})
        total = options.workload.message_count
        with progress_bar("simulating", total) as (bar, task):
            for message_count in group.run():
                bar.update(bar.task_ids[task], completed=message_count)
    took_s = time.perf_counter() - begin_s
    return {
        "run": str(out),
        "seed": options.seed,
        "processes": options.process_count,
        "messages": group.message_count,
        "copies": group.copy_count,
        "simulated_us": group.scheduler.now_us,
        "events": sum(journal.row_count for journal in journals.values()),
        "held_runs_max": group.held_runs_max,
        "events_per_second": int(sum(j.row_count for j in journals.values()) / took_s),
        "replay": replay_command(options.seed, config, out),
    }


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
