"""Calls of a simulated process: what its application asks, and how it answers what others ask.

Law: the machine is that of the real network. An application answers after a while, mostly; some
refuse, and some say nothing where the caller does not wait for ever. What is judged needs no word
of the protocol: a call ends once, and one that ends as never executed was handed to nobody.
"""

from collections import Counter
from functools import partial
from random import Random
from typing import Protocol

from antiphon.core.errors import DefiniteCallError
from antiphon.core.runs import Order
from antiphon.stack.effects import ConcludeCall, HandRequest
from antiphon.stack.inputs import CallRequested, Input, RequestAnswered
from antiphon.toolkit.calls import Wanted

_THOUGHT_US = 3_000
_DEADLINES_US = (None, 2_000, 30_000, 300_000)
_REFUSED, _IGNORED = 0.1, 0.05


class CallBook:
    """What became of the calls of a world, by what each asked."""

    def __init__(self) -> None:
        """Nobody has called."""
        self.handed: Counter[bytes] = Counter()
        self.void: dict[bytes, str] = {}
        """Calls that ended as never executed, and at whom."""
        self.complaint = ""
        """What no call should do, said at once."""

    def judge(self) -> str:
        """Say which call others executed though it ended as one that nobody did."""
        for asked, caller in self.void.items():
            if self.handed[asked]:
                return f"call {asked.decode()} of {caller} never went out, and was handed over"
        return self.complaint


class CallsOwner(Protocol):
    """The process whose calls they are."""

    @property
    def now_us(self) -> int:
        """What its clock shows."""

    def give(self, happened: Input) -> None:
        """Give an input to its machine."""

    def act_later(self, delay_us: int, action: "partial[None]") -> None:
        """Do something after a while, if it lives then."""


class Calling:
    """One incarnation's calls."""

    def __init__(self, owner: CallsOwner, name: str, random: Random, book: CallBook) -> None:
        """Keep the ``book`` of the world."""
        self._owner = owner
        self._name = name
        self._random = random
        self._book = book
        self._count = 0
        self._open: dict[int, bytes] = {}

    @property
    def open_count(self) -> int:
        """How many calls have not ended."""
        return len(self._open)

    def call(self, orders: tuple[Order, ...]) -> None:
        """Call all other members."""
        random = self._random
        self._count += 1
        wanted = random.choice(list(Wanted))
        within_us = random.choice(_DEADLINES_US)
        deadline_us = None if within_us is None else self._owner.now_us + within_us
        kind = "waits" if within_us is None else "hurries"
        asked = f"{self._name}/{self._count}/{kind}".encode()
        number = self._count if wanted is not Wanted.NONE else 0
        if number:
            self._open[number] = asked
        order = random.choice(orders)
        self._owner.give(CallRequested(number, asked, wanted, deadline_us, order))

    def do(self, effect: HandRequest | ConcludeCall) -> None:
        """Do what the machine says."""
        if isinstance(effect, HandRequest):
            self._hand_over(effect)
        else:
            self._conclude(effect)

    def _hand_over(self, asked: HandRequest) -> None:
        random = self._random
        if str(asked.caller) != self._name:  # the caller is handed its own request, alone too
            self._book.handed[asked.payload] += 1
        if not asked.number:
            return
        is_ignored = random.random() < _IGNORED and asked.payload.endswith(b"hurries")
        if not is_ignored:
            answer = None if random.random() < _REFUSED else asked.payload
            answered = RequestAnswered(asked.caller, asked.number, answer, "not now")
            delay_us = int(random.random() * _THOUGHT_US)
            self._owner.act_later(delay_us, partial(self._owner.give, answered))

    def _conclude(self, end: ConcludeCall) -> None:
        asked = self._open.pop(end.number, None)
        if asked is None:
            self._book.complaint = f"call {end.number} of {self._name} ends twice"
        elif isinstance(end.error, DefiniteCallError) and not end.replies.asked:
            self._book.void[asked] = self._name
        elif any(answer != asked for answer in end.replies.answers.values()):
            self._book.complaint = f"call {asked.decode()} gets the answer of another"
