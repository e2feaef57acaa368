"""Processes, composed of machines: start reading here.

process    in a static group: its one view is known beforehand and never changes
member     in a dynamic group: views, flush, stability
"""

from antiphon.membership.effects import DeliverRuns
from antiphon.stack.static_process import (
    Effect,
    Input,
    MulticastRequested,
    Process,
    RunReceived,
    SendRun,
)

__all__ = [
    "DeliverRuns",
    "Effect",
    "Input",
    "MulticastRequested",
    "Process",
    "RunReceived",
    "SendRun",
]
