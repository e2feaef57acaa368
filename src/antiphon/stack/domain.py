"""A causality domain in one process: what its groups there share (ISIS 6, 7.3).

Law: one order of delivery for all groups of a domain (one ordering machine, one delay queue), one
program order for what is sent in them, and one question before a multicast leaves for a group:

Resilience (ISIS 6.5). With ``resilience`` k, a run leaves for group g only when all that its sender
has multicast in other groups, and with k of 2 or more also all that it has delivered there, is
known to have been received by k members beside its sender, or by all others where there are fewer.
Then up to k crashes lose nothing that another group's message depends on. What is delivered here
has one receiver beside its sender by that, so k = 1 waits for own messages only. ``ALL`` is the
conservative rule of ISIS 6.7: everything has reached everybody, and hardly any stamp of another
group is needed.

Who waits asks (``ReceiptsAsked``): one round trip, not a heartbeat. With k of 2 or more nothing is
delivered meanwhile, so that the past does not grow faster than it becomes safe (000-20); receipts
go on, so nobody waits for a delivery of who waits: no circle. A view of the other group that is
left ends the wait: its flush has seen to what was received.

Before that, what the process has multicast in other groups must have been delivered to itself:
total order and uniform delivery are of one group, and could wait for each other
(``ordering.mixed``).

Letters hold up all groups of a domain until they are acknowledged (000-24).

FIFO multicasts depend on nothing of another group, and wait for none of this; nor do lists of the
total order (``ordering.mixed``).

Cost, with one group: one test for each run. With more: what has changed since the last look.
"""

from collections.abc import Iterable
from typing import Protocol

from antiphon.core.control import AnyMessage, Forgettable, ReceiptsAsked
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.stack.program_order import ProgramOrder

ALL = 1 << 20
"""The resilience that waits for all members: there are fewer in any view."""


class Participation(Protocol):
    """What a domain asks of a process's part in one of its groups."""

    letters: Letters

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""

    @property
    def stability(self) -> Stability:
        """What is known to have reached whom in the current view."""

    @property
    def view_number(self) -> int:
        """The number of the current view."""

    def tell(self, message: AnyMessage) -> None:
        """Say something to all other members of the current view."""

    def ask_for_acknowledgement(self) -> None:
        """There is something to send: see to it that no letter holds it up for long."""


class Domain:
    """What the groups of one causality domain share in one process."""

    __slots__ = (
        "_asked", "_looked_at", "_parts", "_risky", "_writing", "awaits_receipts", "closing",
        "ordering", "program", "resilience",
    )  # fmt: skip

    def __init__(self, resilience: int = 1) -> None:
        """Start without a group."""
        assert resilience >= 1, "a message that nobody has got is lost with its sender"
        self.resilience = resilience
        self.ordering = MixedDomain()
        """One order of delivery."""
        self.program = ProgramOrder()
        """One order of sending."""
        self._parts: dict[GroupNumber, Participation] = {}
        self._risky: dict[GroupNumber, None] = {}
        """Groups with messages here that too few may have received."""
        self._asked: dict[GroupNumber, ReceiptsAsked] = {}
        self._writing: dict[GroupNumber, None] = {}
        """Groups in which a letter may wait for its acknowledgement."""
        self.closing: dict[GroupNumber, None] = {}
        """Groups whose flush has ended, and whose last messages wait for other groups."""
        self._looked_at: dict[GroupNumber, None] = {}
        self.awaits_receipts = False
        """Whether what was looked at last has to wait for receipts, and for nothing else."""

    # Its groups.

    @property
    def is_shared(self) -> bool:
        """Whether there is more than one group."""
        return len(self._parts) > 1

    def add(self, group: GroupNumber, part: Participation) -> None:
        """Begin to take part in a group, or to ask for that."""
        assert group not in self._parts, "a group is in a domain once"
        self._parts[group] = part

    def remove(self, group: GroupNumber) -> None:
        """Take part in a group no longer."""
        self._parts.pop(group, None)
        for noted in (self._risky, self._asked, self._writing, self.closing, self._looked_at):
            noted.pop(group, None)

    def enter_view(self, group: GroupNumber) -> None:
        """A view of a group begins: of what was before nothing can be lost any more."""
        self._risky.pop(group, None)
        self._asked.pop(group, None)
        self.closing.pop(group, None)

    # What is to be looked at again.

    def look_at(self, group: GroupNumber) -> None:
        """Something has come about in a group by what happened in another."""
        self._looked_at[group] = None

    def take_restless(self) -> list[GroupNumber]:
        """Return the groups in which something may be to do, by what has happened in others."""
        noted = self._looked_at
        noted |= self.closing
        for group in self.ordering.restless:
            noted[GroupNumber(group)] = None
        self.ordering.restless.clear()
        self._looked_at = {}
        return [group for group in noted if group in self._parts]

    # What is at risk.

    def note_sent(self, group: GroupNumber) -> None:
        """Something was multicast in a group."""
        self._risky[group] = None

    def note_delivered(self, group: int) -> None:
        """Something of a group was delivered; with a resilience of 1, it has been received."""
        if self.resilience > 1:
            self._risky[GroupNumber(group)] = None

    def is_safe_for(self, group: GroupNumber) -> bool:
        """Whether a run may leave for a group, as far as others are concerned; if not, ask."""
        self.awaits_receipts = False
        if self.ordering.has_undelivered(group):
            return False  # deliveries go on: it is one of them that is waited for
        is_safe = True
        for other in [other for other in self._risky if other != group]:
            missing = tuple(sorted(self._missing(other, self._parts[other])))
            if missing:
                is_safe = False
                self._ask(other, missing)
            else:
                del self._risky[other]
        self.awaits_receipts = not is_safe
        if not is_safe and self.resilience > 1:
            self.ordering.is_frozen = True
        return is_safe

    def _missing(self, group: GroupNumber, part: Participation) -> Iterable[tuple[int, int]]:
        """Yield what is still to be received by somebody, by rank and number."""
        others = len(part.members) - 1
        if others < 1:
            return
        stability = part.stability
        wanted = min(self.resilience, others)
        for rank, count in self._past(group, stability.rank):
            if stability.receivers(rank, count) < wanted:
                yield rank, count

    def _past(self, group: GroupNumber, me: int) -> Iterable[tuple[int, int]]:
        """Yield what the process has multicast, and delivered where that matters, in a group."""
        sent = self.ordering.received_of(group, me)
        if sent:
            yield me, sent
        if self.resilience > 1:
            for rank, count in enumerate(self.ordering.delivered(group)):
                if count and rank != me:
                    yield rank, count

    def _ask(self, group: GroupNumber, missing: tuple[tuple[int, int], ...]) -> None:
        """Ask the members of a group to say when they have received this, once."""
        part = self._parts[group]
        before = self._asked.get(group)
        known = dict(before.wanted) if before is not None else {}
        if any(known.get(rank, 0) < count for rank, count in missing):
            self._asked[group] = ReceiptsAsked(part.view_number, missing)
            part.tell(self._asked[group])
            self.look_at(group)

    # Letters.

    def note_letter(self, group: GroupNumber) -> None:
        """A letter has been sent in a group."""
        self._writing[group] = None

    def awaits_letter(self, group: GroupNumber) -> bool:
        """Whether a letter of another group is still to be acknowledged; if so, ask for that."""
        for other in list(self._writing):
            if self._parts[other].letters.waiting_for is None:
                del self._writing[other]
            elif other != group:
                self._parts[other].ask_for_acknowledgement()
                self.look_at(other)
                return True
        return False

    # Old stamps.

    def collect(self) -> None:
        """Tell the groups which entries of others' stamps they may forget; every heartbeat."""
        knowledge = self.ordering.knowledge
        if knowledge is not None:
            self._pass_on(knowledge.collectable())

    def forget(self, words: Foreign, via: GroupNumber) -> None:
        """A member of a group says what may be forgotten: forget it, and pass that on."""
        knowledge = self.ordering.knowledge
        if knowledge is not None:
            self._pass_on(knowledge.forget(words, via))

    def _pass_on(self, told: list[tuple[int, Foreign]]) -> None:
        for number, words in told:
            group = GroupNumber(number)
            if group in self._parts:
                self._parts[group].tell(Forgettable(words))
                self.look_at(group)
