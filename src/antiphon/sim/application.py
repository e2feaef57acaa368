"""A simulated application: it reads what its process delivers, a little late, and answers.

Law: an application outlives the incarnations of its process: excluded, it comes back and reads on.
It reads in order, so it has answered what one incarnation delivered before it comes to the next;
some read late, so that an incarnation may end, and another begin, before they answer. What it has
to send goes through the send queue of its name (``stack.send_queue``), as on the network; some wait
until they are admitted (flow control), others hand over at once. It ends with a crash, or when it
leaves.
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple, Protocol

from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import Input, ReaderAdvanced, ReaderLagged
from antiphon.stack.send_queue import How, SendQueue

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
    """What one incarnation delivered: a run, or a letter (of view 0)."""

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


class Speech(Protocol):
    """What an application does of its own will, through the incarnation that is."""

    def say(self, count: int, *, answering: bytes = b"") -> None:
        """Multicast ``count`` messages."""

    def write(self, name: str, answering: bytes = b"") -> None:
        """Send a letter to a member."""

    def begin(self) -> None:
        """Begin a transaction."""

    def call(self) -> None:
        """Call all other members."""


class Process(Protocol):
    """What an application knows of an incarnation of its process."""

    is_up: bool

    @property
    def is_paused(self) -> bool:
        """Whether it does nothing now."""

    @property
    def speaker(self) -> Speech:
        """By which the application speaks."""

    def give(self, happened: Input) -> None:
        """Give an input to its machine, if it is up."""

    def advance(self, happened: Input) -> None:
        """Give an input to its machine, up or not."""


Action = Callable[[Process], None]
"""What is done about an event that was read, with the incarnation that is then."""


class Application:
    """What one name has to read and to send, incarnation after incarnation."""

    def __init__(
        self, name: str, seed: int, scheduler: Scheduler, queue: SendQueue, *, is_tight: bool
    ) -> None:
        """Begin with the first incarnation; a ``tight`` one is soon behind."""
        self._scheduler = scheduler
        self._random = Random(f"{seed}/{name}/reader")
        self.lag_us = self._random.choice(_LAGS_US if not is_tight else _LONG_LAGS_US)
        """How late it reads, at most."""
        self.handed: dict[int, Handed] = {}
        """What it has handed over, by its own numbers, which count from 1."""
        self.gone_us: dict[int, int] = {}
        """When that went out."""
        self._unread: deque[tuple[int, Action]] = deque()
        self.queue = queue
        self._is_tight = is_tight
        self._is_behind = False
        self.is_patient = self._random.random() < _PATIENT
        """Whether it sends only what is admitted."""
        self._process: Process | None = None
        """The incarnation that is, or was last."""
        self.is_over = False
        self.question = b""
        """The last message of somebody else that the incarnation it has come to has delivered."""

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

    def read(self, action: Action, delay_us: int = 0) -> None:
        """Have it do something about an event when it reads that."""
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
            if self._process is not None:
                self._process.give(ReaderLagged(is_behind))

    def _go_on(self, _: object) -> None:
        now_us = self._scheduler.now_us
        if self.is_over:
            self._unread.clear()
        while self._unread and self._unread[0][0] <= now_us:
            assert self._process is not None, "what it reads was delivered"
            if self._process.is_up and self._process.is_paused:
                self._scheduler.at(now_us + _LATER_US, self._go_on, None)
                return
            _, action = self._unread.popleft()
            action(self._process)
            self._look_if_behind()

    def answer(self) -> None:
        """Have it answer the last message, when it has read so far."""
        self.read(self._answer_last)

    def _answer_last(self, process: Process) -> None:
        if self.question:
            process.speaker.say(1, answering=self.question)

    def begin_incarnation(self, process: Process) -> None:
        """Another incarnation of the process has begun."""
        self._process = process

    def start_reading(self) -> None:
        """The machine of another incarnation has begun: tell it how far this application is."""
        if self._is_behind and self._process is not None:
            self._process.give(ReaderLagged(is_behind=True))

    def enter(self) -> None:
        """The first view of an incarnation has begun: what is read from here on is of it."""
        number = self.queue.incarnation
        if number != self.queue.read:
            self.read(lambda process: self._come_to(process, number))

    def _come_to(self, process: Process, number: int) -> None:
        self.question = b""  # it knows now that whoever asked was left behind
        process.advance(ReaderAdvanced(number))

    def end_incarnation(self, *, is_last: bool) -> None:
        """The incarnation has ended."""
        self.is_over = is_last


def _do_nothing(_process: Process) -> None:
    """Read something, and think nothing of it."""
