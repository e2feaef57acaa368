r"""A trace as a log that ShiViz shows: events with vector clocks.

Law: every row but those about frames is an event. Clocks are computed here, from who sent and who
received or delivered what, and not taken from the trace: a process counts its own events, and what
arrives brings what was known where it was sent. The first line is the expression that reads the
log, as ShiViz expects. Memory: a clock per row that sends something.
"""

import json
import re
from collections.abc import Iterator

from antiphon.report.export.ordering import in_causal_order
from antiphon.report.matching import Origins, Place
from antiphon.report.record import CODE, KINDS, Lane, RecordedTrace

EXPRESSION = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"

_FRAME = CODE["send_frame"]
_SENDS = frozenset((CODE["multicast"], CODE["send"]))
_MESSAGES = frozenset(CODE[kind] for kind in ("multicast", "receive", "deliver", "send", "take"))


def shiviz_lines(record: RecordedTrace) -> Iterator[str]:
    """Yield the lines of the log."""
    yield EXPRESSION
    yield ""
    hosts = _hosts(record)
    clocks: list[dict[str, int]] = [{} for _ in record.lanes]
    sent_with: dict[Place, dict[str, int]] = {}
    for (place, row), causes in in_causal_order(record, Origins(record)):
        lane, clock = record.lanes[place], clocks[place]
        if lane.kind[row] == _FRAME:
            continue
        clock[hosts[place]] = clock.get(hosts[place], 0) + 1
        for cause in causes:
            for host, entry in sent_with[cause].items():
                clock[host] = max(clock.get(host, 0), entry)
        if lane.kind[row] in _SENDS:
            sent_with[place, row] = dict(clock)
        yield f"{hosts[place]} {json.dumps(clock)}"
        yield row_words(record, lane, row)


def row_words(record: RecordedTrace, lane: Lane, row: int) -> str:
    """Say in one line what happened."""
    kind = KINDS[lane.kind[row]]
    words = [kind]
    if lane.kind[row] in _MESSAGES and lane.first[row]:
        stream = record.streams[lane.stream[row]]
        first, last = lane.first[row], lane.first[row] + lane.count[row] - 1
        words.append(f"{first}" if first == last else f"{first} to {last}")
        if stream.sender != lane.process:
            words.append(f"of {stream.sender}")
        if stream.group:
            words.append(f"in {stream.group}")
    if row in lane.members:
        words += [str(record.streams[lane.stream[row]].view), "with", *lane.members[row]]
    if row in lane.details:
        words.append(f"({lane.details[row]})")
    return " ".join(" ".join(words).split())


def _hosts(record: RecordedTrace) -> list[str]:
    """Return a name for each process: without blanks, and with its run where there are several."""
    has_runs = len({lane.run for lane in record.lanes}) > 1
    names = [f"{lane.run}/{lane.process}" if has_runs else lane.process for lane in record.lanes]
    plain = [re.sub(r"\s", "_", name) for name in names]
    return [name if plain.count(name) == 1 else f"{name}#{n}" for n, name in enumerate(plain)]
