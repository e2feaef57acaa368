"""Running maxima against the definition, read out literally on random matrices."""

from random import Random

import numpy as np

from antiphon.pipeline.checks.running import Runner, nothing, pasts
from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.survey.layout import Numbers

KINDS = ("fifo", "causal", "orphan")


class RandomMatrix:
    """A few runs of single messages and what processes did to them, at random."""

    def __init__(self, seed: int) -> None:
        """Draw multicasts and deliveries, each process in an order of its own."""
        dice = Random(seed)
        self.process_count, run_count = dice.randint(1, 4), dice.randint(1, 12)
        self.sender = np.array([dice.randrange(self.process_count) for _ in range(run_count)])
        self.multicast = np.full(run_count, NEVER)
        self.positions = np.full((self.process_count, run_count), NEVER)
        self.afters = np.full((self.process_count, run_count), NEVER)
        self.last_multicasts = [-1] * self.process_count
        for process in range(self.process_count):
            self._record(process, dice)

    def _record(self, process: int, dice: Random) -> None:
        own = [(run, True) for run in np.flatnonzero(self.sender == process).tolist()]
        acts = own + [(run, False) for run in range(len(self.sender))]
        dice.shuffle(acts)
        after = -1
        for index, (run, is_multicast) in enumerate(acts):
            if dice.random() < 0.15:
                continue
            if is_multicast:
                self.multicast[run] = self.last_multicasts[process] = index * STRIDE
                after = index * STRIDE + STRIDE - 1
            else:
                self.positions[process, run] = index * STRIDE
                self.afters[process, run] = after

    def is_wrong(self, process: int, run: int, what: str) -> bool:
        """Whether a process delivered a message before, or without, one that had to come first.

        An orphan is one that was delivered without.
        """
        is_fifo = what == "fifo"
        here, sender, sent = self.positions[process, run], self.sender[run], self.multicast[run]
        if NEVER in {here, sent}:
            return False
        for other in range(len(self.sender)):
            is_known = self.multicast[other] != NEVER and other != run
            is_own = self.sender[other] == sender and self.multicast[other] < sent
            is_before = is_own or (not is_fifo and self.positions[sender, other] < sent)
            there = self.positions[process, other]
            is_missing = there == NEVER if what == "orphan" else there > here
            if is_known and is_before and is_missing:
                return True
        return False


Step = tuple[int, bool, int, Numbers]
"""Position, whether it is the past, the run (or -1), the vector."""


def steps_of(matrix: RandomMatrix, owner: int, begin: int, end: int) -> list[Step]:
    """Return what some of the runs contribute to an owner's timeline, in no order."""
    some = slice(begin, end)
    found: list[Step] = [
        (after, True, -1, vector)
        for past in pasts(
            matrix.sender[some], matrix.multicast[some], matrix.positions[:, some],
            matrix.afters[:, some], matrix.last_multicasts,
        )
        if past.owner == owner
        for after, vector in zip(past.after.tolist(), past.positions.T, strict=True)
    ]  # fmt: skip
    sent = [
        run for run in range(*some.indices(len(matrix.sender)))
        if matrix.sender[run] == owner and matrix.multicast[run] != NEVER
    ]  # fmt: skip
    return found + [
        (int(matrix.multicast[run]), False, run, matrix.positions[:, run]) for run in sent
    ]


def found_by_running(matrix: RandomMatrix, seed: int) -> dict[str, set[tuple[int, int]]]:
    """Judge as the pipeline does: in buckets, then along timelines, then in blocks."""
    border = seed % (len(matrix.sender) + 1)
    wrong: dict[str, set[tuple[int, int]]] = {name: set() for name in KINDS}
    for owner in range(matrix.process_count):
        steps = steps_of(matrix, owner, 0, border)
        steps += steps_of(matrix, owner, border, len(matrix.sender))
        steps.sort(key=lambda step: step[:2])
        runner = Runner(nothing(matrix.process_count), nothing(matrix.process_count))
        for block in (steps[: seed % 5], steps[seed % 5 :]):
            if not block:
                continue
            vectors = np.array([step[3] for step in block]).T
            is_past = np.array([step[1] for step in block])
            own = [step[2] for step in block if not step[1]]
            of_block = runner.wrong(vectors, is_past)
            for name, truths in zip(KINDS, of_block, strict=True):
                wrong[name] |= {
                    (int(process), own[step]) for process, step in np.argwhere(truths).tolist()
                }
    return wrong


def test_random_matrices_are_judged_as_defined() -> None:
    """Every delivery that the definitions call wrong is found, and no other."""
    counts = dict.fromkeys(KINDS, 0)
    for seed in range(400):
        matrix = RandomMatrix(seed)
        found = found_by_running(matrix, seed)
        for name in counts:
            expected = {
                (process, run)
                for process in range(matrix.process_count)
                for run in range(len(matrix.sender))
                if matrix.is_wrong(process, run, name)
            }
            assert found[name] == expected, (name, seed)
            counts[name] += len(expected)
    assert min(counts.values()) > 100


def test_past_is_one_step_for_each_stretch_between_multicasts() -> None:
    """What is delivered between two multicasts is boiled down to one vector: the largest."""
    after = np.array([[-1, -1, 3 * STRIDE - 1]])
    positions = np.array([[0, STRIDE, 3 * STRIDE]])
    [past] = pasts(np.array([1, 1, 1]), np.array([0, 1, 2]), positions, after, [9 * STRIDE])
    assert past.after.tolist() == [-1, 3 * STRIDE - 1]
    assert past.positions.tolist() == [[STRIDE, 3 * STRIDE]]


def test_past_after_the_last_multicast_is_left_out() -> None:
    """What a process learns when it will multicast no more is not carried along."""
    positions = np.array([[STRIDE]])
    after = np.array([[STRIDE - 1]])
    assert not list(pasts(np.array([1]), np.array([0]), positions, after, [0]))
