"""Rows from the files of a trace, checked, with the place each came from.

Law: a trace is untrusted. What is not a row raises :class:`TraceError` naming file and line and
nothing else; what a killed process left of its last row is dropped and reported, because that
is what a kill leaves. Nothing is skipped in silence but blank lines. Memory: a block
of lines, and one span per process. Cost: about a microsecond and a half per row.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from antiphon.core.errors import TraceError
from antiphon.trace.continuity import Span, Tally, Truncation, check_spans, step_problem
from antiphon.trace.rules import LINE_BYTES_MAX, problem_of
from antiphon.trace.schema import Event
from antiphon.trace.segments import segments
from antiphon.trace.verdict import ALL, Terms

Row = tuple[Event, str, int]
"""A row, its file and its line."""

_DECODER = msgspec.json.Decoder(Event)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MESSAGE_CHARACTERS_MAX = 200


class Trace:
    """A whole trace: iterate for its rows; afterwards ``tally`` says what was found."""

    def __init__(self, path: Path, terms: Terms = ALL) -> None:
        """Find the files; nothing is read yet."""
        self.path = path
        self._terms = terms
        self.segments = segments(path)
        self.tally = Tally()

    def __iter__(self) -> Iterator[Row]:
        """Yield every row, file by file, in the order of the lines."""
        tally = self.tally = Tally()
        for segment in self.segments:
            file = str(segment.path)
            for line, event in read_segment(
                segment.path, last=segment.last, process=segment.process, tally=tally
            ):
                yield event, file, line
        if not tally.row_count:
            message = f"{self.segments[0].path}:1: the trace is empty: no process wrote any row"
            raise TraceError(message)
        check_spans(tally.spans, self._terms)


def read_rows(path: Path, terms: Terms = ALL) -> Trace:
    """Return the rows of the trace at ``path``: a run folder, events folder, folder or file."""
    return Trace(path, terms)


def read_segment(
    path: Path, *, last: bool, process: str | None = None, tally: Tally | None = None
) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file with their line numbers.

    ``last``: the file ends a journal, so an unfinished last line is dropped and reported in
    ``tally.truncated``; otherwise such a line counts if it is a row. ``process``: whose journal
    it is, if it is one. ``tally`` takes a span per process for ``continuity.check_spans``.
    """
    tally = Tally() if tally is None else tally
    file, row_count, line_count, truncated = str(path), 0, 0, None
    spans: dict[tuple[str, str], Span] = {}
    for lines, is_cut in _blocks(path):
        if last and is_cut:
            truncated = Truncation(file, line_count + 1, len(lines[0]))
            break
        for line, event in _decode(file, line_count + 1, lines):
            span = spans.get((event.run, event.process))
            problem = problem_of(event)
            if span is not None and event.index == span.last + 1 > 0:
                span.last = event.index
            elif problem is None:
                problem = _begin_span(spans, process, Span.of(event, file, line))
            if problem is not None:
                raise _refusal(file, line, problem)
            row_count += 1
            yield line, event
        line_count += len(lines)
    if not row_count and truncated is None:
        truncated = _nothing(file, line_count + 1, last=last)
    tally.add(row_count, spans.values(), truncated)


def _nothing(file: str, line: int, *, last: bool) -> Truncation:
    """Take an empty file for a journal killed before its first row, if it can be one."""
    if not last:
        raise _refusal(file, 1, "the file has no rows: expected one JSON object per line")
    return Truncation(file, line, 0)


def _begin_span(
    spans: dict[tuple[str, str], Span], journal_of: str | None, begun: Span
) -> str | None:
    """Take a row that does not simply come next; return what is wrong with it, if anything."""
    if journal_of is not None and begun.process != journal_of:
        return f"a row of {begun.process!r} in the journal of {journal_of!r}: move it away"
    span = spans.setdefault((begun.run, begun.process), begun)
    return None if span is begun else step_problem(span, begun.first)


def _blocks(path: Path) -> Iterator[tuple[list[bytes], bool]]:
    """Yield the lines of a file in batches; one without an end comes last, alone, and so marked.

    A block is as long as a line may be, so only the line it completes can be longer.
    """
    rest, line_count = b"", 0
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(LINE_BYTES_MAX):
                if not line_count and not rest:
                    block = block.removeprefix(_BYTE_ORDER_MARK)
                lines = (rest + block).split(b"\n")
                rest = lines.pop()
                if len(lines[0] if lines else rest) > LINE_BYTES_MAX:
                    problem = f"the line is longer than {LINE_BYTES_MAX} bytes: this is no trace"
                    raise _refusal(str(path), line_count + 1, problem)
                line_count += len(lines)
                yield lines, False
    except OSError as error:
        problem = f"cannot be read ({error.strerror}): check the path and its permissions"
        raise _refusal(str(path), line_count + 1, problem) from error
    if rest:
        yield [rest], True


def _decode(file: str, line: int, lines: list[bytes]) -> Iterable[tuple[int, Event]]:
    """Return the rows of lines numbered from ``line``; blank lines are none."""
    try:
        if all(map(bytes.isascii, lines)):
            return enumerate(list(map(_DECODER.decode, lines)), line)
    except (msgspec.DecodeError, RecursionError):
        pass  # once more, line by line, to find the first that is not a row
    return _decode_slowly(file, line, lines)


def _decode_slowly(file: str, line: int, lines: list[bytes]) -> Iterator[tuple[int, Event]]:
    for number, raw in enumerate(lines, line):
        if raw.strip():
            yield number, _decode_line(file, number, raw)


def _decode_line(file: str, line: int, raw: bytes) -> Event:
    try:
        raw.decode()  # the decoder does not look into fields that it does not know
        return _DECODER.decode(raw)
    except msgspec.ValidationError as error:
        problem = f"not a row as in docs/trace-format.md: {error}"
    except RecursionError:
        problem = "not a row as in docs/trace-format.md: nested too deeply"
    except UnicodeDecodeError:
        problem = "not UTF-8 text: expected one JSON object per line"
    except msgspec.DecodeError as error:
        problem = f"not JSON: expected one JSON object per line ({error})"
    raise _refusal(file, line, problem)


def _refusal(file: str, line: int, problem: str) -> TraceError:
    """Return an error of one sentence, however much of the line the problem quotes."""
    if len(problem) > _MESSAGE_CHARACTERS_MAX:
        problem = f"{problem[:_MESSAGE_CHARACTERS_MAX]}..."
    return TraceError(f"{file}:{line}: {problem}")
