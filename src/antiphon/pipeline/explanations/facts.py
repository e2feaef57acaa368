"""What is known of one message that is wrong, event by event; their lines have yet to be found.

Law: what happened to messages is looked up in the trace, all at once (``evidence``); where view
rows and the ends of records are, the reports have said already.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from antiphon.pipeline.checks.across.chains import NOBODY, Known
from antiphon.pipeline.checks.findings import Finding, What
from antiphon.pipeline.explanations.evidence import Act, Message, Place
from antiphon.pipeline.ingest.position import EXCUSED, NEVER, STRIDE
from antiphon.pipeline.ingest.reading import ViewRow
from antiphon.pipeline.survey.scopes import Record, Scope, Survey
from antiphon.trace.explanations import Ending, MessageEvent, ViewEvent
from antiphon.trace.verdict import Link, MessageId

Where = Act | ViewRow | Record
"""Where an event is recorded; a record stands for its last row."""

_MULTICASTS = (What.MULTICAST_AGAIN, What.MULTICAST_ASTRAY)


Ids = Mapping[tuple[int, int, int], str]
"""By scope, sender and number: the users' own names for messages."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a finding, and of the message that it is about."""

    survey: Survey
    finding: Finding
    message: Message
    ids: Ids

    @property
    def scope(self) -> Scope:
        """Return where it shows."""
        return self.survey.scopes[self.finding.scope]

    @property
    def process(self) -> str:
        """Return the name of the process where it shows."""
        return self.scope.names[self.finding.process]

    def multicast(self, message: Message) -> MessageEvent[Where]:
        """Return the multicast of a message."""
        return self._event(message.sender, message, message.multicast, is_multicast=True)

    def multicast_if_any(self, message: Message) -> MessageEvent[Where] | None:
        """Return the multicast of a message, or None if it is not recorded."""
        return None if message.multicast == NEVER else self.multicast(message)

    def delivery(self, rank: int, message: Message) -> MessageEvent[Where]:
        """Return the first delivery of a message by a process."""
        event = self._event(rank, message, message.positions[rank], is_multicast=False)
        if not is_implied(rank, message):
            return event
        return event._replace(place=self.multicast(message).place)

    def origin(self, rank: int) -> MessageEvent[Where] | None:
        """Return the multicast of the message, unless it is its delivery by this process."""
        return None if is_implied(rank, self.message) else self.multicast_if_any(self.message)

    def wrong(self) -> MessageEvent[Where]:
        """Return what was found to be wrong."""
        finding, message = self.finding, self.message
        is_multicast = finding.what in _MULTICASTS
        event = self._event(finding.process, message, finding.position, is_multicast=is_multicast)
        is_own = finding.process == finding.sender and finding.position == message.multicast
        return event._replace(place=self.multicast(message).place) if is_own else event

    def naming(self, message: Message) -> list[Where]:
        """Return where the user's own name for a message may be: the first that has one counts."""
        having = (rank for rank, at in enumerate(message.positions) if at not in {NEVER, EXCUSED})
        events = [self.multicast_if_any(message)]
        events += [self.delivery(rank, message) for rank in islice(having, 1)]
        return [event.place for event in events if event is not None]

    def ending(self, successor: ViewRow | None = None) -> Ending[Where]:
        """Return how the process came to do without the message."""
        went_on = None if successor is None else self.installation(successor)
        return Ending(self.process, went_on, self.survey.records[self.scope.key[0]][self.process])

    def installation(self, row: ViewRow) -> ViewEvent[Where]:
        """Return a view row as an event."""
        return installation(self.survey, row)

    def successor(self, rank: int) -> ViewRow | None:
        """Return where a process installed the view after this one."""
        run, group, view = self.scope.key
        rows = self.survey.views.installed.get((run, group, view + 1), {})
        return rows.get(self.scope.names[rank])

    def current(self) -> ViewRow | None:
        """Return the view in which the process was when it went wrong."""
        run, group, _ = self.scope.key
        return self.survey.views.current((run, group, self.process), self.finding.position)

    def multicast_across(self, known: Known) -> MessageEvent[Where]:
        """Return the multicast of a message of any view."""
        message = (known.scope, known.sender, known.number)
        return self._event_of(message, known.sender, known.multicast, is_multicast=True)

    def delivery_across(self, known: Known) -> MessageEvent[Where] | None:
        """Return its delivery by who came to know it so; None if that is its sender."""
        if known.process == NOBODY:
            return None
        message = (known.scope, known.sender, known.number)
        return self._event_of(message, known.process, known.position, is_multicast=False)

    def naming_across(self, known: Known) -> list[Where]:
        """Return where the user's own name for it may be."""
        events = [self.multicast_across(known)]
        is_implied_first = known.first == known.sender and known.first_position == known.multicast
        if known.first != NOBODY and not is_implied_first:
            message = (known.scope, known.sender, known.number)
            events.append(
                self._event_of(message, known.first, known.first_position, is_multicast=False)
            )
        return [event.place for event in events]

    def _event(
        self, rank: int, message: Message, position: int, *, is_multicast: bool
    ) -> MessageEvent[Where]:
        named = (self.scope.number, message.sender, message.number)
        return self._event_of(named, rank, position, is_multicast=is_multicast)

    def _event_of(
        self, message: tuple[int, int, int], rank: int, position: int, *, is_multicast: bool
    ) -> MessageEvent[Where]:
        number, sender, count = message
        scope = self.survey.scopes[number]
        _, group, view = scope.key
        act = Act(number, rank, sender, is_multicast, position - position % STRIDE)
        name = MessageId(scope.names[sender], count, group, view, self.ids.get(message, ""))
        return MessageEvent(scope.names[rank], name, is_multicast, act)


def is_implied(rank: int, message: Message) -> bool:
    """Whether a sender that records no deliveries of its own delivers by multicasting."""
    return rank == message.sender and message.positions[rank] == message.multicast


def installation(survey: Survey, row: ViewRow) -> ViewEvent[Where]:
    """Return a view row as an event."""
    return ViewEvent(row.process, row.group, row.view, survey.views.members(row), row)


@dataclass(frozen=True, slots=True)
class Lines:
    """Where everything is recorded."""

    survey: Survey
    files: list[str]
    places: dict[Act, Place]

    def link(self, where: Where, text: str) -> Link:
        """Return an event as part of a chain."""
        match where:
            case Act():
                scope, place = self.survey.scopes[where.scope], self.places[where]
                run, process, position = scope.key[0], scope.names[where.process], where.position
                segment, line = place.segment, place.line
            case ViewRow():
                run, process, position = where.run, where.process, where.position
                segment, line = self.survey.views.segment(where), where.line
            case Record():
                last = where.last
                run, process, position = last.run, last.process, last.last_position
                segment, line = where.last_segment, last.last_line
        index = self.survey.row_index(run, process, position)
        return Link(process, index, text, self.files[segment], line)
