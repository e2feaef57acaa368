"""``antiphon export``: a trace as other programs show it."""

from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.log_options import ColumnsOption
from antiphon.cli.screen import output
from antiphon.core.errors import UsageError
from antiphon.logs.clocks.parsing import require_messages
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.logs.reading import read_log
from antiphon.report.export.writing import Viewer, export
from antiphon.report.record import read_record
from antiphon.trace.segments import segments

_HOW = {
    Viewer.SHIVIZ: "open it at https://bestchai.bitbucket.io/shiviz/",
    Viewer.PERFETTO: "open it at https://ui.perfetto.dev",
}


def export_log(
    paths: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="A run folder, or any log of messages.")
    ],
    to: Annotated[Viewer, typer.Option(help="Which program is to show it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    columns: ColumnsOption = None,
) -> None:
    """Write a trace for another program to show.

    shiviz: events with vector clocks, which are computed from who sent and who delivered what.
    perfetto: a track per process, messages as slices with arrows between them, in Chrome's JSON.

    Exit status: 0 it is written, 2 the trace cannot be read, or the file not be written.
    """
    if out.is_dir() or not out.absolute().parent.is_dir():
        why = "it is a folder" if out.is_dir() else "its folder is not there"
        message = f"{out}: cannot be written ({why}): choose another file with -o"
        raise UsageError(message)
    with opened_log(paths, column_map(columns or [])) as log:
        require_messages(log, "cannot be exported")
        if any(out.exists() and out.samefile(segment.path) for segment in segments(log)):
            message = f"{out}: is part of the trace: choose another file with -o"
            raise UsageError(message)
        record = read_record(read_log(log), log.name)
        export(record, to, out)
    said = f"{out}: {record.row_count:,} rows of {len(record.lanes)} processes; {_HOW[to]}"
    output.print(said, soft_wrap=True, markup=False)
