"""The rows of a log, whatever holds them: the one place that knows all formats.

Law: whoever judges reads through here, so that all judges see the same rows, refuse the same files
in the same words, and name the same lines.
"""

from collections.abc import Iterator
from pathlib import Path

from antiphon.trace.continuity import Tally
from antiphon.trace.log import Log
from antiphon.trace.reader import Trace, read_json_segment
from antiphon.trace.schema import Event
from antiphon.trace.segments import Segment


def read_log(where: Path | Log) -> Trace:
    """Return the rows of a log: at a path, or at several."""
    return Trace(where, read_log_segment)


def read_log_segment(segment: Segment, tally: Tally) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file, checked, with their line numbers."""
    return read_json_segment(segment, tally)
