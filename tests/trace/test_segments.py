"""Which files are taken for a trace, and in which order."""

from pathlib import Path

import pytest
from tests.trace.hand_written import start, write_rows

from antiphon.core.errors import TraceError
from antiphon.trace.segments import Segment, segment_name, segments


def touch(folder: Path, *names: str) -> None:
    """Write a small trace file under each name."""
    for name in names:
        write_rows(folder / name, [start("p")])


def test_a_run_folder_lists_its_journals_in_order(tmp_path: Path) -> None:
    """Process by process, segment by segment; only the last of each may be cut short."""
    touch(tmp_path / "events", "q/000001.ndjson", "p/000002.ndjson", "p/000001.ndjson")
    (tmp_path / "events" / "empty").mkdir()
    (tmp_path / "events" / "notes.txt").write_text("mine")
    (tmp_path / "run.json").write_text("{}")
    p, q = tmp_path / "events" / "p", tmp_path / "events" / "q"
    expected = [
        Segment(p / "000001.ndjson", "p", 1, last=False),
        Segment(p / "000002.ndjson", "p", 2, last=True),
        Segment(q / "000001.ndjson", "q", 1, last=True),
    ]
    assert segments(tmp_path) == expected
    assert segments(tmp_path / "events") == expected
    assert segments(p) == expected[:2]


def test_a_folder_of_users_files_lists_them_by_name(tmp_path: Path) -> None:
    """Files with our endings are taken, others are not, and none may be cut short."""
    touch(tmp_path, "b.jsonl", "a.ndjson", "c.txt")
    assert segments(tmp_path) == [
        Segment(tmp_path / "a.ndjson", None, 1, last=False),
        Segment(tmp_path / "b.jsonl", None, 2, last=False),
    ]


def test_a_file_is_taken_whatever_its_ending(tmp_path: Path) -> None:
    """Who names a file means it."""
    touch(tmp_path, "log.txt")
    assert segments(tmp_path / "log.txt") == [Segment(tmp_path / "log.txt", None, 1, last=False)]


def test_the_current_folder_knows_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal's process is the name of its folder, also when that is given as a dot."""
    touch(tmp_path, "p/000001.ndjson")
    monkeypatch.chdir(tmp_path / "p")
    assert [segment.process for segment in segments(Path())] == ["p"]


def test_a_missing_segment_is_refused(tmp_path: Path) -> None:
    """Segments are numbered without gaps."""
    touch(tmp_path, "p/000001.ndjson", "p/000003.ndjson")
    with pytest.raises(TraceError, match=r"000002\.ndjson: this segment is missing"):
        segments(tmp_path)
    (tmp_path / "p" / "000001.ndjson").unlink()
    with pytest.raises(TraceError, match=r"000001\.ndjson: this segment is missing"):
        segments(tmp_path)


def test_segments_go_on_after_a_million(tmp_path: Path) -> None:
    """Names grow longer, and are still in order of their numbers."""
    assert segment_name(999_999) == "999999.ndjson"
    assert segment_name(1_000_000) == "1000000.ndjson"
    touch(tmp_path, "p/0000001.ndjson")
    assert [segment.process for segment in segments(tmp_path)] == [None]


def test_a_folder_without_trace_files_is_refused(tmp_path: Path) -> None:
    """The sentence says what was looked for."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TraceError, match=r"no trace here: expected a run folder with events/"):
        segments(tmp_path)


def test_files_beside_folders_of_files_are_refused(tmp_path: Path) -> None:
    """Neither is left out in silence."""
    touch(tmp_path, "a.ndjson", "p/000001.ndjson")
    with pytest.raises(TraceError, match="one at a time"):
        segments(tmp_path)
