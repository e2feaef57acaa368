"""A link: one TCP connection to another process.

Law: a link carries frames in order, and tells its owner everything that happens to it (handshake,
frame, end of a read, full, room, lost). Nothing a peer sends can do more than end its own link.

The first bytes written in a turn of the event loop leave at once; what follows in the same turn
leaves together when it ends, or when it is enough for a good write: a write costs the system more
than encoding a short run costs here. When the peer reads slowly, the transport's buffer fills to
``WRITE_BYTES_MAX`` and the link is not ``is_writable`` until it has drained: then senders wait.
"""

import asyncio
from contextlib import suppress
from typing import Generic, Protocol, TypeVar, cast

from antiphon.core.errors import PeerError
from antiphon.core.frames import Frame, Hello, decode_frame, has_other_version
from antiphon.net.transport.address import Address
from antiphon.net.transport.framing import FrameBuffer, with_length
from antiphon.net.transport.slow_link import SlowLink

WRITE_BYTES_MAX = 2 * 1024 * 1024
"""Bytes waiting for a slow peer before senders wait."""

_WRITE_BYTES_LOW = WRITE_BYTES_MAX // 4

_GATHERED_BYTES = 64 * 1024
"""A good write: no more is held back until the turn ends."""


Peer = TypeVar("Peer")
"""What an owner knows of the process at the other end; a link only hands it back."""


class LinkOwner(Protocol[Peer]):
    """What a link needs of who made it."""

    def on_handshake(self, link: "Link[Peer]", hello: Hello) -> None:
        """The other side has said who it is; raise PeerError to refuse it."""

    def on_foreign_handshake(self, link: "Link[Peer]") -> None:
        """The handshake of the other side is of another version."""

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """A peer sent a frame after its handshake; raise PeerError if no correct process would."""

    def on_read(self, peer: Peer) -> None:
        """Everything that had arrived from a peer has been passed on."""

    def on_full(self, link: "Link[Peer]") -> None:
        """The link's buffer is full."""

    def on_room(self, link: "Link[Peer]") -> None:
        """The link can be written to again."""

    def on_lost(self, link: "Link[Peer]", why: str) -> None:
        """The link is gone."""


class Link(asyncio.BufferedProtocol, Generic[Peer]):
    """One connection, from handshake to loss."""

    def __init__(self, owner: LinkOwner[Peer], slow: SlowLink | None = None) -> None:
        """Wait to be connected."""
        self.owner = owner
        """Whom it tells; whoever accepts a handshake may take over."""
        self._slow = slow
        self._frames = FrameBuffer()
        self._has_written = False  # in this turn
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._why: str | None = None
        self._has_greeted = False
        self.dialled: Peer | None = None
        """Who was dialled; None if the other side dialled."""
        self.peer: Peer | None = None
        """Whose session this link carries, once its handshake is over."""
        self.nonce = b""
        """What was drawn for the handshake that this side said first."""
        self.is_writable = True
        self.is_at_fault = False
        """Whether the peer sent what no correct process sends."""
        self._loop = loop = asyncio.get_running_loop()
        self.settled: asyncio.Future[None] = loop.create_future()
        """Done when the handshake has been answered, or never will be."""
        self.lost: asyncio.Future[str] = loop.create_future()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and bound its buffer."""
        # A stream transport, but uvloop's do not derive from asyncio's, so no isinstance here.
        self._transport = stream = cast("asyncio.Transport", transport)
        stream.set_write_buffer_limits(high=WRITE_BYTES_MAX, low=_WRITE_BYTES_LOW)
        if self._slow is not None:
            self._slow.connect(stream.write)
        if self._why is not None:  # dropped before it was connected
            stream.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the buffer has its own size
        """Say where the next bytes go."""
        return self._frames.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what is complete; end the link at the first fault."""
        try:
            for received in self._frames.received(nbytes):
                data = cast("bytes", received)  # only runs are views, and decoded as such
                if self.peer is not None:
                    self.owner.on_frame(self.peer, decode_frame(data), len(data))
                else:
                    self._take_handshake(data)
        except PeerError as error:
            self.is_at_fault = True
            self.drop(str(error))
        if self.peer is not None:
            self.owner.on_read(self.peer)

    def _take_handshake(self, data: bytes) -> None:
        if self._why is not None:
            return  # being dropped: what else had arrived no longer counts
        if not self._has_greeted and has_other_version(data):
            self.owner.on_foreign_handshake(self)
        frame = decode_frame(data)
        if not isinstance(frame, Hello):
            message = "a peer sends something before its handshake"
            raise PeerError(message)
        self._has_greeted = True
        self.owner.on_handshake(self, frame)
        if not self.settled.done():
            self.settled.set_result(None)

    def eof_received(self) -> bool:
        """Close our side too."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the owner, once."""
        why = self._why or (str(exc) if exc is not None else "the connection was closed")
        if self._slow is not None:
            self._slow.disconnect()
        if not self.settled.done():
            self.settled.set_result(None)
        self.lost.set_result(why)
        self.owner.on_lost(self, why)

    def pause_writing(self) -> None:
        """The peer reads slowly: senders must wait."""
        self.is_writable = False
        self.owner.on_full(self)

    def resume_writing(self) -> None:
        """There is room again."""
        self.is_writable = True
        self.owner.on_room(self)

    # What its owner calls.

    @property
    def is_dropped(self) -> bool:
        """Whether it is about to end."""
        return self._why is not None

    @property
    def remote_host(self) -> str:
        """Where the other side is, as the system says; empty if there is no connection."""
        peername = self._transport.get_extra_info("peername") if self._transport else None
        return str(peername[0]) if peername else ""

    @property
    def is_from_here(self) -> bool:
        """Whether the other side is on this machine."""
        return bool(self.remote_host) and Address(self.remote_host, 0).is_loopback

    def receive_guest(self) -> None:
        """The handshake was accepted, of a process that is in no view: take small frames."""
        self._frames.receive_guest()

    def trust(self) -> None:
        """The peer is a member: take frames of every size from now on."""
        self._frames.trust()

    def write(self, stream_bytes: bytes) -> None:
        """Send bytes that are framed already."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._slow is not None:
            self._slow.write(stream_bytes)
        elif self._has_written:
            self._gathered.append(stream_bytes)
            self._gathered_bytes += len(stream_bytes)
            if self._gathered_bytes >= _GATHERED_BYTES:
                self._write_gathered()
        else:
            self._transport.write(stream_bytes)
            self._has_written = True
            self._loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._has_written = False
        if self._gathered:
            self._write_gathered()

    def _write_gathered(self) -> None:
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if gathered and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(gathered))

    def write_frame(self, frame: bytes) -> None:
        """Send one frame."""
        self.write(with_length(frame))

    def drop(self, why: str) -> None:
        """End the link now; what is still buffered is sent only to who got a mere answer."""
        self._why = self._why or why
        if self._transport is None:
            return
        if self.peer is None:
            self._flush()
            self._transport.close()
        else:
            self._transport.abort()

    def abort(self, why: str) -> None:
        """End the link now, whatever is still buffered: the other side may never read it."""
        self._why = self._why or why
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Send everything written, then the end of the stream; the other side closes as well.

        Closing outright while the peer still sends would reset the connection, and a reset
        destroys what the peer has not read yet.
        """
        self._why = self._why or "closed by this process"
        if self._transport is None or self._transport.is_closing():
            return
        self._flush()
        with suppress(OSError):  # reset by the peer, and nobody has told us yet
            self._transport.write_eof()

    def _flush(self) -> None:
        self._write_gathered()
        if self._slow is not None:
            self._slow.flush()
