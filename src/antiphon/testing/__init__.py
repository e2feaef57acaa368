"""Tests of applications: a small cluster in one process, on virtual time, with faults.

See :class:`Cluster`, and docs/testing.md. Nothing here opens a socket, starts a thread or sleeps,
but :class:`LossyProxy`, which is for real sockets.
"""

from antiphon.testing.cluster import Cluster, Collected, Process
from antiphon.testing.datagram_faults import DatagramFaults
from antiphon.testing.event_loop import DeadlockError
from antiphon.testing.lossy_proxy import LossyProxy

__all__ = ["Cluster", "Collected", "DatagramFaults", "DeadlockError", "LossyProxy", "Process"]
