"""Distributed commit: members commit a transaction together, or abort it (Uniform 5.1).

Rule. A transaction begins with a uniform multicast. Who is in the view in which that is delivered
takes part, and multicasts its vote. The coordinator, the most senior member of the current view,
then decides: commit when every participant voted yes, abort when one voted no, is gone without
having voted, or takes too long, or if somebody who is needed is not there. It multicasts the
decision, uniformly too, and everybody decides when the first decision on the transaction is
delivered.

Invariant: no two processes, crashed ones included, decide differently, and nobody commits what
one refused. Decisions of one coordinator are delivered in the same order everywhere. Coordinators
change only with views: if anybody saw a decision, whoever enters the next view has seen it (D4)
and the new coordinator lets it be; if nobody did, it decides afresh, by the votes. These are
delivered view-atomically: all who go on know the same ones, and nobody is asked again. A vote
outlives its voter: who voted yes and crashed is bound, and learns the outcome on coming back. It
always can, for the beginning is uniform too: what anybody was asked, the group knows of.

Joiners. The coordinator of a view with new members multicasts what it knows as of the beginning
of that view, in as many parts as it takes. A joiner holds everything back until it has them all,
and lives through the view from the beginning. All who joined up to that view are told by the same
messages, so whoever has not been told is junior to all who know, and the coordinator knows if
anybody does. If it dies half-way, nobody who goes on has all parts, and the next one that knows
tells everything again. If nobody knows (each joiner multicasts that it does not), what was before
is lost, and what the coordinator saw since it came is the past: it came first, so it saw all that
any of them saw. It lives through that from the beginning, and tells the others as usual.

Fault model: that of membership, crashes and wrong suspicions. It blocks only if membership does.
Of what was decided the last ``DECISIONS_MAX`` are remembered, for whoever comes back in doubt.

Cost, n participants: n plain multicasts and two uniform ones; seven message delays (three for
the beginning, one for the votes, three for the decision). Votes are multicast rather than sent so
that a new coordinator need not ask. One multicast per view with joiners, or one for every mebibyte
of what there is to tell, and one per joiner.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import final

from antiphon.core.errors import BackPressureError, PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.views import View
from antiphon.toolkit.ballot import Ballot, ballot_of
from antiphon.toolkit.commit_messages import (
    WHY_LENGTH_MAX,
    Begin,
    Decision,
    Lack,
    Message,
    State,
    Transaction,
    Vote,
    check_names,
    decode,
    encode,
)
from antiphon.toolkit.commit_parts import Gathering, cut

DECISIONS_MAX = 4096
"""Decisions remembered: to tell a joiner of, below nine megabytes with the longest reasons."""

OPEN_MAX = 1024
"""Transactions that one process may have open at once."""

VOTE_US_MAX = 5_000_000
"""How long the coordinator waits for votes unless told otherwise."""


class Outcome(StrEnum):
    """How a transaction ended."""

    COMMIT = "commit"
    ABORT = "abort"


@final
@dataclass(slots=True)
class Multicast:
    """Multicast this to the group, in causal order."""

    payload: bytes
    is_uniform: bool = False


@final
@dataclass(slots=True)
class AskVote:
    """Ask the application whether it can do this, then tell by ``vote``."""

    transaction: Transaction
    body: bytes


@final
@dataclass(slots=True)
class Decided:
    """The transaction has ended, whether or not this process took part."""

    transaction: Transaction
    outcome: Outcome
    why: str


@final
@dataclass(slots=True)
class KnowPast:
    """From here on ``recall`` knows what the group decided before this process came."""


Effect = Multicast | AskVote | Decided | KnowPast

Held = tuple[View | tuple[ProcessId, Message], int]
"""A view that was entered, or what was delivered from whom; and when."""


class Commit:
    """One process's part in the transactions of its group."""

    def __init__(self, me: ProcessId, start: int = 0, vote_us_max: int = VOTE_US_MAX) -> None:
        """Begin outside of any view; ``start`` is a number no earlier start of ``me`` had."""
        self._me = me
        self._start = start
        self._vote_us_max = vote_us_max
        self._begun = self._ended = 0
        self._view: View | None = None
        self._joined = self._told = 0
        self._open: dict[Transaction, Ballot] = {}
        self._open_of: Counter[str] = Counter()  # by initiator
        self._decided: dict[Transaction, Decision] = {}
        # Until a joiner knows the past: what it has entered and been delivered since it came.
        # It is told in the first view whose coordinator lives to speak, so this stays short.
        self._early: list[Held] | None = None
        self._lacking: dict[ProcessId, None] = {}
        self._gathering = Gathering()

    # What others ask.

    @property
    def coordinator(self) -> ProcessId | None:
        """Who decides in this view."""
        return None if self._view is None else self._view.members[0]

    @property
    def knows_past(self) -> bool:
        """Whether this process knows what was begun and decided before it came."""
        return self._view is not None and self._early is None

    def recall(self, transaction: Transaction) -> Outcome | None:
        """Return how a transaction ended; None if it is open, unknown, or too long ago."""
        decision = self._decided.get(transaction)
        return None if decision is None else _outcome(decision)

    def is_open(self, transaction: Transaction) -> bool:
        """Tell whether the transaction has begun here and will be decided."""
        return transaction in self._open

    @property
    def open_count(self) -> int:
        """How many transactions are open."""
        return len(self._open)

    # What the application does.

    def begin(self, body: bytes, needs: Iterable[str] = ()) -> tuple[Transaction, list[Effect]]:
        """Begin a transaction; all members are asked whether they can do ``body``.

        It is aborted unless all whom it ``needs``, by name or as one incarnation, are among them.
        """
        names = check_names(needs)
        if self._begun - self._ended >= OPEN_MAX:
            message = f"{OPEN_MAX} transactions are open: wait until some are decided"
            raise BackPressureError(message)
        number = self._begun + 1
        said = encode(Begin(number, self._start, body, names))
        if len(said) > PAYLOAD_BYTES_MAX:
            message = (
                f"the body of a transaction and the names that it needs are {len(said)} bytes: "
                f"at most {PAYLOAD_BYTES_MAX} can be multicast, so shorten them"
            )
            raise UsageError(message)
        self._begun = number
        transaction = Transaction(str(self._me), number, self._start)
        return transaction, [Multicast(said, is_uniform=True)]

    def vote(self, transaction: Transaction, *, is_yes: bool, why: str = "") -> list[Effect]:
        """Vote as the application was asked; of no effect if the transaction has ended."""
        ballot = self._open.get(transaction)
        if ballot is None:
            return []
        if ballot.has_voted or self._me not in ballot.participants:
            message = f"{self._me} has voted on {transaction} already, or was not asked: vote once"
            raise UsageError(message)
        assert transaction not in self._decided, "what is open is not decided"
        ballot.has_voted = True
        said = why[:WHY_LENGTH_MAX].encode(errors="replace").decode()
        return [Multicast(encode(Vote(transaction, is_yes, said)))]

    # What happens: messages, views, time.

    def deliver(self, sender: ProcessId, payload: bytes, now_us: int) -> list[Effect]:
        """Take what was multicast."""
        message = decode(payload)
        if isinstance(message, State):
            whole = self._gather(sender, message)
            if whole is None:
                return []
            message = whole
        if self._early is None:
            return self._take(sender, message, now_us)
        self._early.append(((sender, message), now_us))
        if isinstance(message, State):
            return self._learn(message, now_us)
        if isinstance(message, Lack):
            return self._hear_lack(sender, message)
        return []

    def enter(self, view: View, now_us: int) -> list[Effect]:
        """A view begins."""
        if self._me not in view.members:
            return []  # the last one, of a process that has left
        is_next = self._view is None or view.number > self._view.number
        assert is_next, "views are entered in order"
        if self._view is None and view.number > 1:
            self._early = []
        self._view = view
        if self._early is None:
            return self._begin_view(view, now_us)
        self._early.append((view, now_us))
        self._lacking.clear()
        return [Multicast(encode(Lack(view.number)))]

    def tick(self, now_us: int) -> list[Effect]:
        """Look which votes take too long."""
        return self._decide_all(now_us)

    # Views.

    def _begin_view(self, view: View, now_us: int) -> list[Effect]:
        self._view = view
        if view.joined:
            self._joined = view.number
        if self.coordinator != self._me:
            return []
        is_news = self._joined > self._told
        effects: list[Effect] = []
        if is_news:
            effects += [Multicast(encode(part)) for part in cut(self._state())]
        return effects + self._decide_all(now_us)

    def _state(self) -> State:
        assert self._view is not None, "in a view"
        opened = tuple(ballot.told(transaction) for transaction, ballot in self._open.items())
        return State(self._view.number, opened, tuple(self._decided.values()))

    # Joining.

    def _gather(self, sender: ProcessId, part: State) -> State | None:
        """Take a part of what joiners are told; return the whole once it is there."""
        if sender != self.coordinator:
            claim = f"{sender} tells what was decided, and is not coordinator"
            raise PeerError(claim)
        return self._gathering.add(sender, part)

    def _learn(self, state: State, now_us: int) -> list[Effect]:
        """Take over what another knew as of a view, and live through what came since."""
        assert self._early is not None, "a joiner"
        begins = [at for at, (event, _) in enumerate(self._early) if _number(event) == state.number]
        if not begins:
            return []  # of before this process came: for others
        self._open = {one.transaction: ballot_of(one, now_us) for one in state.opened}
        self._open_of = Counter(transaction.initiator for transaction in self._open)
        self._decided = {decision.transaction: decision for decision in state.decided}
        asked = self._votes_owed(self._early[: begins[0]])
        return self._relive(begins[0], asked)

    def _votes_owed(self, before: list[Held]) -> list[Effect]:
        """Return what this process is to vote on: begun while it was there, but not yet told."""
        asked: list[Effect] = []
        for event, _ in before:
            if isinstance(event, View) or not isinstance(event[1], Begin):
                continue
            sender, begin = event[0], event[1]
            transaction = Transaction(str(sender), begin.number, begin.start)
            ballot = self._open.get(transaction)
            if ballot is not None and self._me in ballot.participants and not ballot.lacks:
                asked.append(AskVote(transaction, begin.body))
        return asked

    def _hear_lack(self, sender: ProcessId, lack: Lack) -> list[Effect]:
        """Note who lacks the past; if all do, it begins where the coordinator came."""
        view = self._view
        assert view is not None, "in a view"
        if lack.number != view.number:
            return []
        self._lacking[sender] = None
        if self.coordinator != self._me or any(who not in self._lacking for who in view.members):
            return []
        return self._relive(0, [])

    def _relive(self, begin: int, asked: list[Effect]) -> list[Effect]:
        assert self._early is not None, "a joiner"
        since, self._early = self._early[begin:], None
        effects: list[Effect] = [KnowPast(), *asked]
        for event, now_us in since:
            if isinstance(event, View):
                effects += self._begin_view(event, now_us)
            else:
                # Whoever sent nonsense meanwhile must not spoil what others did right.
                with suppress(PeerError):
                    effects += self._take(*event, now_us)
        return effects

    # Messages.

    def _take(self, sender: ProcessId, message: Message, now_us: int) -> list[Effect]:
        match message:
            case Begin():
                return self._on_begin(sender, message, now_us)
            case Vote():
                return self._on_vote(sender, message, now_us)
            case Decision():
                return self._on_decision(sender, message)
            case State(number):
                self._told = max(self._told, number)
                return []
            case Lack():
                return []

    def _on_begin(self, sender: ProcessId, begin: Begin, now_us: int) -> list[Effect]:
        assert self._view is not None, "messages are delivered in a view"
        transaction = Transaction(str(sender), begin.number, begin.start)
        if transaction in self._open or transaction in self._decided:
            message = f"{sender} begins transaction {transaction} twice"
            raise PeerError(message)
        # Decisions that the initiator knew of have come before this: it did not count more.
        if self._open_of[transaction.initiator] >= OPEN_MAX:
            message = f"{sender} begins ever more transactions"
            raise PeerError(message)
        there = {word for member in self._view.members for word in (member.name, str(member))}
        lacks = next((name for name in begin.needs if name not in there), "")
        ballot = self._open[transaction] = Ballot(self._view.members, now_us, lacks)
        self._open_of[transaction.initiator] += 1
        if lacks:
            return self._decide(transaction, ballot, now_us)
        return [AskVote(transaction, begin.body)]

    def _on_vote(self, sender: ProcessId, vote: Vote, now_us: int) -> list[Effect]:
        ballot = self._open.get(vote.transaction)
        if ballot is None:
            return []  # it has ended: one refusal is enough
        if sender not in ballot.participants or sender in ballot.votes:
            message = f"{sender} votes on {vote.transaction} unasked, or twice"
            raise PeerError(message)
        ballot.votes[sender] = vote
        return self._decide(vote.transaction, ballot, now_us)

    def _on_decision(self, sender: ProcessId, decision: Decision) -> list[Effect]:
        transaction = decision.transaction
        ballot = self._open.get(transaction)
        if ballot is None:
            return []  # it has ended
        if sender != self.coordinator:
            message = f"{sender} decides {transaction}, and is not coordinator"
            raise PeerError(message)
        if decision.is_commit and not ballot.is_unanimous:
            # Causal order brings the votes first: no correct coordinator does that.
            message = f"{sender} commits {transaction}, on which not all have voted yes"
            raise PeerError(message)
        del self._open[transaction]
        assert self._open_of[transaction.initiator] > 0, "who began it has one open"
        self._open_of[transaction.initiator] -= 1
        if not self._open_of[transaction.initiator]:
            del self._open_of[transaction.initiator]
        self._ended += (transaction.initiator, transaction.start) == (str(self._me), self._start)
        self._decided[transaction] = decision
        if len(self._decided) > DECISIONS_MAX:
            del self._decided[next(iter(self._decided))]
        return [Decided(transaction, _outcome(decision), decision.why)]

    # Deciding.

    def _decide_all(self, now_us: int) -> list[Effect]:
        effects: list[Effect] = []
        for transaction, ballot in self._open.items():
            effects += self._decide(transaction, ballot, now_us)
        return effects

    def _decide(self, transaction: Transaction, ballot: Ballot, now_us: int) -> list[Effect]:
        if self._view is None or self.coordinator != self._me or ballot.is_said:
            return []
        why = ballot.obstacle(self._view.members, now_us, self._vote_us_max)
        if why is None:
            return []
        ballot.is_said = True
        decision = Decision(transaction, why == "", why[:WHY_LENGTH_MAX])
        return [Multicast(encode(decision), is_uniform=True)]


def _number(event: View | tuple[ProcessId, Message]) -> int:
    """Return the number of a view that was entered; 0 for what was delivered."""
    return event.number if isinstance(event, View) else 0


def _outcome(decision: Decision) -> Outcome:
    return Outcome.COMMIT if decision.is_commit else Outcome.ABORT
