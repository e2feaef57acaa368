"""``antiphon bench``: the figures, measured on this machine."""

import platform
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from antiphon.bench.figures import Figure
from antiphon.bench.suite import PARTS, run_suite, step_count
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.core.errors import UsageError


def bench(
    what: Annotated[str, typer.Argument(help=f"One of {', '.join(PARTS)}, or all.")] = "all",
    repeats: Annotated[int, typer.Option(help="Times each pair is measured; medians count.")] = 3,
    scale: Annotated[float, typer.Option(help="Size of the runs; 0.1 for a quick look.")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Also write the JSON document here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure multicast, orders, calls, simulator, sizes, views, groups, across, datagrams, blocks.

    CBCAST beside a raw TCP mesh and beside FIFO, total order and uniform delivery beside CBCAST,
    calls beside a raw echo (four processes on loopback), the simulator beside SimPy: ratios taken
    next to each other in one run. Then header bytes, the messages of a view change, and on five
    processes how soon a death is known and how long a join holds traffic up; what order across
    groups costs; datagrams and causal blocks.

    Takes about five minutes; trust the ratios, not the rates.
    """
    if what not in (*PARTS, "all"):
        message = f"{what!r} cannot be measured: choose one of {', '.join(PARTS)}, or all"
        raise UsageError(message)
    parts = PARTS if what == "all" else (what,)
    with progress_bar("starting", step_count(parts)) as (bar, task):
        task_id = bar.task_ids[task]

        def on_step(name: str) -> None:
            bar.update(task_id, description=name, advance=1)

        figures = run_suite(parts, repeats=repeats, scale=scale, on_step=on_step)
    document = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "repeats": repeats,
        "scale": scale,
        "figures": figures,
    }
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    if out is not None:
        out.write_text(encoded + "\n")
    if as_json:
        print_json(encoded.encode())
    else:
        output.print(_table(figures))


def _table(figures: list[Figure]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("bar", justify="right")
    table.add_column("rates per second", overflow="fold")
    for figure in figures:
        style = {True: "green", False: "red", None: ""}[figure.is_reached]
        rates = ", ".join(
            f"{name.removesuffix('_per_s')} {value / 1000:,.0f}k"
            for name, value in figure.detail.items()
            if name.endswith("_per_s")
        )
        bar = "" if figure.bar is None else f"{figure.bar:g}"
        table.add_row(figure.what, Text(f"{figure.value:.2f}", style=style), bar, rates)
    return table
