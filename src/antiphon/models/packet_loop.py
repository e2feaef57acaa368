"""The inner loop of ``physical``: fragments on links of a physical network, in order of time.

Law: times are integers, in nanoseconds. A fragment that comes to a link at t begins to be sent when
all before it are through, is through after its bytes, and arrives a delay later. Events are taken
by (time, order in which fragments were put on links); what is to be broadcast at a time comes
before what arrives then. A link is FIFO, so only its first fragment can be next: the heap holds
links, not fragments, and stays small however long queues grow.
"""

from typing import NamedTuple

import numpy as np

from antiphon.models.compiling import Int32s, Int64s, compiled
from antiphon.models.timestamps import Clocks, receive_stamped, stamp_message

OVERLAY, TREE, UNICAST = range(3)

# Columns of ``links``: until when it is busy; its first, its last, its first waiting fragment; how
# many wait; delay; where it leads; how many bytes it carried.
_BUSY, _HEAD, _TAIL, _WAIT, _WAITING, _DELAY, _END, _BYTES = range(8)
LINK_COLUMNS = 8

# Columns of ``packets``: times of arrival and of the beginning of being sent; order; message;
# destination; from which node of the overlay; which fragment; the next on the link, or of the free.
_ARRIVES, _BEGINS, _ORDER, _MESSAGE, _TARGET, _OVER, _PART, _NEXT = range(8)
PACKET_COLUMNS = 8

# What ``totals`` counts; from the last on, for each fragment of a message, its time on links. Bytes
# times nanoseconds would not fit into a word.
(
    HOPS, QUEUE_MAX, DELAY_NS, DELAY_MAX_NS, DELIVERIES, MESSAGES, BYTES, NOW, ON_HEAP, FREE,
    IN_FLIGHT, ON_LINKS_NS,
) = range(12)  # fmt: skip


class Routing(NamedTuple):
    """Where fragments go."""

    kind: int
    routes: Int32s
    """By destination and node, the next link; for trees by sender."""
    offsets: Int64s
    """Into ``near``: by node of the overlay; for trees by sender and node."""
    near: Int32s
    """Neighbours in the overlay; for trees the links to a node's children."""


class Broadcasts(NamedTuple):
    """Who broadcasts what, and when."""

    senders: Int32s
    messages: int
    gap_ns: int
    parts: Int64s
    """Bytes of each fragment."""
    ns_per_byte: int


@compiled
def make_links(ends: Int32s, delays_ns: Int64s) -> Int64s:
    """Return links that are idle."""
    links = np.zeros((len(ends), LINK_COLUMNS), np.int64)
    for link in range(len(ends)):
        links[link, _HEAD] = links[link, _TAIL] = links[link, _WAIT] = -1
        links[link, _DELAY] = delays_ns[link]
        links[link, _END] = ends[link]
    return links


@compiled
def _is_before(one: int, other: int, links: Int64s, packets: Int64s) -> bool:
    """Whether the first fragment of one link arrives before that of another."""
    first, second = packets[links[one, _HEAD]], packets[links[other, _HEAD]]
    if first[_ARRIVES] != second[_ARRIVES]:
        return bool(first[_ARRIVES] < second[_ARRIVES])
    return bool(first[_ORDER] < second[_ORDER])


@compiled
def _sift_up(heap: Int64s, at: int, links: Int64s, packets: Int64s) -> None:
    while at > 0:
        parent = (at - 1) // 2
        if not _is_before(heap[at], heap[parent], links, packets):
            return
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent


@compiled
def _sift_down(heap: Int64s, count: int, links: Int64s, packets: Int64s) -> None:
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            return
        if child + 1 < count and _is_before(heap[child + 1], heap[child], links, packets):
            child += 1
        if not _is_before(heap[child], heap[at], links, packets):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@compiled
def _forget_begun(row: Int64s, packets: Int64s, now: int) -> None:
    """Count no longer as waiting what is being sent by now, or is through."""
    while row[_WAIT] >= 0 and packets[row[_WAIT], _BEGINS] <= now:
        row[_WAIT] = packets[row[_WAIT], _NEXT]
        row[_WAITING] -= 1


@compiled
def _put(
    link: int, message: int, target: int, over: int, part: int, sending: Broadcasts,
    links: Int64s, packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Put one fragment on one physical link."""
    now = totals[NOW]
    row = links[link]
    at = totals[FREE]
    packet = packets[at]
    totals[FREE] = packet[_NEXT]
    totals[IN_FLIGHT] += 1
    _forget_begun(row, packets, now)
    begins = max(now, row[_BUSY])
    row[_BUSY] = begins + sending.parts[part] * sending.ns_per_byte
    row[_BYTES] += sending.parts[part]
    packet[_BEGINS] = begins
    packet[_ARRIVES] = row[_BUSY] + row[_DELAY]
    packet[_ORDER] = totals[HOPS]
    packet[_MESSAGE] = message
    packet[_TARGET] = target
    packet[_OVER] = over
    packet[_PART] = part
    packet[_NEXT] = -1
    totals[HOPS] += 1
    totals[ON_LINKS_NS + part] += packet[_ARRIVES] - now
    if row[_HEAD] < 0:
        row[_HEAD] = row[_TAIL] = at
        heap[totals[ON_HEAP]] = link
        totals[ON_HEAP] += 1
        _sift_up(heap, totals[ON_HEAP] - 1, links, packets)
    else:
        packets[row[_TAIL], _NEXT] = at
        row[_TAIL] = at
    if begins > now:
        row[_WAITING] += 1
        if row[_WAIT] < 0:
            row[_WAIT] = at
        totals[QUEUE_MAX] = max(totals[QUEUE_MAX], row[_WAITING])


@compiled
def _take_first(links: Int64s, packets: Int64s, heap: Int64s, totals: Int64s) -> int:
    """Take what arrives next off its link; return its place, which is not free yet."""
    link = heap[0]
    row = links[link]
    at = row[_HEAD]
    following = packets[at, _NEXT]
    if row[_WAIT] == at:
        row[_WAIT] = following
        row[_WAITING] -= 1
    row[_HEAD] = following
    if following < 0:
        row[_TAIL] = -1
        totals[ON_HEAP] -= 1
        heap[0] = heap[totals[ON_HEAP]]
    _sift_down(heap, totals[ON_HEAP], links, packets)
    totals[NOW] = packets[at, _ARRIVES]
    return int(at)


@compiled
def _send_along(
    source: int, target: int, message: int, ways: Routing, sending: Broadcasts, links: Int64s,
    packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Put all fragments of a message on the first link of a route."""
    for part in range(len(sending.parts)):
        totals[MESSAGES] += 1
        totals[BYTES] += sending.parts[part]
        _put(
            ways.routes[target, source], message, target, source, part, sending, links, packets,
            heap, totals,
        )  # fmt: skip


@compiled
def _flood_on(
    node: int, but: int, message: int, ways: Routing, sending: Broadcasts, links: Int64s,
    packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Forward a message to a node's neighbours in the overlay."""
    for at in range(ways.offsets[node], ways.offsets[node + 1]):
        if ways.near[at] != but:
            _send_along(node, ways.near[at], message, ways, sending, links, packets, heap, totals)


@compiled
def _branch(
    node: int, message: int, part: int, ways: Routing, sending: Broadcasts, links: Int64s,
    packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Put a fragment on the links to a node's children in its sender's tree."""
    place = message // sending.messages * ways.routes.shape[1] + node
    for at in range(ways.offsets[place], ways.offsets[place + 1]):
        _put(ways.near[at], message, -1, node, part, sending, links, packets, heap, totals)


@compiled
def _broadcast(
    index: int, number: int, clocks: Clocks, ways: Routing, sending: Broadcasts, links: Int64s,
    packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Let a sender broadcast its next message."""
    node = sending.senders[index]
    message = index * sending.messages + number
    stamp_message(node, index, number, message, clocks)
    size = len(clocks.delivered)
    if ways.kind == OVERLAY:
        _flood_on(node, -1, message, ways, sending, links, packets, heap, totals)
    elif ways.kind == UNICAST:
        for target in range(size):
            if target != node:
                _send_along(node, target, message, ways, sending, links, packets, heap, totals)
    else:
        for part in range(len(sending.parts)):
            totals[MESSAGES] += size - 1
            totals[BYTES] += (size - 1) * sending.parts[part]
            _branch(node, message, part, ways, sending, links, packets, heap, totals)


@compiled
def _note_delay(message: int, sending: Broadcasts, totals: Int64s) -> None:
    delay = totals[NOW] - message % sending.messages * sending.gap_ns
    totals[DELIVERIES] += 1
    totals[DELAY_NS] += delay
    totals[DELAY_MAX_NS] = max(totals[DELAY_MAX_NS], delay)


@compiled
def _receive(
    node: int, over: int, message: int, clocks: Clocks, ways: Routing, sending: Broadcasts,
    links: Int64s, packets: Int64s, heap: Int64s, totals: Int64s,
) -> None:  # fmt: skip
    """Have a whole message: mark, forward and deliver it, or deliver all that is ready."""
    index, number = message // sending.messages, message % sending.messages + 1
    if ways.kind != OVERLAY:
        for ready in receive_stamped(node, index, sending.messages, totals[NOW], clocks):
            _note_delay(int(ready), sending, totals)
    elif clocks.delivered[node, index] < number:
        clocks.delivered[node, index] = number
        _flood_on(node, over, message, ways, sending, links, packets, heap, totals)
        _note_delay(message, sending, totals)


@compiled
def _arrive(
    at: int, clocks: Clocks, ways: Routing, sending: Broadcasts, links: Int64s, packets: Int64s,
    heap: Int64s, totals: Int64s, node: int,
) -> None:  # fmt: skip
    """Let a fragment arrive at the end of a link: send it on, and take the message at its last."""
    message, target = packets[at, _MESSAGE], packets[at, _TARGET]
    part, over = packets[at, _PART], packets[at, _OVER]
    packets[at, _NEXT] = totals[FREE]
    totals[FREE] = at
    totals[IN_FLIGHT] -= 1
    if ways.kind == TREE:
        _branch(node, message, part, ways, sending, links, packets, heap, totals)
    elif target != node:
        link = ways.routes[target, node]
        _put(link, message, target, over, part, sending, links, packets, heap, totals)
        return
    if part == len(sending.parts) - 1:
        _receive(node, over, message, clocks, ways, sending, links, packets, heap, totals)


@compiled
def _roomy(packets: Int64s, need: int, totals: Int64s) -> Int64s:
    """Return places for at least so many more fragments."""
    count = len(packets)
    if count - totals[IN_FLIGHT] >= need:
        return packets
    grown = np.empty((count + max(count, need), PACKET_COLUMNS), np.int64)
    grown[:count] = packets
    for at in range(count, len(grown)):
        grown[at, _NEXT] = at + 1
    grown[len(grown) - 1, _NEXT] = totals[FREE]
    totals[FREE] = count
    return grown


@compiled
def run(
    links: Int64s, ways: Routing, sending: Broadcasts, clocks: Clocks, need: int, totals: Int64s
) -> int:
    """Carry everything; return how many bytes fragments took. ``need``: most puts of one event."""
    packets = np.empty((1, PACKET_COLUMNS), np.int64)
    packets[0, _NEXT] = -1
    heap = np.empty(len(links), np.int64)
    due, count = 0, len(sending.senders) * sending.messages
    while due < count or totals[ON_HEAP] > 0:
        packets = _roomy(packets, need, totals)
        number = due // len(sending.senders)
        time = number * sending.gap_ns
        is_send = due < count and (
            totals[ON_HEAP] == 0 or time <= packets[links[heap[0], _HEAD], _ARRIVES]
        )
        if is_send:
            totals[NOW] = time
            index = due % len(sending.senders)
            _broadcast(index, number, clocks, ways, sending, links, packets, heap, totals)
            due += 1
        else:
            node = links[heap[0], _END]
            at = _take_first(links, packets, heap, totals)
            _arrive(at, clocks, ways, sending, links, packets, heap, totals, node)
    return packets.size * 8


@compiled
def carried(links: Int64s) -> Int64s:
    """Return by link how many bytes it carried."""
    return links[:, _BYTES].copy()
