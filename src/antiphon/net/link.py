"""A link: the TCP connection to one other member.

Law: a link carries frames in order, and tells its node everything that happens to it through five
calls (greeting, frame, full, room, lost). Nothing a peer sends can do more than end its own link.

Writes are what the node hands over once per turn of the event loop. When the peer reads slowly,
the transport's buffer fills to ``WRITE_BYTES_MAX`` and the link is not ``is_writable`` until it has
drained: the node makes senders wait (``await`` is the back-pressure).
"""

import asyncio
from contextlib import suppress
from typing import Protocol, cast

from antiphon.core.errors import PeerError
from antiphon.core.frames import Bye, Frame, Hello, decode_frame
from antiphon.net.framing import FrameBuffer, with_length
from antiphon.net.slow_link import SlowLink

WRITE_BYTES_MAX = 2 * 1024 * 1024
"""Bytes waiting for a slow peer before senders wait."""

_WRITE_BYTES_LOW = WRITE_BYTES_MAX // 4


class Owner(Protocol):
    """What a link needs of its node."""

    def on_greeting(self, link: "Link", hello: Hello) -> None:
        """A peer has said who it is; raise PeerError to refuse it."""

    def on_frame(self, link: "Link", frame: Frame) -> None:
        """A greeted peer sent a frame; raise PeerError if no correct process would."""

    def on_full(self, link: "Link") -> None:
        """The link's buffer is full."""

    def on_room(self, link: "Link") -> None:
        """The link can be written to again."""

    def on_lost(self, link: "Link", why: str) -> None:
        """The link is gone."""


class Link(asyncio.BufferedProtocol):
    """One connection, from greeting to loss."""

    def __init__(self, owner: Owner, slow: SlowLink | None = None) -> None:
        """Wait to be connected."""
        self._owner = owner
        self._slow = slow
        self._frames = FrameBuffer()
        self._transport: asyncio.Transport | None = None
        self._why: str | None = None
        self._reading = self._may_read = True
        self._is_held_up = False
        self.expected_peer: int | None = None
        """The rank that was dialled; None if the other side dialled."""
        self.peer: int | None = None
        """The peer's rank, once it has greeted."""
        self.is_writable = True
        self.has_said_bye = False
        """Whether the peer has finished multicasting."""
        self.is_at_fault = False
        """Whether the peer sent what no correct process sends."""
        loop = asyncio.get_running_loop()
        self.settled: asyncio.Future[None] = loop.create_future()
        """Done when the peer has been accepted, or will never be."""
        self.lost: asyncio.Future[str] = loop.create_future()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and bound its buffer."""
        # A stream transport, but uvloop's do not derive from asyncio's, so no isinstance here.
        self._transport = stream = cast("asyncio.Transport", transport)
        stream.set_write_buffer_limits(high=WRITE_BYTES_MAX, low=_WRITE_BYTES_LOW)
        if self._slow is not None:
            self._slow.connect(stream.write)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the buffer has its own size
        """Say where the next bytes go."""
        return self._frames.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what is complete; end the link at the first fault."""
        try:
            for data in self._frames.received(nbytes):
                self._pass_on(decode_frame(data))
        except PeerError as error:
            self.is_at_fault = True
            self.drop(str(error))

    def _pass_on(self, frame: Frame) -> None:
        if self._why is not None:
            return  # being dropped: what else had arrived no longer counts
        if isinstance(frame, Hello):
            if self.peer is not None:
                message = "a peer greets twice"
                raise PeerError(message)
            self._owner.on_greeting(self, frame)
            return
        if self.peer is None:
            message = "a peer sends before it has greeted"
            raise PeerError(message)
        if self.has_said_bye:
            message = "a peer goes on after it has said bye"
            raise PeerError(message)
        self.has_said_bye = isinstance(frame, Bye)
        self._owner.on_frame(self, frame)

    def eof_received(self) -> bool:
        """Close our side too."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the node, once."""
        why = self._why or (str(exc) if exc is not None else "the connection was closed")
        if self._slow is not None:
            self._slow.disconnect()
        if not self.settled.done():
            self.settled.set_result(None)
        self.lost.set_result(why)
        self._owner.on_lost(self, why)

    def pause_writing(self) -> None:
        """The peer reads slowly: senders must wait."""
        self.is_writable = False
        self._owner.on_full(self)

    def resume_writing(self) -> None:
        """There is room again."""
        self.is_writable = True
        self._owner.on_room(self)

    # What the node calls.

    def trust(self, peer: int) -> None:
        """The greeting was accepted: take frames of every size from ``peer``."""
        self.peer = peer
        self._frames.trust()
        self.settled.set_result(None)

    def write(self, stream_bytes: bytes) -> None:
        """Send bytes that are framed already."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._slow is not None:
            self._slow.write(stream_bytes)
        else:
            self._transport.write(stream_bytes)

    def write_frame(self, frame: bytes) -> None:
        """Send one frame."""
        self.write(with_length(frame))

    def set_reading(self, *, reading: bool) -> None:
        """Stop or resume taking bytes from the peer, as the application keeps up or not."""
        self._may_read = reading
        self._read_or_not()

    def set_held_up(self, *, held_up: bool) -> None:
        """Stop or resume taking bytes from the peer, as too much of it is held back or not."""
        self._is_held_up = held_up
        self._read_or_not()

    def _read_or_not(self) -> None:
        reading = self._may_read and not self._is_held_up
        if reading is self._reading or self._transport is None or self._transport.is_closing():
            return
        self._reading = reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def drop(self, why: str) -> None:
        """End the link now; what is still buffered is sent only to a stranger (a greeting)."""
        self._why = self._why or why
        if self._transport is None:
            return
        if self.peer is None:
            self._transport.close()
        else:
            self._transport.abort()

    def close(self) -> None:
        """Send everything written, then the end of the stream; the other side closes as well.

        Closing outright while the peer still sends would reset the connection, and a reset
        destroys what the peer has not read yet.
        """
        self._why = self._why or "closed by this process"
        if self._transport is None or self._transport.is_closing():
            return
        if self._slow is not None:
            self._slow.flush()
        self._is_held_up = False
        self.set_reading(reading=True)
        with suppress(OSError):  # reset by the peer, and nobody has told us yet
            self._transport.write_eof()
