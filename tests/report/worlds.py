"""Small traces to make reports of, and the way back from packed columns."""

from base64 import b64decode
from collections.abc import Iterable

from antiphon.oracle import judge
from antiphon.report.diagram import Diagram, diagram_of
from antiphon.report.matching import Origins
from antiphon.report.moments import moments_of, witnesses_of
from antiphon.report.record import RecordedTrace, read_record
from antiphon.trace.reader import Row
from antiphon.trace.schema import Event, Kind
from antiphon.trace.verdict import Verdict


def rows_of(*events: Event) -> list[Row]:
    """Return rows as if they were the lines of one file."""
    return [(event, "chat.ndjson", line) for line, event in enumerate(events, 1)]


def row(process: str, kind: Kind, sender: str = "", first: int = 1, time_us: int = 0) -> Event:
    """Return a row about one message."""
    return Event(process=process, kind=kind, sender=sender, first=first, time_us=time_us)


CHAT = rows_of(
    row("A", "multicast"),
    row("B", "deliver", "A"),
    row("B", "multicast"),
    row("C", "deliver", "B"),
    row("C", "deliver", "A"),
    row("A", "deliver", "B"),
)
"""C hears B's answer before A's question."""


def verdict_on(rows: Iterable[Row]) -> Verdict:
    """Return what the oracle says."""
    return judge(rows, run="chat")


def record_of(rows: Iterable[Row]) -> RecordedTrace:
    """Return rows as columns."""
    return read_record(rows, "chat")


def drawn(rows: Iterable[Row], events_max: int = 100_000, lanes_max: int = 200) -> Diagram:
    """Return the diagram of a trace, judged by the oracle."""
    rows = list(rows)
    record = record_of(rows)
    witnesses = witnesses_of(record, verdict_on(rows))
    moments = moments_of(record, witnesses)
    return diagram_of(record, Origins(record), witnesses, moments, events_max, lanes_max)


def unpacked(text: str) -> list[int]:
    """Return the numbers of a packed column, as the page's script does."""
    values, value, rest, shift = [], 0, 0, 0
    for byte in b64decode(text):
        rest |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            value += -(rest + 1) // 2 if rest % 2 else rest // 2
            values.append(value)
            rest = shift = 0
    return values
