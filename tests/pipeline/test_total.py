"""Total order in numpy: who is held to what, and what is the other way round."""

from random import Random

import numpy as np

from antiphon.pipeline.checks.total import held_positions, is_early, is_late
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.survey.layout import Layout


def test_what_a_process_is_not_held_to_counts_as_not_delivered() -> None:
    """That is what is not uniform, at a process that ended early."""
    positions = np.array([[1, 2, 3], [4, 5, 6]])
    is_bound = [True, True, False]
    nobody, nothing = [-1] * 3, [False] * 3
    layout = Layout(3, nothing, [], nobody, nobody, [], is_bound, is_bound)
    held = held_positions(positions, np.array([True, False]), layout)
    assert held.tolist() == [[1, 2, 3], [4, 5, NEVER]]
    assert positions.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_early_and_late_are_what_two_loops_find() -> None:
    """A step is early if a later one comes before it elsewhere; late if it comes before a past."""
    for seed in range(300):
        dice = Random(seed)
        processes, steps = dice.randint(1, 4), dice.randint(1, 8)
        rows = [dice.sample([*range(steps), NEVER, NEVER], steps) for _ in range(processes)]
        before = [dice.choice([-1, 3]) for _ in rows]
        after = [dice.choice([2, NEVER]) for _ in rows]
        early = [
            any(
                row[step] != NEVER and min([*row[step + 1 :], last]) < row[step]
                for row, last in zip(rows, after, strict=True)
            )
            for step in range(steps)
        ]
        late = [
            [
                max([first, *(place for place in row[:step] if place != NEVER)]) > row[step]
                for step in range(steps)
            ]
            for row, first in zip(rows, before, strict=True)
        ]
        positions = np.array(rows)
        assert is_early(positions, np.array(after)).tolist() == early, seed
        assert is_late(positions, np.array(before)).tolist() == late, seed
