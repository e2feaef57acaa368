"""What the application of a simulated process says: what the scenario asks for, and answers.

Law: it multicasts what the scenario says and answers some of what it delivers: with a message, a
letter, a call or a transaction. An awkward one also multicasts from inside a delivery, at every
view, and when it hears that the group is blocked: its words go out when the step is done. A patient
one waits until it is admitted. A world allows so many messages in all.
"""

from collections import deque
from functools import partial
from random import Random
from typing import Protocol

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, ExpiredRun, Letter, Run
from antiphon.core.views import View
from antiphon.sim.application import Action, Application, Heard
from antiphon.sim.calling import Calling
from antiphon.sim.pace import Pace
from antiphon.sim.surroundings import Surroundings
from antiphon.sim.transactions import Transactions
from antiphon.stack.effects import AdmitSenders
from antiphon.stack.inputs import Input, LetterRequested, MulticastRequested, SendersWaited
from antiphon.stack.send_queue import How, SendQueue

_THOUGHT_US = 2_000

_LETTERS = 0.15
"""How often an answer is a letter, where there are letters."""

_CALLS = 0.2
"""How often an answer is a call, where there are calls."""

_TRANSACTIONS = 0.15
"""How often an answer begins a transaction, where there are transactions."""

_AWKWARD = 0.5
"""How often an awkward application says something at an awkward moment."""


class SpeakerOwner(Protocol):
    """The process whose application speaks."""

    me: ProcessId
    is_up: bool
    pace: Pace
    view: View | None
    transactions: Transactions
    calls: Calling

    def act(self, action: "partial[None]") -> None:
        """Do something, if it lives, as soon as it is not paused."""

    def give(self, happened: Input) -> None:
        """Give an input to its machine, if it is up."""

    def advance(self, happened: Input) -> None:
        """Give an input to its machine, up or not."""

    def work(self) -> None:
        """Give the machine all that waits for it, unless that is going on."""


class Speaker:
    """Speaks for an application through one incarnation of its process."""

    def __init__(
        self,
        owner: SpeakerOwner,
        around: Surroundings,
        application: Application,
        queue: SendQueue,
        random: Random,
    ) -> None:
        """Nobody is admitted yet."""
        self._owner = owner
        self._around = around
        self._application = application
        self._queue = queue
        self._random = random
        self.heard: list[Heard] = []
        """What was delivered, as the application sees it."""
        self.admits = AdmitSenders(messages=False, letters=False)
        """What the machine admits."""
        self._waiting: deque[Input] = deque()
        """What a patient application has to send, and waits to."""
        self._is_said_to_wait = False

    @property
    def is_admitted(self) -> bool:
        """Whether the application may hand over more, messages and letters."""
        return self.admits.messages and self.admits.letters

    @property
    def is_waiting(self) -> bool:
        """Whether something waits to be admitted."""
        return bool(self._waiting)

    # What it is asked to say.

    def say(self, count: int, how: How | None = None, *, answering: bytes = b"") -> None:
        """Multicast ``count`` messages; if the process is paused, when it goes on."""
        if self._owner.is_up and self._owner.pace.is_paused:
            self._owner.pace.do(partial(self.say, count, how, answering=answering))
            return
        count = min(count, self._around.messages_left)
        self._around.messages_left -= count
        chosen = how if how is not None else self._choose()
        if count:
            words = [self._application.word(chosen, answering) for _ in range(count)]
            size = sum(map(len, words))
            self._hand_over(MulticastRequested(words, chosen, size, self._queue.read))

    def _choose(self) -> How:
        ways = self._around.ways
        if len(ways) == 1:
            return ways[0][0]
        return self._random.choices([how for how, _ in ways], [often for _, often in ways])[0]

    def begin(self) -> None:
        """Begin a transaction."""
        if self._around.messages_left and not self._queue.is_void:
            self._around.messages_left -= 1
            self._around.mark("transaction")
            self._owner.act(partial(self._owner.transactions.begin))

    def call(self) -> None:
        """Call all other members."""
        if self._around.messages_left and not self._queue.is_void:
            self._around.messages_left -= 1
            self._around.mark("letter")
            orders = tuple(dict.fromkeys(how.order for how, _ in self._around.ways))
            self._owner.act(partial(self._owner.calls.call, orders))

    def write(self, name: str, answering: bytes = b"") -> None:
        """Send a letter to a member, if there is one of that name; likewise."""
        if self._owner.is_up and self._owner.pace.is_paused:
            self._owner.pace.do(partial(self.write, name, answering))
            return
        me, view = self._owner.me, self._owner.view
        members = view.members if view is not None else ()
        to = next((member for member in members if member.name == name), me)
        if self._around.messages_left and to != me:
            self._around.messages_left -= 1
            word = self._application.word(None, answering)
            self._hand_over(LetterRequested(to, word, self._queue.read))

    # What may go out.

    def _hand_over(self, asked: MulticastRequested | LetterRequested) -> None:
        """Hand something to the machine, or wait until it is admitted."""
        if self._application.is_patient and self._owner.is_up:
            self._waiting.append(asked)
            self._owner.work()
        else:
            self._owner.advance(asked)

    def next_input(self) -> Input | None:
        """Return what the machine is to be given now that it has nothing else to do."""
        waiting = self._waiting
        if waiting and self._owner.is_up:
            is_letter = isinstance(waiting[0], LetterRequested)
            # One at a time: each may be the last for which there is room.
            if self.admits.letters if is_letter else self.admits.messages:
                return waiting.popleft()
        if bool(waiting) != self._is_said_to_wait and self._owner.is_up:
            self._is_said_to_wait = bool(waiting)
            return SendersWaited(self._is_said_to_wait)
        return None

    def take_waiting(self) -> list[Input]:
        """Hand over what waits: the incarnation to which it belongs has ended."""
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting

    # What it says about what happens.

    def hear(self, sender: str, run: Run) -> None:
        """Note what an application sees of a run or a letter."""
        has_words = run.port == PORT_APPLICATION and type(run) is not ExpiredRun
        said = tuple(run.payloads) if has_words else ()
        is_letter = isinstance(run, Letter)
        view, how = (0, None) if is_letter else (run.view, How(run.order, run.uniform))
        self.heard.append(Heard(sender, view, run.first, run.last, how, said))
        self._application.note()

    def answer(self, sender: str, run: Run) -> None:
        """Answer what another process sent, perhaps."""
        question = b""
        if not isinstance(run, Letter):
            question = name_of(sender, run.view, run.last)
            self._application.question = question
        around, random = self._around, self._random
        if around.messages_left and random.random() < around.answers:
            delay_us = int(random.random() * _THOUGHT_US)
            if around.is_awkward and random.random() < _AWKWARD:
                self._blurt(sender, question)
            else:
                self._application.read(self._choose_answer(sender, question), delay_us)

    def _choose_answer(self, sender: str, question: bytes) -> Action:
        around, random = self._around, self._random
        if around.has_transactions and random.random() < _TRANSACTIONS:
            return lambda process: process.speaker.begin()
        if around.has_calls and random.random() < _CALLS:
            return lambda process: process.speaker.call()
        if around.has_letters and random.random() < _LETTERS:
            name = sender.split("~", maxsplit=1)[0]
            return lambda process: process.speaker.write(name, question)
        return lambda process: process.speaker.say(1, answering=question)

    def _blurt(self, to: str = "", question: bytes = b"") -> None:
        """Say something at once: a message, or a letter."""
        if self._around.has_letters and to and self._random.random() < _LETTERS:
            self.write(to.split("~", maxsplit=1)[0], question)
        else:
            self.say(1, answering=question)

    def hear_view(self, view: View, *, is_first: bool) -> None:
        """An awkward application has something to say at a view."""
        if not self._around.is_awkward:
            return
        if self._around.has_transactions and is_first and view.number > 1:
            self.begin()
        if self._random.random() < _AWKWARD:
            self._blurt(self._random.choice(view.members).name)

    def hear_block(self) -> None:
        """An awkward application has something to say when the group is blocked."""
        if self._around.is_awkward:
            self._blurt()


def name_of(sender: str, view: int, number: int) -> bytes:
    """Return how an answer names the message that it answers."""
    return f"{sender}/{view}/{number}".encode()
