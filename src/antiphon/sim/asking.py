"""Questions between simulated processes: asked of a place, not of a process.

Law: a question reaches whoever bears the name at its place when it arrives, on channels of its
own, which are slow and cut as those between the two processes are, but go on when a process is out
or has given the other up. Nobody answers for a process that is down, or between two lives; one that
is paused answers when it goes on. What is answered is the machine's word alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.core.control import Out, Standing
from antiphon.core.ids import ProcessId
from antiphon.membership.entrance import Found
from antiphon.sim.channels import Channels
from antiphon.sim.life import Life
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import ProbeReceived

_LATER_US = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody wants to know how another stands, and itself."""

    asker: ProcessId
    """An incarnation of 0: it is between two lives."""
    view_number: int
    about: ProcessId | None = None
    """Whom a member looks for at this place; None: it looks for a way in."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question."""

    question: Question
    place: str
    found: Found | None = None
    """None: nobody answers there."""
    said: Out | Standing | None = None


def post_box(name: str) -> ProcessId:
    """Return the end of the channels on which a process asks and is asked."""
    return ProcessId(name, 0)


class Inquiries:
    """All questions of a world, and their answers."""

    def __init__(
        self,
        scheduler: Scheduler,
        channels: Channels,
        current: dict[str, Life],
        on_reply: Callable[[Reply], None],
    ) -> None:
        """Find who bears a name now in ``current``."""
        self._scheduler = scheduler
        self._channels = channels
        self._current = current
        self._on_reply = on_reply

    def ask(self, place: str, question: Question) -> None:
        """Send a question."""
        self._channels.post(post_box(question.asker.name), post_box(place), question)

    def probe(self, life: Life, process: ProcessId) -> None:
        """Send the question of a member that is blocked."""
        latest = life.machine.membership.latest
        assert latest is not None, "only members probe"
        self.ask(process.place, Question(life.machine.me, latest.number, process))

    def arrive(self, place: str, item: object) -> None:
        """Answer a question, or hand over what was answered."""
        if isinstance(item, Reply):
            self._on_reply(item)
        elif isinstance(item, Question):
            self._answer((place, item))

    def _answer(self, what: tuple[str, Question]) -> None:
        place, question = what
        life = self._current.get(place)
        if life is not None and life.is_up and life.is_paused:
            self._scheduler.at(self._scheduler.now_us + _LATER_US, self._answer, what)
            return
        reply = Reply(question, place)
        if life is not None and life.is_up:
            reply = _reply_of(life, place, question)
            if question.about is not None:
                life.give(ProbeReceived(question.asker, question.view_number))
        self._channels.post(post_box(place), post_box(question.asker.name), reply)


def _reply_of(life: Life, place: str, question: Question) -> Reply:
    membership, asker = life.machine.membership, question.asker
    has_channel = asker in membership.transition.everybody() or membership.has_left(asker)
    said = membership.answer(asker, question.view_number, has_channel=has_channel)
    standing = said if isinstance(said, Standing) else None
    latest = membership.latest
    next_life = latest.next_life_of(asker) if latest is not None else 0
    return Reply(question, place, Found(life.machine.me, standing, next_life), said)
