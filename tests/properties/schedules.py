"""Schedules: what happens in a world, step by step, as plain data.

A step names its choices by numbers that are taken modulo what there is to choose from, so every
list of steps is a valid schedule, and hypothesis can shrink one by dropping steps and lowering
numbers. ``random_schedule`` makes one from a seed, for campaigns of thousands.
"""

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

SIZE_MIN, SIZE_MAX = 2, 6
RUN_MAX = 4


@dataclass(frozen=True, slots=True)
class Multicast:
    """Process ``who`` multicasts a run of ``count`` messages."""

    who: int
    count: int = 1
    is_fifo: bool = False


@dataclass(frozen=True, slots=True)
class Arrive:
    """Something arrives over a channel, and its receiver may answer.

    The last three have an effect only where channels may reorder and duplicate. ``pick`` says
    which parcel of the channel. With ``is_copy`` it stays there to come again. ``cut`` lets a part
    of it come, as a retransmission might: so many messages from its head, or, below zero, from
    its tail.
    """

    channel: int
    batch: int = 1
    answer: int = 0
    pick: int = 0
    is_copy: bool = False
    cut: int = 0


Step = Multicast | Arrive


@dataclass(frozen=True, slots=True)
class Schedule:
    """A world of ``size`` processes and what happens in it, before everything left arrives."""

    size: int
    steps: tuple[Step, ...]
    fifo_channels: bool = True


def schedules(*, fifo_channels: bool, mixes_fifo: bool = True) -> st.SearchStrategy[Schedule]:
    """Any schedule, short ones first."""
    process = st.integers(0, SIZE_MAX - 1)
    small = st.integers(0, RUN_MAX - 1)
    is_fifo = st.booleans() if mixes_fifo else st.just(value=False)
    multicast = st.builds(Multicast, process, st.integers(1, RUN_MAX), is_fifo)
    channel = st.integers(0, SIZE_MAX * SIZE_MAX)
    if fifo_channels:
        arrive = st.builds(Arrive, channel, st.integers(1, 3), small)
    else:
        cut = st.integers(1 - RUN_MAX, RUN_MAX - 1)
        arrive = st.builds(Arrive, channel, st.just(1), small, small, st.booleans(), cut)
    steps = st.lists(multicast | arrive | arrive, max_size=40).map(tuple)
    return st.builds(Schedule, st.integers(SIZE_MIN, SIZE_MAX), steps, st.just(fifo_channels))


def random_schedule(seed: int, *, fifo_channels: bool, mixes_fifo: bool = True) -> Schedule:
    """Return the schedule of ``seed``: some channels slow, so that much is held back."""
    rng = Random(seed)
    size = rng.randint(SIZE_MIN, SIZE_MAX)
    fifo_share = rng.choice((0.0, 0.3)) if mixes_fifo else 0.0
    # Low numbers only mean that the channels at the end of the list starve for long.
    reach = rng.choice((2, size, size * size))
    steps: list[Step] = []
    for _ in range(rng.randint(5, 60)):
        if rng.random() < 0.3:
            count = rng.choice((1, 1, rng.randint(1, RUN_MAX)))
            steps.append(Multicast(rng.randrange(size), count, rng.random() < fifo_share))
        else:
            steps.append(_random_arrival(rng, reach, fifo_channels=fifo_channels))
    return Schedule(size, tuple(steps), fifo_channels)


def _random_arrival(rng: Random, reach: int, *, fifo_channels: bool) -> Arrive:
    channel = rng.randrange(reach)
    answer = rng.choice((0, 0, 1, 2))
    if fifo_channels:
        return Arrive(channel, rng.choice((1, 1, 3)), answer)
    return Arrive(
        channel,
        answer=answer,
        pick=rng.choice((0, rng.randrange(5))),
        is_copy=rng.random() < 0.3,
        cut=rng.choice((0, 0, 0, 1, 2, -1)),
    )
