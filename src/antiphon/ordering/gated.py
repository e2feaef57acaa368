"""Groups with gates: what is held back in them, what is due, and what is still to be delivered.

Law: each group has a gate in each view (``gate``), behind the one delay queue of the domain. What
is noted here of a group is of its current view, and forgotten with it.
"""

from antiphon.core.ids import GroupNumber
from antiphon.ordering.gate import Gate
from antiphon.ordering.total import POLICIES
from antiphon.ordering.vector import VectorDomain


class GatedDomain(VectorDomain):
    """The groups of a domain with their gates."""

    __slots__ = ("_gates", "_has_written", "_policy", "_unconfirmed", "_undelivered", "restless")

    def __init__(self, policy: str = "follow") -> None:
        """Start in no group; ``policy`` says where the token goes (``total``)."""
        super().__init__()
        self._policy = POLICIES[policy]
        self._gates: dict[int, Gate] = {}
        self._has_written: dict[int, None] = {}  # where, since the last run there with a stamp
        self._undelivered: dict[int, None] = {}  # where own messages wait to be delivered here
        # Where a uniform message waits for another group, and is not confirmed.
        self._unconfirmed: dict[int, None] = {}
        self.restless: dict[int, None] = {}
        """Groups in which something has come about by what came in another: to be looked at."""

    @property
    def queue_depth(self) -> int:
        """How many runs are held back."""
        return self._queue.depth + sum(gate.depth for gate in self._gates.values())

    @property
    def held_bytes(self) -> int:
        """Payload bytes of the runs that are held back."""
        return self._queue.held_bytes + sum(gate.held_bytes for gate in self._gates.values())

    @property
    def held_count(self) -> int:
        """Messages that had to wait for something in their causal past, so far."""
        return self._queue.held_count

    def gate(self, group: GroupNumber) -> Gate:
        """Return the gate of a group, to look into."""
        return self._gates[group]

    def is_due(self, group: GroupNumber) -> bool:
        """Whether the others wait for a sets-order list or a confirmation of this process."""
        gate = self._gates.get(group)
        return gate is not None and (
            bool(gate.total.unsaid) or (gate.uniform.is_active and gate.uniform.is_due)
        )

    def has_undelivered(self, group: GroupNumber) -> bool:
        """Whether something that the process multicast in ANOTHER group is not delivered here."""
        return any(other != group for other in self._undelivered)

    def is_clear(self, group: GroupNumber) -> bool:
        """Whether a plain multicast would be delivered here at once, and carry nothing."""
        mine, gate = self._groups[group], self._gates[group]
        return (
            mine.delivered[mine.rank] == mine.sent
            and not gate.total.unsaid
            and not gate.uniform.is_active
            and not self._has_written
            and not self._undelivered
            and not self.is_frozen
        )

    def _forget(self, group: int) -> None:
        """A view of a group ends."""
        for noted in (self._has_written, self._undelivered, self._unconfirmed, self.restless):
            noted.pop(group, None)
