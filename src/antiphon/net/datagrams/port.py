"""The datagrams of one process: one socket for all its groups, and what each sends and receives.

How it is driven::

    port = await DatagramPort.open(Address("127.0.0.1", 7001), environment, settings)
    channel = port.channel(domain, owner)        # per group; ``domain`` is its digest on frames
    channel.use(effect, me)                      # ``UseKey`` of the machine that hands keys out
    channel.send(items)                          # to all other members; or ``to`` some, by rank
    owner.on_items(number, sender, items)        # items of member ``sender`` of view ``number``
    owner.on_read()                              # after what arrived together
    if not channel.has_room: ...                 # let the application wait, until owner.on_room()
    channel.close(); port.close()

Keys come from ``membership.group_keys``: where the driver installs a view it gives that machine 32
bytes that it has drawn (``Environment.draw``), it gives it ``KeyTold`` when one comes, and does
what it returns. Datagrams are received at the address that a member has in the view: the port of
UDP is that of TCP. A driver that knows better says where (``learn``), and may learn the key of a
view before it sends in it (``enter``): members enter a view at different times, and items of a view
that is known, and not entered yet, are handed over too, with its number. Items of a view before
this one are handed over for ``KEPT_US``; it is for the driver to keep or to drop either.

Law: what is sent may be lost, repeated by nobody but this process, and come in any order; what
is handed over was sent by that member in that view, once, and whole. Nothing that arrives raises
anything or ends anything: it is counted (``counts``). Items that are sent in one turn of the event
loop share packets; full ones leave at once, the rest when the turn ends. A packet is sealed once,
and the same bytes go to all receivers.

Back-pressure: packets that the system, or the pace, does not let go wait in order. Above
``queue_bytes`` a channel has no room; above twice that packets are dropped and counted, for what a
protocol has to say cannot be unsaid, and it says it again.

Cost on loopback, per packet of 1,400 / 60,000 bytes: see docs/protocols/datagrams.md.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Protocol

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.membership.group_keys import UseKey
from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.key_ring import KeyRing
from antiphon.net.datagrams.pacing import Pacer
from antiphon.net.datagrams.packets import VERSION, PacketHeader, read_header
from antiphon.net.datagrams.packing import Packer, Piece, unpack
from antiphon.net.datagrams.reassembly import Reassembly
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.environment import Environment
from antiphon.net.transport.interface import DATAGRAM_NEEDS, DatagramSocket, Place, check_needs

Ranks = tuple[int, ...]


class ChannelOwner(Protocol):
    """Who reads the datagrams of one group."""

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        """Member ``sender`` of view ``number`` has sent these."""

    def on_read(self) -> None:
        """What had arrived together has been handed over."""

    def on_room(self) -> None:
        """There is room for items again."""


class DatagramChannel:
    """One group."""

    def __init__(self, port: "DatagramPort", domain: int, owner: ChannelOwner) -> None:
        """Know no view."""
        self._port, self._owner = port, owner
        self.domain = domain
        self.counts = DatagramCounts()
        self._ring = KeyRing(domain, self.counts)
        self._places: dict[int, tuple[Address, ...]] = {}
        self._others: Ranks = ()
        self._packers: dict[Ranks | None, Packer] = {}
        self._numbers = count()
        self._reassemblies: dict[tuple[int, int], Reassembly] = {}
        self._is_finish_due = False
        self.has_new = False
        """Whether something was handed over since ``on_read``."""
        self.is_closed = False

    @property
    def number(self) -> int | None:
        """The view that this process is in, as far as datagrams go."""
        return self._ring.current.number if self._ring.current is not None else None

    @property
    def has_room(self) -> bool:
        """Whether senders need not wait; if not, ``on_room`` is called when they need no more."""
        return not self._port.is_full

    def learn(self, number: int, secret: bytes, me: int, places: Sequence[Address]) -> None:
        """Learn the key of a view, this process's rank in it, and where its members are."""
        self._ring.learn(number, secret, me, len(places))
        self._places[number] = tuple(places)
        for place in places:
            self._port.socket.place(place)  # names are looked up before they are needed
        for header, packet in self._ring.early(number):
            self.take(header, packet)
        self.end_read()

    def enter(self, number: int) -> None:
        """Send in this view from now on; what was given before leaves in the one before."""
        self.finish()
        self._ring.enter(number, self._port.environment.now_us())
        current = self._ring.current
        assert current is not None, "just entered"
        self._others = tuple(rank for rank in range(current.size) if rank != current.me)
        self._sweep()

    def use(self, effect: UseKey, me: ProcessId) -> None:
        """Send and receive in a view from now on, at the addresses that its members have in it."""
        view = effect.view
        places = [parse_address(member.address) for member in view.members]
        self.learn(view.number, effect.secret, view.rank_of(me), places)
        self.enter(view.number)

    def send(self, items: Sequence[bytes], to: Sequence[int] | None = None) -> None:
        """Send items to all other members of the view, or to some.

        Raises UsageError before a view is entered, and for an item that is too large.
        """
        if self._ring.current is None or self.is_closed:
            message = "nothing can be sent as datagrams outside a view: enter one first"
            raise UsageError(message)
        ranks = None if to is None else tuple(to)
        packer = self._packers.get(ranks)
        if packer is None:
            settings = self._port.settings
            packer = Packer(settings.body_bytes_max, settings.item_bytes_max, self._numbers)
            self._packers[ranks] = packer
        for body in packer.add(items):
            self._transmit(body, ranks)
        if not self._is_finish_due and len(packer):
            self._is_finish_due = True
            self._port.loop.call_soon(self.finish)

    def finish(self) -> None:
        """Send what waits for the end of the turn."""
        self._is_finish_due = False
        for ranks, packer in self._packers.items():
            for body in packer.finish():
                self._transmit(body, ranks)
        if len(self._packers) > 1:
            self._packers.clear()

    def close(self) -> None:
        """Send and receive no more."""
        if not self.is_closed:
            self.finish()
            self.is_closed = True
            self._port.forget(self)

    def take(self, header: PacketHeader, packet: bytes | memoryview) -> None:
        """Take a packet that names this group."""
        counts = self.counts
        body = self._ring.open(header, packet)
        if body is None:
            return
        try:
            said = unpack(body)
            items = self._assemble(header, said) if isinstance(said, Piece) else said
        except PeerError:
            counts.malformed += 1
            return
        counts.received += 1
        counts.received_bytes += len(packet)
        if items and not self.is_closed:
            counts.items += len(items)
            self.has_new = True
            self._owner.on_items(header.key, header.sender, items)

    def end_read(self) -> None:
        """What had arrived together has been taken."""
        if self.has_new:
            self.has_new = False
            self._owner.on_read()

    def tell_room(self) -> None:
        """The queue has drained."""
        self._owner.on_room()

    def _assemble(self, header: PacketHeader, piece: Piece) -> list[bytes]:
        self.counts.fragments += 1
        name = header.key, header.sender
        reassembly = self._reassemblies.get(name)
        if reassembly is None:
            most = self._port.settings.item_bytes_max
            reassembly = self._reassemblies[name] = Reassembly(most, 2 * most)
        now_us = self._port.environment.now_us()
        before = reassembly.abandoned
        try:
            reassembly.sweep(now_us)
            item = reassembly.take(piece, now_us)
        finally:
            self.counts.abandoned += reassembly.abandoned - before
        return [] if item is None else [item]

    def _sweep(self) -> None:
        """Forget what belongs to keys that are gone."""
        known = set(self._ring.numbers)
        self._places = {key: said for key, said in self._places.items() if key in known}
        self._reassemblies = {
            name: made for name, made in self._reassemblies.items() if name[0] in known
        }

    def _transmit(self, body: bytes, ranks: Ranks | None) -> None:
        key = self._ring.current
        assert key is not None, "nothing is collected outside a view"
        if self._port.is_overfull:
            self.counts.overflow += len(self._others if ranks is None else ranks)
            return
        if ranks is None and self._port.multicast is not None:
            places: tuple[Place, ...] = (self._port.multicast,)
        else:
            places = self._where(key.number, self._others if ranks is None else ranks)
        if places:
            packet = key.cipher.seal(body)
            self.counts.sent += len(places)
            self.counts.sent_bytes += len(packet) * len(places)
            self._port.transmit(packet, places)

    def _where(self, number: int, ranks: Ranks) -> tuple[Place, ...]:
        addresses, socket = self._places[number], self._port.socket
        places = [socket.place(addresses[rank]) for rank in ranks]
        found = tuple(place for place in places if place is not None)
        self.counts.unreachable += len(places) - len(found)
        return found


class DatagramPort:
    """The socket of one process, and what waits to leave by it."""

    def __init__(self, environment: Environment, settings: DatagramSettings) -> None:
        """See ``open``."""
        self.environment, self.settings = environment, settings
        self.loop = asyncio.get_running_loop()
        self.counts = DatagramCounts()
        """Of what is of no group, and of what the system refused."""
        self.socket: DatagramSocket
        self.multicast: Place | None = None
        self._channels: dict[int, DatagramChannel] = {}
        self._queue: deque[tuple[bytes, Place]] = deque()
        self._queue_bytes = 0
        rate = settings.bytes_per_s
        self._pacer = Pacer(rate, settings.burst_bytes) if rate is not None else None
        self._timer: asyncio.TimerHandle | None = None
        self._is_blocked = self._was_full = False

    @classmethod
    async def open(
        cls, address: Address, environment: Environment, settings: DatagramSettings | None = None
    ) -> "DatagramPort":
        """Receive datagrams at ``address``; a port of 0 stands for any that is free.

        Raises UsageError where the network does not carry datagrams, OSError if the address cannot
        be had.
        """
        check_needs(environment.datagrams, DATAGRAM_NEEDS)
        port = cls(environment, settings or DatagramSettings())
        multicast = port.settings.multicast
        port.socket = await environment.datagrams.open(
            address, port, buffer_bytes=port.settings.buffer_bytes, multicast=multicast
        )
        port.multicast = port.socket.place(multicast.address) if multicast is not None else None
        return port

    @property
    def address(self) -> Address:
        """Where datagrams are received."""
        return self.socket.address

    @property
    def is_full(self) -> bool:
        """Whether senders should wait."""
        return self._queue_bytes > self.settings.queue_bytes

    @property
    def is_overfull(self) -> bool:
        """Whether packets are dropped."""
        return self._queue_bytes > 2 * self.settings.queue_bytes

    @property
    def queue_bytes(self) -> int:
        """What waits for the line."""
        return self._queue_bytes

    def channel(self, domain: int, owner: ChannelOwner) -> DatagramChannel:
        """Take part in a group, which goes by a digest on the wire."""
        if domain in self._channels:
            message = f"group {domain:#010x} is open here already: close it first"
            raise UsageError(message)
        channel = self._channels[domain] = DatagramChannel(self, domain, owner)
        return channel

    def forget(self, channel: DatagramChannel) -> None:
        """A channel was closed."""
        self._channels.pop(channel.domain, None)

    def close(self) -> None:
        """Close all channels and the socket; what waits for the line is lost."""
        for channel in list(self._channels.values()):
            channel.close()
        if self._timer is not None:
            self._timer.cancel()
        self._queue.clear()
        self._queue_bytes = 0
        self.socket.close()

    def transmit(self, packet: bytes, places: tuple[Place, ...]) -> None:
        """Send the same packet to several places, after what waits."""
        for place in places:
            if self._queue or not self._send(packet, place):
                self._queue.append((packet, place))
                self._queue_bytes += len(packet)
        self._was_full = self._was_full or self.is_full

    # What the socket tells.

    def on_datagram(self, data: memoryview) -> None:
        """Find the group of a packet."""
        header = read_header(data)
        if header is None:
            self.counts.cut += 1
            return
        if header.version != VERSION:
            self.counts.other_version += 1
            return
        channel = self._channels.get(header.group)
        if channel is None:
            self.counts.other_group += 1
            return
        channel.take(header, data)

    def on_read(self) -> None:
        """Pass it on."""
        for channel in list(self._channels.values()):
            channel.end_read()

    def on_room(self) -> None:
        """The system takes datagrams again."""
        self._is_blocked = False
        self._drain()

    # What waits.

    def _send(self, packet: bytes, place: Place) -> bool:
        """Send a packet, if pace and system allow; what the system refuses is lost, and counted."""
        pacer = self._pacer
        if pacer is not None:
            wait_us = pacer.wait_us(self.environment.now_us())
            if wait_us:
                if self._timer is None:
                    self._timer = self.loop.call_later(wait_us / 1e6, self._on_time)
                return False
        try:
            if not self.socket.send(packet, place):
                self._is_blocked = True
                return False
        except OSError:
            self.counts.refused += 1
            return True
        if pacer is not None:
            pacer.take(len(packet))
        return True

    def _on_time(self) -> None:
        self._timer = None
        self._drain()

    def _drain(self) -> None:
        queue = self._queue
        while queue and not self._is_blocked:
            packet, place = queue[0]
            if not self._send(packet, place):
                break
            queue.popleft()
            self._queue_bytes -= len(packet)
        if self._was_full and self._queue_bytes <= self.settings.queue_bytes // 2:
            self._was_full = False
            for channel in list(self._channels.values()):
                channel.tell_room()
