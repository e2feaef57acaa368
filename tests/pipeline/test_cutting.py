"""The matrix of a bucket, message by message, against a table filled in by hand."""

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from antiphon.pipeline.checks.cutting import (
    PIECE_LINES,
    Cut,
    Pieces,
    cut,
    cut_at_buckets,
    delivered_early,
)
from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.survey.layout import (
    IN_FIFO_ORDER,
    IN_TOTAL_ORDER,
    MULTICAST,
    UNIFORM,
    WIDTH_MAX,
    Layout,
)

Row = tuple[int, int, bool, int, int, int, int]
"""Sender, process, whether it is a multicast, first, count, position, after."""


def layout(column_count: int, *implied: int) -> Layout:
    """Return a layout in which nothing else matters."""
    nobody = [-1] * column_count
    is_implied = [rank in implied for rank in range(column_count)]
    nothing = [False] * column_count
    return Layout(column_count, is_implied, [], nobody, nobody, [], nothing, nothing)


def pieces_of(rows: list[Row]) -> Pieces:
    """Turn rows into columns."""
    return Pieces(*np.array(rows, dtype=np.int64).T)


def message_table(matrix: Cut) -> dict[tuple[int, int], tuple[int, tuple[int, ...]]]:
    """Take the runs apart: multicast and delivery positions of every single message."""

    def moved(position: int, place: int) -> int:
        return position if position == NEVER else position + place

    return {
        (int(sender), int(first) + place): (
            moved(int(multicast), place),
            tuple(moved(int(position), place) for position in positions),
        )
        for sender, first, count, multicast, positions in zip(
            matrix.sender, matrix.first, matrix.count, matrix.multicast, matrix.positions.T,
            strict=True,
        )
        for place in range(count)
    }  # fmt: skip


def expected_table(
    rows: list[Row], column_count: int, implied: tuple[int, ...]
) -> dict[tuple[int, int], tuple[int, tuple[int, ...]]]:
    """Fill in the same table row by row, message by message."""
    multicasts: dict[tuple[int, int], int] = {}
    deliveries: dict[tuple[int, int], list[int]] = defaultdict(lambda: [NEVER] * column_count)
    for sender, process, is_multicast, first, count, position, _ in rows:
        for place in range(count):
            message, here = (sender, first + place), position + place
            if is_multicast:
                multicasts[message] = min(multicasts.get(message, NEVER), here)
                deliveries[message] = deliveries[message]
            else:
                deliveries[message][process] = min(deliveries[message][process], here)
    for (sender, number), position in multicasts.items():
        if sender in implied:
            deliveries[sender, number][sender] = position
    return {
        message: (multicasts.get(message, NEVER), tuple(positions))
        for message, positions in deliveries.items()
    }


def random_rows(dice: Random, column_count: int, lowest: int = 1) -> list[Row]:
    """Return rows of all sorts, with overlaps, repeats and gaps."""
    rows: list[Row] = []
    index = [0] * column_count
    for _ in range(dice.randint(1, 40)):
        process = dice.randrange(column_count)
        is_multicast = dice.random() < 0.3
        sender = process if is_multicast else dice.randrange(column_count)
        first, count = lowest + dice.randint(0, 30), dice.choice([1, 1, 2, 5, 9])
        position = index[process] * STRIDE
        rows.append((sender, process, is_multicast, first, count, position, position - 1))
        index[process] += 1
    return rows


@pytest.mark.parametrize("lowest", [1, 2**62], ids=["small numbers", "large numbers"])
def test_random_rows_say_of_each_message_what_they_say_one_by_one(lowest: int) -> None:
    """Cutting into atomic runs loses and invents nothing about any single message."""
    for seed in range(300):
        dice = Random(seed)
        column_count = dice.randint(1, 5)
        rows = random_rows(dice, column_count, lowest)
        implied = tuple(
            rank for rank in range(column_count)
            if not any(row[0] == row[1] == rank and not row[2] for row in rows)
        )  # fmt: skip
        matrix = cut(pieces_of(rows), layout(column_count, *implied))
        assert message_table(matrix) == expected_table(rows, column_count, implied), seed


def test_surplus_of_random_rows_is_all_but_the_first() -> None:
    """Each multicast or delivery of a message beyond its first is listed once."""
    surplus_count = 0
    for seed in range(300):
        rows = random_rows(Random(seed), 3)
        matrix = cut(pieces_of(rows), layout(3))
        again = matrix.again
        count = int(matrix.count[again.run].sum())
        acts = sum(row[4] for row in rows)
        firsts = {
            (process, is_multicast, sender, first + place)
            for sender, process, is_multicast, first, count, _, _ in rows
            for place in range(count)
        }
        assert count == acts - len(firsts), seed
        assert sorted(again.run) == list(again.run)
        surplus_count += count
    assert surplus_count > 1_000


def test_aligned_runs_stay_whole() -> None:
    """Rows with equal borders make one run, whatever its length."""
    rows = [
        (0, 0, True, 1, 1_000_000, 0, -1),
        (0, 1, False, 1, 1_000_000, 7 * STRIDE, -1),
    ]
    matrix = cut(pieces_of(rows), layout(2, 0))
    assert matrix.count.tolist() == [1_000_000]
    assert matrix.positions.tolist() == [[0], [7 * STRIDE]]


def test_run_delivered_before_its_multicast_is_cut_before_its_last_message() -> None:
    """Each message of such a run comes after the last one, too: it must stand apart."""
    rows = [
        (0, 0, False, 1, 3, 0, -1),
        (0, 0, True, 1, 3, STRIDE, -1),
        (1, 1, True, 1, 3, 0, -1),
    ]
    matrix = cut(pieces_of(rows), layout(2, 1))
    assert matrix.count.tolist() == [2, 1, 3]
    assert delivered_early(matrix).tolist() == [True, True, False]


def test_first_delivery_keeps_what_it_comes_after() -> None:
    """Of several deliveries the first counts, with its own place in the causal past."""
    rows = [
        (1, 0, False, 1, 1, 9 * STRIDE, 8 * STRIDE),
        (1, 0, False, 1, 1, 5 * STRIDE, 4 * STRIDE),
        (1, 0, False, 1, 1, 7 * STRIDE, 6 * STRIDE),
    ]
    matrix = cut(pieces_of(rows), layout(2))
    assert matrix.positions[0].tolist() == [5 * STRIDE]
    assert matrix.afters[0].tolist() == [4 * STRIDE]
    assert sorted(matrix.again.position.tolist()) == [7 * STRIDE, 9 * STRIDE]


def test_what_is_asked_of_a_run_is_what_its_first_multicast_says() -> None:
    """Without a multicast, what any delivery says; what a delivery says besides does not count."""
    total, uniform = IN_TOTAL_ORDER, UNIFORM
    rows = [
        (0, 0, MULTICAST | total, 1, 1, 5 * STRIDE, -1),
        (0, 0, MULTICAST | IN_FIFO_ORDER, 1, 1, 3 * STRIDE, -1),
        (0, 1, total | uniform, 1, 1, 0, -1),
        (1, 0, total, 1, 2, 7 * STRIDE, -1),
        (1, 1, uniform, 2, 2, 8 * STRIDE, -1),
        (1, 0, 0, 4, 1, 9 * STRIDE, -1),
    ]
    matrix = cut(Pieces(*np.array(rows, dtype=np.int64).T), layout(2))
    assert (matrix.asks & ~MULTICAST).tolist() == [
        IN_FIFO_ORDER, total, total | uniform, uniform, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("width", [2, 3, 64, WIDTH_MAX])
def test_rows_are_cut_where_buckets_begin(width: int) -> None:
    """The pieces of a row are its messages, each in the bucket of its number, at its position."""
    dice = Random(width)
    highest = 2**63 - 1 - 1_000_000
    for first in (1, 5, 63, 64, highest - 20, highest):
        count = dice.randint(1, 20)
        row = np.array([[0], [first], [count], [50 * STRIDE], [49 * STRIDE], [1]])
        strands = np.array([[3], [1], [2], [0], [width]])
        scope, bucket, table = cut_at_buckets(row, strands)
        pieces = dict(zip(PIECE_LINES, table.tolist(), strict=True))
        messages = [
            (number + place, position + place, int(of_bucket))
            for number, length, position, of_bucket in zip(
                pieces["first"], pieces["count"], pieces["position"], bucket, strict=True
            )
            for place in range(length)
        ]
        assert messages == [
            (first + place, 50 * STRIDE + place, (first + place) // width) for place in range(count)
        ]
        assert set(scope.tolist()) == {3}
        assert set(pieces["sender"]) == {1}
        assert set(pieces["process"]) == {2}
