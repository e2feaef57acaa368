"""An explanation in the making: events in words, whose lines have yet to be looked up.

Law: what happened to messages is looked up in the trace, all at once (``evidence``); where view
rows and the ends of records are, the reports have said already.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.pipeline.evidence import Act, Message, Place
from antiphon.pipeline.findings import PROPERTY_OF, Finding, What
from antiphon.pipeline.position import NEVER, STRIDE
from antiphon.pipeline.reading import ViewRow
from antiphon.pipeline.scopes import Record, Scope, Survey
from antiphon.trace import words
from antiphon.trace.verdict import Link, MessageId, Violation

_MULTICASTS = (What.MULTICAST_AGAIN, What.MULTICAST_ASTRAY)


@dataclass(slots=True)
class Story:
    """What is wrong with one message."""

    survey: Survey
    finding: Finding
    message: Message
    steps: list[tuple[Act | ViewRow | Record, str]] = field(default_factory=list)
    earlier: MessageId | None = None
    text: str = ""

    @property
    def scope(self) -> Scope:
        """Return where it shows."""
        return self.survey.scopes[self.finding.scope]

    @property
    def process(self) -> str:
        """Return the name of the process where it shows."""
        return self.scope.names[self.finding.process]

    @property
    def acts(self) -> Iterable[Act]:
        """Return what has to be looked up."""
        return (what for what, _ in self.steps if isinstance(what, Act))

    def name(self, message: Message) -> MessageId:
        """Return the message's id."""
        _, group, view = self.scope.key
        return MessageId(self.scope.names[message.sender], message.number, group, view)

    def say(self, rank: int, verb: str, message: Message) -> str:
        """Say that a process did something to a message."""
        return f"{self.scope.names[rank]} {verb} {self.name(message)}"

    def add_multicast(self, message: Message) -> None:
        """Add the multicast of a message to the chain."""
        act = self._act(message.sender, message, message.multicast, is_multicast=True)
        self.steps.append((act, self.say(message.sender, "multicast", message)))

    def add_delivery(self, rank: int, message: Message, text: str = "") -> None:
        """Add the first delivery of a message to the chain."""
        position = message.positions[rank]
        act = self._act(rank, message, position, is_multicast=is_implied(rank, message))
        self.steps.append((act, text or self.say(rank, "delivered", message)))

    def add_wrong(self, text: str) -> None:
        """Add what was found to be wrong to the chain."""
        finding = self.finding
        is_multicast = finding.what in _MULTICASTS or (
            finding.process == finding.sender and finding.position == self.message.multicast
        )
        act = self._act(finding.process, self.message, finding.position, is_multicast=is_multicast)
        self.steps.append((act, text))

    def add_origin(self, has_it: int, message: Message) -> None:
        """Add how a message came to be delivered by somebody."""
        if message.multicast != NEVER and not is_implied(has_it, message):
            self.add_multicast(message)
        self.add_delivery(has_it, message)

    def add_fork(self, successor: ViewRow | None) -> None:
        """Add that the process went on to the next view, or ended, without the message."""
        name = str(self.name(self.message))
        if successor is None:
            self.add_end(words.at_end(words.never(self.process, name)))
        else:
            self.steps.append((successor, words.went_on(self.process, successor.view, name)))

    def add_end(self, text: str) -> None:
        """Add the end of the record of the process."""
        self.steps.append((self.survey.records[self.scope.key[0]][self.process], text))

    def successor(self, rank: int) -> ViewRow | None:
        """Return where a process installed the view after this one."""
        run, group, view = self.scope.key
        return self.survey.views.installed.get((run, group, view + 1), {}).get(
            self.scope.names[rank]
        )

    def where(self) -> str:
        """Say in which group and view."""
        _, group, view = self.scope.key
        return words.where(group, view)

    def _act(self, rank: int, message: Message, position: int, *, is_multicast: bool) -> Act:
        row = position - position % STRIDE
        return Act(self.scope.number, rank, message.sender, is_multicast, row)


def is_implied(rank: int, message: Message) -> bool:
    """Whether a sender that records no deliveries of its own delivers by multicasting."""
    return rank == message.sender and message.positions[rank] == message.multicast


def written(story: Story, places: dict[Act, Place], files: list[str]) -> Violation:
    """Return the explanation, with the lines that record its events."""
    return Violation(
        property=PROPERTY_OF[story.finding.what],
        process=story.process,
        message=story.name(story.message),
        earlier=story.earlier,
        chain=tuple(_link(story, what, text, places, files) for what, text in story.steps),
        text=story.text,
        run=story.scope.key[0],
    )


def _link(
    story: Story,
    what: Act | ViewRow | Record,
    text: str,
    places: dict[Act, Place],
    files: list[str],
) -> Link:
    match what:
        case Act():
            process, place = story.scope.names[what.process], places[what]
            index = row_index(story.survey, story.scope.key[0], process, what.position)
            return Link(process, index, text, files[place.segment], place.line)
        case ViewRow():
            return link_to_view(story.survey, what, text, files)
        case Record():
            last = what.last
            index = row_index(story.survey, last.run, last.process, last.last_position)
            return Link(last.process, index, text, files[what.last_segment], last.last_line)


def link_to_view(survey: Survey, row: ViewRow, text: str, files: list[str]) -> Link:
    """Return a view row as part of a chain."""
    index = row_index(survey, row.run, row.process, row.position)
    return Link(row.process, index, text, files[survey.views.segment(row)], row.line)


def row_index(survey: Survey, run: str, process: str, position: int) -> int:
    """Return a row's index, or -1 if those of its process are not numbered."""
    return position // STRIDE if survey.records[run][process].last.is_numbered else -1
