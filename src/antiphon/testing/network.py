"""A network in memory: who listens where, how long things take, and what is broken.

Law: everything that happens follows from the seed and from what is called. Faults are of paths
(between two processes, in one direction or both), of single connections, or of processes:

- a path that is closed lets nothing through, and tells nobody; when it is opened again, what was
  sent meanwhile arrives, and whoever was connecting is connected;
- a connection that is cut is reset at both ends, and what was on its way is lost;
- of a connection that is half open, one end is gone and the other does not know;
- a process that refuses has no room for connections, as if nobody listened;
- of a process that was killed the system closes all connections; if its machine has died too,
  nobody is told, and nobody gets an answer.
"""

import asyncio
import errno
from collections.abc import Callable
from contextvars import Context
from random import Random
from typing import NamedTuple

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import CONNECTED, P
from antiphon.testing.connection import End, Sign
from antiphon.testing.event_loop import CallbackOwner, VirtualEventLoop

_FIRST_PORT = 30_000
_PORT_MAX = 50_000
_FIRST_OUTGOING_PORT = 50_000
_OUTSIDE = Context()
"""Of what belongs to no process: the network's own part."""


class MemoryServer:
    """An address at which a simulated process accepts connections."""

    def __init__(
        self,
        network: "Network",
        owner: CallbackOwner,
        context: Context,
        address: Address,
        factory: Callable[[], asyncio.BaseProtocol],
    ) -> None:
        """Be found by who dials ``address``."""
        self.owner = owner
        self.context = context
        self.address = address
        """Where it listens."""
        self._network = network
        self._factory = factory
        self._is_closed = False

    def accept(self, end: End) -> None:
        """Somebody has connected."""
        if self._is_closed:
            end.abort()
        else:
            end.attach(self._factory())

    async def close(self) -> None:
        """Accept no more connections."""
        self.kill()

    def kill(self) -> None:
        """The process that listened is dead."""
        self._is_closed = True
        self._network.forget_listener(self)


class Network:
    """Paths between simulated processes."""

    def __init__(
        self, loop: VirtualEventLoop, seed: str, delay_us: tuple[int, int] = (50, 500)
    ) -> None:
        """Let everything take between the two of ``delay_us``, one way."""
        self.loop = loop
        self.delay_us = delay_us
        """How long anything takes, one way, at least and at most."""
        self.cut_chance = 0.05
        """How often what is written in one piece arrives in two."""
        self._random = Random(f"network {seed}")
        self._listeners: dict[Address, MemoryServer] = {}
        self._ends: dict[End, None] = {}
        self._delays: dict[tuple[str, str], tuple[int, int]] = {}
        self._closed: dict[tuple[str, str], None] = {}
        self._refusing: dict[str, None] = {}
        self._connecting: list[_Connecting] = []
        self._held: dict[End, None] = {}
        self._last_at: dict[Address, CallbackOwner] = {}
        self._down: dict[Address, None] = {}
        self._dialled_count = 0

    # What connections ask.

    def draw_delay_us(self, source: CallbackOwner, target: CallbackOwner) -> int:
        """Return how long something takes from one process to another."""
        low, high = self._delays.get((source.name, target.name), self.delay_us)
        return low + int(self._random.random() * (high - low + 1))

    def cut(self, piece: bytes) -> list[bytes]:
        """Return the parts in which a piece arrives."""
        if len(piece) > 1 and self._random.random() < self.cut_chance:
            at = self._random.randrange(1, len(piece))
            return [piece[:at], piece[at:]]
        return [piece]

    def is_open(self, source: CallbackOwner, target: CallbackOwner) -> bool:
        """Whether anything gets from one process to another."""
        return (source.name, target.name) not in self._closed

    def hold(self, end: End) -> None:
        """Wake an end when paths have changed: what it sent is waiting."""
        self._held[end] = None

    def forget(self, end: End) -> None:
        """An end is gone."""
        self._ends.pop(end, None)

    def forget_listener(self, listener: MemoryServer) -> None:
        """Nobody listens there any more."""
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]

    # What transports ask.

    def transport_of(self, owner: CallbackOwner, context: Context) -> "MemoryTransport":
        """Return the network as one process sees it."""
        return MemoryTransport(self, owner, context)

    def listen(
        self,
        owner: CallbackOwner,
        context: Context,
        address: Address,
        factory: Callable[[], asyncio.BaseProtocol],
    ) -> MemoryServer:
        """Give a process an address."""
        if not address.port:
            ports = (Address(address.host, port) for port in range(_FIRST_PORT, _PORT_MAX))
            address = next(place for place in ports if place not in self._last_at)
        if address in self._listeners:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        listener = MemoryServer(self, owner, context, address, factory)
        self._listeners[address] = listener
        self._last_at[address] = owner
        self._down.pop(address, None)
        return listener

    def dial(
        self, owner: CallbackOwner, context: Context, address: Address
    ) -> "asyncio.Future[End]":
        """Begin to connect; the result is the dialling end."""
        self._dialled_count += 1
        port = _FIRST_OUTGOING_PORT + self._dialled_count % 15_000
        end = End(self, owner, context, (address.host, port))
        connecting = _Connecting(end, address, self.loop.create_future())
        at_us = self.loop.now_us + self.draw_delay_us(owner, owner)
        self.loop.call_at_us(at_us, self._knock, connecting, context=_OUTSIDE)
        return connecting.made

    def _knock(self, connecting: "_Connecting") -> None:
        """What a system does when somebody wants to connect to one of its processes."""
        dialler, address = connecting.end.owner, connecting.address
        if connecting.made.done() or dialler.is_dead:
            return
        target = self._last_at.get(address)
        if address in self._down or (target is not None and not self._is_open(dialler, target)):
            self._connecting.append(connecting)
            return
        listener = self._listeners.get(address)
        other: End | None = None
        if listener is not None and listener.owner.name not in self._refusing:
            other = self._pair(connecting.end, listener)
        at_us = self.loop.now_us + self.draw_delay_us(dialler, dialler)
        self.loop.call_at_us(at_us, self._tell, connecting, other, context=_OUTSIDE)

    def _is_open(self, one: CallbackOwner, other: CallbackOwner) -> bool:
        return self.is_open(one, other) and self.is_open(other, one)

    def _pair(self, end: End, listener: MemoryServer) -> End:
        place = (listener.address.host, listener.address.port)
        other = End(self, listener.owner, listener.context, place)
        end.peer, other.peer = other, end
        self._ends[end] = self._ends[other] = None
        self.loop.call_soon(listener.accept, other, context=listener.context)
        return other

    @staticmethod
    def _tell(connecting: "_Connecting", other: End | None) -> None:
        made, end = connecting.made, connecting.end
        if made.done():
            if other is not None:
                end.abort()  # nobody waits any more
        elif other is None:
            made.set_exception(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"))
        else:
            made.set_result(end)

    # Faults.

    def set_delay_us(self, source: str, target: str, delay_us: tuple[int, int] | None) -> None:
        """Let what goes from one process to another take so long; None: as everything else."""
        if delay_us is None:
            self._delays.pop((source, target), None)
        else:
            self._delays[source, target] = delay_us

    def close_path(self, source: str, target: str) -> None:
        """Let nothing through from one process to another."""
        self._closed[source, target] = None

    def open_path(self, source: str, target: str) -> None:
        """Let everything through again, and what has waited."""
        self._closed.pop((source, target), None)
        self._wake()

    def open_all(self) -> None:
        """End every fault of a path and every refusal; let connections go on that are stalled.

        Those that are half open for good are reset, as keep-alives would find out in the end.
        """
        for end in list(self._ends):
            if end.is_black_hole and not end.peer.owner.is_dead:
                end.lose(_reset())
        self._closed.clear()
        self._refusing.clear()
        for end in self._held:
            end.is_stalled = False
        for end in self._ends:
            end.is_stalled = False
        self._wake()

    def _wake(self) -> None:
        held, self._held = list(self._held), {}
        for end in held:
            end.wake()
        connecting, self._connecting = self._connecting, []
        for one in connecting:
            at_us = self.loop.now_us + self.draw_delay_us(one.end.owner, one.end.owner)
            self.loop.call_at_us(at_us, self._knock, one, context=_OUTSIDE)

    def refuse(self, name: str, *, is_refusing: bool = True) -> None:
        """Let a process have no room for connections; or have room again."""
        if is_refusing:
            self._refusing[name] = None
        else:
            self._refusing.pop(name, None)

    def connections(self, one: str, other: str) -> list[End]:
        """Return the ends at ``one`` of the connections of two processes, oldest first."""
        return [end for end in self._ends if end.owner.name == one and end.peer.owner.name == other]

    def cut_connection(self, end: End) -> None:
        """Reset a connection at both ends, and lose what was on its way."""
        for one in (end, end.peer):
            one.packets.clear()
            one.lose(_reset())

    def half_open(self, end: End, *, is_silent: bool) -> None:
        """Let ``end`` be gone, and the other not know; if silent, never, whatever it sends."""
        end.peer.is_black_hole = is_silent
        end.packets.clear()
        end.lose(_reset())

    def stall(self, end: End) -> None:
        """Let what ``end`` sends wait until :meth:`open_all`."""
        end.is_stalled = True

    def kill(self, owner: CallbackOwner, *, silently: bool) -> None:
        """A process is dead: close its connections, or, silently, tell nobody."""
        for listener in list(self._listeners.values()):
            if listener.owner is owner:
                listener.kill()
                if silently:
                    self._down[listener.address] = None
        for end in list(self._ends):
            if end.owner is owner:
                if silently:
                    end.peer.is_black_hole = True
                elif not end.peer.is_gone:
                    end.send(self._random.choice((Sign.FIN, Sign.RST)))
                end.lose(None)


class _Connecting(NamedTuple):
    end: End
    address: Address
    made: "asyncio.Future[End]"


class MemoryTransport:
    """The network, as one simulated process sees it."""

    name = "the network in memory"
    promises = CONNECTED

    def __init__(self, network: Network, owner: CallbackOwner, context: Context) -> None:
        """Dial and listen for ``owner``; what happens to its connections runs in ``context``."""
        self._network = network
        self._owner = owner
        self._context = context

    async def listen(self, address: Address, factory: Callable[[], P]) -> MemoryServer:
        """Accept connections at ``address``."""
        return self._network.listen(self._owner, self._context, address, factory)

    async def connect(
        self, address: Address, factory: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        """Connect to who listens at ``address``."""
        made = self._network.dial(self._owner, self._context, address)
        try:
            end = await made
        except asyncio.CancelledError:
            if made.done() and not made.cancelled() and made.exception() is None:
                made.result().abort()  # connected just as nobody waited any more
            raise
        protocol = factory()
        end.attach(protocol)
        return end, protocol


def _reset() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
