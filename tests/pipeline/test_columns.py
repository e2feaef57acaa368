"""Files of Parquet read by columns: number for number what is read row by row."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.logs.chat import same_from_both
from tests.logs.tables import SCHEMA, write_parquet
from tests.logs.test_tables import refused
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import multicast

from antiphon.pipeline.ingest import parquet, row_groups
from antiphon.pipeline.ingest.parquet import ParquetReader, reader_of
from antiphon.pipeline.ingest.reading import LINES, Report, SourceFile, read_source
from antiphon.pipeline.ingest.row_groups import parted
from antiphon.pipeline.ingest.sources import sources_of
from antiphon.pipeline.tables.chunks import unpacked
from antiphon.trace.log import ColumnMap, Log
from antiphon.trace.schema import Event

Read = tuple[list[list[int]], Report]


def read(reader: SourceFile) -> list[Read]:
    """Return the rows that a reader finds, in matrices by name, and its report."""
    *packs, last = read_source(reader.source, reader)
    report = msgspec.json.decode(last.column("report")[0].as_buffer(), type=Report)
    found = []
    for name, width in (("rows", len(LINES)), ("ballots", 5)):
        matrices = [
            matrix
            for batch in packs
            if batch.column(name)[0].is_valid
            for matrix in unpacked(batch, name, width)
        ]
        rows = np.concatenate(matrices, axis=1).tolist() if matrices else []
        found.append((rows, report))
    return found


@pytest.mark.parametrize("batch", [3, 17, 65_536])
def test_columns_say_what_rows_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Strands, positions, pasts, records, views, ballots, spans: all equal, in any batches."""
    monkeypatch.setattr(parquet, "ROWS_PER_BATCH", batch)
    for seed in range(40):
        dice, rows = Random(seed), random_trace(seed)
        for row in rows:
            row.to = dice.choice([None, None, [], ["p0", "p1"], ["p1", "p0", "p1"], ["x"]])
        path = write_parquet(tmp_path / f"{seed}.parquet", rows)
        (source,) = sources_of(path)
        reader = reader_of(source)
        assert isinstance(reader, ParquetReader)
        assert read(reader) == read(SourceFile(source)), seed


def _damaged(rows: list[Event], dice: Random) -> list[Event]:
    """Return the rows with one value that is no good, or perhaps one that is."""
    rows = [msgspec.structs.replace(row) for row in rows]
    row = dice.choice(rows)
    name = dice.choice(list(SCHEMA.names))
    value: object = dice.choice([-1, 0, 5, 2**62, -(2**40)])
    if name in {"kind", "process", "sender", "order", "group", "domain", "detail", "run"}:
        value = dice.choice(["", "total", "deliver", "multicast", "view", "vote", "\u00e9"])
    elif name == "recorded_as":
        value = dice.choice(["", "p0", "p1", "p9", "\u00e9"])
    elif name == "to":
        value = dice.choice([None, [], ["p0"], ["p1", "p0"], [""]])
    elif name in {"members", "clock", "uniform", "id"}:
        value = None if name != "uniform" else True
    setattr(row, name, value)
    return rows


def test_wrong_values_are_refused_in_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some value in some row, and the same sentence, or the same numbers if it does no harm."""
    monkeypatch.setattr(parquet, "ROWS_PER_BATCH", 16)
    refusals = 0
    for seed in range(600):
        dice = Random(seed)
        rows = _damaged(random_trace(dice.randrange(1000)), dice)
        path = write_parquet(tmp_path / f"{seed}.parquet", rows)
        (source,) = sources_of(path)
        (_, by_columns), *_ = read(ParquetReader(source))
        (_, by_rows), *_ = read(SourceFile(source))
        assert by_columns.error == by_rows.error, seed
        refusals += bool(by_rows.error)
        if not by_rows.error:
            assert read(ParquetReader(source)) == read(SourceFile(source)), seed
    assert 120 < refusals < 480, "half of them are wrong"


def test_other_names_are_read_row_by_row(tmp_path: Path) -> None:
    """Only our own columns are known well enough."""
    path = write_parquet(tmp_path / "a.parquet", random_trace(1))
    (source,) = sources_of(replace(Log.of(path), columns=ColumnMap({"group": "run"})))
    assert type(reader_of(source)) is SourceFile


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_a_file_are_judged_as_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Row groups are read side by side if rows are numbered; else the file is read as one."""
    monkeypatch.setattr(row_groups, "ROWS_PER_PART", 4)
    rows = sorted(random_trace(seed), key=lambda row: (row.run, row.process))
    counts: Counter[tuple[str, str]] = Counter()
    for place, row in enumerate(rows):
        rows[place] = msgspec.structs.replace(row, index=counts[row.run, row.process])
        counts[row.run, row.process] += 1
    path = tmp_path / "a.parquet"
    table = pa.Table.from_pylist([msgspec.to_builtins(row) for row in rows], schema=SCHEMA)
    pq.write_table(table, path, row_group_size=3)
    parts = parted(sources_of(path))
    assert len(parts) > 1
    assert [source.number for source in parts] == [*range(len(parts))]
    assert same_from_both(path).event_count == len(rows)
    pq.write_table(table.drop_columns("index"), path, row_group_size=3)
    assert len(parted(sources_of(path))) == 1
    assert same_from_both(path).event_count == len(rows)


def test_gap_between_parts_is_told_as_one_within_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads a file in one go, or in parts, says the same."""
    monkeypatch.setattr(row_groups, "ROWS_PER_PART", 3)
    rows = [multicast("A", number + 1, index=number) for number in range(12)]
    table = pa.Table.from_pylist(
        [msgspec.to_builtins(row) for row in rows if row.index != 6], schema=SCHEMA
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    assert len(parted(sources_of(tmp_path / "a.parquet"))) > 2
    assert refused(tmp_path / "a.parquet").startswith(
        f"{tmp_path}/a.parquet:7: row 7 of 'A' follows row 5: "
    )
