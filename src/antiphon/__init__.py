"""Antiphon: causal and atomic group multicast.

Read in this order: ``core`` (vocabulary), ``ordering`` and ``membership`` (the protocols, as pure
machines), ``stack`` (a process, composed), ``toolkit`` (on top of it), ``net`` (the real network),
``sim`` (the simulated one), ``trace`` (what a run leaves behind), ``oracle`` (judging it, plainly),
``pipeline`` (judging it, on Spark), ``cli``.

This file lists the whole public interface. A name is loaded when it is first used, so that
importing the package costs nothing to programs, such as a Spark task, that need only a part.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from antiphon.core.errors import (
    AntiphonError,
    BackPressureError,
    CallError,
    DefiniteCallError,
    ExcludedError,
    IndefiniteCallError,
    InDoubtError,
    PeerError,
    StateError,
    TraceError,
    UsageError,
)

if TYPE_CHECKING:
    from antiphon import testing as testing
    from antiphon.core.runs import Order
    from antiphon.membership.failure_detector import Timing
    from antiphon.net.application.causal_domain import CausalDomain
    from antiphon.net.application.datagrams import Datagrams
    from antiphon.net.application.state import State
    from antiphon.net.datagrams.counts import DatagramCounts
    from antiphon.net.group.committing import Committer, Ending, Resource
    from antiphon.net.group.group import Group
    from antiphon.net.process.joining import join, run
    from antiphon.net.process.process import Process
    from antiphon.net.stream.events import Batch, Expired, Letter, Message, Unsent, View
    from antiphon.net.stream.request import Request
    from antiphon.ordering.blocks.counts import BlockCounts
    from antiphon.stack.blocks import Blocks
    from antiphon.stack.overlay import Overlay
    from antiphon.toolkit.calls import Answered, Failed, Refused, Replies, TimedOut

__version__ = "0.1.0"

__all__ = [
    "Answered",
    "AntiphonError",
    "BackPressureError",
    "Batch",
    "BlockCounts",
    "Blocks",
    "CallError",
    "CausalDomain",
    "Committer",
    "DatagramCounts",
    "Datagrams",
    "DefiniteCallError",
    "Ending",
    "ExcludedError",
    "Expired",
    "Failed",
    "Group",
    "InDoubtError",
    "IndefiniteCallError",
    "Letter",
    "Message",
    "Order",
    "Overlay",
    "PeerError",
    "Process",
    "Refused",
    "Replies",
    "Request",
    "Resource",
    "State",
    "StateError",
    "TimedOut",
    "Timing",
    "TraceError",
    "Unsent",
    "UsageError",
    "View",
    "join",
    "run",
]

_PLACES = {
    "Answered": "antiphon.toolkit.calls",
    "Batch": "antiphon.net.stream.events",
    "CausalDomain": "antiphon.net.application.causal_domain",
    "Committer": "antiphon.net.group.committing",
    "DatagramCounts": "antiphon.net.datagrams.counts",
    "Datagrams": "antiphon.net.application.datagrams",
    "Ending": "antiphon.net.group.committing",
    "Expired": "antiphon.net.stream.events",
    "Failed": "antiphon.toolkit.calls",
    "Group": "antiphon.net.group.group",
    "Letter": "antiphon.net.stream.events",
    "Message": "antiphon.net.stream.events",
    "Order": "antiphon.core.runs",
    "BlockCounts": "antiphon.ordering.blocks.counts",
    "Blocks": "antiphon.stack.blocks",
    "Overlay": "antiphon.stack.overlay",
    "Process": "antiphon.net.process.process",
    "Refused": "antiphon.toolkit.calls",
    "Replies": "antiphon.toolkit.calls",
    "Request": "antiphon.net.stream.request",
    "Resource": "antiphon.net.group.committing",
    "State": "antiphon.net.application.state",
    "TimedOut": "antiphon.toolkit.calls",
    "Timing": "antiphon.membership.failure_detector",
    "Unsent": "antiphon.net.stream.events",
    "View": "antiphon.net.stream.events",
    "join": "antiphon.net.process.joining",
    "run": "antiphon.net.process.joining",
}
"""Where the names are that are loaded when they are first used."""


def __dir__() -> list[str]:
    """List the public interface, loaded or not: for ``dir`` and for tab completion."""
    return sorted([*__all__, "__version__", "testing"])


def __getattr__(name: str) -> object:
    """Load a name of the public interface, or what tests of applications need."""
    if name == "testing":
        return import_module("antiphon.testing")
    if name not in _PLACES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
