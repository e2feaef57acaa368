"""Tests of applications: a small cluster in one process, on virtual time, with faults.

See :class:`Cluster`, and docs/testing.md. Nothing here opens a socket, starts a thread or sleeps.
"""

from antiphon.testing.cluster import Cluster, Collected, Process
from antiphon.testing.event_loop import DeadlockError

__all__ = ["Cluster", "Collected", "DeadlockError", "Process"]
