"""Antiphon: causal and atomic group multicast.

Read in this order: ``core`` (vocabulary), ``ordering`` (the protocols, as pure machines),
``stack`` (a process, composed), ``net`` (the real network), ``sim`` (the simulated one),
``trace`` (what a run leaves behind), ``pipeline`` (judging it, on Spark), ``cli``.

This file lists the whole public interface.
"""

from antiphon.core.errors import (
    AntiphonError,
    BackPressureError,
    PeerError,
    TraceError,
    UsageError,
)
from antiphon.core.runs import Order
from antiphon.net.group import Group
from antiphon.net.joining import join, run
from antiphon.net.stream import Batch, Message

__version__ = "0.1.0"

__all__ = [
    "AntiphonError",
    "BackPressureError",
    "Batch",
    "Group",
    "Message",
    "Order",
    "PeerError",
    "TraceError",
    "UsageError",
    "join",
    "run",
]
