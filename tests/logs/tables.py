"""Writes rows as other programs would: Parquet with typed columns, and CSV."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antiphon.trace.schema import Event

_LISTS = ("members", "to")
_OTHERS = {
    **dict.fromkeys(_LISTS, pa.list_(pa.string())), "uniform": pa.bool_(), "clock": pa.null(),
}  # fmt: skip
_TEXTS = {
    "run", "process", "recorded_as", "kind", "group", "sender", "order", "domain", "detail", "id",
}  # fmt: skip

SCHEMA = pa.schema(
    [
        (name, _OTHERS.get(name) or (pa.string() if name in _TEXTS else pa.int64()))
        for name in Event.__struct_fields__
    ]
)
"""The trace's columns as Parquet has them."""


def write_parquet(path: Path, rows: Iterable[Event], schema: pa.Schema = SCHEMA) -> Path:
    """Write rows; what is left out is null."""
    records = [msgspec.to_builtins(row) for row in rows]
    pq.write_table(pa.Table.from_pylist(records, schema=schema), path)
    return path


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write any records as Parquet."""
    pq.write_table(pa.Table.from_pylist(records), path)
    return path


def write_csv(path: Path, rows: Iterable[Event], separator: str = ",") -> Path:
    """Write rows; what is left out is empty, and a list has spaces."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, Event.__struct_fields__, delimiter=separator)
        writer.writeheader()
        for row in rows:
            record = msgspec.to_builtins(row)
            writer.writerow(record | {name: " ".join(record.get(name) or ()) for name in _LISTS})
    return path
