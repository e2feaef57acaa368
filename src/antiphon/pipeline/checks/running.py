"""Running maxima: causal order as a comparison of positions, in numpy.

Law: let s multicast m', and m be anything that s multicast or delivered before. Causal order
(ISIS 3.1) holds at q iff q delivers m before m': that the largest position at q among all such m
is smaller than that of m'. So s's past needs no set of messages: a vector of positions, one per
process, that only ever grows. What was not delivered has the position NEVER, larger than all, so
a hole breaks the order of everything after it, and what q did not deliver itself is never wrong.
What q need not show has the position EXCUSED, smaller than all: it breaks nothing, nor is it wrong.
Fifo order is the same with s's own multicasts alone. Within one group no more than these direct
predecessors are needed: a longer chain breaks at one of its links first.

Matrices here have a line per process: running along a line is what numpy does fast.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.layout import Numbers, Truths


class Past(NamedTuple):
    """What one process came to know from deliveries, step by step, in some of the messages."""

    owner: int
    after: Numbers
    """It counts for the owner's multicasts after these positions."""
    positions: Numbers
    """By process and step: the largest position among what was delivered then."""


def pasts(
    sender: Numbers,
    multicast: Numbers,
    positions: Numbers,
    afters: Numbers,
    last_multicasts: list[int],
) -> Iterator[Past]:
    """Yield the pasts of all processes, as far as these runs of messages contribute to them."""
    is_known = multicast != NEVER
    for owner, last_multicast in enumerate(last_multicasts):
        # Own messages count from their multicast on: by delivery only if that came earlier still.
        is_news = (sender != owner) | (positions[owner] < multicast)
        is_used = is_known & is_news & (positions[owner] != NEVER)
        used = np.flatnonzero(is_used & (afters[owner] < last_multicast))
        if not len(used):
            continue
        used = used[np.argsort(afters[owner][used], kind="stable")]
        after = afters[owner][used]
        begins = np.flatnonzero(np.diff(after, prepend=after[0] - 1))
        highest = np.maximum.reduceat(positions.take(used, axis=1), begins, axis=1)
        yield Past(owner, after[begins], highest)


class Runner:
    """Walks along one sender's record, or a block of it, comparing as it goes."""

    def __init__(self, fifo: Numbers, causal: Numbers) -> None:
        """Begin with the maxima of all that came before."""
        self.fifo, self.causal = fifo, causal

    def wrong(self, positions: Numbers, is_past: Truths) -> tuple[Truths, Truths, Truths]:
        """Take the next steps; return where its multicasts break fifo and causal order, by rank.

        Thirdly, where something that had to come before them never came at all. A multicast may
        be compared with itself among the others: it is not larger than itself.
        """
        own = positions[:, ~is_past]
        self.fifo, fifo = _run(self.fifo, own)
        self.causal, causal = _run(self.causal, positions)
        causal = causal[:, ~is_past]
        is_early, is_late = causal > own, fifo > own
        is_excused = own == EXCUSED
        if is_excused.any():
            is_early &= ~is_excused
            is_late &= ~is_excused
        is_orphan = is_early & (causal == NEVER) if is_early.any() else is_early
        return is_late, is_early, is_orphan


def nothing(column_count: int) -> Numbers:
    """Return the maxima before anything has happened."""
    return np.full(column_count, -1)


def _run(before: Numbers, positions: Numbers) -> tuple[Numbers, Numbers]:
    """Return the maxima at the end, and at each step."""
    if not positions.shape[1]:
        return before, positions
    highest = np.maximum.accumulate(positions, axis=1)
    np.maximum(highest, before[:, None], out=highest)
    return highest[:, -1].copy(), highest
