"""Antiphon: causal and atomic group multicast.

Read in this order: ``core`` (vocabulary), ``ordering`` (the protocols, as pure machines),
``stack`` (a process, composed), ``net`` (the real network), ``sim`` (the simulated one),
``trace`` (what a run leaves behind), ``pipeline`` (judging it, on Spark), ``cli``.

This file lists the whole public interface.
"""

from antiphon.core.errors import (
    AntiphonError,
    BackPressureError,
    ExcludedError,
    PeerError,
    StateError,
    TraceError,
    UsageError,
)
from antiphon.core.runs import Order
from antiphon.membership.failure_detector import Timing
from antiphon.net.group import Group
from antiphon.net.joining import join, run
from antiphon.net.state_keeper import State
from antiphon.net.stream import Batch, Message, View

__version__ = "0.1.0"

__all__ = [
    "AntiphonError",
    "BackPressureError",
    "Batch",
    "ExcludedError",
    "Group",
    "Message",
    "Order",
    "PeerError",
    "State",
    "StateError",
    "Timing",
    "TraceError",
    "UsageError",
    "View",
    "join",
    "run",
]
