"""Which files a trace consists of, and which task reads which.

Law: what is missing is said before Java starts; files are dealt out by size, so that tasks end
at about the same time.
"""

import heapq
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.trace.log import Log, path_name
from antiphon.trace.segments import Segment, segments

BYTES_PER_TASK = 32 * 1024 * 1024
"""Small enough that a task's rows fit in memory many times, large enough to be worth a task."""


class RowGroups(NamedTuple):
    """Some row groups of a file of Parquet."""

    first_group: int
    end_group: int
    first_row: int
    """The number of its first row in the file, from 0."""
    byte_count: int


class Source(NamedTuple):
    """One file to read, and the run that its rows belong to unless they say otherwise."""

    number: int
    segment: Segment
    run: str
    part: RowGroups | None = None
    """What of it to read; None: all."""


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the files of the traces at these paths: run folders, folders of files, or files."""
    names = [path_name(path) for path in paths]
    if len(set(names)) < len(names):
        message = "Two of these traces have the same name: rename a folder or a file."
        raise UsageError(message)
    found = [
        (segment, name)
        for path, name in zip(paths, names, strict=True)
        for segment in segments(path)
    ]
    return [Source(number, _anywhere(segment), run) for number, (segment, run) in enumerate(found)]


def sources_of(where: Path | Log) -> list[Source]:
    """Return the files of one log: all their rows are of one run, unless they say otherwise."""
    name = Log.of(where).name
    found = map(_anywhere, segments(where))
    return [Source(number, segment, name) for number, segment in enumerate(found)]


def _anywhere(segment: Segment) -> Segment:
    """Return a file by a path that means the same wherever it is read, and by its name in words."""
    return segment._replace(path=segment.path.absolute(), shown=segment.file)


def deal(sources: Sequence[Source], cores: int) -> list[list[Source]]:
    """Deal files out to tasks: the largest first, each to the task with the least so far."""
    sizes = [_size(source) for source in sources]
    wanted = max(2 * cores, sum(sizes) // BYTES_PER_TASK)
    hands: list[list[Source]] = [[] for _ in range(min(len(sources), wanted))]
    loads = [(0, hand) for hand in range(len(hands))]
    for size, source in sorted(zip(sizes, sources, strict=True), key=lambda pair: -pair[0]):
        load, hand = heapq.heappop(loads)
        hands[hand].append(source)
        heapq.heappush(loads, (load + size, hand))
    return hands


def _size(source: Source) -> int:
    if source.part is not None:
        return source.part.byte_count
    try:
        return source.segment.path.stat().st_size
    except OSError:
        return 0  # the reader will say what is wrong with it
