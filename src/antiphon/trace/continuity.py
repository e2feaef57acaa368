"""Whether the rows of each process are all there, each once, in an order beyond doubt.

Law: the rows of a process are numbered 0, 1, 2, ... across all files, or none is numbered and
all are in one file, whose lines are then their order. Rows of a process that has several names are
in one record, and numbered together. Checked within a file row by row, between
files by one :class:`Span` per file and process, so that whoever reads files in parallel need
only bring the spans together. Cost: O(files x processes), whatever the length of the trace.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

from antiphon.core.errors import TraceError
from antiphon.trace.schema import LATE, Event
from antiphon.trace.verdict import ALL, Terms


@dataclass(slots=True)
class Span:
    """The rows of one process in one file, whatever its names."""

    file: str
    line: int
    """Where the first of them is."""
    run: str
    process: str
    """In whose record they are."""
    first: int
    """The first index, or -1 if the rows are not numbered."""
    last: int
    is_late: bool = False
    """Whether the first row says that what came before is missing."""

    @classmethod
    def of(cls, event: Event, file: str, line: int) -> Self:
        """Return the span of a single row."""
        is_late = event.kind == "start" and event.detail == LATE
        return cls(file, line, event.run, event.record, event.index, event.index, is_late)


@dataclass(frozen=True, slots=True)
class Truncation:
    """What a killed process, or a full disk, left of its last row."""

    file: str
    line: int
    byte_count: int


@dataclass(slots=True)
class Tally:
    """What there is to say about files once they have been read."""

    spans: list[Span] = field(default_factory=list)
    truncated: list[Truncation] = field(default_factory=list)
    row_count: int = 0

    def add(self, row_count: int, spans: Iterable[Span], truncated: Truncation | None) -> None:
        """Note what was found in one more file."""
        self.row_count += row_count
        self.spans.extend(spans)
        if truncated is not None:
            self.truncated.append(truncated)


class Records:
    """The records of one file, as its rows come."""

    __slots__ = ("_record_of", "of_names", "spans")

    def __init__(self) -> None:
        """No row has come."""
        self.spans: dict[tuple[str, str], Span] = {}
        """By run and record."""
        self.of_names: dict[tuple[str, str, str], Span] = {}
        """The same, by run, process and `record`."""
        self._record_of: dict[tuple[str, str], str] = {}

    def begin(self, event: Event, file: str, line: int) -> str | None:
        """Take the first row of a name; return what is wrong with it, if anything."""
        record = event.record
        problem = self.misplaced(event.run, event.process, record)
        begun = Span.of(event, file, line)
        known = self.spans.setdefault((event.run, record), begun)
        self.of_names[event.run, event.process, event.recorded_as] = known
        if known is not begun:
            problem = problem or step_problem(known, event.index)
            known.last = event.index
        return problem

    def misplaced(self, run: str, process: str, record: str) -> str | None:
        """Note in which record a name is; say so if it is in another one, too."""
        earlier = self._record_of.setdefault((run, process), record)
        if earlier == record:
            return None
        return (
            f"a row of {process!r} in the record of {record!r}, and an earlier one in that of "
            f"{earlier!r}: each name of a process is in one record"
        )


def step_problem(span: Span, index: int) -> str | None:
    """Return why ``index`` cannot come next in ``span``, or None."""
    if span.last < 0:
        if index < 0:
            return None
        return f"row {index} of {span.process!r} is numbered and an earlier one is not: {_REMEDY}"
    if index == span.last + 1:
        return None
    if index < 0:
        return f"this row of {span.process!r} has no `index` and earlier ones have: {_REMEDY}"
    return f"row {index} of {span.process!r} follows row {span.last}: {_GAP_FREE}"


def check_spans(spans: Iterable[Span], terms: Terms = ALL) -> None:
    """Complain if a process's rows are not numbered without gaps across all files.

    They begin with 0, unless the record begins late.
    """
    ordered = sorted(spans, key=lambda span: (span.run, span.process, span.first, span.file))
    for _, of_process in groupby(ordered, key=lambda span: (span.run, span.process)):
        expected, before = 0, ""
        for place, span in enumerate(of_process):
            if not place and (span.is_late or terms.may_begin_late(span.process)):
                expected = span.first
            if place and expected < 0:
                message = (
                    f"{span.file}:{span.line}: rows of {span.process!r} without `index` are in "
                    f"another file already: {_REMEDY}"
                )
                raise TraceError(message)
            if 0 <= span.first < expected:
                message = (
                    f"{span.file}:{span.line}: rows {span.first} to {min(span.last, expected - 1)} "
                    f"of {span.process!r} are in {before}, too: leave one of the two files out"
                )
                raise TraceError(message)
            if span.first > expected:
                message = (
                    f"{span.file}:{span.line}: the rows of {span.process!r} go on with {span.first}"
                    f" where {expected} was expected: {_GAP_FREE}"
                )
                raise TraceError(message)
            expected = span.last + 1 if span.first >= 0 else -1
            before = span.file


_GAP_FREE = (
    "number the rows of a process 0, 1, 2, ... without gaps, or leave `index` out of all of them"
)
_REMEDY = "give every row of a process an `index`, or none and keep them in one file"
