"""A log's rows as one file of our own format: JSON lines, or Parquet, as its ending says.

Law: the file is there whole, or not at all. The rows of each process are in their order, or it is
refused: files that do not come in order are no reason to write what cannot be read.
"""

import gzip
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, cast

import msgspec

from antiphon.core.errors import UsageError, reason_of
from antiphon.logs.parquet import write_parquet
from antiphon.trace.continuity import Tally
from antiphon.trace.reader import Row, checked_rows
from antiphon.trace.schema import Event

_ENDINGS = (".ndjson", ".jsonl", ".json", ".ndjson.gz", ".jsonl.gz", ".json.gz", ".parquet")
_ROWS_PER_BLOCK = 4096


def check_target(target: Path) -> None:
    """Complain, before long work, of a file that cannot be written."""
    if not target.name.endswith(_ENDINGS):
        message = f"{target}: what is this to be? Let it end in .ndjson, .ndjson.gz or .parquet"
        raise UsageError(message)
    if target.is_dir() or not target.absolute().parent.is_dir():
        why = "it is a folder" if target.is_dir() else "its folder is not there"
        message = f"{target}: cannot be written ({why}): choose another file"
        raise UsageError(message)


def write_log(target: Path, rows: Iterable[Row]) -> int:
    """Write rows; return how many."""
    check_target(target)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    tally = Tally()
    events = (event for _, event in checked_rows(_numbered(rows), str(target), None, tally))
    try:
        if target.suffix == ".parquet":
            write_parquet(draft, _blocks(events))
        else:
            with _opened(draft, is_compressed=target.suffix == ".gz") as file:
                for block in _blocks(events):
                    file.write(b"".join(msgspec.json.encode(event) + b"\n" for event in block))
        draft.replace(target)
    except OSError as error:
        message = f"{target}: cannot be written ({reason_of(error)}): choose another file"
        raise UsageError(message) from error
    finally:
        draft.unlink(missing_ok=True)
    return tally.row_count


def _numbered(rows: Iterable[Row]) -> Iterator[tuple[int, Event]]:
    return ((number, event) for number, (event, _, _) in enumerate(rows, 1))


def _opened(draft: Path, *, is_compressed: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(draft, "wb")) if is_compressed else draft.open("wb")


def _blocks(events: Iterator[Event]) -> Iterator[list[Event]]:
    while block := list(islice(events, _ROWS_PER_BLOCK)):
        yield block
