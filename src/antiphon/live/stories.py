"""What was found, put into the words of ``antiphon.trace.explanations``, and the first few kept.

Law: nothing is decided here. Violations are raised when they are found, each once; of one property
and view, a few in ten seconds, for one fault shows in many messages: all are counted. The first few
of all, in the order in which `antiphon verify` lists them, are kept for the verdict. A row that has
been forgotten has no file in an explanation.
"""

from collections.abc import Callable

from antiphon.live.memory.record import Example, Key, RunMemory, nowhere
from antiphon.live.memory.remembered import Place, Stretch
from antiphon.live.memory.scope import InstalledRow, OrderStory, Scope, Told
from antiphon.trace.explanations import (
    BallotEvent,
    Ending,
    Explanation,
    MessageEvent,
    ViewEvent,
    explain_order,
)
from antiphon.trace.verdict import EXAMPLES_MAX, Link, MessageId, Property, Violation

Made = Explanation[Place] | OrderStory
Make = Callable[[], Made]


ALARM_MS = 10_000
"""In which a few violations of a property are raised, per view."""

ALARMS_MAX = 1_000
"""Violations of a property that are raised, per view."""


class Teller:
    """Turns numbers and places into events."""

    def __init__(self, memory: RunMemory) -> None:
        """Tell of one run."""
        self.memory = memory

    def written(self, explanation: Explanation[Place]) -> Violation:
        """Return a violation with its rows."""
        return explanation.written(self.memory.name, self._link)

    def told(self, story: OrderStory, *, is_never: bool, is_open: bool = False) -> Violation:
        """Tell of a delivery out of order, as it stands now."""
        return self.written(
            explain_order(
                Property(story.property),
                _event(story.wrong),
                _event(story.multicast),
                _event(story.earlier),
                None if story.known is None else _event(story.known),
                is_never=is_never,
                is_open=is_open,
            )
        )

    def multicast(self, scope: Scope, sender: int, number: int) -> MessageEvent[Place] | None:
        """Return the multicast of a message; None if it is not on record."""
        piece = piece_of(scope, sender, number)
        if piece is None or piece.sending is None:
            return None
        message = self.message(scope, sender, number)
        name = self.memory.name_of(scope.who[sender])
        return MessageEvent(name, message, is_multicast=True, place=piece.sending.place)

    def sent(self, scope: Scope, sender: int, number: int) -> MessageEvent[Place]:
        """Return the multicast of a message that was multicast, if long ago."""
        found = self.multicast(scope, sender, number)
        if found is not None:
            return found
        message = self.message(scope, sender, number)
        name = self.memory.name_of(scope.who[sender])
        return MessageEvent(name, message, is_multicast=True, place=nowhere(scope.who[sender]))

    def delivery(
        self, scope: Scope, process: int, sender: int, number: int, place: Place | None = None
    ) -> MessageEvent[Place]:
        """Return the delivery of a message; of one's own it may be the row of the multicast."""
        piece = piece_of(scope, sender, number)
        if place is None and piece is not None:
            place = piece.got.get(process)
            if place is None and process == sender and piece.sending is not None:
                place = piece.sending.place
        message = self.message(scope, sender, number)
        name = self.memory.name_of(scope.who[process])
        place = place or nowhere(scope.who[process])
        return MessageEvent(name, message, is_multicast=False, place=place)

    def origin(
        self, scope: Scope, delivered: MessageEvent[Place], sender: int
    ) -> MessageEvent[Place] | None:
        """Return the multicast of a message, unless it is the row of this delivery."""
        multicast = self.multicast(scope, sender, delivered.message.number)
        if multicast is None or multicast.place == delivered.place:
            return None
        return multicast

    def message(self, scope: Scope, sender: int, number: int) -> MessageId:
        """Return a message by its name."""
        memory = self.memory
        group = memory.groups[scope.group].name
        name = self._own_name(scope, piece_of(scope, sender, number))
        return MessageId(memory.name_of(scope.who[sender]), number, group, scope.view, name)

    def installation(self, scope: Scope, row: InstalledRow) -> ViewEvent[Place]:
        """Return the installation of a view of the scope's group."""
        memory = self.memory
        members = [memory.name_of(member) for member in row.members]
        group = memory.groups[scope.group].name
        return ViewEvent(memory.name_of(row.process), group, row.view, members, row.place)

    def earlier_installation(self, scope: Scope, row: InstalledRow) -> ViewEvent[Place]:
        """Return the installation of the view before, at the same process."""
        assert row.before is not None, "only where there is one"
        view, place = row.before
        group = self.memory.groups[scope.group].name
        return ViewEvent(self.memory.name_of(row.process), group, view, [], place)

    def ending(self, scope: Scope, process: int, successor: InstalledRow | None) -> Ending[Place]:
        """Return how a process, by its number in the run, came to do without something."""
        went_on = None if successor is None else self.installation(scope, successor)
        about = self.memory.processes[process]
        return Ending(about.name, went_on, about.last)

    def ballot(self, process: int, says: str, place: Place, *, is_vote: bool) -> BallotEvent[Place]:
        """Return a vote or a decision."""
        return BallotEvent(self.memory.name_of(process), is_vote, says, place)

    def _own_name(self, scope: Scope, piece: Stretch | None) -> str:
        """Return the user's own name for a message."""
        if piece is None:
            return ""
        if piece.sending is not None and piece.sending.name:
            return piece.sending.name
        named = [(self.memory.name_of(scope.who[each]), name) for each, name in piece.names.items()]
        return min(named)[1] if named else ""

    def _link(self, place: Place, text: str) -> Link:
        number, file, line, position = place
        if file < 0:
            return Link(self.memory.name_of(number), -1, text)
        process = self.memory.processes[number]
        index = position if process.is_numbered else -1
        return Link(process.name, index, text, self.memory.files[file], line)


class Ledger:
    """Takes what is found in a batch of rows."""

    def __init__(self, memory: RunMemory) -> None:
        """Find nothing yet."""
        self.teller = Teller(memory)
        self.raised: list[tuple[Made, Scope | None]] = []
        self._memory = memory

    def add(self, scope: Scope, which: Property, key: Key, count: int, make: Make) -> None:
        """Take something that is wrong for good: count it, raise it, keep it if it is a first."""
        scope.count(which, count)
        self.offer(scope, which, key, make)

    def offer(self, scope: Scope, which: Property, key: Key, make: Make) -> None:
        """Raise and keep something that has been counted."""
        self.alarm(scope, which, key, make)
        self.keep(which, key, make, f"{scope.group}/{scope.view}")

    def alarm(self, scope: Scope, which: Property, key: Key, make: Make) -> None:
        """Raise something, unless it has been raised, or enough of its kind of late."""
        raised, now_ms = scope.raised.setdefault(which, {}), self._memory.now_ms
        name = repr(key)
        lately = sum(then_ms > now_ms - ALARM_MS for then_ms in raised.values())
        if lately < EXAMPLES_MAX and len(raised) < ALARMS_MAX and name not in raised:
            raised[name] = now_ms
            self.raise_(make(), scope)

    def raise_(self, made: Made, scope: Scope | None = None) -> None:
        """Raise something."""
        self._memory.alarm_count += 1
        self.raised.append((made, scope))

    def keep(self, which: Property, key: Key, make: Make, scope: str = "") -> None:
        """Keep an example for the verdict, if it is among the first."""
        kept = self._memory.examples.setdefault(which, [])
        if len(kept) >= EXAMPLES_MAX and key >= kept[-1].key:
            return
        made = make()
        story = made if isinstance(made, OrderStory) else None
        kept.append(Example(key, self.written(made), story, scope))
        kept.sort(key=lambda example: example.key)
        del kept[EXAMPLES_MAX:]

    def written(self, made: Made) -> Violation:
        """Return a violation in words; what is missing has not come."""
        if isinstance(made, OrderStory):
            return self.teller.told(made, is_never=True)
        return self.teller.written(made)


def piece_of(scope: Scope, sender: int, number: int) -> Stretch | None:
    """Return what is remembered of a message."""
    found = scope.shelves[sender].within(number, number)
    return found[0] if found else None


def told_of(event: MessageEvent[Place]) -> Told:
    """Return an event as it is kept."""
    return Told(event.process, event.message, event.is_multicast, event.place)


def _event(told: Told) -> MessageEvent[Place]:
    return MessageEvent(told.process, told.message, told.is_multicast, told.place)
