"""Stalls: members for which this process has waited too long.

Law: while something waits to be sent, a member that holds it up has to move: acknowledge a letter,
or confirm messages. One that has not moved at all for ``STALL_S`` is given up, whoever waits, be it
the application, a reply or a decision; one that moves, however slowly, is not. Between two views
nobody is to blame.
"""

from collections.abc import Mapping
from typing import Literal

from antiphon.core.ids import ProcessId
from antiphon.net.life import Life

STALL_S = 30.0
"""How long a member may hold senders up before it is given up."""

Debt = tuple[ProcessId, Literal["letter", "messages"]]

_WHY = {
    "letter": "it has not acknowledged a letter for {:g} s",
    "messages": "it has taken nothing for {:g} s",
}


class Stall:
    """Since when which member has not moved."""

    def __init__(self) -> None:
        """Nobody has been waited for."""
        self._since: dict[Debt, tuple[int, int]] = {}

    def give_up(self, life: Life) -> None:
        """Give up who has not moved for too long; called often while something waits."""
        for who, why in self.look(life.now_us(), debts(life)):
            peer = life.mesh.peers.get(who)
            if peer is not None:
                life.on_dead(peer, why, is_certain=False)

    def forget(self) -> None:
        """Nothing waits."""
        self._since.clear()

    def look(self, at_us: int, owing: Mapping[Debt, int]) -> list[tuple[ProcessId, str]]:
        """Return whom to give up, and why, given how far each debtor has come."""
        since: dict[Debt, tuple[int, int]] = {}
        for debt, progress in owing.items():
            before = self._since.get(debt)
            is_stuck = before is not None and before[0] == progress
            since[debt] = before if before is not None and is_stuck else (progress, at_us)
        self._since = since
        return [
            (who, _WHY[kind].format(STALL_S))
            for (who, kind), (_, begin_us) in since.items()
            if at_us - begin_us >= STALL_S * 1e6
        ]


def debts(life: Life) -> dict[Debt, int]:
    """Return who holds senders up, and how far each has come."""
    member = life.member
    if member is None or not member.is_open:
        return {}
    found: dict[Debt, int] = {}
    awaited = member.letters.waiting_for
    if awaited is not None:
        found[awaited, "letter"] = member.letters.acknowledged_by(awaited)
    if not life.has_room:
        sent = member.received()[life.outlet.rank]
        confirmed = life.outlet.confirmed()
        for peer in life.mesh.members:
            count = confirmed.get(peer.process, 0)
            if peer.is_full or count < sent:
                found[peer.process, "messages"] = count
    return found
