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

With k = 1 nothing is waited for of a group that all members of g's view are in as well, and whose
flush is view-atomic: channels are FIFO, whatever the group, so who gets the run has got before what
it depends on, and if the sender alone fails that one brings it to the others of that group. It is
true because who has failed in one group is listened to in none (proof: ``membership.failures``).

Who waits asks (``ReceiptsAsked``): one round trip, not a heartbeat. With k of 2 or more nothing is
delivered meanwhile, so that the past does not grow faster than it becomes safe (000-20), unless a
group that is waited for is blocked, which may last; receipts go on, so nobody waits for a delivery
of who waits: no circle. A view of the other group that is left ends the wait: its flush has seen to
what was received.

Before that, what the process has multicast in other groups must have been delivered to itself:
total order and uniform delivery are of one group, and could wait for each other
(``ordering.mixed``).

Letters hold up all groups of a domain until they are acknowledged (000-24).

Where its overlaps are declared (``ordering.structure``), stamps are limited to what is needed. That
speaks of names and stamps speak of numbers, so who stamps a run says once in each view how the
groups are called that it names (``GroupsNamed``). The stamp of a group whose name is not known, or
is said to be one and another, rides along: that is always safe.

FIFO multicasts depend on nothing of another group, and wait for none of this; nor do lists of the
total order (``ordering.mixed``).

Cost, with one group: one test for each run. With more: what has changed since the last look.
"""

from collections.abc import Iterable
from typing import Protocol

from antiphon.core.control import (
    AnyMessage,
    EpochSaid,
    Forgettable,
    ForgettingAsked,
    GroupsNamed,
    HeardOf,
    ReceiptsAsked,
)
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign, Stamp
from antiphon.core.views import View
from antiphon.membership.transition import Transition
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.own_stamps import VIEW
from antiphon.ordering.stability import Stability
from antiphon.ordering.structure import Structure
from antiphon.stack.epochs import Epochs
from antiphon.stack.lacks import Lacks
from antiphon.stack.names import KnownNames
from antiphon.stack.nesting import Nesting
from antiphon.stack.program_order import ProgramOrder

ALL = 1 << 20
"""The resilience that waits for all members: there are fewer in any view."""


class Participation(Protocol):
    """What a domain asks of a process's part in one of its groups."""

    letters: Letters
    me: ProcessId

    @property
    def view(self) -> View | None:
        """The current view; None outside."""

    @property
    def is_last_view(self) -> bool:
        """Whether no later view is known here, nor was a proposal for one accepted."""

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""

    @property
    def stability(self) -> Stability:
        """What is known to have reached whom in the current view."""

    @property
    def view_number(self) -> int:
        """The number of the current view."""

    @property
    def is_view_atomic(self) -> bool:
        """Whether who goes on is brought all that any who goes on has received."""

    @property
    def is_blocked(self) -> bool:
        """Whether too few members can be reached to go on."""

    def early_count(self, peer: ProcessId, view_number: int) -> int:
        """Return how many messages of a process have come for a view still to be installed."""

    def early_from(self, rank: int, view_number: int) -> int:
        """Return how many messages of a member have come for a view still to be installed."""

    @property
    def transition(self) -> Transition:
        """The current view, and those that are agreed on since."""

    def tell(self, message: AnyMessage, *, later: bool = False) -> None:
        """Say something to all other members of the current view, and perhaps of later ones."""

    def ask_for_acknowledgement(self) -> None:
        """There is something to send: see to it that no letter holds it up for long."""


class Domain:
    """What the groups of one causality domain share in one process."""

    __slots__ = (
        "_asked", "_hurried", "_is_flushing", "_looked_at", "_nesting", "_past_of",
        "_risky", "_unknown", "_words", "awaits_receipts", "closing", "epochs", "is_shared",
        "lacks", "names", "ordering", "parts", "program", "resilience", "writing",
    )  # fmt: skip

    def __init__(self, resilience: int = 1, structure: Structure | None = None) -> None:
        """Start without a group; ``structure`` says which may overlap, if that is declared."""
        assert resilience >= 1, "a message that nobody has got is lost with its sender"
        self.resilience = resilience
        self.names = KnownNames(structure)
        """How groups are called, where that matters."""
        self.parts: dict[GroupNumber, Participation] = {}
        """The process's part in each group."""
        self._nesting = Nesting(self.parts)
        self.ordering = MixedDomain()
        """One order of delivery."""
        if structure is not None:
            self.ordering.may_name = self.names.may_ride
        else:
            self.ordering.encloses = self._nesting.tells_for
        self.lacks = Lacks(self.ordering, self.parts)
        """What is asked about what may never come."""
        self.program = ProgramOrder()
        """One order of sending."""
        self.is_shared = False
        """Whether there is more than one group: asked for every run."""
        self.epochs: Epochs | None = None
        """What goes round by excluded groups, if there are any."""
        if structure is not None and structure.excluded:
            self.epochs = Epochs(self.parts, self.ordering, self.names)
        self._risky: dict[GroupNumber, None] = {}
        """Groups with messages here that too few may have received."""
        self._past_of: dict[GroupNumber, frozenset[GroupNumber]] = {}
        """By group: itself, and those that come first (``_comes_first``) in the views of now."""
        self._asked: dict[GroupNumber, ReceiptsAsked] = {}
        self.writing: dict[GroupNumber, None] = {}
        """Groups in which a letter may wait for its acknowledgement."""
        self.closing: dict[GroupNumber, None] = {}
        """Groups whose flush has ended, and whose last messages wait for other groups."""
        self._looked_at: dict[GroupNumber, None] = {}
        self._hurried: dict[
            tuple[GroupNumber, int], tuple[dict[int, int], dict[GroupNumber, None]]
        ] = {}
        """By own group and view: what somebody waits to hear that everybody has, and who."""
        self._unknown: dict[tuple[int, int, int], dict[ProcessId, None]] = {}
        """By group that was asked, group and view: who of it cannot say."""
        self._words: dict[tuple[int, int, int], int] = {}
        """What may be forgotten, as others said; by group, view and rank."""
        self.awaits_receipts = False
        """Whether what was looked at last has to wait for receipts, of groups that go on, and for
        nothing else."""
        self._is_flushing = False

    # Its groups.

    def add(self, group: GroupNumber, part: Participation) -> None:
        """Begin to take part in a group, or to ask for that."""
        assert group not in self.parts, "a group is in a domain once"
        self.parts[group] = part
        self.is_shared = len(self.parts) > 1

    def remove(self, group: GroupNumber) -> None:
        """Take part in a group no longer."""
        self.parts.pop(group, None)
        self._past_of.clear()
        if self.epochs is not None:
            self.epochs.leave(group)
        self.names.leave(group)
        self.lacks.leave(group)
        self.is_shared = len(self.parts) > 1
        for noted in (self._risky, self._asked, self.writing, self.closing, self._looked_at):
            noted.pop(group, None)
        self._nesting.leave(group)

    def enter_view(self, group: GroupNumber) -> None:
        """A view of a group begins: of what was before nothing can be lost any more."""
        self._past_of.clear()
        self._risky.pop(group, None)
        self._asked.pop(group, None)
        self.closing.pop(group, None)
        self.names.enter_view(group)
        self.lacks.enter_view(group)
        if self.epochs is not None:
            self.epochs.enter_view(group)

    # What is to be looked at again.

    def look_at(self, group: GroupNumber) -> None:
        """Something has come about in a group by what happened in another."""
        self._looked_at[group] = None

    @property
    def is_restless(self) -> bool:
        """Whether anything may be to do in a group by what has happened in another."""
        ordering = self.ordering
        return bool(
            self._looked_at
            or self.closing
            or self._hurried
            or ordering.restless
            or ordering.is_frozen
            or self.lacks.has_found
            or self.program.waiting
            or self.epochs is not None
        )

    def take_restless(self) -> list[GroupNumber]:
        """Return the groups in which something may be to do, by what has happened in others."""
        noted = self._looked_at
        noted |= self.closing
        for group in self.ordering.restless:
            noted[GroupNumber(group)] = None
        self.ordering.restless.clear()
        self._looked_at = {}
        return [group for group in noted if group in self.parts]

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
        first = self._past_of.get(group)
        if first is None:
            first = self._past_of[group] = frozenset(
                other for other in self.parts if other == group or self._comes_first(other, group)
            )
        if self._risky.keys() <= first:  # nearly always, where all are in all groups
            return True
        is_safe, is_blocked = True, False
        for other in [other for other in self._risky if other not in first]:
            missing = tuple(sorted(self._missing(other, self.parts[other])))
            if missing:
                is_safe = False
                is_blocked = is_blocked or self.parts[other].is_blocked
                self._ask(other, missing)
            else:
                del self._risky[other]
        # Where a group is blocked it may take long: the others are to be read meanwhile.
        self.awaits_receipts = not is_safe and not is_blocked
        if self.awaits_receipts and self.resilience > 1:
            self.ordering.is_frozen = True
        return is_safe

    def _comes_first(self, other: GroupNumber, group: GroupNumber) -> bool:
        """Whether what was multicast in ``other`` is safe by the very channels of ``group``."""
        return self.resilience == 1 and self._nesting.encloses(other, group)

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
        part = self.parts[group]
        before = self._asked.get(group)
        known = dict(before.wanted) if before is not None else {}
        if all(known.get(rank, 0) >= count for rank, count in missing):
            return
        # They answer the last question of each: so it is for all that is still waited for.
        wanted = known | dict(missing)
        self._asked[group] = ReceiptsAsked(part.view_number, tuple(sorted(wanted.items())))
        part.tell(self._asked[group])
        self.look_at(group)

    # What somebody waits for to be everywhere (``flushes``).

    def note_flush(self, *, is_pending: bool) -> None:
        """Somebody here waits for words of others; or, if not so, nobody does any more."""
        self._is_flushing = is_pending
        if not is_pending:
            self._words.clear()
            self._unknown.clear()

    def view_of(self, group: int) -> int:
        """Return the number of the view of a group that the process is in; 0: it is in none."""
        part = self.parts.get(GroupNumber(group))
        return part.view_number if part is not None else 0

    def still_named(self, group: int, view: int, wanted: dict[int, int]) -> dict[int, int]:
        """Return which entries of a group that the process is not in may not be forgotten yet."""
        knowledge = self.ordering.knowledge
        known = knowledge.foreign.get(group) if knowledge is not None else None
        if known is None or known.view != view:
            return {}
        words = self._words
        return {
            rank: count
            for rank, count in wanted.items()
            if rank in known.counts and words.get((group, view, rank), -1) < count
        }

    def hurry(self, stamps: Foreign, via: GroupNumber) -> Foreign:
        """Somebody in group ``via`` waits to hear that everybody has what these entries name.

        Who is in a group asks its members for receipts, and gives the word; what is returned
        nobody can be told by this process, for it is not in the group.
        """
        unknown: list[tuple[int, int, Stamp]] = []
        for group, view, entries in stamps:
            number = GroupNumber(group)
            if not 0 < view <= self.view_of(number):
                unknown.append((group, view, entries))
            else:
                wanted, tell = self._hurried.setdefault((number, view), ({}, {}))
                wanted.update(entries)
                tell[via] = None
        self.look_at_hurried()
        return tuple(unknown)

    def look_at_hurried(self) -> None:
        """Give the word that somebody waits for, if it may be given; ask for receipts if not."""
        for (group, view), (wanted, tell) in list(self._hurried.items()):
            current = self.view_of(group)
            missing = self._still_needed(group, wanted) if current == view else {}
            # That a view need not be named any more nobody may know, ever (``reach``).
            is_doubted = missing.keys() == {VIEW} and self.ordering.is_installed_everywhere(group)
            if missing and not is_doubted:
                self.parts[group].stability.note_receipts()
                self._ask(group, tuple(item for item in missing.items() if item[0] != VIEW))
                continue
            del self._hurried[group, view]
            known = tuple(item for item in sorted(wanted.items()) if item[0] not in missing)
            if is_doubted or not current:
                unknown = ForgettingAsked(((group, view, tuple(missing.items())),), unknown=True)
                for via in tell:
                    if via in self.parts:
                        self.parts[via].tell(unknown)
                        self.look_at(via)
            if current and (known or not is_doubted):
                is_left = current == view or self.ordering.is_left_by_all(group)
                # Who may have that view still to leave is named the new one in its place.
                word = (group, view, known) if is_left else (group, current, ())
                self._pass_on([(via, (word,)) for via in tell])

    def _still_needed(self, group: GroupNumber, wanted: dict[int, int]) -> dict[int, int]:
        past = self.ordering.past(group)
        here = {rank: count for rank, count in wanted.items() if count <= past.get(rank, -1)}
        not_here = wanted.keys() - here.keys()  # nobody asks for what was never multicast
        return self.ordering.still_needed(group, here) | {
            rank: wanted[rank] for rank in not_here if rank < len(self.parts[group].members)
        }

    def hear_unknown(self, stamps: Foreign, via: GroupNumber, peer: ProcessId) -> None:
        """A member that was asked is not in the group concerned, and cannot say."""
        for group, view, _ in stamps:
            if self._is_flushing:
                self._unknown.setdefault((via, group, view), {})[peer] = None

    def can_tell(self, via: GroupNumber, group: int, view: int) -> bool:
        """Whether some other member of group ``via`` has not said that it cannot say."""
        part, denied = self.parts[via], self._unknown.get((via, group, view), {})
        return len([who for who in part.members if who not in denied]) > 1

    # Letters.

    def note_letter(self, group: GroupNumber) -> None:
        """A letter has been sent in a group."""
        self.writing[group] = None

    def awaits_letter(self, group: GroupNumber) -> bool:
        """Whether a letter of another group is still to be acknowledged; if so, ask for that."""
        for other in list(self.writing):
            if self.parts[other].letters.waiting_for is None:
                del self.writing[other]
            elif other != group:
                self.parts[other].ask_for_acknowledgement()
                self.look_at(other)
                return True
        return False

    # Names.

    def name_groups(self, group: GroupNumber, stamps: Foreign) -> None:
        """Say to a group how others are called, ahead of stamps that name them, if that matters."""
        if self.names.structure is not None and stamps:
            unsaid = self.names.unsaid(group, stamps)
            if unsaid:
                self.parts[group].tell(GroupsNamed(unsaid))

    # What members of a group say of others.

    def take_word(
        self,
        word: Forgettable | ForgettingAsked | GroupsNamed | EpochSaid | HeardOf,
        via: GroupNumber,
        peer: ProcessId,
    ) -> None:
        """Take what a member of a group says of other groups."""
        match word:
            case Forgettable(stamps):
                self.forget(stamps, via)
            case ForgettingAsked(stamps, unknown=True):
                self.hear_unknown(stamps, via, peer)
            case ForgettingAsked(stamps):
                if unknown := self.hurry(stamps, via):
                    self.parts[via].tell(ForgettingAsked(unknown, unknown=True))
            case GroupsNamed(names):
                self.names.hear(names)
            case EpochSaid() | HeardOf():
                if self.epochs is not None:
                    self.epochs.hear(via, peer, word)

    # Old stamps.

    def collect(self) -> None:
        """Tell the groups which entries of others' stamps they may forget; every heartbeat.

        And ask about what may never come.
        """
        for group in self.lacks.look() if self.is_shared else ():
            self.look_at(group)
        knowledge = self.ordering.knowledge
        if knowledge is not None:
            self._pass_on(knowledge.collectable())

    def _pass_on(self, told: list[tuple[int, Foreign]]) -> None:
        for number, words in told:
            group = GroupNumber(number)
            if group in self.parts:
                self.parts[group].tell(Forgettable(words))
                self.look_at(group)

    def forget(self, words: Foreign, via: GroupNumber) -> None:
        """A member of a group says what may be forgotten: forget it, and pass that on in time."""
        knowledge = self.ordering.knowledge
        if knowledge is None:
            return
        if self._is_flushing:
            for group, view, entries in words:
                for rank, count in entries:
                    self._words[group, view, rank] = count
        knowledge.forget(words, via)
