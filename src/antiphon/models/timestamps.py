"""Timestamp in ``physical`` (Overlay 3.1, figure 1; corrected): when a message can be delivered.

Law: a message of sender s is delivered when it is the next one of s and all that its timestamp
counts has been delivered. Only senders have entries that are not zero, so only theirs are kept.
Messages of one sender come in order (``network``), so those received and not delivered are a range.
Corrections (002-6): a sender has delivered its own message at once; what is delivered counts before
the application hears of it.
"""

from typing import NamedTuple

import numpy as np

from antiphon.models.compiling import Int32s, Int64s, compiled

# What ``held`` counts.
HELD_NS, HELD_MAX = range(2)


class Clocks(NamedTuple):
    """By node and sender: what was delivered and received."""

    delivered: Int32s
    received: Int32s
    stamps: Int32s
    """By message and sender."""
    since: Int64s
    """By node and sender: when what is held was received, at a place per message."""
    held: Int64s
    """How long messages were held in all; most in one node."""


@compiled
def stamp_message(node: int, index: int, number: int, message: int, clocks: Clocks) -> None:
    """Stamp a message of a sender, which has delivered it by that."""
    clocks.delivered[node, index] = number + 1
    clocks.received[node, index] = number + 1
    clocks.stamps[message] = clocks.delivered[node]


@compiled
def _is_ready(node: int, index: int, message: int, clocks: Clocks) -> bool:
    for other in range(clocks.delivered.shape[1]):
        if other != index and clocks.stamps[message, other] > clocks.delivered[node, other]:
            return False
    return True


@compiled
def receive_stamped(
    node: int, index: int, messages: int, now: int, clocks: Clocks
) -> list[np.int64]:
    """Receive the next message of a sender; return all that can be delivered now."""
    number = clocks.received[node, index]
    clocks.received[node, index] = number + 1
    clocks.since[node, index * messages + number] = now
    ready = [np.int64(0) for _ in range(0)]
    found = True
    while found:
        found = False
        for other in range(clocks.delivered.shape[1]):
            following = clocks.delivered[node, other]
            if following == clocks.received[node, other]:
                continue
            message = other * messages + following
            if _is_ready(node, other, message, clocks):
                clocks.delivered[node, other] += 1
                clocks.held[HELD_NS] += now - clocks.since[node, message]
                ready.append(np.int64(message))
                found = True
    held = clocks.received[node].sum() - clocks.delivered[node].sum()
    clocks.held[HELD_MAX] = max(clocks.held[HELD_MAX], held)
    return ready
