"""``antiphon measure``: delays, queues, headers, stability and view changes of a run, as tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table

from antiphon.cli.engines import BYTES_PER_WORKER, Engine, bytes_at, chosen
from antiphon.cli.log_options import ColumnsOption, beside
from antiphon.cli.places import ConfOption, CoresOption, MasterOption, SparkPlace, cluster_of
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.cli.tasks import TaskEngine, executor_for, on_cluster
from antiphon.logs.clocks.parsing import require_messages
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.report.plots import duration, si
from antiphon.trace.log import Log
from antiphon.trace.measures import MEASURES
from antiphon.trace.words import extent

if TYPE_CHECKING:
    from antiphon.pipeline.measures.gathering import RunMeasures

_ROOMY = 70
"""Columns of a terminal from which on those of a table need not be close together."""


def measure(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="As for `antiphon verify`: a run folder, files, folders, - for standard input.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the Parquet tables; if left out, metrics in the run folder, or "
            "NAME.metrics beside a file (the first of several)."
        ),
    ] = None,
    columns: ColumnsOption = None,
    engine: Annotated[
        TaskEngine,
        typer.Option(
            help="local: in this process and its workers. spark: any size, but slow to start. "
            "auto: by the size of the trace. All give the same tables."
        ),
    ] = TaskEngine.AUTO,
    cores: CoresOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure a run: delivery delay, delay queues, header bytes, stability lag, view changes.

    Distributions are shown, and written as Parquet tables (runs, distributions, histograms, kinds,
    views): every column is told in docs/measures.md where Antiphon's source is. Delays
    compare clocks of different processes: exact in a simulation, good to microseconds where all
    processes ran on one host, and left out where the record shows that clocks differ.

    Exit status: 0 measured, 2 the trace cannot be read, or the tables not be written.
    """
    target, cluster = out or beside(paths, "metrics", ".metrics"), cluster_of(master, conf or [])
    engine = on_cluster(engine, cluster)
    with opened_log(paths, column_map(columns or [])) as log:
        require_messages(log, "has no measures")
        runs = _measured(log, engine, cores, cluster)
    from antiphon.pipeline.measures.tables import save, tables_of

    tables = tables_of(runs.values())
    if as_json:
        document = {name: table.to_pylist() for name, table in tables.items()}
        print_json(msgspec.json.encode(document))
    else:
        for run in runs.values():
            _show(run)
    save(tables, target)
    if not as_json:
        output.print(f"tables: {target}", soft_wrap=True, markup=False)


def _measured(
    log: Log, engine: TaskEngine, cores: int | None, cluster: SparkPlace | None
) -> "dict[str, RunMeasures]":
    if engine is TaskEngine.AUTO:
        is_large = chosen(log) is Engine.SPARK
        engine = TaskEngine.SPARK if is_large else TaskEngine.LOCAL
    worker_count = 1 + bytes_at(log) // BYTES_PER_WORKER
    with (
        progress_bar("measuring"),
        executor_for(engine, "antiphon measure", cores, worker_count, cluster) as executor,
    ):
        from antiphon.pipeline.measures.measuring import measure as measured

        return measured(executor, log)


def _show(run: "RunMeasures") -> None:
    from antiphon.pipeline.measures.tables import run_row, statistics_of

    row = run_row(run)
    counts = extent(row["rows"], row["processes"], row["messages"], row["deliveries"])
    said = f"{run.run}: {counts}, {duration(row['duration_us'])}"
    output.print(said, soft_wrap=True, markup=False)
    between = 2 if output.width >= _ROOMY else 1
    table = Table(box=None, pad_edge=False, padding=(0, between, 0, 0))
    longest = max(len(word) for each in MEASURES for word in each.name.split("_"))
    table.add_column("measure", overflow="fold", min_width=longest)
    for name in ("count", "mean", "p50", "p90", "p99", "max"):
        table.add_column(name, justify="right", overflow="fold")
    for measure_ in MEASURES:
        whole = run.of(measure_.name)
        if whole.total:
            found = statistics_of(whole)
            shown = [
                _value(found[name], measure_.unit) for name in ("mean", "p50", "p90", "p99", "max")
            ]
            name = measure_.name.replace("_", " ")
            unit = "" if measure_.unit == "us" else f" ({measure_.unit})"
            table.add_row(name + unit, f"{whole.total:,}", *shown)
    output.print(table)
    for remark in _remarks(run, row):
        output.print(remark, soft_wrap=True, markup=False)


def _value(value: float, unit: str) -> str:
    return duration(value) if unit == "us" else si(value)


def _remarks(run: "RunMeasures", row: dict[str, Any]) -> list[str]:
    remarks = []
    if row["header_messages"]:
        mean = row["header_bytes"] / row["header_messages"]
        remarks.append(f"header bytes per message: {mean:.3g}")
    if run.unstable_count:
        remarks.append(f"never at all members of their view: {run.unstable_count:,} messages")
    if run.incomparable:
        remarks.append(f"delays and durations are left out: {run.incomparable}")
    return remarks
