"""The conversation that every arm holds: chains of answers that wander through all members.

Law: a message names who is to answer it, and the answer is the next in its chain. Every member
opens some chains, and each is `HOPS` long, so the end is known beforehand without anybody's
telling: a member has heard everything when it has heard `total` messages. Chains run side by
side over uneven links, so an answer often arrives before its question.
"""

import asyncio

from antiphon import Group

OPENINGS = 3
"""Chains that each member begins."""

HOPS = 12
"""Messages of a chain."""


def total(member_count: int) -> int:
    """Return how many messages a conversation has."""
    return member_count * OPENINGS * HOPS


class Singer:
    """What one member says, whatever carries it."""

    def __init__(self, name: str, names: list[str]) -> None:
        """Begin silent."""
        self._name = name
        self._names = names

    def open(self) -> list[bytes]:
        """Begin the chains."""
        return [self._say(f"{self._name}.{opening}", 1) for opening in range(OPENINGS)]

    def hear(self, payload: bytes) -> list[bytes]:
        """Answer a message, if the answer is expected from here."""
        chain, hop, answerer = payload.decode().split()
        if answerer != self._name or int(hop) == HOPS:
            return []
        return [self._say(chain, int(hop) + 1)]

    def _say(self, chain: str, hop: int) -> bytes:
        steps = 1 + (hop + sum(chain.encode())) % (len(self._names) - 1)
        at = (self._names.index(self._name) + steps) % len(self._names)
        return f"{chain} {hop} {self._names[at]}".encode()


async def sing(group: Group) -> None:
    """Hold one member's part on a real network."""
    singer = Singer(group.me, list(group.members))
    waiting = total(len(group.members))
    await group.cbcast_many(singer.open())
    async with asyncio.timeout(15):
        async for message in group.messages():
            for payload in singer.hear(message.payload):
                await group.cbcast(payload)
            waiting -= 1
            if not waiting:
                break
