"""Transactions of a simulated process: its part in distributed commit, and an application's votes.

Law: the machine is that of the real network (``toolkit.commit``). The application votes after a
while, mostly yes; a paused one votes late or never. Votes and decisions leave rows in the trace.
"""

from collections.abc import Callable
from functools import partial
from random import Random

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.toolkit.commit import AskVote, Commit, Decided, Effect, Multicast, Outcome
from antiphon.toolkit.commit_messages import Transaction
from antiphon.trace.rows import Rows

VOTE_US_MAX = 150_000
_THOUGHT_US = 3_000
_YES = 0.8


class Transactions:
    """One life's transactions."""

    def __init__(
        self,
        me: ProcessId,
        rows: Rows,
        random: Random,
        say: Callable[[bytes, bool], None],
        later: Callable[[int, Callable[[], None]], None],
        vote_us_max: int = VOTE_US_MAX,
    ) -> None:
        """Multicast with ``say(payload, is_uniform)``; do things ``later(delay_us, action)``."""
        self.machine = Commit(me, vote_us_max=vote_us_max)
        self._rows = rows
        self._random = random
        self._say = say
        self._later = later
        self.now_us = 0
        self._begun: dict[Transaction, None] = {}  # by this process, and not decided

    @property
    def open_count(self) -> int:
        """How many transactions are to be decided: known to be open, or begun by this process."""
        return self.machine.open_count + len(self._begun)

    def begin(self, now_us: int) -> None:
        """Begin a transaction."""
        self.now_us = now_us
        transaction, effects = self.machine.begin(b"")
        self._begun[transaction] = None
        self._do(effects)

    def deliver(self, sender: ProcessId, payload: bytes, now_us: int) -> None:
        """Take a message."""
        self.now_us = now_us
        self._do(self.machine.deliver(sender, payload, now_us))

    def enter(self, view: View, now_us: int) -> None:
        """A view begins."""
        self.now_us = now_us
        self._do(self.machine.enter(view, now_us))

    def tick(self, now_us: int) -> None:
        """Time passes."""
        self.now_us = now_us
        self._do(self.machine.tick(now_us))

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Multicast(payload, is_uniform):
                    self._say(payload, is_uniform)
                case AskVote(transaction):
                    delay_us = int(self._random.random() * _THOUGHT_US)
                    self._later(delay_us, partial(self._vote, transaction))
                case Decided(transaction, outcome):
                    self._begun.pop(transaction, None)
                    is_commit = outcome is Outcome.COMMIT
                    self._rows.decide(
                        self.now_us, transaction.initiator, transaction.number, is_commit=is_commit
                    )
                case _:  # it knows the past: there is nothing that it was in doubt of
                    pass

    def _vote(self, transaction: Transaction) -> None:
        if self.machine.is_open(transaction):
            is_yes = self._random.random() < _YES
            self._rows.vote(self.now_us, transaction.initiator, transaction.number, is_yes=is_yes)
            self._do(self.machine.vote(transaction, is_yes=is_yes))
