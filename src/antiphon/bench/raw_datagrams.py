"""The baseline for datagrams: a UDP mesh with packed messages; no order, recovery, encryption.

Law: as fast as plain Python on asyncio gets without giving up the message as the unit: packets as
large as loopback carries well, the lengths of all messages of one in a single call, sockets read
until they are empty, one system call per packet and receiver. A lower bar would flatter us. Nothing
is lost on loopback, because nobody has more than ``WINDOW_BYTES`` under way to anybody: receivers
say how much has come, an eighth of a window at a time, and system buffers hold the windows of all.

``DatagramMesh`` is what this and the sealed mesh beside it (``sealed_datagrams``) have in common.
"""

import asyncio
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

WINDOW_BYTES = 1024 * 1024
"""What is under way from one member to another, at most, and one batch."""

PACKET_BYTES = 60_000
BUFFER_BYTES = 4 * 1024 * 1024

_SAY_BYTES = WINDOW_BYTES // 8
_HEAD = struct.Struct("<BHH")
"""Kind, rank, count of messages."""
_TOTAL = struct.Struct("<Q")
_DATA, _RECEIPT = 0, 1
_DATAGRAM_BYTES = 65_536
_DRAIN_COUNT = 64

OnMessages = Callable[[int, list[bytes]], None]
OnMessage = Callable[[int, bytes], None]


class DatagramMesh(ABC):
    """Members that send to all others, and wait while too much is under way."""

    def __init__(
        self,
        rank: int,
        ports: tuple[int, ...],
        on_messages: OnMessages,
        on_message: OnMessage | None,
    ) -> None:
        """Call ``on_message`` per message if it is given, else ``on_messages`` per list."""
        self.rank, self.ports = rank, ports
        self.packet_bytes = PACKET_BYTES
        self._on_messages, self._on_message = on_messages, on_message
        self._sent_bytes = 0
        self._received_bytes = [0] * len(ports)
        self._said_bytes = [0] * len(ports)
        self._confirmed_bytes = [0] * len(ports)
        self._confirmed_bytes[rank] = 1 << 62
        self._room = asyncio.Event()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_flush_due = False

    async def send(self, payload: bytes) -> None:
        """Queue one message; sent when the turn ends or a packet is full."""
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(payload)
        self._waiting_bytes += len(payload) + 2
        if self._waiting_bytes >= self.packet_bytes:
            self.flush()
            await self._wait()

    async def send_many(self, payloads: list[bytes]) -> None:
        """Send a batch of messages at once."""
        self._waiting += payloads
        self.flush()
        await self._wait()

    def flush(self) -> None:
        """Send what is queued."""
        self._is_flush_due = False
        payloads, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if payloads:
            self._sent_bytes += sum(map(len, payloads))
            self.transmit(payloads)

    async def _wait(self) -> None:
        await asyncio.sleep(0)
        while self._sent_bytes - min(self._confirmed_bytes) > WINDOW_BYTES:
            self._room.clear()
            await self._room.wait()

    def take(self, peer: int, messages: list[bytes]) -> None:
        """Messages have come."""
        received = self._received_bytes[peer] + sum(map(len, messages))
        self._received_bytes[peer] = received
        if self._on_message is not None:
            for message in messages:
                self._on_message(peer, message)
        else:
            self._on_messages(peer, messages)
        if received - self._said_bytes[peer] >= _SAY_BYTES:
            self._said_bytes[peer] = received
            self.confirm(peer, _TOTAL.pack(received))

    def take_receipt(self, peer: int, receipt: bytes) -> None:
        """A member says how much has come there."""
        (total,) = _TOTAL.unpack(receipt)
        self._confirmed_bytes[peer] = max(total, self._confirmed_bytes[peer])
        self._room.set()

    @abstractmethod
    async def open(self) -> None:
        """Be ready to receive."""

    @abstractmethod
    def transmit(self, payloads: Sequence[bytes]) -> None:
        """Send messages to all others."""

    @abstractmethod
    def confirm(self, peer: int, receipt: bytes) -> None:
        """Send a receipt to one member."""

    @abstractmethod
    async def close(self) -> None:
        """Send and receive no more."""


class RawDatagramMesh(DatagramMesh):
    """Plain packets on one socket."""

    async def open(self) -> None:
        """Bind the socket."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self._socket.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        self._socket.bind(("127.0.0.1", self.ports[self.rank]))
        self._view = memoryview(bytearray(_DATAGRAM_BYTES))
        self._places = [("127.0.0.1", port) for port in self.ports]
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._on_readable)

    def transmit(self, payloads: Sequence[bytes]) -> None:
        """Pack, and send each packet to all others."""
        begin = size = 0
        for end, payload in enumerate(payloads):
            needed = len(payload) + 2
            if size + needed > self.packet_bytes:
                self._send_packet(payloads[begin:end])
                begin, size = end, 0
            size += needed
        self._send_packet(payloads[begin:])

    def _send_packet(self, payloads: Sequence[bytes]) -> None:
        count = len(payloads)
        head = _HEAD.pack(_DATA, self.rank, count)
        lengths = struct.pack(f"<{count}H", *map(len, payloads))
        packet = b"".join([head, lengths, *payloads])
        for rank, place in enumerate(self._places):
            if rank != self.rank:
                self._send(packet, place)

    def _send(self, packet: bytes, place: tuple[str, int]) -> None:
        while True:
            try:
                self._socket.sendto(packet, place)
            except BlockingIOError:
                continue  # loopback delivers at once: never seen, and better than losing it
            return

    def confirm(self, peer: int, receipt: bytes) -> None:
        """Send a receipt."""
        self._send(_HEAD.pack(_RECEIPT, self.rank, 0) + receipt, self._places[peer])

    def _on_readable(self) -> None:
        receive, view = self._socket.recv_into, self._view
        for _ in range(_DRAIN_COUNT):
            try:
                size = receive(view)
            except BlockingIOError:
                return
            packet = bytes(view[:size])
            kind, rank, count = _HEAD.unpack_from(packet)
            begin = _HEAD.size
            if kind == _RECEIPT:
                self.take_receipt(rank, packet[begin:])
                continue
            lengths = struct.unpack_from(f"<{count}H", packet, begin)
            begin += 2 * count
            messages: list[bytes] = []
            append = messages.append
            for length in lengths:
                end = begin + length
                append(packet[begin:end])
                begin = end
            self.take(rank, messages)

    async def close(self) -> None:
        """Close the socket."""
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
