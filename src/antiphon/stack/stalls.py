"""Stalls: members for which this process has waited too long.

Rule. While something waits to be sent, a member that holds it up has to move: acknowledge a letter,
or confirm messages. One that has not moved at all for the time allowed is given up, whoever waits,
be it the application, a reply or a decision; one that moves, however slowly, is not. Between two
views nobody is to blame.

What was sent by datagram has to be reported as delivered, also where nothing waits to be sent: a
member that no datagram reaches is heard by channel all the same, and a message would be lost to it
for ever. Its machine reports, whether or not its application reads. Where no datagram of this
process reaches anybody, it gives up all the others, and the majority goes on without it.

Who was given up, and turns out to be there (``RestoreProcess``), is given twice the time from then
on. Two that gave each other up are restored one after the other, and until both are, nothing moves
between them: with the same time again they could give each other up for ever.
"""

from collections.abc import Mapping
from typing import Literal

from antiphon.core.ids import ProcessId

FACTOR_MAX = 64
"""How many times the time allowed is borne at most, of who was given up wrongly again and again."""

Awaited = tuple[ProcessId, Literal["letter", "messages", "datagrams"]]

_WHY = {
    "letter": "it has not acknowledged a letter for {:g} s",
    "messages": "it has taken nothing for {:g} s",
    "datagrams": (
        "no datagram has reached it, or none of its own has come, for {:g} s: UDP may be blocked"
    ),
}


class Stalls:
    """Since when which member has not moved."""

    __slots__ = ("_factor", "_since", "_stall_us")

    def __init__(self, stall_us: int) -> None:
        """Nobody has been waited for; a member may hold senders up for ``stall_us``."""
        assert stall_us > 0, "everybody is given some time"
        self._stall_us = stall_us
        self._factor: dict[ProcessId, int] = {}
        self._since: dict[Awaited, tuple[int, int]] = {}

    def look(self, now_us: int, awaited: Mapping[Awaited, int]) -> list[tuple[ProcessId, str]]:
        """Return whom to give up, and why, given how far each that is waited for has come."""
        since: dict[Awaited, tuple[int, int]] = {}
        for item, progress in awaited.items():
            before = self._since.get(item)
            is_stuck = before is not None and before[0] == progress
            since[item] = before if before is not None and is_stuck else (progress, now_us)
        assert all(begin_us <= now_us for _, begin_us in since.values()), "waiting has begun"
        self._since = since
        return [
            (who, _WHY[kind].format(self._bears_us(who) / 1e6))
            for (who, kind), (_, begin_us) in since.items()
            if now_us - begin_us >= self._bears_us(who)
        ]

    def _bears_us(self, who: ProcessId) -> int:
        return self._stall_us * self._factor.get(who, 1)

    def restore(self, who: ProcessId) -> None:
        """A member that was given up is there after all: bear with it for longer."""
        self._factor[who] = min(2 * self._factor.get(who, 1), FACTOR_MAX)
        assert 1 < self._factor[who] <= FACTOR_MAX, "more than before, and not without end"
