"""Measures as tables: what their columns are, and the Parquet files they go to.

Law: four tables, in files of these names; docs/measures.md tells every column. Rows are in the
order of runs, measures, processes, so the same trace gives the same tables. A file appears whole
or not at all.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antiphon.core.errors import UsageError, reason_of
from antiphon.pipeline.measures.gathering import RunMeasures
from antiphon.trace.distribution import Distribution, bounds_of
from antiphon.trace.measures import MEASURES

QUANTILES = {
    "p10": 0.1,
    "p25": 0.25,
    "p50": 0.5,
    "p75": 0.75,
    "p90": 0.9,
    "p99": 0.99,
    "p999": 0.999,
}

_TEXT, _COUNT, _VALUE = pa.string(), pa.int64(), pa.float64()

SCHEMAS: dict[str, pa.Schema] = {
    "runs": pa.schema(
        [
            ("run", _TEXT), ("processes", _COUNT), ("rows", _COUNT), ("messages", _COUNT),
            ("deliveries", _COUNT), ("payload_bytes", _COUNT), ("header_bytes", _COUNT),
            ("header_messages", _COUNT), ("unstable_messages", _COUNT), ("view_changes", _COUNT),
            ("duration_us", _COUNT), ("early_rows", _COUNT), ("incomparable", _TEXT),
        ]
    ),
    "distributions": pa.schema(
        [
            ("run", _TEXT), ("measure", _TEXT), ("unit", _TEXT), ("process", _TEXT),
            ("count", _COUNT), ("mean", _VALUE), ("min", _VALUE),
            *((name, _VALUE) for name in QUANTILES), ("max", _VALUE),
        ]
    ),
    "histograms": pa.schema(
        [("run", _TEXT), ("measure", _TEXT), ("low", _VALUE), ("high", _VALUE), ("count", _COUNT)]
    ),
    "kinds": pa.schema(
        [
            ("run", _TEXT), ("process", _TEXT), ("kind", _TEXT), ("order", _TEXT),
            ("uniform", pa.bool_()), ("rows", _COUNT), ("messages", _COUNT),
            ("payload_bytes", _COUNT), ("overhead_bytes", _COUNT),
        ]
    ),
    "views": pa.schema(
        [
            ("run", _TEXT), ("group", _TEXT), ("view", _COUNT), ("members", _COUNT),
            ("sign_us", _COUNT), ("first_us", _COUNT), ("last_us", _COUNT),
            ("duration_us", _COUNT), ("installed", _COUNT),
        ]
    ),
}  # fmt: skip
"""The tables, by the names of their files."""


def tables_of(runs: Iterable[RunMeasures]) -> dict[str, pa.Table]:
    """Return all tables."""
    ordered = sorted(runs, key=lambda run: run.run)
    rows = {
        "runs": map(run_row, ordered),
        "distributions": (row for run in ordered for row in distribution_rows(run)),
        "histograms": (row for run in ordered for row in _histogram_rows(run)),
        "kinds": (row for run in ordered for row in kind_rows(run)),
        "views": (row for run in ordered for row in view_rows(run)),
    }
    return {
        name: pa.Table.from_pylist(list(rows[name]), schema=schema)
        for name, schema in SCHEMAS.items()
    }


def save(tables: dict[str, pa.Table], folder: Path) -> None:
    """Write a Parquet file per table."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            draft = folder / f".{name}.parquet.draft"
            pq.write_table(table, draft)
            draft.replace(folder / f"{name}.parquet")
    except OSError as error:
        why = reason_of(error)
        message = f"{folder}: cannot be written ({why}): choose another folder with --out"
        raise UsageError(message) from error


def run_row(run: RunMeasures) -> dict[str, Any]:
    """Return the one row of a run in ``runs``."""
    multicast, delivered = run.count_of("multicast"), run.count_of("deliver")
    summaries = run.processes.values()
    return {
        "run": run.run,
        "processes": len(run.processes),
        "rows": sum(count.rows for each in summaries for count in each.kinds.values()),
        "messages": multicast.messages,
        "deliveries": delivered.messages,
        "payload_bytes": multicast.payload_bytes,
        "header_bytes": multicast.overhead_bytes,
        "header_messages": sum(each.header_messages for each in summaries),
        "unstable_messages": run.unstable_count,
        "view_changes": None if run.incomparable else len(run.changes),
        "duration_us": run.duration_us,
        "early_rows": run.early_count,
        "incomparable": run.incomparable or None,
    }


def distribution_rows(run: RunMeasures) -> Iterator[dict[str, Any]]:
    """Yield a row per measure for the whole run, then one per process."""
    for measure in MEASURES:
        by_process = run.distributions.get(measure.name, {})
        whole = run.of(measure.name)
        if whole.total:
            names = [name for name in sorted(by_process) if name]
            parts = [(None, whole), *((name, by_process[name]) for name in names)]
            for process, part in parts:
                yield {
                    "run": run.run, "measure": measure.name, "unit": measure.unit,
                    "process": process, **statistics_of(part),
                }  # fmt: skip


def statistics_of(values: Distribution) -> dict[str, float | int]:
    """Return count, mean, extremes and quantiles."""
    quantiles = {name: values.quantile(part) for name, part in QUANTILES.items()}
    return {
        "count": values.total, "mean": values.mean, "min": values.low, **quantiles,
        "max": values.high,
    }  # fmt: skip


def _histogram_rows(run: RunMeasures) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        whole = run.of(measure.name)
        for bucket in sorted(whole.buckets):
            low, high = bounds_of(bucket)
            yield {
                "run": run.run, "measure": measure.name, "low": low, "high": high,
                "count": whole.buckets[bucket],
            }  # fmt: skip


def kind_rows(run: RunMeasures) -> Iterator[dict[str, Any]]:
    """Yield how many rows and messages of which kind each process recorded."""
    for name, summary in sorted(run.processes.items()):
        for key, count in sorted(summary.kinds.items()):
            kind, order, uniform = key.split(" ")
            yield {
                "run": run.run, "process": name, "kind": kind, "order": order,
                "uniform": bool(uniform), "rows": count.rows, "messages": count.messages,
                "payload_bytes": count.payload_bytes, "overhead_bytes": count.overhead_bytes,
            }  # fmt: skip


def view_rows(run: RunMeasures) -> Iterator[dict[str, Any]]:
    """Yield how each view came about that follows another."""
    for change in run.changes:
        yield {
            "run": run.run, "group": change.group, "view": change.view,
            "members": change.member_count, "sign_us": change.sign_us,
            "first_us": change.first_us, "last_us": change.last_us,
            "duration_us": change.duration_us, "installed": change.installed,
        }  # fmt: skip
