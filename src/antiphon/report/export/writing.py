"""An export as a file.

Law: the file is there whole, or not at all; it is written as it is made, and never held in memory.
"""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from antiphon.core.errors import UsageError, reason_of
from antiphon.report.export.perfetto import perfetto_events
from antiphon.report.export.shiviz import shiviz_lines
from antiphon.report.record import RecordedTrace


class Viewer(StrEnum):
    """What can show it."""

    SHIVIZ = "shiviz"
    PERFETTO = "perfetto"


def export(record: RecordedTrace, viewer: Viewer, target: Path) -> None:
    """Write a trace for a viewer."""
    match viewer:
        case Viewer.SHIVIZ:
            pieces: Iterable[bytes] = (
                f"{line}\n".encode("utf-8", "replace") for line in shiviz_lines(record)
            )
        case Viewer.PERFETTO:
            pieces = _json(record)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.writelines(pieces)
        draft.replace(target)
    except OSError as error:
        message = f"{target}: cannot be written ({reason_of(error)}): choose another file with -o"
        raise UsageError(message) from error
    finally:
        draft.unlink(missing_ok=True)


def _json(record: RecordedTrace) -> Iterator[bytes]:
    yield b'{"displayTimeUnit":"ms","traceEvents":[\n'
    for number, event in enumerate(perfetto_events(record)):
        yield (b",\n" if number else b"") + msgspec.json.encode(event)
    yield b"\n]}\n"
