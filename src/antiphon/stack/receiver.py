"""What one process receives in one group: runs and letters of its view, and copies of them.

Law. A run is taken if it is of the current view, kept if of a later view (``early``), dropped
otherwise. What is received twice, from its sender and from a relay, is cut to what is new. A copy
of every run is kept until it is known to have reached everybody (``ordering.stability``), or, with
some flushes, until everybody has left its view (``past``): that is what a flush needs to know.

Every run at every member passes ``receive_plain``: the short way of the common case.
"""

from collections.abc import Callable, Container
from contextlib import suppress

from antiphon.core.control import Alive, Confirm, Receipts, ReceiptsAsked
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View
from antiphon.membership.effects import DeliverRuns, Outbox, SendRun
from antiphon.membership.transition import Transition
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.ordering.tree_stability import TreeStability
from antiphon.stack.arrivals import Arrivals
from antiphon.stack.dissemination import Dissemination
from antiphon.stack.domain import Domain
from antiphon.stack.early import SENDERS_UNKNOWN, Early
from antiphon.stack.past import Past
from antiphon.stack.relayed import completed
from antiphon.stack.settings import Limits

GROUP = GroupNumber(0)
"""The group, where a domain has only one and nobody says which."""

ViewOf = Callable[[ProcessId], int]
"""Tells the last view that a process is known to have installed."""


class Receiver:
    """Takes what comes of one group, and keeps what others may lack."""

    __slots__ = (
        "_arrivals", "_asked", "_confirmed_bytes_max", "_dissemination", "_domain", "_letters",
        "_notes_deliveries", "_ordering", "_out", "_past", "_token", "_transition",
        "_unstable_bytes_max", "early", "group", "has_news", "members", "plain_view", "ranks",
        "received_bytes", "stability", "tree",
    )  # fmt: skip

    def __init__(
        self,
        out: Outbox,
        transition: Transition,
        domain: Domain,
        group: GroupNumber,
        letters: Letters,
        limits: Limits,
        token: str | None = None,
        *,
        dissemination: Dissemination | None = None,
    ) -> None:
        """Be outside; deliver to ``out`` what may be delivered.

        With a ``dissemination``, it is that which says what is new.
        """
        self._dissemination = dissemination
        self._arrivals: Arrivals | None = None
        self._out = out
        self._transition = transition
        self._domain = domain
        self._ordering = domain.ordering
        self.group = group
        """The group, as the domain knows it."""
        self._token = token
        self._notes_deliveries = domain.resilience > 1
        self._asked: dict[tuple[ProcessId, bool], ReceiptsAsked] = {}
        self._letters = letters
        self._confirmed_bytes_max = limits.confirmed_bytes
        self._unstable_bytes_max = limits.unstable_bytes
        self._past = Past()
        self.early = Early()
        """What has come of views that are still to be installed."""
        self.stability = Stability(1, 0)
        """What is known to have reached whom in the current view."""
        self.tree: TreeStability | None = None
        """The same, where members tell each other by a tree."""
        self.members: tuple[ProcessId, ...] = ()
        """The members of the current view, by rank; none outside."""
        self.ranks: dict[ProcessId, int] = {}
        self.plain_view = 0
        """The view whose plain runs may take the short way; 0: none, for it is being left."""
        self.received_bytes = 0
        """Payload bytes of others' runs since the last report to them."""
        self.has_news = True
        """Whether anything was received, multicast or delivered since then."""

    @property
    def kept_bytes(self) -> int:
        """Payload bytes of copies kept, of this view and earlier ones."""
        past = self._past
        return self.stability.kept_bytes + (past.kept_bytes if past.views else 0)

    @property
    def is_confirmation_due(self) -> bool:
        """Whether enough was received to tell the senders before the next heartbeat."""
        return self.received_bytes >= self._confirmed_bytes_max

    # What a flush asks (Copies).

    def received(self) -> list[int]:
        """Return, for each member of the current view, how many of its messages were received."""
        return self._ordering.received(self.group)

    def unstable(self, rank: int) -> list[Run]:
        """Return the unstable runs of one member in the current view, in order, to be relayed."""
        runs = list(self.stability.copies.get(rank, ()))
        if not runs or not self._domain.is_shared or self._ordering.encloses is None:
            return runs
        return completed(runs, self.members[rank], self._domain.parts, self._ordering.held())

    def unstable_in_order(self) -> list[Run]:
        """Return all unstable runs of the current view, in the order in which they came."""
        assert self._dissemination is not None, "it is asked where all are relayed"
        return self._arrivals.unstable() if self._arrivals is not None else []

    def unstable_elsewhere(self, staying: Container[ProcessId]) -> list[Run]:
        """Return the runs kept of other views, of senders that are not ``staying``."""
        later = {view.number: view.members for view in self._transition.pending}
        early = (
            one.run
            for one in self.early.runs
            if type(one.run) is not Letter and one.run.view in later
        )
        return [
            *self._past.runs(staying),
            *(
                run
                for run in early
                if run.sender < len(later[run.view]) and later[run.view][run.sender] not in staying
            ),
        ]

    def say_last_words(self) -> None:
        """The current view is about to be left: say which turns were given in it."""
        for run, ready in self._ordering.stop(self.group):
            self.send_own(run, ready)

    def send_own(self, run: Run, ready: list[Run]) -> None:
        """Send a run of this process; deliver what it makes ready."""
        self.keep_own(run)
        self._out.put(SendRun(run, None))
        self.deliver(ready)

    def keep_own(self, run: Run) -> None:
        """Keep a copy of a run of this process."""
        assert run.sender == self.stability.rank, "it is a run of this process"
        self.stability.keep(run)
        self.has_news = True
        if len(self.members) == 1:
            self.stability.release_alone()
        elif self._arrivals is not None:
            self._arrivals.note(run)

    def deliver(self, ready: list[Run]) -> None:
        """Hand over what may be delivered, if anything: of all groups of the domain, in order."""
        if ready:
            self.has_news = self.has_news or any(type(run) is not Letter for run in ready)
            if self._notes_deliveries:
                for run in ready:
                    self._domain.note_delivered(run.group)
            self._out.put(DeliverRuns(ready))

    # What comes.

    def receive_plain(self, peer: ProcessId, run: Run) -> bool:
        """Take a run in the common case; return whether that is so: then deliver it, no more.

        The common case is a plain run of the current view by its own sender, which lacks nothing
        and for which nothing waits, with no newer view agreed on and little unconfirmed. If it is
        not so, nothing has happened.
        """
        if (
            run.view != self.plain_view
            or run.sender >= len(self.members)
            or self.members[run.sender] != peer
            or self.received_bytes + run.byte_count >= self._confirmed_bytes_max
            or self.stability.kept_bytes > self._unstable_bytes_max
            or self._asked
            or not self._ordering.receive_plain(run)
        ):
            return False
        if self._notes_deliveries:
            self._domain.note_delivered(run.group)
        self.stability.keep(run)
        self.received_bytes += run.byte_count
        self.has_news = True
        return True

    def take_run(self, peer: ProcessId, run: Run, *, relayed: bool) -> Run | None:
        """Take a run of the current view or a later one; return what is new of the current one."""
        number = self._transition.number
        if not relayed and run.view == number and not _is_of(self.members, peer, run):
            message = f"a run of member {run.sender} comes from another process, {peer}"
            raise PeerError(message)
        if run.foreign and not relayed:
            _check_foreign(self._ordering, run)
        if run.view > number:
            arrival = self._ordering.arrive()
            senders = 1 if self._dissemination is None else _count_senders(self._transition)
            self.early.keep(peer, run, arrival, relayed=relayed, senders=senders)
        if run.view != number:
            return None
        self._ordering.is_relayed = relayed
        try:
            return self.take_fresh(peer, run)
        finally:
            self._ordering.is_relayed = False

    def take_fresh(self, peer: ProcessId, run: Run) -> Run | None:
        """Take what is new in a run; return it."""
        way = self._dissemination
        fresh = self._fresh_of(run) if way is None else way.take(peer, run)
        if fresh is not None:
            self.accept([fresh])
        return fresh

    def accept(self, fresh: list[Run]) -> None:
        """Take runs, each of them new, and its sender's next; deliver what can be together."""
        ready: list[Run] = []
        ordering, stability, arrivals = self._ordering, self.stability, self._arrivals
        for run in fresh:
            ready += ordering.receive(run)
            stability.keep(run)
            self.received_bytes += run.byte_count
            if arrivals is not None:
                arrivals.note(run)
            count = ordering.received_of(self.group, run.sender)
            assert count == run.last, "what is taken is counted once"
        if fresh:
            self.has_news = True
            self.deliver(ready)
            if self._asked:
                self.answer()

    def _fresh_of(self, run: Run) -> Run | None:
        """Return what is new in a run that its sender, or a relay, brings."""
        size = len(self.members)
        if run.sender >= size:
            message = f"a run claims sender number {run.sender} in a view of {size}"
            raise PeerError(message)
        count = self._ordering.received_of(self.group, run.sender)
        if run.last <= count or self._ordering.is_closed(self.group):
            return None  # here already; or nobody else who goes on has it
        fresh = run if run.first > count else run.after(count)
        if fresh.foreign and self._domain.epochs is not None:
            self._domain.epochs.hear_run(self.group, fresh)
        return fresh

    # What another process waits for, to multicast in another group.

    def hear_question(self, peer: ProcessId, asked: ReceiptsAsked) -> None:
        """``peer`` wants to know when messages have come here: now, or as soon as they have."""
        if asked.number >= self._transition.number and peer != self._out.me:
            self._asked[peer, asked.delivered] = asked
            self.answer()

    def answer(self) -> None:
        """Say what others wait to hear of, if that is so by now."""
        number = self._transition.number
        for (peer, delivered), asked in list(self._asked.items()):
            if asked.number > number:
                continue  # its view is still to be installed here
            del self._asked[peer, delivered]
            if asked.number < number or peer not in self.ranks:
                continue  # it leaves that view too, and waits no longer
            counts = list(self._ordering.delivered(self.group)) if delivered else self.received()
            wanted = [(rank, count) for rank, count in asked.wanted if rank < len(counts)]
            if all(counts[rank] >= count for rank, count in wanted):
                said = tuple((rank, counts[rank]) for rank, _ in wanted)
                self._out.send(peer, Receipts(number, said, delivered))
            else:
                self._asked[peer, delivered] = asked

    def take_receipts(self, peer: ProcessId, said: Receipts) -> None:
        """A member says what it has received."""
        if said.number != self._transition.number or (rank := self.ranks.get(peer)) is None:
            return
        sent = self._ordering.received_of(self.group, self.stability.rank)
        if not self.stability.hear_receipts(rank, said.received, sent):
            message = f"{peer} claims to have received what was never multicast"
            raise PeerError(message)
        if said.delivered:
            self.stability.hear_deliveries(rank, said.received)

    def take_confirm(self, peer: ProcessId, confirm: Confirm) -> None:
        """Take what a member confirms; while the view is being left, that is not needed.

        Of a later view it cannot be: nothing is marked there before this process confirms it.
        """
        transition = self._transition
        if confirm.number != transition.number or transition.pending or peer not in self.ranks:
            return
        ready = self._ordering.confirm(self.group, self.ranks[peer], confirm)
        self.deliver(ready)

    def take_letter(self, peer: ProcessId, letter: Letter) -> None:
        """Take a letter; one of a later view is kept until that begins."""
        if letter.view > self._transition.number:
            self.early.keep(peer, letter, self._ordering.arrive(), relayed=False)
        else:
            self._read_letter(peer, letter)

    def _read_letter(self, peer: ProcessId, letter: Letter) -> None:
        """Deliver a letter, or hold it; one of an earlier view lacks nothing of this group."""
        if self._letters.is_known(peer, letter):  # not of long ago, or of before this process came
            _check_foreign(self._ordering, letter)
            self.deliver(self._ordering.receive_letter(letter))

    def take_alive(self, peer: ProcessId, alive: Alive, view_of: ViewOf) -> None:
        """Take what a process says it received: drop the copies that nobody lacks any more."""
        number = self._transition.number
        if alive.number > number:
            self.early.keep_alive(peer, alive)
        elif alive.number == number and (rank := self.ranks.get(peer)) is not None:
            is_fair = alive.stable <= self._ordering.received_of(self.group, rank)
            sent = self._ordering.received_of(self.group, self.stability.rank)
            if not is_fair or not self.stability.learn(rank, alive, sent):
                message = f"{peer} claims to have received, or delivered, what was never multicast"
                raise PeerError(message)
        self.drop_past(view_of)

    def drop_past(self, view_of: ViewOf) -> None:
        """Drop the copies of earlier views that everybody who still counts has left."""
        if self._past:
            everybody = self._transition.everybody()
            self._past.drop((who for who in everybody if who != self._out.me), view_of)

    # Views.

    def may_end(self) -> bool:
        """The flush has ended: whether nothing of the view waits for another group (000-26)."""
        ordering, group = self._ordering, self.group
        ordering.close(group)
        ordering.is_frozen = False  # what waits to be multicast must not hold up a view
        newest = self._transition.newest
        assert newest is not None, "the view is being left for another"
        gone = [rank for who, rank in self.ranks.items() if who not in newest.members]
        is_told = ordering.excuse(group, gone)
        self.deliver(ordering.drain())
        if ordering.is_held(group) or not is_told:
            self._domain.closing[group] = None
            return False
        return True

    def leave(self, view_number: int | None = None) -> None:
        """Be in the group no longer; what waited for it elsewhere may be delivered by that."""
        self._ordering.leave(self.group, view_number)
        self.deliver(self._ordering.drain())

    def end(self, view: View, *, keeps_copies: bool) -> None:
        """The current view is left: deliver what may still be; perhaps keep its copies."""
        assert view is self._transition.current, "it has not been left yet"
        self.deliver(self._ordering.finish(self.group))
        if keeps_copies:
            self._past.keep(view, self.stability)

    def begin(self, view: View) -> None:
        """A view begins."""
        assert view is self._transition.current, "it has been entered"
        rank = view.rank_of(self._out.me)
        is_last = not self._transition.pending
        self._ordering.advance(self.group, view, rank, has_holder=is_last, token=self._token)
        self._letters.enter(view)
        delivered, way = self._ordering.delivered(self.group), self._dissemination
        begin = Stability if way is None else way.begin_receipts
        self.stability = begin(len(view.members), rank, delivered)
        self.tree = self.stability if isinstance(self.stability, TreeStability) else None
        if self._notes_deliveries:
            self.stability.note_receipts()
        self.members = view.members
        self.ranks = {member: place for place, member in enumerate(view.members)}
        if self._dissemination is not None:
            self._dissemination.enter(view, rank)
            self._arrivals = Arrivals(self.stability.stable)
        self.plain_view = view.number if is_last and self._dissemination is None else 0

    def forget_past(self) -> None:
        """Keep nothing of earlier views: nobody else is left who may have to leave them."""
        self._past = Past()

    def take_early(self, view: View, view_of: ViewOf) -> None:
        """Take what came too early for this view; deliver what that, or the view, makes ready.

        All in order of receipt: what waited for this view in other groups may have come before
        what is early for it, or after that.
        """
        assert view is self._transition.current, "it has been entered"
        ordering = self._ordering
        was_frozen, ordering.is_frozen = ordering.is_frozen, True
        for early in self.early.take_runs():
            peer, run, relayed, arrival = early
            if run.view > view.number:
                self.early.keep_again(early)
            elif run.view == view.number and (relayed or _is_of(self.members, peer, run)):
                # Whoever sent nonsense earlier must not spoil what others did right.
                with suppress(PeerError), ordering.received_as(arrival):
                    if isinstance(run, Letter):
                        self._read_letter(peer, run)
                    else:
                        self.take_fresh(peer, run)
        ordering.is_frozen = was_frozen
        self.deliver(ordering.drain())
        for peer, messages in self.early.take_alive():
            with suppress(PeerError):
                for message in messages:
                    self.take_alive(peer, message, view_of)
        self.answer()


def _check_foreign(ordering: MixedDomain, run: Run) -> None:
    """Refuse stamps of other groups that can only be their sender's own lies."""
    fault = ordering.foreign_fault_of(run)
    if fault:
        raise PeerError(fault)


def _is_of(members: tuple[ProcessId, ...], peer: ProcessId, run: Run) -> bool:
    """Whether ``peer`` is the sender that a run of the current view names."""
    return run.sender < len(members) and members[run.sender] == peer


def _count_senders(transition: Transition) -> int:
    """Return of how many senders a process may bring runs of a view to come."""
    newest = transition.newest
    return len(newest.members) if newest is not None else SENDERS_UNKNOWN
