"""Sealed datagrams, measured beside the raw ones: the same mesh, on ``net.datagrams``.

Law: windows and receipts as in ``raw_datagrams``, so that what differs is what a port does:
packing, encryption, replay windows, pieces, counting.
"""

from collections.abc import Sequence

from antiphon.bench.raw_datagrams import BUFFER_BYTES, DatagramMesh
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM

_SECRET = bytes(32)
_VIEW = 1
_DOMAIN = 1
_RECEIPTS = 2
"""Receipts go by a channel of their own, so that no message has to say what it is."""


class _Receipts:
    """Who reads the channel of receipts."""

    def __init__(self, mesh: "SealedDatagramMesh") -> None:
        self._mesh = mesh

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        del number
        self._mesh.take_receipt(sender, items[-1])

    def on_read(self) -> None:
        pass

    def on_room(self) -> None:
        pass


class SealedDatagramMesh(DatagramMesh):
    """Sealed packets, by a port."""

    async def open(self) -> None:
        """Open a port, and enter a view."""
        settings = DatagramSettings(packet_bytes_max=self.packet_bytes, buffer_bytes=BUFFER_BYTES)
        places = [Address("127.0.0.1", port) for port in self.ports]
        self._port = await DatagramPort.open(places[self.rank], SYSTEM, settings)
        self._messages = self._port.channel(_DOMAIN, self)
        self._receipts = self._port.channel(_RECEIPTS, _Receipts(self))
        for channel in (self._messages, self._receipts):
            channel.learn(_VIEW, _SECRET, self.rank, places)
            channel.enter(_VIEW)

    def transmit(self, payloads: Sequence[bytes]) -> None:
        """Send messages to all others, now."""
        self._messages.send(payloads)
        self._messages.finish()

    def confirm(self, peer: int, receipt: bytes) -> None:
        """Send a receipt."""
        self._receipts.send([receipt], to=[peer])

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        """Messages have come."""
        del number
        self.take(sender, items)

    def on_read(self) -> None:
        """Nothing more to do."""

    def on_room(self) -> None:
        """Nothing waits: windows are smaller than the queue."""

    async def close(self) -> None:
        """Close the port."""
        self._port.close()
