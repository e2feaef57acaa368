"""Short ways to write rows and trace files by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec

from antiphon.trace.schema import QUIESCENT, Event, Order


class Fields(TypedDict, total=False):
    """What a row may say besides."""

    run: str
    index: int
    time_us: int
    group: str
    view: int
    id: str
    detail: str
    domain: str
    resilience: int
    order: Order
    uniform: bool


def multicast(process: str, first: int = 1, count: int = 1, **fields: Unpack[Fields]) -> Event:
    """Return a row in which ``process`` multicasts."""
    return Event(process=process, kind="multicast", first=first, count=count, **fields)


def deliver(
    process: str, sender: str, first: int = 1, count: int = 1, **fields: Unpack[Fields]
) -> Event:
    """Return a row in which ``process`` delivers."""
    return Event(process=process, kind="deliver", sender=sender, first=first, count=count, **fields)


def start(process: str, detail: str = "") -> Event:
    """Return a row that marks the record as one of ours, whose end matters."""
    return Event(process=process, kind="start", detail=detail)


def stop(process: str, detail: str = QUIESCENT) -> Event:
    """Return a row that ends a record."""
    return Event(process=process, kind="stop", detail=detail)


def crash(process: str) -> Event:
    """Return a row in which ``process`` crashes."""
    return Event(process=process, kind="crash")


def view(process: str, *members: str, **fields: Unpack[Fields]) -> Event:
    """Return a row in which ``process`` installs a view."""
    return Event(process=process, kind="view", members=list(members), **fields)


def vote(process: str, detail: str, initiator: str, number: int = 1, *, group: str = "") -> Event:
    """Return a row in which ``process`` votes."""
    return Event(
        process=process, kind="vote", sender=initiator, first=number, detail=detail, group=group
    )


def decide(process: str, detail: str, initiator: str, number: int = 1, *, group: str = "") -> Event:
    """Return a row in which ``process`` decides."""
    return Event(
        process=process, kind="decide", sender=initiator, first=number, detail=detail, group=group
    )


def write_rows(path: Path, rows: Iterable[Event]) -> Path:
    """Write rows as a user's file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.Encoder().encode_lines(list(rows)))
    return path
