"""Rows from the files of a trace, checked, with the place each came from.

Law: a trace is untrusted. What is not a row raises :class:`TraceError` naming file and line and
nothing else; what a killed process left of its last row is dropped and reported, because that
is what a kill leaves. Nothing is skipped in silence but blank lines. Memory: a block
of lines, and one span per process. Cost: about a microsecond and a half per row.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, cast

import msgspec

from antiphon.core.errors import TraceError
from antiphon.trace.continuity import Records, Tally, Truncation, check_spans, step_problem
from antiphon.trace.log import Log
from antiphon.trace.rules import LINE_BYTES_MAX, problem_of
from antiphon.trace.schema import Event
from antiphon.trace.segments import Segment, segments
from antiphon.trace.verdict import ALL, Terms

Row = tuple[Event, str, int]
"""A row, its file and its line."""

_DECODER = msgspec.json.Decoder(Event)
_MISSING = re.compile("missing required field `([a-z_]+)`$")
_SHOWN_MAX = 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MARK = b"\x1f\x8b"
_MESSAGE_CHARACTERS_MAX = 200


ReadSegment = Callable[[Segment, Tally], Iterator[tuple[int, Event]]]
"""Yields the rows of a file, checked, with their lines."""


class Trace:
    """A whole trace: iterate for its rows; afterwards ``tally`` says what was found."""

    def __init__(self, where: Path | Log, read: ReadSegment, terms: Terms = ALL) -> None:
        """Find the files; nothing is read yet."""
        self.segments = segments(where)
        self._terms = terms
        self.tally = Tally()
        self._read = read

    def __iter__(self) -> Iterator[Row]:
        """Yield every row, file by file, in the order of the lines."""
        tally = self.tally = Tally()
        for segment in self.segments:
            file = segment.file
            for line, event in self._read(segment, tally):
                yield event, file, line
        if not tally.row_count:
            message = f"{self.segments[0].file}:1: the trace is empty: no process wrote any row"
            raise TraceError(message)
        check_spans(tally.spans, self._terms)


def read_rows(where: Path | Log, terms: Terms = ALL) -> Trace:
    """Return the rows of a trace of JSON lines: a run folder, events folder, folder or file."""
    return Trace(where, read_json_segment, terms)


def read_json_segment(segment: Segment, tally: Tally) -> Iterator[tuple[int, Event]]:
    """Yield the rows of a file of JSON lines."""
    return read_segment(
        segment.path,
        last=segment.last,
        process=segment.process,
        tally=tally,
        shown=segment.shown,
    )


def read_segment(
    path: Path,
    *,
    last: bool,
    process: str | None = None,
    tally: Tally | None = None,
    shown: str = "",
) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file with their line numbers.

    ``last``: the file ends a journal, so an unfinished last line is dropped and reported in
    ``tally.truncated``; otherwise such a line counts if it is a row. ``process``: whose journal
    it is, if it is one. ``tally`` takes a span per process for ``continuity.check_spans``.
    ``shown``: what to call the file, if not by its path.
    """
    tally = Tally() if tally is None else tally
    decoded = DecodedLines(path, shown or str(path), is_journal_end=last)
    row_count = tally.row_count
    yield from checked_rows(decoded, decoded.file, process, tally)
    truncated = decoded.truncated
    if tally.row_count == row_count and truncated is None:
        truncated = _nothing(decoded, last=last)
    if truncated is not None:
        tally.truncated.append(truncated)


def checked_rows(
    rows: Iterable[tuple[int, Event]], file: str, process: str | None, tally: Tally
) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file, each seen to be one, and to come next at its process."""
    records = Records()
    spans = records.of_names
    row_count = 0
    for line, event in rows:
        span = spans.get((event.run, event.process, event.recorded_as))
        problem = problem_of(event)
        if span is not None and event.index == span.last + 1 > 0:
            span.last = event.index
        elif problem is None and span is not None:
            problem = step_problem(span, event.index)
        elif problem is None:
            problem = _not_here(event, process) or records.begin(event, file, line)
        if problem is not None:
            raise refusal(file, line, problem)
        row_count += 1
        yield line, event
    tally.add(row_count, records.spans.values(), None)


def _not_here(event: Event, journal_of: str | None) -> str | None:
    """Say that a row is in somebody else's journal, if it is."""
    if journal_of is None or event.record == journal_of:
        return None
    return f"a row of {event.record!r} in the journal of {journal_of!r}: move it away"


class DecodedLines:
    """The rows of a file of JSON lines with their line numbers, not checked yet."""

    def __init__(self, path: Path, file: str, *, is_journal_end: bool) -> None:
        """Take a file; nothing is read yet."""
        self.file = file
        self.line_count = 0
        self.truncated: Truncation | None = None
        self._path, self._is_journal_end = path, is_journal_end

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield them."""
        for lines, is_cut in line_blocks(self._path, self.file):
            if self._is_journal_end and is_cut:
                self.truncated = Truncation(self.file, self.line_count + 1, len(lines[0]))
                break
            yield from _decode(self.file, self.line_count + 1, lines)
            self.line_count += len(lines)


def _nothing(decoded: DecodedLines, *, last: bool) -> Truncation | None:
    """Take an empty file for a journal killed before its first row, if it can be one."""
    if last:
        return Truncation(decoded.file, decoded.line_count + 1, 0)
    if not may_be_empty(decoded.file):
        problem = "the file has no rows: expected one JSON object per line"
        raise refusal(decoded.file, 1, problem)
    return None


def may_be_empty(file: str) -> bool:
    """Whether a file is one of many that a cluster wrote: some of them have no rows."""
    return Path(file).name.startswith("part-")


def line_blocks(path: Path, shown: str) -> Iterator[tuple[list[bytes], bool]]:
    """Yield the lines of a file in batches; one without an end comes last, alone, and so marked.

    A block is as long as a line may be, so only the line it completes can be longer. A file that
    is compressed by gzip, whatever its name, is read as what it was before. ``shown``: what to call
    the file.
    """
    rest, line_count = b"", 0
    try:
        with _opened(path) as file:
            while block := file.read(LINE_BYTES_MAX):
                if not line_count and not rest:
                    block = block.removeprefix(_BYTE_ORDER_MARK)
                lines = (rest + block).split(b"\n")
                rest = lines.pop()
                if len(lines[0] if lines else rest) > LINE_BYTES_MAX:
                    problem = f"the line is longer than {LINE_BYTES_MAX} bytes: this is no trace"
                    raise refusal(shown, line_count + 1, problem)
                line_count += len(lines)
                yield lines, False
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = "the compressed file is cut or damaged from here on: copy it here again"
        raise refusal(shown, line_count + 1, problem) from error
    except OSError as error:
        problem = f"cannot be read ({error.strerror}): check the path and its permissions"
        raise refusal(shown, line_count + 1, problem) from error
    if rest:
        yield [rest], True


def _opened(path: Path) -> IO[bytes]:
    """Open a file, compressed or not."""
    with path.open("rb", buffering=0) as file:
        is_compressed = file.read(len(_GZIP_MARK)) == _GZIP_MARK
    if is_compressed:
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb", buffering=0)


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
        problem = f"not a row as in docs/trace-format.md: {error}{_advice(error, raw)}"
        if not raw.lstrip().startswith(b"{"):
            problem = f"not a row: {what_is_expected(raw)}"
    except RecursionError:
        problem = "not a row as in docs/trace-format.md: nested too deeply"
    except UnicodeDecodeError:
        problem = "not UTF-8 text: expected one JSON object per line"
    except msgspec.DecodeError as error:
        problem = f"not JSON: {what_is_expected(raw, error)}"
    raise refusal(file, line, problem)


def what_is_expected(raw: bytes, error: object = "") -> str:
    """Say what a line should be that is no JSON object, and what to do if it is something else."""
    said, begins = "expected one JSON object per line", raw.lstrip()[:1]
    if begins == b"{":
        return f"{said} ({error})"
    if begins == b"[":
        return f"{said}, and not a list of them: jq -c '.[]' makes lines of it"
    return f"{said}; CSV and Parquet are known by their endings, logs of clocks by --regex"


def _advice(error: msgspec.ValidationError, raw: bytes) -> str:
    """Return what to do about a column that is not there, or a kind that is not known (yet)."""
    if (missing := _MISSING.search(str(error))) is not None:
        there = list(msgspec.json.decode(raw, type=dict[str, object]))[:_SHOWN_MAX]
        return f"; there are {', '.join(there)}: say --map {missing[1]}=..." if there else ""
    if not str(error).endswith("at `$.kind`"):
        return ""
    return (
        ": say what it is (--map kind:deliver=...), or leave it out (kind:skip=...); a later "
        "Antiphon may know it"
    )


def refusal(file: str, line: int, problem: str) -> TraceError:
    """Return an error of one sentence, however much of the line the problem quotes."""
    if len(problem) > _MESSAGE_CHARACTERS_MAX:
        problem = f"{problem[:_MESSAGE_CHARACTERS_MAX]}..."
    return TraceError(f"{file}:{line}: {problem}")
