"""Whether the clocks of a log can be those of happened-before.

Law (Fidge, Mattern): a vector clock counts, for each host, the events of it that are known. So a
host counts its own events 1, 2, 3, ... (own); what it knows it goes on knowing (memory); nobody
knows what has not happened, nor what knows him already (future); and who knows an event knows all
that it knew (merge). Each is judged by itself, event by event; who breaks one is counted once.
Entries about hosts without events are left out, and said to be. Cost: hosts squared per event that
learns something from another, at most; memory: the events.
"""

from collections.abc import Iterator
from typing import NamedTuple

from antiphon.logs.clocks.parsing import ClockEvent, ClockLog, read_clocks
from antiphon.trace import clock_words as words
from antiphon.trace.explanations import Explanation
from antiphon.trace.log import Log
from antiphon.trace.verdict import (
    EXAMPLES_MAX,
    ClockProperty,
    Link,
    PropertyVerdict,
    Verdict,
    concluded,
    unknown,
)
from antiphon.trace.words import together

ENGINE = "clocks"
"""What a verdict calls who gave it."""


class _Place(NamedTuple):
    """An event, and where it is among its host's, from 1."""

    event: ClockEvent
    number: int

    def __str__(self) -> str:
        return words.event(self.event.host, self.number, self.event.text)


_Found = Explanation[_Place]


def judge_clocks(log: Log, pattern: str | None = None) -> Verdict:
    """Return the verdict on a log of clocks; ``pattern`` finds its events, or a usual one does."""
    read = read_clocks(log, pattern)
    histories = _Histories(read)
    left_out = words.lines_left_out(len(read.left_out), *(read.left_out or [("", 0)])[0])
    absent = words.hosts_without_events(histories.absent)
    reasons = {
        ClockProperty.OWN: left_out,
        ClockProperty.MEMORY: "",
        ClockProperty.FUTURE: absent,
        ClockProperty.MERGE: absent,
    }
    found = {
        ClockProperty.OWN: list(histories.miscounted()),
        ClockProperty.MEMORY: list(histories.forgotten()),
        ClockProperty.FUTURE: list(histories.from_the_future()),
        ClockProperty.MERGE: list(histories.incomplete()),
    }
    return Verdict(
        run=log.name,
        engine=ENGINE,
        process_count=len(histories.of),
        event_count=len(read.events),
        message_count=0,
        delivery_count=0,
        properties=tuple(
            _concluded(which, found[which], reasons[which], histories, log.name)
            for which in ClockProperty
        ),
    )


def _concluded(
    which: ClockProperty, found: list[_Found], reason: str, histories: "_Histories", run: str
) -> PropertyVerdict:
    is_about_others = which in {ClockProperty.FUTURE, ClockProperty.MERGE}
    if is_about_others and not found and not histories.knows_others:
        return unknown(which, together(reason, words.NO_OTHER))
    examples = [each.written(run, _link) for each in found[:EXAMPLES_MAX]]
    return concluded(which, len(found), examples, reason)


def _link(place: _Place, text: str) -> Link:
    event = place.event
    return Link(event.host, place.number - 1, text, event.file, event.line)


class _Histories:
    """The events of each host, in the order of the lines."""

    def __init__(self, log: ClockLog) -> None:
        self.of: dict[str, list[_Place]] = {}
        for event in log.events:
            history = self.of.setdefault(event.host, [])
            history.append(_Place(event, len(history) + 1))
        self._by_own = {
            host: {place.event.own: place for place in reversed(history)}
            for host, history in self.of.items()
        }
        self._last = {host: max(by_own) for host, by_own in self._by_own.items()}
        named = {host for event in log.events for host, entry in event.clock.items() if entry}
        self.absent = sorted(named - self.of.keys())
        self.knows_others = any(
            host != event.host and host in self.of and entry
            for event in log.events
            for host, entry in event.clock.items()
        )

    def miscounted(self) -> Iterator[_Found]:
        """Find events whose own entry is not one more than that of the event before."""
        for place, before in self._pairs():
            event = place.event
            expected = before.event.own + 1 if before else 1
            if event.own != expected:
                text = words.wrong_own(str(place), event.host, event.own, expected)
                yield _found(ClockProperty.OWN, place, text, before)

    def forgotten(self) -> Iterator[_Found]:
        """Find events that know less of another host than the event before."""
        for place, before in self._pairs():
            if before is None:
                continue
            clock, host = place.event.clock, place.event.host
            for other, entry in before.event.clock.items():
                now = clock.get(other, 0)
                if other != host and now < entry:
                    text = words.forgotten(str(place), other, now, entry)
                    yield _found(ClockProperty.MEMORY, place, text, before)
                    break

    def from_the_future(self) -> Iterator[_Found]:
        """Find events that know what never happened, or what knows them already."""
        for place, _ in self._pairs():
            problem = self._future_of(place)
            if problem is not None:
                yield problem

    def _future_of(self, place: _Place) -> _Found | None:
        event = place.event
        for other, entry in event.clock.items():
            if other == event.host or other not in self.of:
                continue
            last = self._last[other]
            if entry > last:
                text = words.beyond(str(place), other, entry, last)
                return _found(ClockProperty.FUTURE, place, text, self.of[other][-1])
            known = self._by_own[other].get(entry)
            if known and known.event.clock.get(event.host, 0) >= max(event.own, 1):
                text = words.circular(str(place), str(known))
                return _found(ClockProperty.FUTURE, place, text, known)
        return None

    def incomplete(self) -> Iterator[_Found]:
        """Find events that know another, and not all that this one knew."""
        for place, before in self._pairs():
            problem = self._gap_of(place, before.event.clock if before else {})
            if problem is not None:
                yield problem

    def _gap_of(self, place: _Place, before: dict[str, int]) -> _Found | None:
        """Look at what the event has learnt; what it knew before was looked at before."""
        clock, host = place.event.clock, place.event.host
        for other, entry in clock.items():
            if other == host or entry <= before.get(other, 0):
                continue
            known = self._by_own.get(other, {}).get(entry)
            for third, expected in known.event.clock.items() if known else ():
                if third != host and clock.get(third, 0) < expected:
                    now = clock.get(third, 0)
                    text = words.incomplete(str(place), str(known), third, now, expected)
                    return _found(ClockProperty.MERGE, place, text, known)
        return None

    def _pairs(self) -> Iterator[tuple[_Place, _Place | None]]:
        """Yield each event, with the one before it at its host."""
        for history in self.of.values():
            before: _Place | None = None
            for place in history:
                yield place, before
                before = place


def _found(which: ClockProperty, place: _Place, text: str, other: _Place | None) -> _Found:
    """Return what is wrong with an event, shown beside another."""
    steps = [(other, str(other))] if other is not None else []
    return Explanation(which, place.event.host, None, None, [*steps, (place, text)], text)
