"""Transactions of a simulated process: what its application begins, and how it votes.

Law: the machine is that of the real network. The application votes after a while, mostly yes; a
paused one votes late or never. Votes and decisions leave rows in the trace.
"""

from functools import partial
from random import Random
from typing import Protocol

from antiphon.stack.effects import AskVote, Decided, NameTransaction
from antiphon.stack.inputs import Input, TransactionRequested, VoteCast
from antiphon.toolkit.commit import Commit, Outcome
from antiphon.toolkit.commit_messages import Transaction
from antiphon.trace.rows import Rows

VOTE_US_MAX = 150_000
_THOUGHT_US = 3_000
_YES = 0.8


class TransactionsOwner(Protocol):
    """The process whose transactions they are."""

    @property
    def now_us(self) -> int:
        """What its clock shows."""

    def give(self, happened: Input) -> None:
        """Give an input to its machine."""

    def act_later(self, delay_us: int, action: "partial[None]") -> None:
        """Do something after a while, if it lives then."""


class Transactions:
    """One incarnation's transactions."""

    def __init__(
        self, owner: TransactionsOwner, rows: Rows, random: Random, commit: Commit | None
    ) -> None:
        """Look into ``commit``; None if the process takes no part in any."""
        self._owner = owner
        self._rows = rows
        self._random = random
        self._commit = commit
        self._count = 0
        self._begun: dict[Transaction, None] = {}  # by this process, and not decided

    @property
    def open_count(self) -> int:
        """How many transactions are to be decided: known to be open, or begun by this process."""
        return (self._commit.open_count if self._commit is not None else 0) + len(self._begun)

    def begin(self) -> None:
        """Begin a transaction."""
        self._count += 1
        self._owner.give(TransactionRequested(self._count, b"", ()))

    def do(self, effect: AskVote | Decided | NameTransaction) -> None:
        """Do what the machine says."""
        match effect:
            case NameTransaction(_, transaction):
                self._begun[transaction] = None
            case AskVote(transaction):
                delay_us = int(self._random.random() * _THOUGHT_US)
                self._owner.act_later(delay_us, partial(self._vote, transaction))
            case Decided(transaction, outcome):
                self._begun.pop(transaction, None)
                self._rows.decide(
                    self._owner.now_us, transaction.initiator, transaction.number,
                    is_commit=outcome is Outcome.COMMIT,
                )  # fmt: skip

    def _vote(self, transaction: Transaction) -> None:
        if self._commit is not None and self._commit.is_open(transaction):
            is_yes = self._random.random() < _YES
            self._rows.vote(
                self._owner.now_us, transaction.initiator, transaction.number, is_yes=is_yes
            )
            self._owner.give(VoteCast(transaction, is_yes))
