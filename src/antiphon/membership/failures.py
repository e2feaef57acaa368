"""Failures: who has failed in one group of a process is listened to in none.

Law. As soon as a process knows of a view of any of its groups in which x failed, it takes nothing
of messages from x itself any more, in no group: no run, no letter, no copy that x relays. Copies
that others relay are taken by the rules of their group. What came before stays, be it kept for a
view that is still to be installed. In each of those groups x is taken for dead at once, too, so
that they go on without it.

What it is good for (``stack.domain``): a process that multicasts m1 in group A and then m2 in B
need not wait until somebody has m1, if all others in B's view are in the view of A in which it
multicast m1, and A's flush is view-atomic. Channels are FIFO, whatever the group, so m1 comes to
each of them before m2. Then:

- Who takes m2 from x has taken m1, or keeps it for a view of A that it is about to install. For m1
  is dropped only by who knows of a view of A in which x failed, and that one drops m2 by the law;
  or by who has left the view of m1, and nobody who counts x leaves it before x has said how much it
  had multicast there, or is through with its flush, which is the same. Who joins a view of A has
  said that it knows of it before anybody multicasts in it.
- Who holds m1 and goes on reports it, and A's flush brings it to all who go on (D3). So if x alone
  fails, whoever delivers m2, by whatever way it came, has m1 or waits for it: it came from somebody
  who took m2 from x, and lives; if nobody did, nobody ever delivers m2.
- If x lives and was taken for dead in A by who has not m1, its m2 is lost with it, or comes by a
  relay from who has m1.

Without the law c takes a for dead in A and drops m1, which is late; B still has a, and c takes m2.

Why nobody waits for ever. A view once agreed on is not taken back, so x fails, or has failed, as a
process, in all groups: it is told so and ends, and others learn it. What a process has dropped in B
it gets as a copy when a view of B without x is left for; such a view is asked for at once. If too
few can be reached to agree to it, B is blocked there, as it would be if x were dead. Nothing of x
counts as received by everybody meanwhile, so nobody drops a copy.

Processes go by ``bare`` ids: another incarnation is another process, and is heard. Who begins in a
group later, or joins, goes on dropping. The latest failures are remembered.
"""

from collections.abc import Iterable

from antiphon.core.ids import ProcessId

FAILURES_MAX = 4096
"""Failed processes that are remembered."""


class Failures:
    """Of the processes that one process knows, in whatever group, those that have failed."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Nobody has failed."""
        self._known: dict[ProcessId, None] = {}

    def note(self, process: ProcessId) -> None:
        """A process failed in a view of some group."""
        self._known[process.bare()] = None
        if len(self._known) > FAILURES_MAX:
            del self._known[next(iter(self._known))]

    def has(self, member: ProcessId) -> bool:
        """Whether the process that a group knows as ``member`` has failed in any."""
        return bool(self._known) and member.bare() in self._known

    def has_any(self, members: Iterable[ProcessId]) -> bool:
        """Whether one of these has."""
        return bool(self._known) and any(map(self.has, members))
