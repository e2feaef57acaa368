"""What is held for something that may never come: the members of the group concerned are asked.

Law. A run may name, of another group, messages that nobody has multicast or a view that nobody has
installed: its sender lies, or was lied to. Where something is held for what is not here, at one
heartbeat and still at the next, the members of that group are asked how far it is. Then

- messages that their sender, asked after they were named, has not multicast, were not multicast
  when they were named;
- a view after the present one has not been decided, let alone installed, if a quorum of the
  present one, asked after it was named, have neither learnt of a later one nor accepted a proposal
  for one: two quorums share a member (``membership.agreement``). Of a view of another lineage, that
  somebody has taken the group over for, all have to say so (``membership.takeover``).

What is proved false like that is waited for no longer by what came before the question was asked;
and by what comes later only if it may be so by then (``ordering.falsehoods``). So nothing true is
overtaken but by the word of a member that lies about itself, and what a lie has hidden from those
who were lied to. Who named it of a group that it is in itself is rejected when it says the next
thing; of others it may have been lied to. Who asks and is out of the group hears that: what it
holds names a view without it.

Cost: nothing while nothing is held for two heartbeats. Else, in a heartbeat with new cases, one
question to each member of the group, and an answer.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from antiphon.core.control import HowFar, HowFarAsked
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View, lineage_of
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.own_stamps import VIEW


class Asking(Protocol):
    """What is asked of a process's part in one of its groups."""

    me: ProcessId

    @property
    def view(self) -> View | None:
        """The current view; None outside."""

    @property
    def is_last_view(self) -> bool:
        """Whether no later view is known here, nor was a proposal for one accepted."""

    def tell(self, message: HowFarAsked, /) -> None:
        """Say something to all other members of the current view."""


class Inquiry(NamedTuple):
    """A run that is held for something of another group."""

    run: Run
    rank: int
    number: int
    """The messages of this member up to this one; or, with the rank ``VIEW``, this view."""
    question: int
    """Answers to this question count, and to later ones."""
    place: int
    """What was received before this place was so before the question was asked."""
    liar: ProcessId | None
    """Who has named it of its own knowledge, if it does."""


class Lacks:
    """What one process asks, for one causality domain."""

    __slots__ = (
        "_answers", "_beats", "_before", "_entered", "_inquiries", "_known", "_ordering", "_parts",
        "_question", "has_found", "liars",
    )  # fmt: skip

    def __init__(self, ordering: MixedDomain, parts: Mapping[GroupNumber, Asking]) -> None:
        """Ask nothing yet."""
        self._ordering = ordering
        self._parts = parts
        self._before: dict[int, tuple[Run, ProcessId | None]] = {}
        """What was held for another group at the last heartbeat, by its identity; and who knows."""
        self._beats = 0
        self._entered: dict[GroupNumber, int] = {}
        """After which heartbeat the present view of each group began."""
        self._inquiries: dict[GroupNumber, list[Inquiry]] = {}
        self._answers: dict[GroupNumber, dict[ProcessId, HowFar]] = {}
        self._known: dict[tuple[GroupNumber, int], int] = {}
        """By group and rank: so many messages were multicast, as their sender says."""
        self._question = 0
        self.has_found = False
        """Whether something held may be ready by what was found not to be."""
        self.liars: dict[ProcessId, str] = {}
        """Who has named what is not so, of a group that it is in, by ``bare`` ids; and what."""

    def enter_view(self, group: GroupNumber) -> None:
        """A view of a group begins: what was asked of the one before has no answer."""
        self.leave(group)
        self._entered[group] = self._beats

    def leave(self, group: GroupNumber) -> None:
        """The process is in a group no longer."""
        self._inquiries.pop(group, None)
        self._answers.pop(group, None)
        self._entered.pop(group, None)
        self._known = {key: count for key, count in self._known.items() if key[0] != group}

    def check(self, peer: ProcessId) -> None:
        """Reject who has been found out, when it says something."""
        if self.liars and (why := self.liars.get(peer.bare())):
            raise PeerError(why)

    # Asking.

    def look(self) -> list[GroupNumber]:
        """Ask about what is held as it was a heartbeat ago; return the groups asked."""
        self._beats += 1
        if not self._ordering.queue_depth and not self._before:
            return []
        held: dict[int, tuple[Run, ProcessId | None]] = {}
        new: dict[GroupNumber, list[Inquiry]] = {}
        for run, (number, rank, count) in self._ordering.waiting():
            group = GroupNumber(number)
            part = self._parts.get(group)
            if part is None or number == run.group or not self._is_far(group, part, rank, count):
                continue
            before = self._before.get(id(run))
            if before is None:
                held[id(run)] = run, self._who_knows(group, part, run)
                continue
            held[id(run)] = before
            if not self._is_asked(group, run, rank, count):
                place = self._ordering.arrive()
                inquiry = Inquiry(run, rank, count, self._question + 1, place, before[1])
                new.setdefault(group, []).append(inquiry)
        self._before = held
        for group, inquiries in new.items():
            self._ask(group, inquiries)
        return list(new)

    def _is_far(self, group: GroupNumber, part: Asking, rank: int, count: int) -> bool:
        """Whether something is not here of which others can say how far it is."""
        if part.view is None:
            return False
        if rank == VIEW:
            return part.is_last_view
        known = max(self._known.get((group, rank), 0), self._ordering.received_of(group, rank))
        return known < count

    def _is_asked(self, group: GroupNumber, run: Run, rank: int, count: int) -> bool:
        return any(
            inquiry.run is run and (inquiry.rank, inquiry.number) == (rank, count)
            for inquiry in self._inquiries.get(group, ())
        )

    def _who_knows(self, group: GroupNumber, part: Asking, run: Run) -> ProcessId | None:
        """Return the sender of a run that came in the present view of a group, if it is in that.

        A run that came before may be of a time when its sender was not in the group.
        """
        own = self._parts.get(run.group)
        view, theirs = part.view, own.view if own is not None else None
        if view is None or theirs is None or run.view != theirs.number:
            return None
        sender = theirs.members[run.sender]
        joined = {member.bare() for member in view.joined}
        here = {member.bare() for member in view.members} - joined
        # It came after the last heartbeat.
        is_since = self._entered.get(group, 0) < self._beats - 1
        return sender if is_since and sender.bare() in here else None

    def _ask(self, group: GroupNumber, inquiries: list[Inquiry]) -> None:
        self._question = question = inquiries[0].question
        self._inquiries.setdefault(group, []).extend(inquiries)
        part = self._parts[group]
        part.tell(HowFarAsked(_number_of(part.view), question))
        if part.view is not None and len(part.view.members) == 1:
            self._judge(group, part.view)

    # Answers.

    def hear(self, group: GroupNumber, peer: ProcessId, said: HowFar) -> None:
        """A member of a group says how far it is."""
        part = self._parts[group]
        view = part.view
        if view is None or said.number != view.number or peer not in view.members:
            return
        if group not in self._inquiries:
            return
        self._answers.setdefault(group, {})[peer] = said
        self._judge(group, view)

    def _judge(self, group: GroupNumber, view: View) -> None:
        answers = self._answers.get(group, {})
        kept: list[Inquiry] = []
        for inquiry in self._inquiries.pop(group, ()):
            since = {who: one for who, one in answers.items() if one.question >= inquiry.question}
            verdict = self._is_false(group, view, inquiry, since)
            if verdict:
                self._disbelieve(group, view, inquiry)
            elif verdict is None:
                kept.append(inquiry)
        if kept:
            self._inquiries[group] = kept
        else:
            self._answers.pop(group, None)

    def _is_false(
        self, group: GroupNumber, view: View, inquiry: Inquiry, answered: Mapping[ProcessId, HowFar]
    ) -> bool | None:
        """Whether what a inquiry waits for is not so; None: that is not known yet."""
        if inquiry.rank != VIEW:
            said = answered.get(view.members[inquiry.rank])
            if said is not None and said.sent >= inquiry.number:
                self._known[group, inquiry.rank] = said.sent  # it is on its way
            return said.sent < inquiry.number if said is not None else None
        part = self._parts[group]
        agreed = [who for who, one in answered.items() if one.is_last]
        has_all = len(agreed) == len(view.members) - 1
        is_taken_over = lineage_of(inquiry.number) != view.lineage  # a quorum may not know of it
        if part.is_last_view and (
            has_all or (not is_taken_over and view.has_quorum([part.me, *agreed]))
        ):
            return True
        # Who says otherwise is about to be in another view, or to come to this one: ask again.
        return None if len(answered) < len(view.members) - 1 else False

    def _disbelieve(self, group: GroupNumber, view: View, inquiry: Inquiry) -> None:
        run = inquiry.run
        self._ordering.disbelieve(group, inquiry.rank, inquiry.number, inquiry.place)
        self.has_found = True
        own = self._parts.get(run.group)
        if inquiry.liar is not None and own is not None and own.view is not None:
            if inquiry.rank == VIEW:
                what = f"view {inquiry.number}, and there is none after view {view.number}"
            else:
                what = (
                    f"message {inquiry.number} of {view.members[inquiry.rank]}, who has sent fewer"
                )
            why = f"of group {view.group}, in group {own.view.group}, a stamp names {what}"
            self.liars[inquiry.liar.bare()] = why


def _number_of(view: View | None) -> int:
    return view.number if view is not None else 0
