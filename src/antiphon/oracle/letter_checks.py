"""What the oracle asks where there are letters: causality over multicasts and letters together.

Law. Something precedes a message or a letter if its sender had sent or delivered it before, and so
does everything that precedes that; through a fifo message only its sender's own earlier ones. What
a process delivers comes after everything that precedes it and is for that process too: letters to
it, and multicasts in views that it was in. Judged by the rows alone, with explicit sets of
predecessors; across views, which the other checks cut. Sets-order messages are left out: nobody
sees them, and their sender does not wait for letters to be acknowledged. Cost: O(rows x
messages), for small traces.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from antiphon.trace.schema import SETS_ORDER, Event


class Item(NamedTuple):
    """A message, or a letter."""

    kind: str
    sender: str
    number: int
    view: int = 0
    to: str = ""

    def __str__(self) -> str:
        """As people say it."""
        to = f" to {self.to}" if self.to else f" in view {self.view}"
        return f"{self.kind} {self.number} of {self.sender}{to}"


def find_broken_letter(events: Iterable[Event]) -> str:
    """Say what was delivered before something that precedes it; empty if nothing was."""
    records: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.detail != SETS_ORDER:
            records[event.process].append(event)
    if not any(row.kind == "send" for rows in records.values() for row in rows):
        return ""
    pasts, is_fifo = _pasts(records)
    views = {
        process: {row.view for row in rows if row.kind == "view"}
        for process, rows in records.items()
    }
    for process, rows in records.items():
        seen: set[Item] = set()
        for item in (item for row in rows for item in _delivered(row)):
            causes = () if item in is_fifo else pasts.get(item, ())
            for cause in causes:
                is_for_it = cause.to == process or cause.view in views[process]
                if is_for_it and cause not in seen:
                    return f"{process} delivers {item} before {cause}, which precedes it"
            seen.add(item)
    return ""


def _pasts(records: dict[str, list[Event]]) -> tuple[dict[Item, set[Item]], set[Item]]:
    """Return what precedes each item that was sent, and the fifo ones among them."""
    pasts: dict[Item, set[Item]] = {}
    is_fifo: set[Item] = set()
    known: dict[str, set[Item]] = {process: set() for process in records}
    places = dict.fromkeys(records, 0)
    has_moved = True
    while has_moved:  # go on wherever what is delivered next has been sent already
        has_moved = False
        for process, rows in records.items():
            while places[process] < len(rows) and _step(
                process, rows[places[process]], known[process], pasts, is_fifo
            ):
                places[process] += 1
                has_moved = True
    return pasts, is_fifo


def _step(
    process: str, row: Event, known: set[Item], pasts: dict[Item, set[Item]], is_fifo: set[Item]
) -> bool:
    """Follow one row; False if it delivers what has not been sent yet, as far as was followed."""
    arrived = _delivered(row)
    if any(item not in pasts for item in arrived):
        return False
    for item in arrived:
        known |= pasts[item]
        known.add(item)
    for item in _sent(row):
        if row.kind == "multicast" and row.order == "fifo":
            is_fifo.add(item)
            pasts[item] = {other for other in known if other.sender == process}
        else:
            pasts[item] = set(known)
        known.add(item)
    return True


def _sent(row: Event) -> list[Item]:
    if row.kind == "multicast":
        return [Item("message", row.process, row.first + at, row.view) for at in range(row.count)]
    return [Item("letter", row.process, row.first, 0, row.detail)] if row.kind == "send" else []


def _delivered(row: Event) -> list[Item]:
    if row.kind == "deliver":
        return [Item("message", row.sender, row.first + at, row.view) for at in range(row.count)]
    return [Item("letter", row.sender, row.first, 0, row.process)] if row.kind == "take" else []
