r"""Events with their vector clocks, from text, by a regular expression.

Law: files of rows are read row by row. Of others the expression has the groups `host`, `clock` and
`event`, named as in JavaScript or in Python, and may go over several lines; a clock is a JSON
object from hosts to numbers. It is given, or else is the first line of the file (then the log
begins in the third, as ShiViz has it), or else the one of the usual ones that finds most at the
beginning. The line of an event is that of its clock. What is between events is counted, not
forgotten. Memory: the text of a file, and its events.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from antiphon.core.errors import TraceError, UsageError
from antiphon.logs.clocks.records import clock_rows, may_be_clocks
from antiphon.trace.log import Log
from antiphon.trace.reader import line_blocks, refusal
from antiphon.trace.segments import Format, Segment, segments

USUAL = (
    r"^(?P<host>\S+) (?P<clock>\{.*?\})\r?\n(?P<event>.*)$",
    r"^(?P<event>.*)\r?\n(?P<host>\S+) (?P<clock>\{.*?\})\s*$",
    r"^(?P<time>\d+) (?P<host>\S+) (?P<clock>\{.*?\})\r?\n(?P<event>.*)$",
    r"^(?P<host>\S+) (?P<clock>\{.*?\}) (?P<event>.*)$",
    r'^(?P<host>\S+) "(?P<event>.*)" (?P<clock>\{.*?\})\s*$',
    r"^(?P<host>\S+) (?P<event>.*?) (?P<clock>\{.*?\})\s*$",
)
"""GoVector's, ShiViz's own, GoVector's with times, and three of one line; as Python writes them."""

_GROUPS = {"host", "clock", "event"}
_TRIED_CHARACTERS = 65_536
_QUOTED_MAX = 80
_CLOCK = msgspec.json.Decoder(dict[str, int])


@dataclass(slots=True)
class ClockEvent:
    """What happened at a host, and what it knew then."""

    host: str
    clock: dict[str, int]
    text: str
    file: str
    line: int

    @property
    def own(self) -> int:
        """Return how many events the host says that it had."""
        return self.clock.get(self.host, 0)


@dataclass(slots=True)
class ClockLog:
    """All events of a log, in the order of its lines."""

    events: list[ClockEvent] = field(default_factory=list)
    left_out: list[tuple[str, int]] = field(default_factory=list)
    """Lines that are no event."""


def holds_clocks(log: Log) -> bool:
    """Whether a log looks like one of clocks: by the first row, or rows, of its first file."""
    if not all(path.is_file() for path in log.paths):
        return False
    segment = segments(log)[0]
    if may_be_clocks(segment):
        return True
    if log.columns is not None or segment.format is not Format.JSON:
        return False
    try:
        text = _beginning(segment)
    except TraceError:
        return False  # whoever reads it will say what is wrong with it
    is_json = text.lstrip().startswith("{")
    return not is_json and bool(_declared(text) or _best(text))


def require_messages(log: Log, what: str) -> None:
    """Complain if a log is one of clocks, of which nothing but the verdict can be had."""
    if holds_clocks(log):
        message = f"{log}: a log of clocks names no messages and {what}: judge it, antiphon verify"
        raise UsageError(message)


def read_clocks(log: Log, pattern: str | None) -> ClockLog:
    """Return the events of a log."""
    found = ClockLog()
    compiled = _compiled(pattern, "--regex") if pattern else None
    for segment in segments(log):
        if compiled is None and may_be_clocks(segment):
            found.events += [
                ClockEvent(row.host, row.clock, row.text, segment.file, row.line)
                for row in clock_rows(segment)
            ]
        else:
            _read(segment, compiled, found)
    if not found.events:
        message = f"{segments(log)[0].file}:1: the log has no events"
        raise TraceError(message)
    return found


def _read(segment: Segment, pattern: re.Pattern[str] | None, found: ClockLog) -> None:
    text = _whole(segment)
    begin, line = 0, 1
    if declared := _declared(text):
        head, separator, _ = text.split("\n", 2) if text.count("\n") > 1 else (text, "", "")
        if separator.strip():
            problem = "several executions are in one file, by this expression: split the file"
            raise refusal(segment.file, 2, problem)
        begin, line = len(head) + len(separator) + 2, 3
        pattern = pattern or declared
    pattern = pattern or _best(text)
    before = len(found.events)
    if pattern is not None:
        _match(segment, pattern, (text, begin, line), found)
    if len(found.events) == before:
        first = next((row for row in text[begin:].splitlines() if row.strip()), "")
        raise refusal(segment.file, line, _nothing_matched(first, pattern))


def _match(
    segment: Segment, pattern: re.Pattern[str], where: tuple[str, int, int], found: ClockLog
) -> None:
    text, place, line = where
    is_after = False
    for match in pattern.finditer(text, place):
        between = text[place : match.start()].split("\n")
        line = _pass_by(segment, between, line, found, is_after=is_after)
        is_after = True
        clock_line = line + text.count("\n", match.start(), match.start("clock"))
        clock = _clock(match["clock"], segment.file, clock_line)
        said = (match["event"] or "").strip()
        event = ClockEvent(match["host"], clock, said, segment.file, clock_line)
        found.events.append(event)
        line += match[0].count("\n")
        place = match.end()
    rest = [*text[place:].split("\n"), ""]
    _pass_by(segment, rest, line, found, is_after=is_after)


def _pass_by(
    segment: Segment, rows: list[str], line: int, found: ClockLog, *, is_after: bool
) -> int:
    """Count the lines before an event, or the end, that are none; return the event's line.

    The event's own line is none of them, whatever it begins with, nor is the end of the line of the
    event before it.
    """
    found.left_out += [
        (segment.file, line + number)
        for number, row in enumerate(rows[:-1])
        if row.strip() and not (is_after and number == 0)
    ]
    return line + len(rows) - 1


def _clock(text: str, file: str, line: int) -> dict[str, int]:
    try:
        clock = _CLOCK.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        problem = f"the clock {_quoted(text)} is no JSON object of whole numbers: mend it"
        raise refusal(file, line, problem) from error
    if any(entry < 0 for entry in clock.values()):
        raise refusal(file, line, f"the clock {_quoted(text)} has a negative entry: mend it")
    return clock


def _declared(text: str) -> re.Pattern[str] | None:
    """Return the expression that a file begins with, if it does."""
    head = text.partition("\n")[0].strip()
    if "<clock>" not in head or "<host>" not in head:
        return None
    return _compiled(head, "the first line")


def _best(text: str) -> re.Pattern[str] | None:
    """Return the usual expression that finds most events, and leaves out least."""
    tried = text[:_TRIED_CHARACTERS]
    counts = []
    for pattern in USUAL:
        compiled = re.compile(pattern, re.MULTILINE)
        matches = [match for match in compiled.finditer(tried) if _is_clock(match["clock"])]
        covered = sum(match.end() - match.start() for match in matches)
        counts.append((covered, compiled))
    covered, best = max(counts, key=lambda item: item[0])  # the first of equals
    return best if covered else None


def _is_clock(text: str) -> bool:
    try:
        return bool(_CLOCK.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return False


def _compiled(pattern: str, where: str) -> re.Pattern[str]:
    in_python = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", pattern)
    try:
        compiled = re.compile(in_python, re.MULTILINE)
    except re.error as error:
        message = f"{where}: {_quoted(pattern)} is no regular expression ({error}): mend it"
        raise UsageError(message) from error
    missing = sorted(_GROUPS - compiled.groupindex.keys())
    if missing:
        message = f"{where}: {_quoted(pattern)} has no group {missing[0]}: say (?<{missing[0]}>...)"
        raise UsageError(message)
    return compiled


def _nothing_matched(first: str, pattern: re.Pattern[str] | None) -> str:
    expression = f"{_quoted(pattern.pattern)} finds" if pattern else "the usual expressions find"
    return f"{expression} no event here, which begins {_quoted(first)}: give another --regex"


def _quoted(text: str) -> str:
    return f"'{text if len(text) <= _QUOTED_MAX else f'{text[:_QUOTED_MAX]}...'}'"


def _whole(segment: Segment) -> str:
    return "\n".join(_lines(segment))


def _beginning(segment: Segment) -> str:
    rows, length = [], 0
    for row in _lines(segment):
        rows.append(row)
        length += len(row)
        if length > _TRIED_CHARACTERS:
            break
    return "\n".join(rows)


def _lines(segment: Segment) -> Iterator[str]:
    count = 0
    for lines, _ in line_blocks(Path(segment.path), segment.file):
        for number, raw in enumerate(lines, count + 1):
            try:
                yield raw.decode().removesuffix("\r")
            except UnicodeDecodeError as error:
                raise refusal(segment.file, number, "not UTF-8 text") from error
        count += len(lines)
