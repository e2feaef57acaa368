"""Connections in memory: pairs of ends that behave as asyncio's transports over TCP do.

Law: what is written to one end is read at the other, in order, in pieces cut anywhere, each after a
delay, as long as the path between the two processes is open; while it is not, everything waits, as
TCP's retransmissions do. A window bounds what is on its way or unread; the rest fills the writer's
buffer, which tells its protocol to pause and to resume.

An end that is gone answers what still arrives with a reset. A connection may also lose one end
without a word to the other (half open), or everything from now on (a black hole, as behind a
firewall that has forgotten it).
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable
from contextvars import Context
from enum import Enum, auto
from functools import partial
from typing import Any, Protocol, cast

from antiphon.testing.event_loop import CallbackOwner, VirtualEventLoop

WINDOW_BYTES = 256 * 1024
"""What may be on its way, or unread at the other side; about what Linux allows on loopback."""

_HIGH_BYTES, _LOW_BYTES = 64 * 1024, 16 * 1024


class Sign(Enum):
    """What may be sent beside bytes."""

    FIN = auto()
    RST = auto()


class Paths(Protocol):
    """What an end needs of its network."""

    loop: VirtualEventLoop

    def draw_delay_us(self, source: CallbackOwner, target: CallbackOwner) -> int:
        """Return how long something takes from one process to another."""

    def cut(self, piece: bytes) -> list[bytes]:
        """Return the parts in which a piece arrives."""

    def is_open(self, source: CallbackOwner, target: CallbackOwner) -> bool:
        """Whether anything gets from one process to another."""

    def hold(self, end: "End") -> None:
        """Wake an end when paths have changed: what it sent is waiting."""

    def forget(self, end: "End") -> None:
        """An end is gone."""


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(
        self, network: Paths, owner: CallbackOwner, context: Context, sockname: tuple[str, int]
    ) -> None:
        """Belong to a process; callbacks run in its context."""
        super().__init__()
        self.owner = owner
        self.peer: End
        """The other end."""
        self.is_gone = False
        """Whether its protocol has been told, or is about to be, that the connection is lost."""
        self.is_stalled = False
        """Whether what it sends waits, on this connection alone."""
        self.is_black_hole = False
        """Whether what it sends is lost from now on."""
        self._network = network
        self._loop: VirtualEventLoop = network.loop
        self._context = context
        self._sockname = sockname
        self._protocol: asyncio.BaseProtocol | None = None
        self._buffer: deque[bytes | Sign] = deque()
        self._buffered = 0
        self._high, self._low = _HIGH_BYTES, _LOW_BYTES
        self._is_full = False
        self._is_closing = False
        self._has_ended = False
        self._is_reading = True
        self._has_unread = False
        self._in_flight = 0
        self.packets: deque[tuple[int, bytes | Sign]] = deque()
        """What is on its way from here, and when it arrives."""
        self._is_timed = False

    # What protocols call.

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as asyncio
        """Tell the addresses of both ends."""
        if name == "sockname":
            return self._sockname
        return self.peer._sockname if name == "peername" else default  # noqa: SLF001

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Pass everything to ``protocol`` from now on."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return to whom everything is passed."""
        assert self._protocol is not None, "it is connected"
        return self._protocol

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._is_closing

    def is_reading(self) -> bool:
        """Whether what arrives is passed on."""
        return self._is_reading

    def pause_reading(self) -> None:
        """Let what arrives wait."""
        self._is_reading = False

    def resume_reading(self) -> None:
        """Pass on what arrives again."""
        self._is_reading = True
        self.peer.wake()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Say how full the buffer may be before the protocol is told to pause."""
        self._high = high if high is not None else (4 * low if low is not None else _HIGH_BYTES)
        self._low = low if low is not None else self._high // 4

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return at which sizes the protocol is told to resume, and to pause."""
        return self._low, self._high

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait to be sent."""
        return self._buffered

    def can_write_eof(self) -> bool:
        """It can."""
        return True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes when the window allows."""
        if self.is_gone or self._is_closing or not data:
            return
        assert not self._has_ended, "nothing follows the end of a stream"
        self._buffer.append(bytes(data))
        self._buffered += len(data)
        self._push()
        if self._buffered > self._high and not self._is_full:
            self._is_full = True
            self.get_protocol().pause_writing()

    def write_eof(self) -> None:
        """Send everything, then the end of the stream."""
        if not (self._has_ended or self._is_closing or self.is_gone):
            self._has_ended = True
            self._buffer.append(Sign.FIN)
            self._push()

    def close(self) -> None:
        """Read nothing more; send everything, and then be gone."""
        if self._is_closing or self.is_gone:
            return
        self._is_closing = True
        if not self._buffer:
            self._depart(None)

    def abort(self) -> None:
        """Be gone at once."""
        if not self.is_gone:
            self._is_closing = True
            self._buffer.clear()
            self._buffered = 0
            self._depart(None)

    # What the network calls.

    def attach(self, protocol: asyncio.BaseProtocol) -> None:
        """Connect a protocol, which waits to be."""
        self._protocol = protocol
        protocol.connection_made(self)
        if self.is_gone:  # lost before anybody could be told
            error = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
            self._loop.call_soon(protocol.connection_lost, error, context=self._context)
        self.peer.wake()

    def lose(self, error: Exception | None) -> None:
        """Be gone, without a word to the other end."""
        if self.is_gone:
            return
        self.is_gone = self._is_closing = True
        self._buffer.clear()
        self._buffered = 0
        self._network.forget(self)
        if self.owner.is_dead:
            self._context = Context()  # what still arrives is the system's business from now on
            self.peer.wake(is_dead=True)
        elif self._protocol is not None:
            self._loop.call_soon(self._protocol.connection_lost, error, context=self._context)

    def wake(self, *, is_dead: bool = False) -> None:
        """Look again whether something can arrive at the other end, be its process dead by now."""
        self._is_timed = self._is_timed and not is_dead
        if self.packets and not self._is_timed:
            self._time(self.packets[0][0])

    def send(self, piece: bytes | Sign) -> None:
        """Let something be on its way, unless the connection leads nowhere."""
        if self.is_black_hole:
            return
        at_us = self._loop.now_us + self._network.draw_delay_us(self.owner, self.peer.owner)
        self.packets.append((at_us, piece))  # behind what was sent before, however late that is
        if not self._is_timed:
            self._time(at_us)

    # Sending.

    def _push(self) -> None:
        while self._buffer and (self._in_flight < WINDOW_BYTES or self._buffer[0] is Sign.FIN):
            piece = self._buffer.popleft()
            if isinstance(piece, bytes):
                room = WINDOW_BYTES - self._in_flight
                if len(piece) > room:
                    self._buffer.appendleft(piece[room:])
                    piece = piece[:room]
                self._buffered -= len(piece)
                self._in_flight += len(piece)
                for part in self._network.cut(piece):
                    self.send(part)
            else:
                self.send(piece)
        if self._is_closing and not self._buffer and not self.is_gone:
            self._depart(None)

    def _time(self, at_us: int) -> None:
        self._is_timed = True
        context = self.peer._context  # noqa: SLF001 - what arrives is the other process's business
        self._loop.call_at_us(at_us, self._arrive, context=context)

    def _arrive(self) -> None:
        """Pass to the other end what has arrived; runs in the other process."""
        self._is_timed = False
        packets, peer, now_us = self.packets, self.peer, self._loop.now_us
        if self.is_stalled or not self._network.is_open(self.owner, peer.owner):
            self._network.hold(self)  # until the path is opened
            return
        while packets and packets[0][0] <= now_us:
            if not peer._is_ready():  # noqa: SLF001 - the two ends are one thing
                return
            _, piece = packets.popleft()
            if isinstance(piece, bytes):
                self._in_flight -= len(piece)
                if self._buffer and not self.is_gone:
                    self._loop.call_soon(self._drain, context=self._context)
            peer._take(piece)  # noqa: SLF001
        if packets and not self._is_timed:
            self._time(packets[0][0])

    def _drain(self) -> None:
        self._push()
        if self._is_full and self._buffered <= self._low and not self.is_gone:
            self._is_full = False
            self.get_protocol().resume_writing()

    # Receiving.

    def _is_ready(self) -> bool:
        """Whether something that arrives can be taken now."""
        return self.is_gone or self._is_closing or (self._is_reading and self._protocol is not None)

    def _take(self, piece: bytes | Sign) -> None:
        if piece is Sign.RST:
            self.lose(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
        elif self.is_gone:
            if isinstance(piece, bytes) and not self.peer.is_gone:
                self.send(Sign.RST)
        elif self._is_closing:
            self._has_unread = True
        elif piece is Sign.FIN:
            self._guard(self._take_end)
        else:
            self._guard(partial(self._feed, piece))

    def _take_end(self) -> None:
        assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol), "streams"
        if not self._protocol.eof_received():
            self.close()

    def _feed(self, data: bytes) -> None:
        protocol = self._protocol
        if isinstance(protocol, asyncio.BufferedProtocol):
            view = memoryview(data)
            while view and not self._is_closing:
                room = memoryview(protocol.get_buffer(len(view)))
                count = min(len(room), len(view))
                room[:count] = view[:count]
                view = view[count:]
                protocol.buffer_updated(count)
        else:
            cast("asyncio.Protocol", protocol).data_received(data)

    def _guard(self, call: Callable[[], None]) -> None:
        """As asyncio does: a protocol that raises loses its connection, and somebody is told."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is
            said = {"message": "a protocol failed", "exception": error, "transport": self}
            self._loop.call_exception_handler(said)
            self.abort()

    def _depart(self, error: Exception | None) -> None:
        """Be gone, and let the other end know as the system does: by a reset if it was unread."""
        if not self.peer.is_gone:
            arrived = self.peer.packets
            is_unread = self._has_unread or (arrived and arrived[0][0] <= self._loop.now_us)
            self.send(Sign.RST if is_unread else Sign.FIN)
        self.lose(error)
