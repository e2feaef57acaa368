"""The physical model again, plainly: queues of objects, real machines, every step an event."""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from antiphon.models.network import PhysicalNetwork, routes_to
from antiphon.models.physical import senders_of
from antiphon.models.traffic import NS_PER_MS, Load, Protocol
from antiphon.ordering.overlay.flooding import Broadcast, Flooding, FloodingEffect, HandUp

Stamped = tuple[int, tuple[int, ...]]
"""Source, and timestamp."""


class TimestampNode:
    """Figure 1, corrected: the whole vector, a buffer that is scanned again and again."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.clock = rank, [0] * size
        self.buffer: list[Stamped] = []

    def send(self) -> Stamped:
        """Stamp a message."""
        self.clock[self.rank] += 1
        return self.rank, tuple(self.clock)

    def receive(self, message: Stamped) -> list[Stamped]:
        """Return what can be delivered now; it counts before anybody hears of it."""
        self.buffer.append(message)
        found: list[Stamped] = []
        while ready := [each for each in self.buffer if self.is_ready(each)]:
            self.buffer.remove(ready[0])
            self.clock[ready[0][0]] += 1
            found.append(ready[0])
        return found

    def is_ready(self, message: Stamped) -> bool:
        """Whether it is the next of its source, and all before it was delivered."""
        source, stamp = message
        others = (stamp[rank] <= self.clock[rank] for rank in range(len(stamp)) if rank != source)
        return stamp[source] == self.clock[source] + 1 and all(others)


@dataclass(eq=False)
class Fragment:
    """One fragment of a copy."""

    size: int
    is_last: bool
    what: Any
    on_node: Callable[["Fragment", int], None]
    order: int = 0
    put_ns: int = 0


@dataclass
class Line:
    """One direction of a link."""

    end: int
    delay_ns: int
    queue: deque[Fragment] = field(default_factory=deque)
    sent: Fragment | None = None
    carried: int = 0


class PlainNetwork:
    """One run."""

    def __init__(
        self, network: PhysicalNetwork, protocol: Protocol, load: Load, seed: int,
        overlay: Sequence[Sequence[int]],
    ) -> None:  # fmt: skip
        self.size, self.protocol, self.load = network.size, protocol, load
        self.senders = senders_of(network, load, seed)
        self.parts = load.fragments(protocol, network.size)
        self.lines = [
            Line(int(end), int(delay))
            for end, delay in zip(network.ends, network.delays_ns, strict=True)
        ]
        self.routes = [routes_to(network, node)[0] for node in range(self.size)]
        self.members = [Flooding(rank, self.size, near) for rank, near in enumerate(overlay)]
        self.nodes = [TimestampNode(rank, self.size) for rank in range(self.size)]
        self.events: list[tuple[int, int, int, Line, Fragment]] = []
        self.now = self.hops = self.on_link_ns = self.on_link_byte_ns = self.queue_max = 0
        self.messages = self.total_bytes = self.held_max = self.held_ns = 0
        self.delays: list[int] = []
        self.since: dict[tuple[int, Stamped], int] = {}

    # Links.

    def put(self, link: int, fragment: Fragment) -> None:
        """Put a fragment on a link."""
        line = self.lines[link]
        fragment = Fragment(fragment.size, fragment.is_last, fragment.what, fragment.on_node)
        fragment.order, fragment.put_ns = self.hops, self.now
        self.hops += 1
        line.carried += fragment.size
        if line.sent is None:
            self.begin(line, fragment)
        else:
            line.queue.append(fragment)
            self.queue_max = max(self.queue_max, len(line.queue))

    def begin(self, line: Line, fragment: Fragment) -> None:
        """Begin to send a fragment."""
        line.sent = fragment
        through = self.now + fragment.size * self.load.ns_per_byte
        heapq.heappush(self.events, (through, 0, fragment.order, line, fragment))

    def step(self) -> None:
        """Let the next thing happen: a fragment is through, or arrives."""
        self.now, is_arrival, _, line, fragment = heapq.heappop(self.events)
        if is_arrival:
            self.on_link_ns += self.now - fragment.put_ns
            self.on_link_byte_ns += (self.now - fragment.put_ns) * fragment.size
            fragment.on_node(fragment, line.end)
            return
        line.sent = None
        arrives = self.now + line.delay_ns
        heapq.heappush(self.events, (arrives, 1, fragment.order, line, fragment))
        if line.queue:
            self.begin(line, line.queue.popleft())

    # Ways.

    def unicast(self, source: int, target: int, on_whole: Callable[[], None]) -> None:
        """Send a message along a route."""

        def on_node(fragment: Fragment, node: int) -> None:
            if node != target:
                self.put(self.routes[target][node], fragment)
            elif fragment.is_last:
                on_whole()

        for at, size in enumerate(self.parts):
            self.messages += 1
            self.total_bytes += size
            is_last = at == len(self.parts) - 1
            fragment = Fragment(size, is_last, None, on_node)
            self.put(self.routes[target][source], fragment)

    def multicast(self, source: int, on_whole: Callable[[int], None]) -> None:
        """Send a message along the tree of routes to its source, backwards."""

        def branch(fragment: Fragment, node: int) -> None:
            for child in range(self.size):
                link = self.routes[source][child]
                if link >= 0 and self.lines[link].end == node:
                    self.put(link ^ 1, fragment)

        def on_node(fragment: Fragment, node: int) -> None:
            branch(fragment, node)
            if fragment.is_last:
                on_whole(node)

        for at, size in enumerate(self.parts):
            self.messages += self.size - 1
            self.total_bytes += size * (self.size - 1)
            branch(Fragment(size, at == len(self.parts) - 1, None, on_node), source)

    # Protocols.

    def broadcast(self, who: int) -> None:
        """Let a sender broadcast."""
        if self.protocol is Protocol.OVERLAY:
            self.do(who, self.members[who].broadcast())
            return
        message = self.nodes[who].send()
        if self.protocol is Protocol.TIMESTAMP:
            self.multicast(who, lambda node: self.take(node, message))
            return
        for target in range(self.size):
            if target != who:
                self.unicast(who, target, partial(self.take, target, message))

    def do(self, who: int, effects: list[FloodingEffect]) -> None:
        """Do what a flooding member wants."""
        for effect in effects:
            if isinstance(effect, HandUp):
                self.deliver(who, effect.message.source, effect.message.number)
                continue
            assert isinstance(effect.item, Broadcast)
            for peer in effect.links:
                self.unicast(who, peer, partial(self.hear, who, peer, effect.item))

    def hear(self, source: int, who: int, item: Broadcast) -> None:
        """Let a copy reach a member."""
        self.do(who, self.members[who].receive(source, item))

    def take(self, node: int, message: Stamped) -> None:
        """Let a stamped message reach a node."""
        self.since[node, message] = self.now
        for ready in self.nodes[node].receive(message):
            self.held_ns += self.now - self.since[node, ready]
            self.deliver(node, ready[0], ready[1][ready[0]])
        self.held_max = max(self.held_max, len(self.nodes[node].buffer))

    def deliver(self, node: int, source: int, number: int) -> None:
        """Take note of a delivery."""
        if node != source:
            self.delays.append(self.now - (number - 1) * self.load.gap_ns)

    def run(self) -> tuple[object, ...]:
        """Carry everything; return what is measured."""
        for number in range(self.load.messages):
            time = number * self.load.gap_ns
            while self.events and (self.events[0][0], self.events[0][1]) < (time, 1):
                self.step()
            self.now = time
            for who in self.senders:
                self.broadcast(who)
        while self.events:
            self.step()
        return (
            sum(self.delays) / max(1, len(self.delays)) / NS_PER_MS, max(self.delays) / NS_PER_MS,
            self.messages, self.total_bytes, self.hops, self.held_ns / self.now / self.size,
            self.held_max, self.on_link_ns / self.now / len(self.lines),
            self.on_link_byte_ns / self.now / len(self.lines), self.queue_max, self.now / NS_PER_MS,
            len(self.delays), [line.carried for line in self.lines],
        )  # fmt: skip
