"""``antiphon compact``: a trace as Parquet, which is read many times as fast."""

import os
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.places import CoresOption
from antiphon.cli.screen import output


def compact(
    path: Annotated[Path, typer.Argument(help="A run folder, or newline-delimited JSON.")],
    folder: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A new folder; by default the trace's name, -parquet."),
    ] = None,
    cores: CoresOption = None,
) -> None:
    """Write a finished trace as Parquet: typed, a fiftieth of the size, and read much faster.

    Every row is checked on the way. The result is a run folder like the first one: antiphon verify
    takes it, and so does everything that reads Parquet. The journals stay as they are.
    """
    from antiphon.pipeline.tables.packages import require_tables
    from antiphon.trace.segments import segments

    file_count = len(segments(path))  # says at once what is missing, whatever is installed
    require_tables()
    from antiphon.pipeline.compact import compact
    from antiphon.pipeline.tables.local import LocalExecutor

    target = folder or path.resolve().parent / f"{path.resolve().stem}-parquet"
    executor = LocalExecutor(min(cores or os.cpu_count() or 1, file_count))
    done = compact(executor, path, target)
    for item in done.truncated:
        output.print(f"{item.file}:{item.line}: ends in the middle of a row, which is left out")
    output.print(
        f"{done.row_count:,} rows in {done.file_count:,} Parquet files, "
        f"{_megabytes(done.byte_count)} instead of {_megabytes(done.byte_count_before)}: {target}"
    )


def _megabytes(byte_count: int) -> str:
    return f"{byte_count / 1e6:,.1f} MB"
