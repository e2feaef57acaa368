"""The abstract model again, plainly: the machine itself, a heap of events, sets of messages."""

import heapq
from collections.abc import Mapping, Sequence

from antiphon.ordering.overlay.flooding import (
    Broadcast,
    Flooding,
    FloodingEffect,
    HandUp,
    PutOnLinks,
)

Key = tuple[int, int]
WORD = (1 << 64) - 1


def delay_of(seed: int, link: int, message: int) -> int:
    """Return how long a message takes on a link: the same hash, on Python's integers."""
    mixed = seed * 0x9E3779B97F4A7C15 & WORD
    mixed ^= link * 0xBF58476D1CE4E5B9 & WORD
    mixed ^= message * 0x94D049BB133111EB & WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & WORD
    mixed ^= mixed >> 31
    return (mixed & 1023) + 1


class PlainFlood:
    """One world of the abstract model."""

    def __init__(
        self, overlay: Sequence[Sequence[int]], senders: Sequence[int], count: int, gap: int,
        seed: int, crashes: Mapping[int, int],
    ) -> None:  # fmt: skip
        self.members = [Flooding(rank, len(overlay), near) for rank, near in enumerate(overlay)]
        self.senders, self.count, self.gap, self.seed = senders, count, gap, seed
        self.life = {rank: crashes.get(rank, -1) for rank in range(len(overlay))}
        self.numbers: dict[tuple[int, int], int] = {}
        for rank, near in enumerate(overlay):
            for peer in near:
                self.numbers[rank, peer] = len(self.numbers)
        self.last = dict.fromkeys(self.numbers, 0)
        self.events: list[tuple[int, int, int, int, Broadcast, int]] = []
        self.now = self.copies = self.ended = self.wrong = self.in_flight_most = 0
        self.delivered: list[dict[Key, None]] = [{} for _ in overlay]
        self.pasts: dict[Key, set[Key]] = {}
        self.delays: list[int] = []
        self.hops_most = 0

    def run(self) -> None:
        """Live it through."""
        for number in range(self.count):
            self.catch_up(number * self.gap)
            self.now = number * self.gap
            for rank in self.senders:
                if self.life[rank]:
                    self.pasts[rank, number + 1] = set(self.delivered[rank])
                    self.do(rank, self.members[rank].broadcast(), 0)
        self.catch_up(None)

    def catch_up(self, until: int | None) -> None:
        """Let everything arrive that is due before some time."""
        while self.events and (until is None or self.events[0][0] < until):
            self.now, _, source, target, message, hops = heapq.heappop(self.events)
            self.ended += 1
            if self.life[target]:
                self.do(target, self.members[target].receive(source, message), hops)

    def do(self, who: int, effects: list[FloodingEffect], hops: int) -> None:
        """Do effects until the member crashes."""
        for effect in effects:
            if isinstance(effect, PutOnLinks):
                for peer in effect.links:
                    if self.life[who]:
                        self.put(who, peer, effect, hops + 1)
                self.in_flight_most = max(self.in_flight_most, self.copies - self.ended)
            elif self.life[who]:
                self.deliver(who, effect, hops)

    def put(self, who: int, peer: int, effect: PutOnLinks, hops: int) -> None:
        """Put one copy on one link."""
        assert isinstance(effect.item, Broadcast)
        self.life[who] -= 1
        link = self.numbers[who, peer]
        index = self.senders.index(effect.item.source) * self.count + effect.item.number - 1
        due = max(self.last[who, peer], self.now + delay_of(self.seed, link, index))
        self.last[who, peer] = due
        heapq.heappush(self.events, (due, self.copies, who, peer, effect.item, hops))
        self.copies += 1

    def deliver(self, who: int, effect: HandUp, hops: int) -> None:
        """Take note of a delivery, and judge it."""
        key = (effect.message.source, effect.message.number)
        self.wrong += not self.pasts[key] <= set(self.delivered[who])
        self.delivered[who][key] = None
        if who != key[0]:
            self.delays.append(self.now - (key[1] - 1) * self.gap)
            self.hops_most = max(self.hops_most, hops)
