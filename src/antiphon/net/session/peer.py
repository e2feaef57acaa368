"""A peer: another process, the session with it, and the link that carries it just now, if any.

Law: what is sent to a peer is sent once, however often its link is cut. A peer is full when it
takes less than it is sent, be it slow or out of reach: then senders wait.
"""

import asyncio
from collections.abc import Callable

from antiphon.core.ids import ProcessId
from antiphon.net.session.session import Again, Session
from antiphon.net.transport.link import Link

KEPT_BYTES_MAX = 16 * 1024 * 1024
"""Bytes kept for a peer that does not acknowledge them before senders wait."""

_IDS_MAX = 256

PeerLink = Link["Peer"]
"""A link that knows whose it is."""


class Peer:
    """What this process knows of another one."""

    __slots__ = ("_link", "awaited", "changed", "checked_at", "has_left", "has_slept", "heard_us",
                 "ids",
                 "is_condemned", "is_dialled", "is_dialling", "is_guest", "is_on_demand",
                 "is_said_full", "is_stalled", "is_visiting", "leaves_at", "offered", "process",
                 "secret", "session", "start", "task", "why")  # fmt: skip

    def __init__(self, process: ProcessId, *, is_dialled: bool = False) -> None:
        """Nothing has been heard of it yet."""
        self.process = process
        """The process itself, whatever groups number it (``ProcessId.bare``)."""
        self.start = 0
        """Which start of its program the session is with; 0 before the first handshake."""
        self.awaited = 0
        """Which start of its program the session is to begin with; 0: any."""
        self.ids: dict[int, ProcessId] = {}
        """The process as groups number it."""
        self.session = Session()
        self.secret = b""
        """What shows that a handshake is of who the session is with; empty before the first one."""
        self.offered = b""
        """The secret in a first handshake that has not been answered yet."""
        self._link: PeerLink | None = None
        self.is_dialled = is_dialled
        """Whether this process dials it, and not the other way round."""
        self.is_dialling = False
        """Whether a handshake is under way that this process said first."""
        self.has_left = False
        """Whether it has said that nothing more comes."""
        self.has_slept = False
        """Whether its session has slept: then it was no mere guest before."""
        self.is_condemned = False
        """Whether it is certainly dead, or has sent what no correct process sends."""
        self.is_stalled = False
        """Whether it is condemned only because it took nothing: it may be taken back."""
        self.why = ""
        """Why it is condemned, or what is wrong with who is in its place."""
        self.is_said_full = False
        """Whether the machine has been told that it takes no more for now."""
        self.is_guest = False
        """Whether it has been in no view yet, as far as this process knows."""
        self.is_on_demand = False
        """Whether it may have no need of this process: then it is not waited for to dial."""
        self.is_visiting = False
        """Whether it has dialled, and this process does not need it just now."""
        self.leaves_at: float | None = None
        """When the loop's clock shows this, a peer that is in no view any more is forgotten."""
        self.checked_at = float("-inf")
        """When, by the loop's clock, a claim about it was last looked into."""
        self.heard_us = 0
        """When something last came from it."""
        self.changed = asyncio.Event()
        """Set when its link has come or gone."""
        self.task: asyncio.Task[None] | None = None

    def may_be(self, start: int) -> bool:
        """Whether this start of its program may be the one that is meant."""
        return (self.start or self.awaited) in {0, start}

    def member(self, incarnation: int) -> ProcessId:
        """Return the process as a group knows it in which this is its number."""
        member = self.ids.get(incarnation)
        if member is None:
            if len(self.ids) >= _IDS_MAX:
                self.ids.clear()
            member = self.ids[incarnation] = self.process.numbered(incarnation)
        return member

    @property
    def link(self) -> PeerLink | None:
        """The connection in use."""
        return self._link

    @property
    def is_lost(self) -> bool:
        """Whether there is no use in keeping anything for it."""
        return self.is_condemned and not self.is_stalled

    @property
    def is_full(self) -> bool:
        """Whether senders have to wait for it."""
        if self._link is not None and not self._link.is_writable:
            return True
        return self.session.kept_bytes > KEPT_BYTES_MAX

    def send(self, stream_bytes: bytes, acknowledge: Callable[[int], bytes] | None = None) -> None:
        """Send a small frame, now or as soon as there is a link; an ACK may ride along."""
        self.session.keep(stream_bytes, len(stream_bytes))
        if self._link is not None:
            if acknowledge is not None and self.session.is_worth_a_ride:
                count = self.session.acknowledgement()
                assert count is not None, "something has come"
                stream_bytes = acknowledge(count) + stream_bytes
            self._link.write(stream_bytes)

    def send_runs(self, stream_bytes: bytes, again: Again, frame_count: int) -> None:
        """Send large frames, which ``again`` can encode once more."""
        self.session.keep(again, len(stream_bytes), frame_count)
        if self._link is not None:
            self._link.write(stream_bytes)

    def attach(self, link: PeerLink, received: int) -> None:
        """Go on over a new link, to a peer that has ``received`` so many frames."""
        again = self.session.resume(received)
        old, self._link = self._link, link
        if old is not None:
            old.peer = None
            old.drop("it was replaced by a newer connection")
        link.peer = self
        for piece in again:
            link.write(piece)
        self.changed.set()

    def detach(self) -> None:
        """The link is gone; the session waits for another one."""
        self._link = None
        self.changed.set()

    def begin_again(self) -> None:
        """Have another session with a process that has forgotten the one that there was."""
        self.start, self.secret = 0, b""
        self.session = self.session.begun_again()
