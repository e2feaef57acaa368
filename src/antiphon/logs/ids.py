"""Messages that have ids of their own, such as UUIDs, get the numbers that the trace needs.

Law: the messages of a sender, in a group and view, are numbered in the order in which it multicast
them. A delivery names its message by id, and need not say the sender. What nobody multicast is
numbered after that, so that it is still seen to be made up. The log is read twice and written once:
as JSON lines, each at the line that it had, so that evidence names the user's own file and line.
Memory: the ids of all messages.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

from antiphon.core.errors import UsageError
from antiphon.logs.reading import made_rows
from antiphon.trace.log import Log
from antiphon.trace.reader import may_be_empty, refusal
from antiphon.trace.schema import Event
from antiphon.trace.segments import Segment, segments

_OF_MESSAGES = frozenset({"multicast", "receive", "deliver"})

Place = tuple[str, str, int]
"""Run, group, view."""


def asks_for_numbers(log: Log) -> bool:
    """Whether messages have ids and no numbers."""
    mapped = log.columns.columns if log.columns is not None else {}
    return "id" in mapped and "first" not in mapped


@contextmanager
def numbered(log: Log) -> Iterator[Log]:
    """Give the log with numbers for its messages."""
    if not asks_for_numbers(log):
        yield log
        return
    found = segments(log)
    ids = MessageNumbers()
    for segment in found:
        for line, event in made_rows(segment):
            ids.learn(event, segment.file, line)
    ids.count()
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        names = {}
        for number, segment in enumerate(found):
            # Spark's parts may be empty, and are told by their names.
            part = "part-" if may_be_empty(segment.file) else ""
            file = Path(folder) / f"{part}{number:06}-.ndjson"
            _write(file, segment, ids)
            names[file] = segment.file
        yield replace(log, paths=tuple(names), stand_ins=names, columns=None, title=log.name)


class MessageNumbers:
    """Which number each message has."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers: dict[tuple[Place, str], dict[str, int]] = {}
        self._indexes: dict[tuple[Place, str], dict[str, int]] = {}
        self._senders: dict[tuple[Place, str], str] = {}

    def learn(self, event: Event, file: str, line: int) -> None:
        """Take note of a multicast."""
        if event.kind != "multicast" or not event.id or event.first:
            return
        place = (event.run, event.group, event.view)
        other = self._senders.setdefault((place, event.id), event.process)
        if other != event.process:
            problem = (
                f"{event.process} multicasts {event.id!r}, which {other} multicast, too: an id is "
                "one message's; map another column to `id`"
            )
            raise refusal(file, line, problem)
        self._indexes.setdefault((place, event.process), {}).setdefault(event.id, event.index)

    def count(self) -> None:
        """Number the messages, once all multicasts are known; files may come in any order."""
        for of, indexes in self._indexes.items():
            in_order = sorted(indexes, key=indexes.__getitem__)  # stable: -1 keeps the lines' order
            self._numbers[of] = {name: number for number, name in enumerate(in_order, 1)}

    def told(self, event: Event, file: str, line: int) -> Event:
        """Give a row its number, and its sender."""
        if event.kind not in _OF_MESSAGES or not event.id or event.first:
            return event
        place = (event.run, event.group, event.view)
        sender = event.sender or self._senders.get((place, event.id), "")
        if event.kind == "multicast":
            sender = event.process
        if not sender and event.kind == "receive":  # of which nothing is judged
            return event
        if not sender:
            problem = (
                f"nobody multicasts {event.id!r}, and this row does not say who its sender is: "
                "map a column to `sender`"
            )
            raise refusal(file, line, problem)
        numbers = self._numbers.setdefault((place, sender), {})
        event.sender = sender if event.kind != "multicast" else event.sender
        event.first = numbers.setdefault(event.id, len(numbers) + 1)
        return event


def _write(file: Path, segment: Segment, ids: MessageNumbers) -> None:
    try:
        with file.open("wb") as kept:
            _copy(kept, segment, ids)
    except OSError as error:
        message = f"{segment.file}: cannot be copied to {file.parent} ({error.strerror}): make room"
        raise UsageError(message) from error


def _copy(kept: IO[bytes], segment: Segment, ids: MessageNumbers) -> None:
    written = 0
    for line, event in made_rows(segment):
        row = msgspec.json.encode(ids.told(event, segment.file, line))
        kept.write(b"\n" * (line - written - 1) + row + b"\n")
        written = line
