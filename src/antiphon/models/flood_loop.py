"""The inner loop of ``abstract``: copies on links, in order of arrival.

Law: time is in steps; a copy takes 1 to ``DELAY_MAX`` of them, drawn by hashing the seed, the link
and the message, and never overtakes another on its link. So nothing is ever more than
``DELAY_MAX`` steps ahead, and a ring of lists holds all that is on its way: a copy costs the same
whatever else is on its way. Order of arrivals: by time, then in the order in which they were
put on links.

Causality is judged on the way, by bits: what each member has delivered, what each message's sender
had delivered. A member that is to crash does so between two copies that it puts on links.
"""

from typing import NamedTuple

import numpy as np

from antiphon.models.compiling import Int32s, Int64s, compiled

DELAY_MAX = 1024
"""A power of two."""

_SLOTS = 2 * DELAY_MAX

# What ``totals`` counts.
COPIES, ENDED, DELIVERIES, WRONG, DELAY_SUM, DELAY_MOST, DEPTH_MOST, IN_FLIGHT_MOST = range(8)
TOTALS = 8

# A copy in flight: where to, from whom, of which message, after how many hops, and the next one.
_TO, _OVER, _WHAT, _DEPTH, _NEXT = range(5)
_COLUMNS = 5

# A list of them: its first, its last, how many.
_FIRST, _LAST, _COUNT = range(3)


class Links(NamedTuple):
    """Everybody's links, one member's after the other's."""

    offsets: Int64s
    peers: Int32s
    last: Int64s
    """When the last copy on each arrives."""


class Members(NamedTuple):
    """What members know; ``life``: how many copies one sends before it crashes, if not negative."""

    life: Int64s
    marked: Int32s
    """By member and sender."""
    bits: Int64s
    """By member: what it has delivered."""


class Plan(NamedTuple):
    """Who sends how many messages, one every ``gap`` steps; ``pasts`` by message, as bits."""

    senders: Int32s
    messages: int
    gap: int
    seed: int
    pasts: Int64s


@compiled
def delay_of(seed: int, link: int, message: int) -> np.int64:
    """Return how long a message takes on a link (after splitmix64)."""
    mixed = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(link) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= np.uint64(message) * np.uint64(0x94D049BB133111EB)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.int64(mixed & np.uint64(DELAY_MAX - 1)) + 1


@compiled
def _put(
    now: int, rank: int, but: int, message: int, depth: int, seed: int, links: Links,
    life: Int64s, flying: Int32s, ring: Int64s, free: int, totals: Int64s,
) -> int:  # fmt: skip
    """Put a message on all links of a member but one; return which place is free after that."""
    for link in range(links.offsets[rank], links.offsets[rank + 1]):
        peer = links.peers[link]
        if peer == but:
            continue
        if life[rank] == 0:
            break
        life[rank] -= 1
        totals[COPIES] += 1
        arrival = max(links.last[link], now + delay_of(seed, link, message))
        links.last[link] = arrival
        at = free
        free = flying[at, _NEXT]
        flying[at, _TO] = peer
        flying[at, _OVER] = rank
        flying[at, _WHAT] = message
        flying[at, _DEPTH] = depth
        flying[at, _NEXT] = -1
        slot = ring[arrival & (_SLOTS - 1)]
        if slot[_COUNT] == 0:
            slot[_FIRST] = at
        else:
            flying[slot[_LAST], _NEXT] = at
        slot[_LAST] = at
        slot[_COUNT] += 1
    totals[IN_FLIGHT_MOST] = max(totals[IN_FLIGHT_MOST], totals[COPIES] - totals[ENDED])
    return free


@compiled
def _enlarge(flying: Int32s, free: int, room: int) -> tuple[Int32s, int]:
    """Return places for so many more copies, and the first that is free."""
    count = len(flying)
    grown = np.empty((count + max(count, room), _COLUMNS), np.int32)
    grown[:count] = flying
    for at in range(count, len(grown)):
        grown[at, _NEXT] = at + 1
    grown[len(grown) - 1, _NEXT] = free
    return grown, count


@compiled
def _send(
    now: int, plan: Plan, links: Links, members: Members, flying: Int32s, ring: Int64s, free: int,
    totals: Int64s,
) -> int:  # fmt: skip
    """Let every sender that lives send its next message."""
    number = now // plan.gap + 1
    for index in range(len(plan.senders)):
        rank = plan.senders[index]
        if members.life[rank] == 0:
            continue
        message = index * plan.messages + number - 1
        members.marked[rank, index] = number
        plan.pasts[message] = members.bits[rank]
        free = _put(
            now, rank, -1, message, 1, plan.seed, links, members.life, flying, ring, free, totals
        )
        if members.life[rank] != 0:
            members.bits[rank] |= np.int64(1) << message
            totals[DELIVERIES] += 1
    return free


@compiled
def _arrive(
    now: int, at: int, plan: Plan, links: Links, members: Members, flying: Int32s, ring: Int64s,
    free: int, totals: Int64s,
) -> int:  # fmt: skip
    """Let one copy arrive: mark, forward, deliver."""
    rank, message, depth = flying[at, _TO], flying[at, _WHAT], flying[at, _DEPTH]
    over = flying[at, _OVER]
    flying[at, _NEXT] = free
    totals[ENDED] += 1
    index, number = message // plan.messages, message % plan.messages + 1
    if members.life[rank] == 0 or members.marked[rank, index] >= number:
        return at
    members.marked[rank, index] = number
    free = _put(
        now, rank, over, message, depth + 1, plan.seed, links, members.life, flying, ring, at,
        totals,
    )  # fmt: skip
    if members.life[rank] == 0:
        return free
    if plan.pasts[message] & ~members.bits[rank]:
        totals[WRONG] += 1
    members.bits[rank] |= np.int64(1) << message
    delay = now - (number - 1) * plan.gap
    totals[DELIVERIES] += 1
    totals[DELAY_SUM] += delay
    totals[DELAY_MOST] = max(totals[DELAY_MOST], delay)
    totals[DEPTH_MOST] = max(totals[DEPTH_MOST], depth)
    return free


@compiled
def flood(plan: Plan, links: Links, members: Members, degree: int, totals: Int64s) -> int:
    """Flood all messages of a plan; return how many bytes the copies in flight took."""
    ring = np.zeros((_SLOTS, 3), np.int64)
    flying = np.empty((1, _COLUMNS), np.int32)
    flying[0, _NEXT] = -1
    free = 0
    now = 0
    while now <= plan.gap * (plan.messages - 1) or totals[COPIES] > totals[ENDED]:
        slot = ring[now & (_SLOTS - 1)]
        need = (slot[_COUNT] + len(plan.senders)) * degree + 1
        room = len(flying) - (totals[COPIES] - totals[ENDED])
        if room < need:
            flying, free = _enlarge(flying, free, need)
        if now % plan.gap == 0 and now // plan.gap < plan.messages:
            free = _send(now, plan, links, members, flying, ring, free, totals)
        at = slot[_FIRST]
        for _ in range(slot[_COUNT]):
            following = flying[at, _NEXT]
            free = _arrive(now, at, plan, links, members, flying, ring, free, totals)
            at = following
        slot[_COUNT] = 0
        now += 1
    return flying.size * 4
