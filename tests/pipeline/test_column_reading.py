"""Rows in columns are what the same rows are in lines: numbers, reports, verdicts, complaints."""

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, start, stop, view, vote
from tests.trace.hand_written import write_rows as write_lines

from antiphon.core.errors import TraceError
from antiphon.pipeline.ingest import parquet as ours
from antiphon.pipeline.ingest.ballots import BALLOT_LINES
from antiphon.pipeline.ingest.parquet import batch_of, reader_of, write_rows
from antiphon.pipeline.ingest.reading import LINES, Report, read_source
from antiphon.pipeline.ingest.sources import find_sources
from antiphon.pipeline.survey.layout import Numbers
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify
from antiphon.trace.schema import Event


def read(path: Path) -> tuple[Numbers, Numbers, Report]:
    """Return the rows of a file, its ballots, and the report on it, which names no folder."""
    [source] = find_sources([path])
    *packs, last = read_source(source, reader_of(source))
    told = last.column("report")[0].as_py().replace(str(path).encode(), b"t")
    return (
        unpacked(packs, "rows", len(LINES)),
        unpacked(packs, "ballots", len(BALLOT_LINES)),
        msgspec.json.decode(told, type=Report),
    )


def unpacked(packs: list[pa.RecordBatch], name: str, line_count: int) -> Numbers:
    """Return what all packs of a kind hold."""
    blobs = [blob for pack in packs if (blob := pack.column(name)[0].as_py()) is not None]
    parts = [np.frombuffer(blob, dtype=np.int64).reshape(line_count, -1) for blob in blobs]
    return np.concatenate([np.zeros((line_count, 0), dtype=np.int64), *parts], axis=1)


def both(folder: Path, rows: list[Event]) -> tuple[Path, Path]:
    """Write rows as lines and as columns."""
    lines = write_lines(folder / "t.ndjson", rows)
    write_rows(folder / "t.parquet", rows)
    return lines, folder / "t.parquet"


@pytest.mark.parametrize("rows_per_batch", [3, 1_000])
def test_columns_give_the_numbers_that_lines_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_batch: int
) -> None:
    """Of random traces, wherever batches end: the same rows, ballots and reports."""
    monkeypatch.setattr(ours, "ROWS_PER_BATCH", rows_per_batch)
    for seed in range(24):
        rows = random_trace(seed)
        lines, columns = both(tmp_path / str(seed), rows)
        (*wanted, report), (*got, same) = read(lines), read(columns)
        assert report == same, f"seed {seed}"
        for one, other in zip(wanted, got, strict=True):
            assert np.array_equal(one, other), f"seed {seed}"


@pytest.mark.parametrize(
    "wrong",
    [
        deliver("B", ""),
        deliver("B", "A", 0),
        multicast("B", 0),
        Event(process="B", kind="multicast", sender="A", first=1),
        Event(process="B", kind="deliver", sender="A", first=1, count=0),
        multicast("B", 1, order="best"),  # type: ignore[arg-type]
        multicast("B", 1, index=-2),
        multicast("B", 1, view=-1),
        multicast("B", 1, index=0),
        view("B"),
        vote("B", "perhaps", "A"),
    ],
)
def test_what_is_no_row_is_refused_in_the_same_words(tmp_path: Path, wrong: Event) -> None:
    """Lines and columns name the row and say what is wrong with it, alike."""
    rows = [start("A"), start("B"), wrong, stop("A")]
    said = [read(path)[-1].error.replace(path.name, "t") for path in both(tmp_path, rows)]
    assert said[0] == said[1]
    assert "t:3: " in said[0]


def test_missing_and_null_columns_are_defaults(tmp_path: Path) -> None:
    """A table with the columns of the shortest log, narrow integers and nulls, is judged."""
    table = pa.table(
        {
            "process": ["A", "B", "C"],
            "kind": pa.array(["multicast", "deliver", "deliver"]).dictionary_encode(),
            "sender": pa.array([None, "A", "A"]),
            "first": pa.array([1, 1, 1], pa.int16()),
            "uniform": pa.array([None, False, None]),
            "mood": [1.5, None, 2.0],
        }
    )
    parquet.write_table(table, tmp_path / "log.parquet")
    verdict = verify(LocalExecutor(), tmp_path / "log.parquet")
    assert (verdict.event_count, verdict.delivery_count, verdict.is_violated) == (3, 2, False)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"process": ["A"]}, "no column 'kind' to be `kind`: there are process"),
        ({"process": ["A"], "kind": ["jump"]}, "what is `kind` 'jump'"),
        ({"process": [""], "kind": ["start"]}, "missing required field `process`"),
        ({"process": [], "kind": []}, "the file has no rows"),
    ],
)
def test_table_that_is_no_trace_is_refused(
    tmp_path: Path, columns: dict[str, list[object]], words: str
) -> None:
    """The sentence names the file and the column."""
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(TraceError, match=words) as refusal:
        verify(LocalExecutor(), tmp_path / "log.parquet")
    assert "log.parquet" in str(refusal.value)


def test_cut_file_is_refused(tmp_path: Path) -> None:
    """Half of a Parquet file has no end, and says so."""
    write_rows(tmp_path / "log.parquet", [start("A"), stop("A")])
    whole = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "log.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match=r"log\.parquet:1: not a whole Parquet file"):
        verify(LocalExecutor(), tmp_path / "log.parquet")


def test_every_column_comes_back(tmp_path: Path) -> None:
    """Clocks and members, which are few, too."""
    rows = [
        view("A", "A", "é", time_us=7),
        Event(process="A", kind="multicast", first=1, clock={"A": 1, "é": 2}, queue_depth=3),
        stop("A"),
    ]
    batch = batch_of(rows)
    batch.validate(full=True)
    told = [
        {**row, "clock": dict(row["clock"]) if row["clock"] else None} for row in batch.to_pylist()
    ]
    assert [msgspec.convert(row, Event) for row in told] == rows
