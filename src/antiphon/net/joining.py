"""Joining a group in one call, and running a program on the fastest event loop at hand."""

import asyncio
from collections.abc import Coroutine, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from antiphon.net.group import Group
from antiphon.net.node import Node

T = TypeVar("T")


def join(
    group: str,
    *,
    me: str,
    members: Mapping[str, str],
    trace: str | PathLike[str] | None = None,
    connect_s: float = 10.0,
    drain_s: float = 5.0,
    insecure: bool = False,
) -> Group:
    """Return a handle on a static group, to be used with ``async with``.

    ``members`` maps the name of every member to its ``host:port``; all members must be given the
    same names. Entering connects to all of them, for at most ``connect_s`` seconds. Leaving sends
    everything that was multicast, then waits up to ``drain_s`` seconds for the others to leave
    too, so that members which leave together have delivered the same messages.

    ``trace`` is a run folder to journal into (``antiphon verify`` judges it). Addresses beyond
    this machine need ``insecure=True``: connections are not authenticated yet.
    """
    return Node(
        group,
        me,
        members,
        trace=Path(trace) / "events" if trace is not None else None,
        connect_s=connect_s,
        drain_s=drain_s,
        insecure=insecure,
    ).group


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` like :func:`asyncio.run`, on uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
