"""What is missing is said at once, and files are dealt out fairly."""

from pathlib import Path

import pytest
from tests.trace.hand_written import multicast, write_rows

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.ingest.sources import Source, deal, find_sources
from antiphon.trace.segments import Segment


def test_missing_path_is_refused_without_spark(tmp_path: Path) -> None:
    """A trace that is not there is reported before anything is started."""
    with pytest.raises(TraceError, match="does not exist"):
        find_sources([tmp_path / "nothing"])


def test_two_traces_of_one_name_are_refused(tmp_path: Path) -> None:
    """Runs are told apart by name, so names must differ."""
    write_rows(tmp_path / "one" / "a.ndjson", [multicast("A")])
    write_rows(tmp_path / "two" / "a.ndjson", [multicast("A")])
    with pytest.raises(UsageError, match="same name"):
        find_sources([tmp_path / "one" / "a.ndjson", tmp_path / "two" / "a.ndjson"])


def test_sources_take_the_name_of_their_folder_or_file(tmp_path: Path) -> None:
    """Rows without a run belong to the run that their folder or file is named after."""
    write_rows(tmp_path / "run7" / "events" / "A" / "000001.ndjson", [multicast("A")])
    write_rows(tmp_path / "mine.ndjson", [multicast("A")])
    found = find_sources([tmp_path / "run7", tmp_path / "mine.ndjson"])
    assert [(source.number, source.run) for source in found] == [(0, "run7"), (1, "mine")]


def test_files_are_dealt_out_by_size(tmp_path: Path) -> None:
    """The largest file gets a task for itself; the small ones share the others."""
    sizes = [10, 900, 20, 30, 40]
    sources = []
    for number, size in enumerate(sizes):
        path = tmp_path / f"{number}.ndjson"
        path.write_bytes(b" " * size)
        sources.append(Source(number, Segment(path, None, number + 1, last=False), "run"))
    hands = deal(sources, cores=1)
    numbers = sorted(sorted(source.number for source in hand) for hand in hands)
    assert numbers == [[0, 2, 3, 4], [1]]


def test_no_task_is_without_a_file(tmp_path: Path) -> None:
    """Few files make few tasks, however many cores there are."""
    segment = Segment(tmp_path / "gone.ndjson", None, 1, last=False)
    assert len(deal([Source(0, segment, "run")], cores=64)) == 1
