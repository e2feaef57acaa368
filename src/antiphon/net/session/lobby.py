"""The lobby: where processes wait that have a session here but are in no view known here.

Law: a guest can ask to be taken in, and nothing else that it says counts before it is. It may be
what it claims, for a new member can know its view sooner than others do: so what it says is kept,
a little of it, and taken in its turn when a view, or a proposal accepted here, has it as a member.
Where a group is blocked, whoever decided the next view may be dead, and those who joined in it be
the only ones who know: there a guest counts that tells of a next view in which it joined.
Who says more than is kept, or larger frames than a guest's, loses its connection, no more: the
session goes on over the next one.

There is room for a newcomer at any time: a guest that says nothing goes soon, and if the lobby is
full, the one that has said nothing for the longest time goes at once. Joiners ask several times a
second, and one request is enough.
"""

import asyncio
import math
from typing import Protocol

from antiphon.core.control import Decide, JoinRequest
from antiphon.core.errors import PeerError
from antiphon.core.frames import Ack, Control, Frame, Hello
from antiphon.core.ids import ProcessId
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.transport.link import LinkOwner

GUESTS_MAX = 64
"""Guests at a time."""

GUEST_SILENT_S = 5.0
"""How long a guest may go without a request, or another whole frame that is kept."""

HELD_BYTES_MAX = 16 * 1024
"""Bytes of one guest that are kept until it is known."""

UNREAD_BYTES_MAX = 64 * 1024
"""Bytes sent to a guest that it does not acknowledge before it is taken for one that never will."""

_HELD_FRAME_BYTES = 100
_FULL = "a guest says more than is kept of one"


class LobbyOwner(LinkOwner[Peer], Protocol):
    """What a lobby needs of the mesh that it belongs to."""

    peers: dict[ProcessId, Peer]

    def is_admitted(self, peer: Peer) -> bool:
        """Whether what a peer says counts."""

    def needs_word_of(self, peer: Peer, told: Control) -> bool:
        """Whether a guest tells what a process that is blocked may hear from nobody else."""

    def dismiss(self, peer: Peer, why: str) -> None:
        """Send a guest away at once."""


class Guest:
    """What is known of one guest."""

    __slots__ = ("byte_count", "heard_at", "held", "told")

    def __init__(self, now: float) -> None:
        """Begin when it is let in."""
        self.held: list[tuple[Frame, int]] = []
        self.byte_count = 0
        self.heard_at = now
        self.told: Control | None = None
        """What it has last told of views."""

    def note(self, frame: Frame) -> None:
        """Remember what is said, if it tells of views."""
        if isinstance(frame, Control) and isinstance(frame.message, Decide):
            self.told = frame


class Lobby:
    """Owns the links of guests."""

    def __init__(self, mesh: LobbyOwner) -> None:
        """Start empty."""
        self._mesh = mesh
        self._guests: dict[Peer, Guest] = {}

    def receive(self, peer: Peer, link: PeerLink) -> None:
        """Let a guest wait here, over a link that is new."""
        link.owner = self
        link.receive_guest()
        self._guests[peer] = Guest(_now())

    def make_room(self) -> None:
        """Have room for one more."""
        guests = [peer for peer in self._mesh.peers.values() if peer.is_guest]
        while len(guests) >= GUESTS_MAX:
            idle = min(guests, key=self._heard_at)
            guests.remove(idle)
            self._mesh.dismiss(idle, "others want to join, and it says nothing")

    def _heard_at(self, peer: Peer) -> float:
        guest = self._guests.get(peer)
        if guest is None:  # it has no link, or is about to be a member
            return 0.0 if peer.link is None else math.inf
        return guest.heard_at

    def forget(self, peer: Peer) -> None:
        """A guest is gone, or its link is; what was kept of it will be repeated."""
        self._guests.pop(peer, None)

    def admit(self, peer: Peer) -> None:
        """A guest is known now: take what it has said, and everything from now on."""
        guest, link = self._guests.pop(peer, None), peer.link
        if guest is None or link is None:
            return
        link.owner = self._mesh
        link.trust()
        try:
            for frame, byte_count in guest.held:
                self._mesh.on_frame(peer, frame, byte_count)
        except PeerError as error:
            link.is_at_fault = True
            link.drop(str(error))
        self._mesh.on_read(peer)

    def sweep(self) -> None:
        """Send away who says nothing; let go on who has become known."""
        late = _now() - GUEST_SILENT_S
        for peer, guest in list(self._guests.items()):
            if self._counts(peer, guest):
                self.admit(peer)
            elif guest.heard_at < late:
                self._mesh.dismiss(peer, "it does not ask to be taken in")

    def _counts(self, peer: Peer, guest: Guest) -> bool:
        if self._mesh.is_admitted(peer):
            return True
        return guest.told is not None and self._mesh.needs_word_of(peer, guest.told)

    # What links call.

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Take a request; keep anything else for later."""
        guest = self._guests.get(peer)
        if guest is None or peer.link is None or peer.link.is_dropped:
            return  # what it still sends will be repeated, or is of no interest
        if isinstance(frame, Ack):
            self._mesh.on_frame(peer, frame, byte_count)
            return
        if isinstance(frame, Hello):
            message = "a peer sends a second handshake"
            raise PeerError(message)
        guest.note(frame)
        if self._counts(peer, guest):
            self.admit(peer)
            self._mesh.on_frame(peer, frame, byte_count)
            return
        guest.heard_at = _now()
        if not guest.held and _is_request_of(peer, frame):
            self._mesh.on_frame(peer, frame, byte_count)
            if peer.session.kept_bytes > UNREAD_BYTES_MAX and not self._mesh.is_admitted(peer):
                self._mesh.dismiss(peer, "it asks, and does not read the answers")
            return
        guest.held.append((frame, byte_count))
        guest.byte_count += byte_count + _HELD_FRAME_BYTES
        if guest.byte_count > HELD_BYTES_MAX:
            peer.link.drop(_FULL)

    def on_read(self, peer: Peer) -> None:
        """A guest is no member whose silence would matter."""

    def on_lost(self, link: PeerLink, why: str) -> None:
        """Pass it on: the session may be taken up."""
        if link.peer is not None and link.peer.link is link:
            self.forget(link.peer)
        self._mesh.on_lost(link, why)

    def on_full(self, link: PeerLink) -> None:
        """Nobody waits for a guest to read."""

    def on_room(self, link: PeerLink) -> None:
        """Likewise."""

    def on_handshake(self, link: PeerLink, hello: Hello) -> None:
        """Never called: its handshake is over."""

    def on_foreign_handshake(self, link: PeerLink) -> None:
        """Never called either."""


def _is_request_of(peer: Peer, frame: Frame) -> bool:
    """Tell whether a guest asks, for itself, to be taken in."""
    if not isinstance(frame, Control) or not isinstance(frame.message, JoinRequest):
        return False
    return frame.message.process == peer.process.numbered(frame.process)


def _now() -> float:
    return asyncio.get_running_loop().time()
