"""An oracle of the tests' own: who multicast and delivered what, in which local order.

Law: no clock, no number compared with another, nothing imported from the code under test. The
past of a message is an explicit set of messages, closed under "and its past too"; a delivery is
right when that whole set was delivered before, at the same process.

What belongs to the direct past of a message:
- causal: everything its sender had delivered or multicast before (ISIS 4.1 with erratum 000-3:
  delivered, not merely received);
- FIFO: its sender's own earlier multicasts, nothing else.

Cost: sets of messages per message, quadratic in the length of the history. Keep histories short.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Message = tuple[int, int]
"""A sender and the number of one of its messages: compared for equality only."""


class Event(NamedTuple):
    """One thing that one process did."""

    kind: Literal["multicast", "deliver"]
    message: Message
    is_fifo: bool = False


History = Sequence[Sequence[Event]]
"""Per process, its events in their local order."""


def pasts(history: History) -> dict[Message, frozenset[Message]]:
    """Return, for each multicast message, all that must be delivered before it."""
    direct = dict(_direct_pasts(history))
    closed: dict[Message, frozenset[Message]] = {}
    for message in direct:
        _close(message, direct, closed)
    return closed


def _direct_pasts(history: History) -> Iterator[tuple[Message, list[Message]]]:
    for events in history:
        seen: list[Message] = []
        own: list[Message] = []
        for event in events:
            if event.kind == "multicast":
                yield event.message, list(own if event.is_fifo else seen)
                own.append(event.message)
            seen.append(event.message)


def _close(
    message: Message,
    direct: dict[Message, list[Message]],
    closed: dict[Message, frozenset[Message]],
) -> frozenset[Message]:
    if message not in closed:
        past: set[Message] = set()
        for earlier in reversed(direct.get(message, [])):  # the latest brings most of the others
            if earlier not in past:
                past.add(earlier)
                past |= _close(earlier, direct, closed)
        closed[message] = frozenset(past)
    return closed[message]


def complaints(history: History, *, is_complete: bool) -> list[str]:
    """Say everything that is wrong; with ``is_complete`` also what was never delivered."""
    past_of = pasts(history)
    found: list[str] = []
    for process, events in enumerate(history):
        found += _order_complaints(process, events, past_of)
        found += _self_delivery_complaints(process, events)
        if is_complete:
            delivered = {event.message for event in events if event.kind == "deliver"}
            found += [
                f"process {process} never delivered {message}"
                for message in past_of
                if message not in delivered
            ]
    return found


def _order_complaints(
    process: int, events: Sequence[Event], past_of: dict[Message, frozenset[Message]]
) -> Iterator[str]:
    delivered: set[Message] = set()
    for event in events:
        message = event.message
        if event.kind == "multicast":
            continue
        if message not in past_of:
            yield f"process {process} delivered {message}, which nobody multicast"
        elif message in delivered:
            yield f"process {process} delivered {message} twice"
        elif missing := past_of[message] - delivered:
            yield f"process {process} delivered {message} before {sorted(missing)}"
        delivered.add(message)


def _self_delivery_complaints(process: int, events: Sequence[Event]) -> Iterator[str]:
    """Own messages are delivered before anything else happens (ISIS 5.1)."""
    owed: list[Message] = []
    for event in events:
        if event.kind == "multicast":
            owed.append(event.message)
        elif owed and event.message == owed[0]:
            owed.pop(0)
        elif owed:
            yield f"process {process} delivered {event.message} while it owed itself {owed[0]}"
    if owed:
        yield f"process {process} never delivered its own {owed[0]}"
