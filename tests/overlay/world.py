"""Members that flood, links between them, and an oracle that keeps the explicit past of messages.

Law: the oracle knows who broadcast and who delivered what, in which order, and nothing of counts,
gates or links. Effects are done one by one: the application answers in the middle of a list, and a
member may crash there, also between two links of one put.
"""

import random
from collections import deque
from collections.abc import Sequence

from antiphon.ordering.overlay.flooding import (
    Broadcast,
    Flooding,
    FloodingEffect,
    HandUp,
    LinkItem,
    PutOnLinks,
)

Key = tuple[int, int]


class ViolationError(AssertionError):
    """What the oracle found."""


class Oracle:
    """Happened-before, event by event."""

    def __init__(self, size: int) -> None:
        self.delivered: list[dict[Key, None]] = [{} for _ in range(size)]
        self.pasts: dict[Key, frozenset[Key]] = {}

    def broadcast(self, who: int, key: Key) -> None:
        """Take note of all that a new message depends on."""
        past = set(self.delivered[who])
        for each in self.delivered[who]:
            past |= self.pasts[each]
        past |= {other for other in self.pasts if other[0] == who}
        self.pasts[key] = frozenset(past)

    def deliver(self, who: int, key: Key) -> None:
        """Judge one delivery."""
        mine = self.delivered[who]
        if key in mine:
            said = f"{who} delivers {key} twice"
            raise ViolationError(said)
        if key not in self.pasts:
            said = f"{who} delivers {key}, which nobody broadcast"
            raise ViolationError(said)
        lacking = [each for each in self.pasts[key] if each not in mine]
        if lacking:
            said = f"{who} delivers {key} before {min(lacking)}"
            raise ViolationError(said)
        mine[key] = None

    def conclude(self, survivors: Sequence[int]) -> None:
        """Judge the end: survivors have the same, and all that they broadcast."""
        same = set(self.delivered[survivors[0]])
        for who in survivors:
            if set(self.delivered[who]) != same:
                said = f"{who} and {survivors[0]} have not delivered the same"
                raise ViolationError(said)
        lost = [key for key in self.pasts if key[0] in survivors and key not in same]
        if lost:
            said = f"{min(lost)} was never delivered"
            raise ViolationError(said)


class World:
    """Members and links; ``answers`` says who answers what at once, in the upcall."""

    def __init__(self, overlay: Sequence[Sequence[int]], seed: int = 0) -> None:
        self.dice = random.Random(seed)
        self.members = [Flooding(rank, len(overlay), near) for rank, near in enumerate(overlay)]
        self.links: dict[tuple[int, int], deque[LinkItem]] = {
            (rank, other): deque() for rank, near in enumerate(overlay) for other in near
        }
        self.crashed: dict[int, None] = {}
        self.oracle = Oracle(len(overlay))
        self.copies = 0
        self.answers: dict[Key, tuple[int, ...]] = {}
        self.answer_chance = 0.0
        self.budget = 0
        self.dying: dict[int, int] = {}
        self.reorders = False

    # What happens.

    def broadcast(self, who: int) -> Key:
        """Let a member broadcast."""
        key = (who, self.members[who].marked[who] + 1)
        self.oracle.broadcast(who, key)
        self.do(who, self.members[who].broadcast())
        return key

    def arrive(self, source: int, target: int) -> None:
        """Let the next item of a link arrive."""
        link = self.links[source, target]
        at = self.dice.randrange(len(link)) if self.reorders else 0
        item = link[at]
        del link[at]
        if target not in self.crashed:
            self.do(target, self.members[target].receive(source, item))

    def add_link(self, one: int, other: int) -> None:
        """Join two members, both ends at once."""
        self.links.setdefault((one, other), deque())
        self.links.setdefault((other, one), deque())
        for who, peer in ((one, other), (other, one)):
            self.do(who, self.members[who].add_link(peer))

    def drop_link(self, one: int, other: int) -> None:
        """Lose a link, with what is on it."""
        for who, peer in ((one, other), (other, one)):
            self.members[who].drop_link(peer)
            self.links.pop((who, peer), None)

    def drain_link(self, one: int, other: int) -> None:
        """End a link."""
        self.do(one, self.members[one].drain_link(other))

    def crash(self, who: int) -> None:
        """Let a member die; of what it put on each link, some suffix is lost."""
        self.crashed[who] = None
        for (source, target), link in self.links.items():
            if source == who:
                for _ in range(self.dice.randint(0, len(link))):
                    link.pop()
            elif target == who:
                link.clear()

    # How it is carried.

    def do(self, who: int, effects: list[FloodingEffect]) -> None:
        """Do effects, one by one, unless the member dies meanwhile."""
        for effect in effects:
            if isinstance(effect, HandUp):
                if self._is_dying(who):
                    return
                self._hand_up(who, effect.message)
            elif not self._put(who, effect):
                return

    def _put(self, who: int, effect: PutOnLinks) -> bool:
        for peer in effect.links:
            if self._is_dying(who):
                return False
            self.copies += isinstance(effect.item, Broadcast)
            if peer not in self.crashed:
                self.links[who, peer].append(effect.item)
        return True

    def _is_dying(self, who: int) -> bool:
        """Whether a member has been dead, or dies here: after so many more actions."""
        if who in self.crashed:
            return True
        if who in self.dying:
            self.dying[who] -= 1
            if self.dying[who] < 0:
                self.crash(who)
                return True
        return False

    def _hand_up(self, who: int, message: Broadcast) -> None:
        key = (message.source, message.number)
        self.oracle.deliver(who, key)
        answers = who in self.answers.get(key, ())
        if answers or (self.budget and self.dice.random() < self.answer_chance):
            self.budget -= not answers
            self.broadcast(who)

    # Schedules.

    @property
    def busy(self) -> list[tuple[int, int]]:
        """Links with something on them."""
        return [pair for pair, link in self.links.items() if link]

    @property
    def survivors(self) -> list[int]:
        """Who has not crashed."""
        return [rank for rank in range(len(self.members)) if rank not in self.crashed]

    def settle(self) -> None:
        """Let everything arrive, in some order."""
        while busy := self.busy:
            self.arrive(*self.dice.choice(busy))
