"""Multicast epochs (ISIS 6.7, corrected by 000-22 and 000-23): what goes round by excluded groups.

Where a domain excludes groups (``ordering.structure``), stamps are limited as if those overlapped
nothing. What could come round by one of them is told apart by its epoch.

Law. A process that has multicast, delivered or installed something in one group since its last
epoch began, and multicasts in another, begins the next epoch if one of the two is excluded; and so
it does before its first multicast after it has left a group (the phantom circle, 000-23). A run is
delivered when its receiver has entered the run's epoch. An epoch is entered when every member of
every group of the process has said that what it multicasts there from now on is of that epoch or a
later one (``EpochSaid``), and all that was of earlier ones has been delivered here. So of two
messages the one depends on the other by groups none of which is excluded, and stamps do; or its
epoch is later, and it waits for all that is earlier.

Said and entered are two things (000-22 (d)). Who learns of an epoch says it at once in ALL its
groups (000-22 (c)), and stamps what it multicasts with it, but delivers as before.

Wire. The epoch rides as the view of a group that does not exist (``EPOCHS``), on the first run to
each group in each view, and on every total one.

Views. Who joins a group is told its epoch with all else (``newcomers``), and multicasts nothing
there before. What is said in a view that is still to be installed here counts from then on; what
was said in an earlier one holds. Of a view whose flush has ended nothing more can come, and who
installs the next one has delivered what is left over: so that may enter its own epoch, whoever
has died without a word. Where an epoch is not known in a group that was just joined, the process
goes back to the earlier one. Of a member that fails, all has come when nobody who goes on has, or
will have, more of it than there is here (``failing``).

Nobody waits for who waits: words are said upon receipt. A group in a minority holds up what is of
later epochs at its members; and elsewhere what waits for turns or marks that they have to give.

FIFO multicasts depend on nothing, and begin no epoch.

Cost: for each epoch, one control message from everybody to everybody in all groups that are
reached, and a run of that epoch waits for about one round trip. Nothing without excluded groups.
"""

from collections.abc import Mapping
from typing import Protocol

from antiphon.core.control import AnyMessage, EpochSaid, HeardOf
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign, Run
from antiphon.membership.transition import Transition
from antiphon.ordering.knowledge import FOUNDING, epoch_of
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.stack.early import EARLY_ALIVE_MAX
from antiphon.stack.failing import Failing
from antiphon.stack.names import KnownNames

FIRST = FOUNDING
"""The epoch of who has said none: it is on no run."""

EPOCH_MAX = 1 << 60
"""More epochs than there will be: whoever names a later one lies."""


class Speaking(Protocol):
    """What epochs ask of a process's part in a group."""

    me: ProcessId

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""

    @property
    def transition(self) -> Transition:
        """The current view, and those that are agreed on since."""

    def early_from(self, rank: int, view_number: int) -> int:
        """Return how many messages of a member have come for a view still to be installed."""

    @property
    def stability(self) -> Stability:
        """What knows the process's rank."""

    @property
    def view_number(self) -> int:
        """The number of the current view."""

    def early_count(self, peer: ProcessId, view_number: int) -> int:
        """Return how many messages of a process have come for a view still to be installed."""

    def tell(self, message: AnyMessage, *, later: bool = False) -> None:
        """Say something to all other members of the current view, and perhaps of later ones."""


class Epochs:
    """The epochs of one process in one domain."""

    __slots__ = (
        "_complete", "_early", "_flushed", "_has_left", "_heard", "_marks", "_names", "_ordering",
        "_parts", "entered", "failing", "said", "unsaid_in",
    )  # fmt: skip

    def __init__(
        self, parts: Mapping[GroupNumber, Speaking], ordering: MixedDomain, names: KnownNames
    ) -> None:
        """Begin in the first; ``parts`` always tells in which groups the process is."""
        self._parts, self._ordering, self._names = parts, ordering, names
        self.said = FIRST
        """The epoch of what is multicast here from now on."""
        self.entered = FIRST
        """The epoch up to which runs are delivered."""
        self._flushed = FIRST
        self._has_left = False
        self._heard: dict[GroupNumber, dict[ProcessId, int]] = {}
        self.failing = Failing(parts, ordering)
        """What others have of members that fail."""
        self._complete: dict[GroupNumber, dict[ProcessId, int]] = {}
        """Before which epoch all has come of members that fail in the current view."""
        self._marks: dict[GroupNumber, list[tuple[int, int, int]]] = {}
        """What is to be delivered before an epoch after the one named first; rank and count."""
        self._early: dict[GroupNumber, dict[ProcessId, list[tuple[EpochSaid, int]]]] = {}
        """What was said of views still to be installed, each after how many messages of theirs."""
        self.unsaid_in: dict[GroupNumber, None] = {}
        """Groups in which something has been said: it has to leave."""
        ordering.enter_epoch(FIRST, FIRST)

    # What is multicast.

    def cross(self, group: GroupNumber) -> None:
        """Something causal is about to be multicast in a group: begin an epoch, if need be."""
        if self._has_left or self._goes_round(group):
            self._say(self.said + 1)

    def _goes_round(self, group: GroupNumber) -> bool:
        """Whether something was sent or delivered since, in another group, and one is excluded."""
        knowledge, names = self._ordering.knowledge, self._names
        if knowledge is None:
            return False
        is_out = names.is_excluded(group)
        return any(
            other != group and (is_out or names.is_excluded(other)) for other in knowledge.touched()
        )

    def _say(self, epoch: int) -> None:
        """Be in an epoch with all that is multicast from now on, and say so everywhere."""
        if epoch <= self.said:
            return
        before, self.said = self.said, epoch
        self._has_left = False
        ordering = self._ordering
        ordering.know().begin_epoch(epoch)
        for group, part in self._parts.items():
            if part.members:
                rank = part.stability.rank
                self._mark(group, before, rank, ordering.received_of(group, rank))
                part.tell(EpochSaid(part.view_number, epoch), later=True)
                self.unsaid_in[group] = None

    def _mark(self, group: GroupNumber, epoch: int, rank: int, count: int) -> None:
        marks = self._marks.setdefault(group, [])
        marks += self._ordering.still_held(group, [(epoch, rank, count)])

    # What is heard.

    def hear(self, group: GroupNumber, peer: ProcessId, word: EpochSaid | HeardOf) -> None:
        """A member says of which epoch it is from now on; or what it has of who fails."""
        if isinstance(word, HeardOf):
            self.failing.hear(group, peer, word)
        else:
            self._hear_epoch(group, peer, word)

    def _hear_epoch(self, group: GroupNumber, peer: ProcessId, word: EpochSaid) -> None:
        if word.epoch > EPOCH_MAX:
            message = f"{peer} claims to be in epoch {word.epoch}"
            raise PeerError(message)
        part = self._parts.get(group)
        if part is None:
            return  # it has been left
        if not part.members or word.number > part.view_number:
            words = self._early.setdefault(group, {}).setdefault(peer, [])
            if len(words) >= EARLY_ALIVE_MAX:
                message = f"{peer} speaks ever more of a view that is not installed here"
                raise PeerError(message)
            if not words or word.epoch > words[-1][0].epoch:
                words.append((word, part.early_count(peer, word.number)))
        elif peer in part.members:
            rank = part.members.index(peer)
            is_current = word.number == part.view_number
            count = self._ordering.received_of(group, rank) if is_current else 0
            self._note(group, peer, word.epoch, count)
        self._say(word.epoch)

    def hear_run(self, group: GroupNumber, run: Run) -> None:
        """A run has come, which is its sender's next: whatever it had multicast before is here."""
        epoch = epoch_of(run.foreign)
        if epoch > EPOCH_MAX:
            return  # it waits for ever
        if epoch:
            peer = self._parts[group].members[run.sender]
            self._note(group, peer, epoch, run.first - 1)
            self._say(epoch)

    def hear_past(self, group: GroupNumber, peer: ProcessId, stamps: Foreign) -> None:
        """A member tells this process, which joins, of its epoch, ahead of all it multicasts."""
        epoch = epoch_of(stamps)
        if FIRST < epoch <= EPOCH_MAX:
            self._note(group, peer, epoch, 0)
            self._say(epoch)

    def _note(self, group: GroupNumber, peer: ProcessId, epoch: int, count: int) -> None:
        """Of a member all has come that is of earlier epochs: so many messages in this view."""
        heard = self._heard.setdefault(group, {})
        before = heard.get(peer, FIRST)
        if epoch > before:
            heard[peer] = epoch
            self._mark(group, before, self._parts[group].members.index(peer), count)

    # Groups and views.

    def enter_view(self, group: GroupNumber) -> None:
        """A view of a group begins: what was of the one before has been delivered, or is lost."""
        self._marks.pop(group, None)
        self._complete.pop(group, None)

    def greet(self, group: GroupNumber, *, is_new: bool) -> None:
        """A view has begun, and what came early is to be taken; say the epoch, if new there."""
        part = self._parts[group]
        heard = self._heard.get(group, {})
        self.failing.enter_view(group, part.members)
        self._heard[group] = {who: heard[who] for who in part.members if who in heard}
        if is_new:
            self.tell(group)
        for peer, words in self._early.pop(group, {}).items():
            for word, count in words:
                if word.number > part.view_number:
                    self._early.setdefault(group, {}).setdefault(peer, []).append((word, count))
                elif peer in part.members:
                    is_current = word.number == part.view_number
                    self._note(group, peer, word.epoch, count if is_current else 0)

    def tell(self, group: GroupNumber) -> None:
        """Say the epoch to all who are, or will be, in a group: some of them may not know it."""
        part = self._parts.get(group)
        if self.said > FIRST and part is not None:
            part.tell(EpochSaid(part.view_number, self.said), later=True)
            self.unsaid_in[group] = None

    def leave(self, group: GroupNumber) -> None:
        """A group has been left: what was learnt there must not go round (000-23)."""
        self.failing.leave(group)
        for noted in (self._marks, self._complete, self._early, self.unsaid_in):
            noted.pop(group, None)
        if self._heard.pop(group, None) is not None:
            self._has_left = True

    # What follows.

    def look(self) -> bool:
        """Enter the latest epoch that may be entered; return whether it is another."""
        for group in self._parts:
            self._complete_failing(group)
        reached = self._reached()
        if reached == (self.entered, self._flushed):
            return False
        self.entered, self._flushed = reached
        self._ordering.enter_epoch(*reached)
        self.unsaid_in |= dict.fromkeys(self._parts)  # turns may have been given
        return True

    def _complete_failing(self, group: GroupNumber) -> None:
        """Of members that fail nothing is missing, nor will it come: they need say no epoch."""
        for rank in self.failing.complete(group):
            peer = self._parts[group].members[rank]
            complete = self._complete.setdefault(group, {})
            before = max(self._heard.get(group, {}).get(peer, FIRST), complete.get(peer, FIRST))
            if before < self.said:
                complete[peer] = self.said
                self._mark(group, before, rank, self._ordering.received_of(group, rank))

    def _reached(self) -> tuple[int, int]:
        """Return the epoch before which all has been delivered, and that of receipts."""
        ordering, reached, received = self._ordering, self.said, self.said
        for group, part in self._parts.items():
            if not part.members:
                if ordering.is_expected(group):
                    return FIRST, FIRST  # nobody there has said anything yet
                continue
            heard = self._heard.get(group, {}) | self._complete.get(group, {})
            me = part.stability.rank
            others = (who for rank, who in enumerate(part.members) if rank != me)
            flushed = min((heard.get(who, FIRST) for who in others), default=received)
            if flushed >= received or not ordering.is_closed(group):
                received = min(received, flushed)
            else:  # nothing more comes; but what is left over is delivered in its epoch
                flushed = max(flushed, ordering.last_epoch(group))
            self._marks[group] = ordering.still_held(group, self._marks.get(group, []))
            held = min((epoch for epoch, _, _ in self._marks[group]), default=reached)
            reached = min(reached, flushed, held)
        return reached, received
