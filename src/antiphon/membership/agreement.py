"""Agreement on the next view: single-decree Paxos among the members of the view before.

Rule. View k + 1 is decided by the members of view k. A proposer takes a ballot, asks a quorum to
promise that no lower one will be accepted (Prepare), proposes the view of the highest ballot that
any of them accepted, or its own if there is none (Propose), and when a quorum has accepted, the
view is decided. The most senior member's first ballot needs no Prepare: no lower one exists.

Invariant. For each number at most one view is ever decided, whoever crashes or is suspected, for
two quorums of a view share a member (``core/views.py``). So the sequence of views is unique, and
only one side of a partition can go on: the one with a quorum of the last view agreed on.

Liveness. When members stop suspecting each other wrongly, one of them alone proposes (the most
senior one unsuspected) and succeeds, however long messages take: a ballot is not given up because
answers are late. It is repeated, unchanged, to whoever has not answered, for a member that was a
view behind could not. Being overtaken by a higher ballot only costs another try (``patience``).

Why Paxos: it never blocks on a crash of the proposer at any step, needs no log (one decree per
view), and its common case is the exchange that the papers' membership service makes anyway.
See docs/decisions/006-agreement-on-views.md.

Fault model: crashes, wrong suspicions, partitions; reliable FIFO channels between processes that
stay connected. Cost for n members: 3 (n - 1) messages and 1.5 round trips (Propose, Accept,
Decide); 2 (n - 1) more after the most senior member's crash (Prepare, Promise).
"""

from antiphon.core.control import (
    Accept,
    AnyMessage,
    Decide,
    Prepare,
    Promise,
    Propose,
    Reject,
    Want,
)
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import NUMBER_MAX, View
from antiphon.membership.effects import Outbox

AGREEMENT_MESSAGES = (Prepare, Promise, Propose, Accept, Reject, Decide, Want)


class Agreement:
    """One process's part in agreeing on views: it accepts, proposes and learns."""

    def __init__(self, outbox: Outbox, latest: View | None) -> None:
        """Begin with the view agreed on last; None for a process that is still to join."""
        self._out = outbox
        self._me = outbox.me
        self.latest = latest
        """The last view agreed on, as far as this process knows."""
        self.history: list[View] = [latest] if latest is not None else []
        """Views agreed on, consecutive, ending with the latest: what a member may have missed."""
        self._begin()

    def _begin(self) -> None:
        """Forget the decree that has been decided."""
        self._promised = 0
        self._accepted_ballot = 0
        self._accepted: View | None = None
        self._ballot = 0
        self._proposal: View | None = None
        self._is_proposed = False
        self._promises: dict[ProcessId, tuple[int, View | None]] = {}
        self._accepts: dict[ProcessId, None] = {}
        self._highest = 0

    @property
    def accepted(self) -> View | None:
        """The proposal for the next view that this process accepted last."""
        return self._accepted

    @property
    def is_proposing(self) -> bool:
        """Whether a ballot of this process is under way."""
        return self._ballot > 0

    # Proposing.

    def propose(self, view: View) -> list[View]:
        """Begin a ballot, higher than any seen, to have ``view`` decided; return what is."""
        assert self.latest is not None, "a process proposes only as a member"
        assert view.number == self.latest.number + 1, "views are decided one after the other"
        members = self.latest.members
        self._ballot = self._next_ballot()
        self._proposal = view
        self._is_proposed = False
        self._promises, self._accepts = {}, {}
        if self._ballot == 1:
            return self._propose()
        self._out.send_each(list(members), Prepare(view.number, self._ballot))
        return self._on_prepare(self._me, Prepare(view.number, self._ballot))

    def _next_ballot(self) -> int:
        """Return the lowest ballot of this process above all seen: rank r has r + 1 modulo n."""
        assert self.latest is not None, "a process proposes only as a member"
        members = self.latest.members
        rank, size = members.index(self._me), len(members)
        above = max(self._highest, self._promised, self._ballot)
        return above + 1 + (rank - above) % size

    def _proposer(self, ballot: int) -> ProcessId:
        """Return whose ballot that is."""
        assert self.latest is not None, "ballots are among members"
        return self.latest.members[(ballot - 1) % len(self.latest.members)]

    def revise(self, view: View) -> None:
        """Propose ``view`` instead, if nobody has been told of another yet."""
        if self.is_proposing and not self._is_proposed:
            self._proposal = view

    def repeat(self) -> None:
        """Ask again who has not answered in the ballot under way."""
        assert self.latest is not None, "a ballot is under way"
        self._repeat_to(list(self.latest.members))

    def _repeat_to(self, members: list[ProcessId]) -> None:
        assert self._proposal is not None, "a ballot is under way"
        answered = self._accepts if self._is_proposed else self._promises
        message: Propose | Prepare = (
            Propose(self._ballot, self._proposal)
            if self._is_proposed
            else Prepare(self._proposal.number, self._ballot)
        )
        self._out.send_each([who for who in members if who not in answered], message)

    def give_up(self) -> None:
        """Stop proposing: somebody more senior will."""
        self._highest = max(self._highest, self._ballot)
        self._ballot = 0

    def _propose(self) -> list[View]:
        assert self.latest is not None, "a ballot is under way"
        assert self._proposal is not None, "a ballot is under way"
        self._is_proposed = True
        proposal = Propose(self._ballot, self._proposal)
        self._out.send_each(list(self.latest.members), proposal)
        return self._on_propose(self._me, proposal)

    # Receiving.

    def receive(self, peer: ProcessId, message: AnyMessage) -> list[View]:
        """Take a message of another process; return the views decided by it, in order."""
        match message:
            case Decide(views):
                return self._on_decide(peer, views)
            case Want(after):
                self._tell(peer, after)
                if self.is_proposing and self.latest is not None and peer in self.latest.members:
                    self._repeat_to([peer])  # it could not answer what it did not understand
                return []
            case Propose(_, view):
                return self._take_part(peer, message, view.number)
            case Prepare() | Promise() | Accept() | Reject():
                return self._take_part(peer, message, message.number)
            case _:
                unexpected = f"{type(message).__name__} is no message of the agreement"
                raise PeerError(unexpected)

    def _take_part(
        self, peer: ProcessId, message: Prepare | Promise | Propose | Accept | Reject, number: int
    ) -> list[View]:
        """Take a message about view ``number``, if that is the one to be decided."""
        if self.latest is None or number > self.latest.number + 1:
            self._out.send(peer, Want(self.latest.number if self.latest is not None else 0))
        elif number <= self.latest.number:
            if isinstance(message, Prepare | Propose):
                self._tell(peer, number - 1)
        elif peer in self.latest.members:
            return self._handle(peer, message)
        return []

    def _handle(
        self, peer: ProcessId, message: Prepare | Promise | Propose | Accept | Reject
    ) -> list[View]:
        match message:
            case Prepare():
                return self._on_prepare(peer, message)
            case Promise():
                return self._on_promise(peer, message)
            case Propose():
                return self._on_propose(peer, message)
            case Accept():
                return self._on_accept(peer, message)
            case Reject():
                self._on_reject(message)
                return []

    def _tell(self, peer: ProcessId, after: int) -> None:
        """Send the views after a number, unless some of them are forgotten: then none helps."""
        views = tuple(view for view in self.history if view.number > after)
        if views and (not after or views[0].number == after + 1):
            self._out.send(peer, Decide(views))

    def _reply(self, peer: ProcessId, message: Promise | Accept | Reject) -> list[View]:
        """Answer a proposer, which may be this process itself."""
        if peer == self._me:
            return self._handle(peer, message)
        self._out.send(peer, message)
        return []

    # Accepting.

    def _on_prepare(self, peer: ProcessId, asked: Prepare) -> list[View]:
        is_again = asked.ballot == self._promised and self._proposer(asked.ballot) == peer
        if asked.ballot <= self._promised and not is_again:
            return self._reply(peer, Reject(asked.number, self._promised))
        assert asked.ballot >= self._promised, "a promised ballot never decreases"
        self._promised = asked.ballot
        assert self._accepted_ballot <= self._promised, "what was accepted was promised"
        return self._reply(
            peer, Promise(asked.number, asked.ballot, self._accepted_ballot, self._accepted)
        )

    def _on_propose(self, peer: ProcessId, proposed: Propose) -> list[View]:
        number = proposed.view.number
        self._check(proposed.view, number)
        if proposed.ballot < self._promised:
            return self._reply(peer, Reject(number, self._promised))
        assert proposed.ballot >= self._accepted_ballot, "an accepted ballot never decreases"
        self._promised = self._accepted_ballot = proposed.ballot
        self._accepted = proposed.view
        return self._reply(peer, Accept(number, proposed.ballot))

    def _check(self, view: View, number: int) -> None:
        """Refuse a proposal for view ``number``, the next one, that no correct member makes."""
        assert self.latest is not None, "checked by the caller"
        assert number == self.latest.number + 1, "checked by the caller"
        _check_next(view, self.latest)

    # Counting.

    def _on_promise(self, peer: ProcessId, promise: Promise) -> list[View]:
        if promise.accepted is not None:
            self._check(promise.accepted, promise.number)
        if not self._ballot or promise.ballot != self._ballot or self._is_proposed:
            return []
        assert self.latest is not None, "a ballot is under way"
        assert self._proposal is not None, "a ballot is under way"
        self._promises[peer] = promise.accepted_ballot, promise.accepted
        if not self.latest.has_quorum(self._promises):
            return []
        _, accepted = max(self._promises.values(), key=lambda given: given[0])
        if accepted is not None:
            self._proposal = accepted
        return self._propose()

    def _on_accept(self, peer: ProcessId, accept: Accept) -> list[View]:
        if not self._ballot or accept.ballot != self._ballot:
            return []
        assert self.latest is not None, "a ballot is under way"
        assert self._proposal is not None, "a ballot is under way"
        self._accepts[peer] = None
        if not self.latest.has_quorum(self._accepts):
            return []
        decided = self._proposal
        return self._learn(decided)

    def _on_reject(self, reject: Reject) -> None:
        self._highest = max(self._highest, reject.promised)
        if 0 < self._ballot < reject.promised:
            self.give_up()

    # Learning.

    def _on_decide(self, peer: ProcessId, views: tuple[View, ...]) -> list[View]:
        news: list[View] = []
        latest = self.latest
        for view in views:  # all are checked before any is learned: refusing changes nothing
            if latest is None:
                if self._me in view.joined:
                    _check_first(view, self._me)
                    news.append(latest := view)
            elif view.number == latest.number + 1:
                _check_next(view, latest)
                news.append(latest := view)
        learned = [decided for view in news for decided in self._learn(view)]
        last = views[-1].number if views else 0
        if self.latest is None:
            if any(self._me in view.members for view in views):
                self._out.send(peer, Want(0))
        elif last > self.latest.number:
            self._out.send(peer, Want(self.latest.number))
        return learned

    def can_learn(self, views: tuple[View, ...], teller: ProcessId) -> bool:
        """Whether these lead on from the last view known here, and ``teller`` joins in the next."""
        latest = self.latest
        news = [view for view in views if latest is not None and view.number > latest.number]
        if latest is None or not news or teller not in news[0].joined:
            return False
        try:
            for view in news:
                _check_next(view, latest)
                latest = view
        except PeerError:
            return False
        return self._me in news[0].members

    def _learn(self, view: View) -> list[View]:
        assert view.follows(self.latest), "views are decided one after the other"
        self.latest = view
        self.history.append(view)
        self._begin()
        return [view]

    def take_over(self, view: View) -> None:
        """Begin a new lineage with ``view``: what was proposed or accepted before is void."""
        assert self.latest is None or view.lineage > self.latest.lineage, "it is a new one"
        self.history = []
        self._learn(view)

    def forget_before(self, number: int) -> None:
        """Drop the views before ``number``: every member knows them."""
        assert self.latest is self.history[-1], "the last view is never forgotten"
        while len(self.history) > 1 and self.history[0].number < number:
            self.history.pop(0)


def _check_first(view: View, me: ProcessId) -> None:
    """Refuse a first view that no correct member decides: there is none before to compare."""
    gone = {*view.left, *view.failed}
    if (
        me not in view.members
        or view.number > NUMBER_MAX // 2
        or view.members[len(view.members) - len(view.joined) :] != view.joined
        or any(member in gone for member in view.members)
    ):
        message = f"view {view.number} contradicts itself"
        raise PeerError(message)


def _check_next(view: View, before: View) -> None:
    """Refuse a view that no correct member proposes after ``before``."""
    stayed = view.members[: len(view.members) - len(view.joined)]
    gone = {*view.left, *view.failed}
    expected = tuple(member for member in before.members if member not in gone)
    if (
        (view.group, view.number) != (before.group, before.number + 1)
        or stayed != expected
        or view.members[len(stayed) :] != view.joined
    ):
        message = f"a proposal for view {view.number} does not follow from the view before"
        raise PeerError(message)
