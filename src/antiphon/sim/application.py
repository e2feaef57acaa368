"""A simulated application: it reads what its process delivers, a little late, and answers.

Law: an application outlives the lives of its process: excluded, it comes back and reads on. It
reads in order, so it has answered what one life delivered before it comes to the next; some read
late, so that a life may end, and another begin, before they answer. What it has to send goes
through the send queue of its name (``stack.send_queue``), as on the network; some wait until they
are admitted (flow control), others hand over at once. It ends with a crash, or
when it leaves.
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import ReaderAdvanced, ReaderLagged
from antiphon.stack.send_queue import How, SendQueue

if TYPE_CHECKING:
    from antiphon.sim.life import Life

_LAGS_US = (0, 0, 0, 0, 3_000, 30_000, 150_000)
"""How late applications read at most: most of them at once."""

_LONG_LAGS_US = (0, 0, 3_000, 30_000, 150_000, 400_000)
"""The same, where there is little room."""

_LATER_US = 1_000

_BEHIND = 4
"""Events unread with which an application of little room is behind."""

_PATIENT = 0.5
"""How many applications wait until they are admitted."""


_TIGHT_DIGITS = 12
"""Digits of a number, at least, where a few messages are to fill a buffer."""


class Heard(NamedTuple):
    """What one life delivered: a run, or a letter (of view 0)."""

    sender: str
    view: int
    first: int
    last: int
    how: How | None
    """None: it is a letter."""
    payloads: tuple[bytes, ...]
    """Words of an application (``word``); none of a tool's."""


class Handed(NamedTuple):
    """A message, or a letter, that an application has handed over."""

    how: How | None
    """None: it is a letter."""
    time_us: int


def read_word(payload: bytes) -> tuple[bytes, int]:
    """Return which message a word answers, empty if none, and its sender's number for it."""
    question, _, number = payload.partition(b"#")
    return question, int(number)


class Application:
    """What one name has to read and to send, life after life."""

    def __init__(
        self, name: str, seed: int, scheduler: Scheduler, queue: SendQueue, *, is_tight: bool
    ) -> None:
        """Begin with the first life; a ``tight`` one is soon behind."""
        self._scheduler = scheduler
        self._random = Random(f"{seed}/{name}/reader")
        self.lag_us = self._random.choice(_LAGS_US if not is_tight else _LONG_LAGS_US)
        """How late it reads, at most."""
        self.handed: dict[int, Handed] = {}
        """What it has handed over, by its own numbers, which count from 1."""
        self.gone_us: dict[int, int] = {}
        """When that went out."""
        self._unread: deque[tuple[int, Callable[[Life], None]]] = deque()
        self.queue = queue
        self._is_tight = is_tight
        self._is_behind = False
        self.is_patient = self._random.random() < _PATIENT
        """Whether it sends only what is admitted."""
        self.life: Life | None = None
        """The life that is, or was last."""
        self.is_over = False
        self.question = b""
        """The last message of somebody else that the life it has come to has delivered."""

    @property
    def has_unread(self) -> bool:
        """Whether it has still to read, and perhaps to answer, something."""
        return bool(self._unread)

    def word(self, how: How | None, answering: bytes) -> bytes:
        """Return what to say next: the message that it answers, and the number of the word."""
        number = len(self.handed) + 1
        self.handed[number] = Handed(how, self._scheduler.now_us)
        return b"%b#%0*d" % (answering, _TIGHT_DIGITS if self._is_tight else 1, number)

    def note_gone(self, payloads: Iterable[bytes]) -> None:
        """Words have gone out."""
        for payload in payloads:
            self.gone_us[read_word(payload)[1]] = self._scheduler.now_us

    def read(self, action: "Callable[[Life], None]", delay_us: int = 0) -> None:
        """Have it do something about an event when it reads that, with the life that is then."""
        lag_us = int(self._random.random() * self.lag_us) if self.lag_us else 0
        due_us = self._scheduler.now_us + lag_us + delay_us
        if self._unread:
            due_us = max(due_us, self._unread[-1][0])
        self._unread.append((due_us, action))
        self._scheduler.at(due_us, self._go_on, None)
        self._look_if_behind()

    def note(self) -> None:
        """Something was delivered that it reads, and does nothing about."""
        if self._is_tight:
            self.read(_do_nothing)

    def _look_if_behind(self) -> None:
        """Tell the machine when too much is unread, and when little is."""
        limit = _BEHIND // 2 if self._is_behind else _BEHIND
        is_behind = self._is_tight and len(self._unread) > limit
        if is_behind != self._is_behind:
            self._is_behind = is_behind
            if self.life is not None:
                self.life.give(ReaderLagged(is_behind))

    def _go_on(self, _: object) -> None:
        now_us = self._scheduler.now_us
        if self.is_over:
            self._unread.clear()
        while self._unread and self._unread[0][0] <= now_us:
            assert self.life is not None, "what it reads was delivered"
            if self.life.is_up and self.life.is_paused:
                self._scheduler.at(now_us + _LATER_US, self._go_on, None)
                return
            _, action = self._unread.popleft()
            action(self.life)
            self._look_if_behind()

    def answer(self) -> None:
        """Have it answer the last message, when it has read so far."""
        self.read(lambda life: life.say(1, answering=self.question) if self.question else None)

    def begin_life(self, life: "Life") -> None:
        """Another life of the process has begun."""
        self.life = life

    def start_reading(self) -> None:
        """The machine of another life has begun: tell it how far this application is."""
        if self._is_behind and self.life is not None:
            self.life.give(ReaderLagged(is_behind=True))

    def enter(self) -> None:
        """The first view of a life has begun: what is read from here on is of that life."""
        number = self.queue.incarnation
        if number != self.queue.read:
            self.read(lambda life: self._come_to(life, number))

    def _come_to(self, life: "Life", number: int) -> None:
        self.question = b""  # it knows now that whoever asked was left behind
        life.advance(ReaderAdvanced(number))

    def end_life(self, *, is_last: bool) -> None:
        """The life has ended."""
        self.is_over = is_last


def _do_nothing(_life: "Life") -> None:
    """Read something, and think nothing of it."""
