"""The table of a sweep: a row per cell.

Law: the columns are the same for every sweep, whatever varies in it, so tables of several sweeps
can be put together; docs/sweeps.md tells each. What a cell has no value for is null.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antiphon.core.errors import UsageError, reason_of
from antiphon.sim.parameters import PARAMETERS
from antiphon.trace.measures import MEASURES
from antiphon.trace.sweep_folder import CellResult, SweepFolder

STATISTICS = ("count", "mean", "p50", "p90", "p99", "max")

COUNTS = (
    "rows", "messages_multicast", "deliveries", "copies", "header_bytes_total", "held_runs_max",
    "unstable_messages", "duration_us",
)  # fmt: skip
"""Of a cell; as its result calls them, but for those that a parameter or a measure is called."""

_RENAMED = {"messages_multicast": "messages", "header_bytes_total": "header_bytes"}
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}

MEASURED = tuple(measure.name for measure in MEASURES)


def schema() -> pa.Schema:
    """Return the columns."""
    return pa.schema(
        [
            ("cell", pa.string()), ("seed", pa.int64()),
            *((name, _TYPES[type(each.default)]) for name, each in PARAMETERS.items()),
            ("status", pa.string()), ("error", pa.string()), ("verdict", pa.string()),
            ("violated", pa.string()), *((name, pa.int64()) for name in COUNTS),
            *((f"{name}_{part}", pa.float64()) for name in MEASURED for part in STATISTICS),
            ("seconds", pa.float64()), ("replay", pa.string()),
        ]
    )  # fmt: skip


def row_of(result: CellResult) -> dict[str, Any]:
    """Return a cell as a row."""
    row: dict[str, Any] = {
        "cell": result.digest, "seed": result.seed, **result.parameters, "status": result.status,
        "error": result.error or None, "violated": ", ".join(result.violated) or None,
        "seconds": result.seconds, "replay": result.replay,
    }  # fmt: skip
    row["verdict"] = None
    if result.status == "done":
        row["verdict"] = "violated" if result.violated else "holds"
    for name in COUNTS:
        row[name] = result.counts.get(_RENAMED.get(name, name))
    for name in MEASURED:
        found = result.measures.get(name, {})
        row.update({f"{name}_{part}": found.get(part) for part in STATISTICS})
    return row


def save_results(results: Iterable[CellResult], folder: SweepFolder) -> Path:
    """Write ``results.parquet``."""
    table = pa.Table.from_pylist([row_of(result) for result in results], schema=schema())
    draft = folder.results_path.with_name(".results.parquet.draft")
    try:
        pq.write_table(table, draft)
        draft.replace(folder.results_path)
    except OSError as error:
        why = reason_of(error)
        what = "make room for it, and sweep again: finished cells are kept"
        message = f"{folder.results_path}: cannot be written ({why}): {what}"
        raise UsageError(message) from error
    return folder.results_path
