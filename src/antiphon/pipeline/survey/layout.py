"""What workers must know of a scope, and how strands are numbered for them.

Law: names, views and endings stay on the driver; what a task needs to judge a part of a scope
travels with the task as these few lists, by rank, and as one matrix of numbers per file.
"""

from typing import Any, NamedTuple

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]

WIDTH_MAX = 2**39
"""Numbers of one sender in one bucket, at most: the rest of an address is the sender's rank."""

MULTICAST, IN_FIFO_ORDER, IN_TOTAL_ORDER, UNIFORM, SETS_ORDER = 1, 2, 4, 8, 16
"""Bits: whether rows are multicasts, and what they ask for."""

AIM_SHIFT = 5
"""Above these bits: whom messages are `to`, as a number from 1 (``Layout.aims``); 0: all."""

STRAND_LINES = ("scope", "sender", "process", "what", "width")
"""Of a matrix with a column per strand; ``what`` is made of the bits above."""


class Late(NamedTuple):
    """A process of which something may lie before its record."""

    rank: int
    sent_below: int
    """It may have multicast numbers below this one there."""
    got_below: list[int]
    """By rank of sender: it may have delivered numbers below this one there."""


class Layout(NamedTuple):
    """What must be known of a scope to judge a part of it."""

    column_count: int
    """Processes; they go by rank."""
    is_implied: list[bool]
    """By rank: whether its multicasts count as its own deliveries, for it records none."""
    held: list[int]
    """Ranks that must agree: members whose record is whole."""
    doubt_above: list[int]
    """By rank: its messages with higher numbers may have been multicast off the record."""
    last_multicasts: list[int]
    """By rank: the position of the row that it multicast last, or -1."""
    movers: list[int]
    """Ranks of members that went on from this view to the next."""
    is_whole: list[bool]
    """By rank: whether its messages must arrive."""
    is_bound: list[bool]
    """By rank: whether it owes its own messages, and total order, for it is whole, or went on."""
    late: tuple[Late, ...] = ()
    """Those of which something may lie before their records."""
    free: tuple[int, ...] = ()
    """Ranks that need not receive anything."""
    aims: tuple[list[int], ...] = ()
    """Ranks that messages are `to`: of those with the number 1, 2, ..."""
