"""``antiphon sweep``: a grid of parameters times seeds, simulated, judged and measured."""

import shlex
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table

from antiphon import __version__
from antiphon.cli.places import ConfOption, CoresOption, MasterOption, cluster_of
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.cli.tasks import TaskEngine, executor_for, on_cluster
from antiphon.report.plots import duration
from antiphon.trace.sweep_folder import CellResult, SweepFolder

if TYPE_CHECKING:
    from antiphon.sweep.experiment import Experiment

_LISTED_MAX = 20
"""Bad cells that are listed on a terminal; the table has them all."""


def sweep(
    file: Annotated[Path, typer.Argument(help="The experiment: a TOML file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the sweep; if left out, sweeps/NAME.")
    ] = None,
    engine: Annotated[
        TaskEngine,
        typer.Option(
            help="local: a process per core. spark: each cell in a Spark task. auto: local."
        ),
    ] = TaskEngine.AUTO,
    cores: CoresOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Sweep simulations over a grid: every combination of values, with every seed.

    Each cell is simulated, judged and measured; results.parquet has a row per cell. A cell that is
    finished is never run again, unless its parameters, its seed or Antiphon's code change: after
    a kill, the same command goes on. Cells that failed, or break a promise, are listed with the
    command that replays them. An example of the file, and every column: docs/sweeps.md where
    Antiphon's source is. See it as a page: antiphon report sweeps/NAME.

    Exit status: 0 all cells are finished and no promise was broken, 1 some failed or broke one, 2
    bad usage.
    """
    from antiphon.pipeline.tables.packages import require_tables

    require_tables()
    from antiphon.sweep.experiment import read_experiment
    from antiphon.sweep.results import save_results
    from antiphon.sweep.running import sweep as run_sweep

    experiment = read_experiment(file)
    folder = SweepFolder(out or Path("sweeps") / experiment.name)
    words = ["antiphon", "sweep", str(file), *(["--out", str(out)] if out else [])]
    cluster = cluster_of(master, conf or [])
    engine = on_cluster(engine, cluster)
    with (
        progress_bar("sweeping", time_left=True) as (bar, task),
        executor_for(engine, "antiphon sweep", cores, cluster=cluster) as executor,
    ):
        task_id = bar.task_ids[task]

        def on_progress(done: int, total: int) -> None:
            bar.update(task_id, completed=done, total=total)

        results = run_sweep(
            executor, experiment, folder, shlex.join(words), __version__, on_progress
        )
    table = save_results(results, folder)
    bad = [result for result in results if result.status == "failed" or result.violated]
    if as_json:
        print_json(msgspec.json.encode(_summary(folder, table, results, bad)))
    else:
        _show(experiment, results, bad)
        output.print(f"{len(results):,} cells: {table}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if bad else 0)


def _summary(
    folder: SweepFolder, table: Path, results: list[CellResult], bad: list[CellResult]
) -> dict[str, Any]:
    return {
        "sweep": str(folder.path), "table": str(table), "cells": len(results),
        "failed": sum(result.status == "failed" for result in bad),
        "violated": sum(bool(result.violated) for result in bad),
        "bad": [
            {"cell": each.digest, "violated": each.violated, "error": each.error,
             "replay": each.replay}
            for each in bad
        ],
    }  # fmt: skip


def _show(experiment: "Experiment", results: list[CellResult], bad: list[CellResult]) -> None:
    """Show a line per combination: medians over seeds."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in experiment.grid:
        table.add_column(name, overflow="fold")
    changes = any("view_change" in result.measures for result in results)
    for name in (
        "seeds", "delay p50", "delay p99", "held p99", *(["view change"] if changes else []),
        "header B/msg", "verdict",
    ):  # fmt: skip
        table.add_column(name, justify="right", overflow="fold")
    by_point: dict[tuple[str, ...], list[CellResult]] = {}
    for result in results:
        point = tuple(str(result.parameters[name]) for name in experiment.grid)
        by_point.setdefault(point, []).append(result)
    for point, cells in by_point.items():
        done = [cell for cell in cells if cell.status == "done"]
        wrong = sum(cell.status == "failed" or bool(cell.violated) for cell in cells)
        table.add_row(
            *point, str(len(cells)), _middle(done, "delivery_delay", "p50"),
            _middle(done, "delivery_delay", "p99"), _middle(done, "hold_time", "p99"),
            *([_middle(done, "view_change", "p50")] if changes else []),
            _headers(done), f"{wrong} bad" if wrong else "holds",
        )  # fmt: skip
    output.print(table)
    for result in bad[:_LISTED_MAX]:
        what = result.error or f"violated: {', '.join(result.violated)}"
        output.print(f"{what}\n  {result.replay}", soft_wrap=True, markup=False)
    if len(bad) > _LISTED_MAX:
        output.print(f"and {len(bad) - _LISTED_MAX} more: see the table")


def _middle(cells: list[CellResult], measure: str, part: str) -> str:
    values = [cell.measures[measure][part] for cell in cells if measure in cell.measures]
    return duration(statistics.median(values)) if values else "-"


def _headers(cells: list[CellResult]) -> str:
    values = [
        cell.counts["header_bytes"] / max(1, cell.counts["messages"])
        for cell in cells
        if cell.counts["header_bytes"]
    ]
    return f"{statistics.median(values):.3g}" if values else "-"
