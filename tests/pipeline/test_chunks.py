"""Rows that belong together stay together, whatever the batches."""

import subprocess
import sys
from random import Random

import numpy as np
import pyarrow as pa

from antiphon.pipeline.tables import chunks as chunking
from antiphon.pipeline.tables.chunks import (
    chunks,
    column,
    entries,
    list_column,
    lists,
    numbers,
    packed_column,
    ragged_column,
    regrouped,
    slices,
    unpacked,
    vectors,
    whole,
)


def batches_of(keys: list[int], lengths: list[int]) -> list[pa.RecordBatch]:
    """Return numbered rows with these keys in batches of these lengths."""
    table = pa.table(
        {"key": column(np.array(keys, dtype=np.int32)), "row": column(np.arange(len(keys)))}
    )
    batches, begin = [], 0
    for length in lengths:
        batches += table.slice(begin, length).to_batches()
        begin += length
    return batches


def test_chunks_have_all_rows_of_a_key_and_no_other() -> None:
    """Random keys in random batches come out as one chunk per key, in order."""
    for seed in range(200):
        dice = Random(seed)
        keys = sorted(dice.choices(range(6), k=dice.randint(0, 30)))
        lengths = [dice.randint(1, 8) for _ in range(31)]
        found = [
            (key, numbers(chunk, "row").tolist())
            for (key,), chunk in chunks(batches_of(keys, lengths), ("key",))
        ]
        rows = enumerate(keys)
        expected: dict[int, list[int]] = {}
        for row, key in rows:
            expected.setdefault(key, []).append(row)
        assert found == list(expected.items()), seed


def test_slices_follow_every_change_of_any_key() -> None:
    """Two keys are compared together: a change of either begins a slice."""
    batch = pa.RecordBatch.from_arrays(
        [column(np.array([0, 0, 1, 1])), column(np.array([5, 6, 6, 6]))], names=["one", "two"]
    )
    found = [(key, piece.num_rows) for key, piece in slices([batch], ("one", "two"))]
    assert found == [((0, 5), 1), ((0, 6), 1), ((1, 6), 2)]


def test_regrouped_batches_are_neither_small_nor_large() -> None:
    """Rows come out in order, in batches of the size that Spark likes."""
    size = chunking.ROWS_PER_BATCH
    batches = batches_of([0] * (3 * size), [1] * 100 + [size // 2] * 3 + [3 * size])
    found = list(regrouped(batches))
    assert max(batch.num_rows for batch in found) == size
    assert len(found) <= 6
    rows = np.concatenate([numbers(batch, "row") for batch in found])
    assert rows.tolist() == list(range(3 * size))


def test_columns_come_back_as_they_went() -> None:
    """Numbers, truth values, lists and packed matrices survive the way through a slice."""
    dice = np.random.default_rng(1)
    whole = dice.integers(-(2**62), 2**62, 100)
    truths = dice.random(100) < 0.5
    matrix = dice.integers(0, 2**62, (100, 3))
    packs = [dice.integers(0, 2**62, (2, length)) for length in range(100)]
    batch = pa.RecordBatch.from_arrays(
        [column(whole), column(truths), list_column(matrix), packed_column(packs)],
        names=["whole", "truths", "matrix", "packs"],
    ).slice(13, 50)
    assert numbers(batch, "whole").tolist() == whole[13:63].tolist()
    assert numbers(batch, "truths").tolist() == truths[13:63].tolist()
    assert vectors(batch, "matrix").tolist() == matrix[13:63].tolist()
    found = list(unpacked(batch, "packs", 2))
    assert all(np.array_equal(*pair) for pair in zip(found, packs[13:63], strict=True))


def test_lists_of_any_length_come_back_as_they_went() -> None:
    """Lists of numbers and of truth values survive the way through a slice, empty ones too."""
    rows = [list(range(length)) for length in (3, 0, 5, 1, 0, 2)]
    truths = [[number % 2 == 0 for number in row] for row in rows]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(rows, pa.list_(pa.int64())), pa.array(truths, pa.list_(pa.bool_()))],
        names=["rows", "truths"],
    )
    for begin, count in ((0, 6), (1, 4), (2, 1)):
        part = batch.slice(begin, count)
        assert [row.tolist() for row in lists(part, "rows")] == rows[begin : begin + count]
        assert [row.tolist() for row in lists(part, "truths")] == truths[begin : begin + count]


def test_conversions_do_not_import_pandas() -> None:
    """A worker must not spend its first second on a library that nobody asked for."""
    script = (
        "import sys, numpy as np, pyarrow as pa\n"
        "from antiphon.pipeline.tables.chunks import *\n"
        "from antiphon.pipeline.tables.chunks import packed_column, list_column\n"
        "b = pa.RecordBatch.from_arrays([column(np.arange(3)), column(np.arange(3) > 1),"
        " list_column(np.ones((3, 2), dtype=np.int64)),"
        " packed_column([np.ones((2, 2), dtype=np.int64)] * 3)], names=list('abcd'))\n"
        "list(regrouped([b, b])), list(chunks([b], ('a',))), numbers(b, 'b'), vectors(b, 'c')\n"
        "list(unpacked(b, 'd', 2)), pa.nulls(3, pa.binary())\n"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_no_key_is_cut_by_whole_batches() -> None:
    """Rows stay as they are and in order; each key is in one batch, however batches were cut."""
    for seed in range(50):
        dice = Random(seed)
        keys = sorted(dice.randrange(6) for _ in range(dice.randint(1, 40)))
        lengths = [dice.randint(1, 9) for _ in keys]
        found = list(whole(batches_of(keys, lengths), ("key",)))
        rows = [row for batch in found for row in numbers(batch, "row").tolist()]
        assert rows == list(range(len(keys))), seed
        of_batches = [set(numbers(batch, "key").tolist()) for batch in found]
        assert sum(map(len, of_batches)) == len(set(keys)), seed


def test_entries_are_told_by_row_also_in_a_part_of_a_batch() -> None:
    """A list of pairs per row, some of them empty."""
    batch = pa.RecordBatch.from_arrays(
        [ragged_column([[1, 2], [], [3, 4, 5, 6], [7, 8]])], names=["pairs"]
    )
    row, pairs = entries(batch.slice(1), "pairs", 2)
    assert row.tolist() == [1, 1, 2]
    assert pairs.tolist() == [[3, 5, 7], [4, 6, 8]]
    row, pairs = entries(batch.slice(1, 1), "pairs", 2)
    assert (row.tolist(), pairs.shape) == ([], (2, 0))
