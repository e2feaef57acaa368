"""Distributed commit for an application: between the machine, its resource and the network.

    group = antiphon.join("bank", me="anna", members=MEMBERS)
    committer = antiphon.Committer(group, ledger)
    async with group:
        ending = await committer.begin(b"30 from anna to ben", needs=["anna", "ben"])

Law: a resource prepares a transaction before its process votes yes, and keeps what it prepared
until it is told the outcome, over crashes and restarts. For each transaction it is called in
order: prepare, then once commit or abort if it prepared; transactions go on beside each other. A
process that comes back in doubt learns the outcome from the others before anything else. Whatever
a resource raises is its refusal in ``prepare``; later it is logged, and the transaction stays in
doubt until the process is started anew. All members of a group have a committer, or none has: the
one that decides must know of transactions, and so must whoever is to vote.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

from antiphon.core.errors import AntiphonError, InDoubtError, UsageError
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Order
from antiphon.net.application.buffers import Payload, frozen
from antiphon.net.application.checking import check_resource, refuse
from antiphon.net.application.exceptions import is_ours, say
from antiphon.net.group.group import Group
from antiphon.stack.effects import AskVote, Decided, KnowPast, NameTransaction
from antiphon.stack.inputs import TransactionRequested, VoteCast
from antiphon.toolkit.commit import Commit, Outcome
from antiphon.toolkit.commit_messages import Transaction, check_names, parse_transaction

BODY_BYTES_MAX = PAYLOAD_BYTES_MAX - 1024
"""Room for what goes with a body."""

VOTE_S_MAX = 1e9
"""More than thirty years: whoever allows more waits no longer than that."""

_log = logging.getLogger("antiphon")

_UNABLE = "the resource is unable to %s %s: start the process anew"
_NOT_TOLD = "the resource does not say what is in doubt: start the process anew"
_FORGOTTEN = (
    "nobody here remembers how %s ended: look it up in the others' resources, then commit or "
    "abort it in this one by hand"
)

T = TypeVar("T")


class Ending(NamedTuple):
    """How a transaction ended.

    - ``transaction``: its name, which no other transaction has, also after restarts.
    - ``is_committed``: whether it was committed, by all; if not, it was aborted by all.
    - ``why``: why it was aborted; empty if it was committed.
    """

    transaction: str
    is_committed: bool
    why: str


class Resource(Protocol):
    """What can be changed by transactions: a database, a device, a file.

    A transaction goes by a name that no other has, also after restarts.
    """

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Make sure that the change can be made, come what may, and write that down.

        Return False, or raise, to refuse: then nothing is prepared.
        """

    async def commit(self, transaction: str) -> None:
        """Make the change that was prepared."""

    async def abort(self, transaction: str) -> None:
        """Drop what was prepared."""

    async def in_doubt(self) -> Iterable[str]:
        """Return the transactions that are prepared and neither committed nor aborted."""


class Committer:
    """One process's part in the transactions of its group."""

    def __init__(
        self, group: Group, resource: Resource | None = None, *, vote_s: float = 5.0
    ) -> None:
        """Take part with ``resource``, or agree to everything; create it before entering.

        Create one at every member of the group: a process without one cannot enter a group of
        processes that have one, nor the other way round. A transaction is aborted if somebody has
        not voted ``vote_s`` seconds after its coordinator, the most senior member, heard of it.
        Only the coordinator's own ``vote_s`` counts: give all members the same.
        """
        if not isinstance(group, Group):
            refuse("the group of a Committer", "what antiphon.join returns", group)
        check_resource(resource)
        self._local = group._local  # noqa: SLF001 - a tool of the same house
        if self._local.is_started:  # it has told others that it has none
            message = f"group {group.name} has been entered: create the committer before that"
            raise UsageError(message)
        self._local.config.settings.check(Order.CAUSAL, uniform=True)
        self.vote_us = _in_us(vote_s)
        self._local.take_committer(self)
        self._resource = resource
        self._machine: Commit | None = None
        self._count = 0
        self._begun: dict[int, asyncio.Future[Ending]] = {}
        self._waiting: dict[Transaction, asyncio.Future[Ending]] = {}
        self._votes: dict[Transaction, asyncio.Task[bool]] = {}
        """What the resource is asked, or has answered, by transaction that is not decided yet."""
        self._asked: dict[asyncio.Task[bool], None] = {}
        """What the resource is being asked, decided or not."""
        self._in_doubt: dict[Transaction, None] = {}
        self._recovery: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[Any], None] = {}

    # The application's part.

    async def begin(self, body: Payload, needs: Iterable[str] = ()) -> Ending:
        """Have all members of the group commit to ``body``, or none; return when it is done here.

        It is aborted unless all whom it ``needs`` are members: names, which mean any
        incarnation, or single later incarnations such as ``alice~2``.
        Raises :class:`InDoubtError` if this process drops out of the group before it knows.
        """
        body = frozen(body)
        self._local.raise_error()
        reading = self._local.sending.reading
        if self._local.admission.must_wait() and self._machine is not None:
            await self._local.admission.flush_and_wait()
            self._local.admission.check_inside()
        machine = self._machine
        if machine is None or self._local.sending.is_void(reading):
            raise UsageError(self._local.admission.say_outside())
        if type(body) is not bytes:
            message = f"the body of a transaction is bytes, not {type(body).__name__}: encode it"
            raise UsageError(message)
        if len(body) > BODY_BYTES_MAX:
            message = f"the body of a transaction is at most {BODY_BYTES_MAX} bytes: shorten it"
            raise UsageError(message)
        names = check_names(needs)
        self._count += 1
        ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._begun[self._count] = ending
        self._local.flush()
        try:
            self._local.driver.give(TransactionRequested(self._count, body, names))
        finally:
            self._begun.pop(self._count, None)
        return await ending

    @property
    def in_doubt(self) -> tuple[str, ...]:
        """Transactions that were prepared here in an earlier incarnation, and are still open."""
        return tuple(map(str, self._in_doubt))

    async def settled(self) -> None:
        """Wait until the resource has done everything it has been told so far."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    # What the group calls.

    def on_view(self, machine: Commit) -> None:
        """A view has begun, of the incarnation that this machine is of."""
        self._machine = machine

    def on_end(self, error: AntiphonError | None) -> None:
        """The process is out of the group."""
        self._machine = None
        # Whatever the resource is asked may wait for what only recovery can tell it: a lock that a
        # prepared transaction holds. What it had prepared all the same it finds in doubt.
        for task in self._asked:
            task.cancel()
        self._votes.clear()
        self._in_doubt.clear()
        why = error or "this process has left"
        waiting, self._waiting = self._waiting, {}
        for transaction, ending in waiting.items():
            if not ending.done():
                message = (
                    f"the outcome of {transaction} is not known here ({why}): the resource is told "
                    "it when this process is a member again, if a member is left that knows it"
                )
                ending.set_exception(InDoubtError(message))

    # Doing what the machine says.

    def do(self, effect: NameTransaction | AskVote | Decided | KnowPast) -> None:
        """Do what the machine says."""
        match effect:
            case NameTransaction(number, transaction):
                if (ending := self._begun.get(number)) is not None:
                    self._waiting[transaction] = ending
            case AskVote(transaction, body):
                task = self._votes[transaction] = self._start(self._vote(transaction, body))
                self._asked[task] = None
                task.add_done_callback(self._asked.pop)
            case Decided(transaction, outcome, why):
                self._note_decision(transaction, outcome)
                self._finish_later(transaction, outcome, why)
            case KnowPast():
                self._recovery = self._start(self._recover(list(self._tasks)))

    def _start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.ensure_future(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    async def _vote(self, transaction: Transaction, body: bytes) -> bool:
        """Ask the resource, and vote; return whether it is prepared."""
        machine = self._machine
        is_yes, why = True, ""
        if self._resource is not None:
            await self._recovered()
            try:
                is_yes = await self._resource.prepare(str(transaction), body) is True
                why = "" if is_yes else "its resource cannot do that"
            except BaseException as error:
                if is_ours(error):
                    raise
                is_yes, why = False, say(error)
        if machine is not None and machine is self._machine and machine.is_open(transaction):
            if (recorder := self._local.driver.recorder) is not None:
                recorder.vote(transaction.initiator, transaction.number, is_yes=is_yes)
            self._local.driver.give(VoteCast(transaction, is_yes, why))
        return is_yes and self._resource is not None

    def _note_decision(self, transaction: Transaction, outcome: Outcome) -> None:
        if (recorder := self._local.driver.recorder) is not None:
            is_commit = outcome is Outcome.COMMIT
            recorder.decide(transaction.initiator, transaction.number, is_commit=is_commit)

    def _finish_later(self, transaction: Transaction, outcome: Outcome, why: str) -> None:
        """Take out at once what concerns the transaction: this incarnation may end first."""
        vote = self._votes.pop(transaction, None)
        is_in_doubt = self._in_doubt.pop(transaction, self) is None
        waiting = self._waiting.pop(transaction, None)
        ending = Ending(str(transaction), outcome is Outcome.COMMIT, why)
        self._start(self._finish(transaction, outcome, vote, is_in_doubt, (waiting, ending)))

    async def _finish(
        self,
        transaction: Transaction,
        outcome: Outcome,
        vote: "asyncio.Task[bool] | None",
        is_in_doubt: bool,  # noqa: FBT001 - a continuation has what it needs
        told: "tuple[asyncio.Future[Ending] | None, Ending]",
    ) -> None:
        """Have the resource do what was decided, then tell who began it, come what may."""
        waiting, ending = told
        try:
            if is_in_doubt or (vote is not None and await self._is_prepared(vote)):
                await self._apply(transaction, outcome)
        finally:
            if waiting is not None and not waiting.done():
                waiting.set_result(ending)

    @staticmethod
    async def _is_prepared(vote: "asyncio.Task[bool]") -> bool:
        """Wait until the resource has answered; who was interrupted says so when it comes back."""
        await asyncio.wait([vote])
        return not vote.cancelled() and vote.result()

    async def _apply(self, transaction: Transaction, outcome: Outcome) -> None:
        assert self._resource is not None, "only a resource prepares"
        try:
            if outcome is Outcome.COMMIT:
                await self._resource.commit(str(transaction))
            else:
                await self._resource.abort(str(transaction))
        except BaseException as error:
            if is_ours(error):
                raise
            _log.error(_UNABLE, outcome, transaction, exc_info=error)

    # Coming back.

    async def _recovered(self) -> None:
        if self._recovery is not None:
            await asyncio.wait([self._recovery])

    async def _recover(self, earlier: "list[asyncio.Task[Any]]") -> None:
        """Tell the resource the outcome of what an earlier incarnation has left prepared."""
        machine = self._machine
        if self._resource is None or machine is None:
            return
        if earlier:  # of an earlier incarnation of this very program
            await asyncio.wait(earlier)
        for transaction in await self._ask_in_doubt(self._resource):
            outcome = machine.recall(transaction)
            if outcome is not None:
                await self._apply(transaction, outcome)
            elif machine is self._machine:
                self._in_doubt[transaction] = None
                if not machine.is_open(transaction):
                    _log.warning(_FORGOTTEN, transaction)

    @staticmethod
    async def _ask_in_doubt(resource: Resource) -> list[Transaction]:
        found: list[Transaction] = []
        try:
            for name in await resource.in_doubt():
                try:
                    found.append(parse_transaction(name))
                except UsageError as error:
                    _log.error("the resource is in doubt about what cannot be: %s", error)
        except BaseException as error:
            if is_ours(error):
                raise
            _log.error(_NOT_TOLD, exc_info=error)
        return found


def _in_us(vote_s: float) -> int:
    """Return the time for votes in microseconds; complain of what is none."""
    is_number = isinstance(vote_s, int | float) and not isinstance(vote_s, bool)
    if not is_number or not 0 < vote_s < math.inf:
        message = f"vote_s={vote_s!r:.100} is no time to wait for votes: give seconds, above 0"
        raise UsageError(message)
    return max(1, round(min(vote_s, VOTE_S_MAX) * 1e6))
