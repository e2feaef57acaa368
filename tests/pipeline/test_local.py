"""Tables in this process: what they do, and that verdicts are the oracle's without any Spark."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from tests.pipeline.test_agrees_with_oracle import TINY, write_traces

from antiphon.oracle import judge
from antiphon.pipeline.tables.chunks import column, list_column, numbers, packed_column, vectors
from antiphon.pipeline.tables.local import LocalExecutor, LocalTable
from antiphon.pipeline.verify import verify_all


def table_of(rows: list[tuple[int, int]], length: int) -> LocalTable:
    """Return rows of two numbers in batches of this length, with a list and a truth value."""
    batches = [_batch(rows[begin : begin + length]) for begin in range(0, len(rows), length)]
    return LocalTable(lambda: batches)


def _batch(rows: list[tuple[int, int]]) -> pa.RecordBatch:
    key, value = np.array(rows, dtype=np.int64).T
    columns = [column(key), column(value), column(value % 2 == 1)]
    columns.append(list_column(np.stack([value, -value], axis=1)))
    return pa.RecordBatch.from_arrays(columns, names=["key", "value", "is_odd", "list"])


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, int]]:
    """Return the rows again; the list must still be that of the row."""
    found = []
    for batch in batches:
        assert (vectors(batch, "list")[:, 0] == numbers(batch, "value")).all()
        found += list(
            zip(numbers(batch, "key").tolist(), numbers(batch, "value").tolist(), strict=True)
        )
    return found


def test_rows_are_sorted_by_key_and_order_whatever_the_batches() -> None:
    """No row is lost, and lists stay with their rows."""
    for seed in range(50):
        dice = Random(seed)
        rows = [(dice.randrange(5), dice.randrange(100)) for _ in range(dice.randint(1, 60))]
        table = table_of(rows, dice.randint(1, 20))
        together = table.together(("key",), order=("value",), part_count=7)
        assert rows_of(together.batches()) == sorted(rows), seed
        odd = [row for row in rows if row[1] % 2]
        assert rows_of(table.where("is_odd").batches()) == odd, seed


def test_packs_are_sorted_without_being_copied() -> None:
    """Values of bytes are slices of the batches that they came in."""
    keys = np.array([2, 0, 1])
    packs = packed_column([np.full(10, key) for key in keys])
    batch = pa.RecordBatch.from_arrays([column(keys), packs], names=["key", "pack"])
    table = LocalTable(lambda: [batch.slice(0, 2), batch.slice(2)])
    found = list(table.together(("key",), part_count=1).batches())
    assert [numbers(each, "key").tolist() for each in found] == [[0], [1], [2]]
    addresses = {each.column("pack").buffers()[2].address for each in found}
    assert addresses == {batch.column("pack").buffers()[2].address}


def test_rows_with_a_value_are_told_from_those_without() -> None:
    """By the first of the columns asked for."""
    data = {"number": [1, 2, 3], "name": [b"a", None, b"c"]}
    batch = pa.RecordBatch.from_pydict(data)
    whole, none = batch.slice(0, 1), batch.slice(1, 1)
    table = LocalTable(lambda: [batch, whole, none])
    found = [row for each in table.having("name", "number").batches() for row in each.to_pylist()]
    assert [(row["number"], row["name"]) for row in found] == [(1, b"a"), (3, b"c"), (1, b"a")]


def test_kept_table_is_computed_once() -> None:
    """One that is not kept is computed each time it is asked."""
    calls = []

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        calls.append(1)
        yield from batches

    table = LocalExecutor().numbered(3).map(count, {"id": "bigint"})
    for _ in range(2):
        assert [numbers(batch, "id").tolist() for batch in table.batches()] == [[0, 1, 2]]
    with table.kept() as kept:
        assert len(calls) == 3
        assert [batch.num_rows for _ in range(2) for batch in kept.batches()] == [3, 3]
    assert len(calls) == 3


@pytest.mark.parametrize("worker_count", [1, 2])
def test_random_traces_have_the_oracles_verdicts_without_spark(
    tmp_path: Path, worker_count: int
) -> None:
    """Word for word, whoever reads the files; many more are tried where there is more time."""
    traces = write_traces(tmp_path / "traces", range(3_000, 3_200))
    found = verify_all(LocalExecutor(worker_count), [tmp_path / "traces"], grain=TINY)
    for run, rows in traces.items():
        assert msgspec.structs.replace(judge(rows, run), engine="local") == found[run], run
