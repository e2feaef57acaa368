"""Examples in words, with the lines of the trace.

Law: an explanation names the process where it shows, the messages, and the events that link
them, in causal order, the wrong one last; every event says where in the trace it is recorded.
Explaining decides nothing. Cost: three passes over what is in memory or on disk already
(``evidence``), and only if something is wrong.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from antiphon.pipeline.cutting import Numbers
from antiphon.pipeline.evidence import (
    Act,
    Message,
    Place,
    messages_of,
    places_of,
    predecessors_of,
)
from antiphon.pipeline.findings import PROPERTY_OF, Finding, What
from antiphon.pipeline.ingest import Trace
from antiphon.pipeline.position import NEVER, STRIDE
from antiphon.pipeline.scopes import Record, Scope, Survey
from antiphon.trace.verdict import Link, MessageId, Violation

_ORDERS = (What.NOT_FIFO, What.NOT_CAUSAL)


@dataclass(slots=True)
class _Story:
    """An explanation whose events have yet to be looked up in the trace."""

    scope: Scope
    finding: Finding
    message: Message
    steps: list[tuple[Act, str]] = field(default_factory=list)
    ends_with: str = ""
    """What the end of the record of the process has to do with it."""
    earlier: MessageId | None = None
    text: str = ""

    @property
    def process(self) -> str:
        """Return the name of the process where it shows."""
        return self.scope.names[self.finding.process]

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

    def add_delivery(self, rank: int, message: Message) -> None:
        """Add the first delivery of a message to the chain."""
        position = message.positions[rank]
        # A sender that records no deliveries of its own delivers by multicasting.
        is_implied = rank == message.sender and position == message.multicast
        act = self._act(rank, message, position, is_multicast=is_implied)
        self.steps.append((act, self.say(rank, "delivered", message)))

    def add_wrong(self, text: str) -> None:
        """Add what was found to be wrong to the chain."""
        finding = self.finding
        is_own = finding.process == finding.sender
        is_multicast = finding.what is What.MULTICAST_AGAIN or (
            is_own and finding.position == self.message.multicast
        )
        act = self._act(finding.process, self.message, finding.position, is_multicast=is_multicast)
        self.steps.append((act, text))

    def where(self) -> str:
        """Say in which group and view, if the trace has names for them."""
        _, group, view = self.scope.key
        return f" (group {group}, view {view})" if group else ""

    def _act(self, rank: int, message: Message, position: int, *, is_multicast: bool) -> Act:
        row = position - position % STRIDE
        return Act(self.scope.number, rank, message.sender, is_multicast, row)


def explain(
    spark: SparkSession,
    trace: Trace,
    survey: Survey,
    strands: dict[int, Numbers],
    matrix: DataFrame,
    findings: Iterable[Finding],
) -> dict[Finding, Violation]:
    """Explain each of a few findings."""
    messages = messages_of(spark, matrix, findings)
    out_of_order = {finding: messages[finding] for finding in messages if finding.what in _ORDERS}
    predecessors = predecessors_of(spark, matrix, out_of_order) if out_of_order else {}
    stories = [
        _tell(_Story(survey.scopes[finding.scope], finding, message), predecessors.get(finding))
        for finding, message in messages.items()
    ]
    acts = (act for story in stories for act, _ in story.steps)
    places = places_of(trace.packs, strands, acts)
    return {
        story.finding: Violation(
            property=PROPERTY_OF[story.finding.what],
            process=story.process,
            message=story.name(story.message),
            earlier=story.earlier,
            chain=tuple(_chain(story, survey.records[story.scope.key[0]], places, trace.files)),
            text=story.text,
            run=story.scope.key[0],
        )
        for story in stories
    }


def _chain(
    story: _Story, records: dict[str, Record], places: dict[Act, Place], files: list[str]
) -> Iterable[Link]:
    """Yield the events with the lines that record them."""
    for act, text in story.steps:
        process, place = story.scope.names[act.process], places[act]
        index = act.position // STRIDE if records[process].last.is_numbered else -1
        yield Link(process, index, text, files[place.segment], place.line)
    if story.ends_with:
        record = records[story.process]
        last = record.last
        index = last.last_position // STRIDE if last.is_numbered else -1
        file = files[record.last_segment]
        yield Link(story.process, index, story.ends_with, file, last.last_line)


def _tell(story: _Story, predecessor: Message | None) -> _Story:
    match story.finding.what:
        case What.NOT_FIFO | What.NOT_CAUSAL:
            assert predecessor is not None, "something had to come first"
            _tell_order(story, predecessor)
        case What.MULTICAST_AGAIN | What.DELIVERED_AGAIN:
            _tell_again(story)
        case What.NOT_MULTICAST | What.IN_DOUBT | What.TOO_EARLY:
            _tell_creation(story)
        case What.NOT_DELIVERED:
            _tell_disagreement(story)
    return story


def _tell_order(story: _Story, earlier: Message) -> None:
    """Tell of a delivery that came before, or without, an earlier message."""
    message, rank = story.message, story.finding.process
    sender = story.scope.names[message.sender]
    story.earlier = story.name(earlier)
    story.add_multicast(earlier)
    if earlier.sender == message.sender and earlier.multicast < message.multicast:
        how = f"{sender} had multicast earlier"
    else:
        story.add_delivery(message.sender, earlier)
        how = f"{sender} had delivered before multicasting it"
    story.add_multicast(message)
    fault = "never" if earlier.positions[rank] == NEVER else "only later"
    wrong = story.say(rank, "delivered", message)
    story.add_wrong(f"{wrong}, but {story.earlier} {fault}")
    story.text = f"{wrong}, but {fault} {story.earlier}, which {how}{story.where()}"


def _tell_again(story: _Story) -> None:
    """Tell of a second multicast, or delivery, of a message."""
    message, rank = story.message, story.finding.process
    if story.finding.what is What.MULTICAST_AGAIN:
        story.add_multicast(message)
        again = story.say(rank, "multicast", message)
    else:
        story.add_delivery(rank, message)
        again = story.say(rank, "delivered", message)
    story.add_wrong(f"{again} again")
    story.text = f"{again} a second time{story.where()}"


def _tell_creation(story: _Story) -> None:
    """Tell of the delivery of what nobody multicast, or of what was multicast only later."""
    message = story.message
    wrong = story.say(story.finding.process, "delivered", message)
    if message.multicast == NEVER:
        text = f"{wrong}, which {story.scope.names[message.sender]} never multicast"
    else:
        story.add_multicast(message)
        text = f"{wrong} before multicasting it"
    story.add_wrong(text)
    story.text = text + story.where()


def _tell_disagreement(story: _Story) -> None:
    """Tell of a message that one process delivered and another, whose record is whole, not."""
    message, held = story.message, story.scope.layout().held
    has_it = next(rank for rank in held if message.positions[rank] != NEVER)
    is_implied = has_it == message.sender and message.positions[has_it] == message.multicast
    if message.multicast != NEVER and not is_implied:
        story.add_multicast(message)
    story.add_delivery(has_it, message)
    text = f"{story.process} never delivered {story.name(message)}"
    story.ends_with = f"{text} up to the end of its record"
    story.text = f"{text}, which {story.scope.names[has_it]} delivered{story.where()}"
