"""The journal: what is written, where, and what happens when it cannot be."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trace.hand_written import deliver, multicast, start, stop

from antiphon.core.errors import TraceError, UsageError
from antiphon.trace.journal import BUFFER_BYTES, Journal
from antiphon.trace.reader import read_rows
from antiphon.trace.rules import LINE_BYTES_MAX
from antiphon.trace.schema import Event


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_rows_appended_are_numbered_and_read_back(tmp_path: Path) -> None:
    """Rows come back as they were given, numbered from 0 in the order they were appended."""
    with Journal(tmp_path, "alice") as journal:
        for row in (start("alice"), multicast("alice", 1, 3), stop("alice")):
            journal.append(row)
    rows = [event for event, _, _ in read_rows(tmp_path)]
    assert [row.index for row in rows] == [0, 1, 2]
    assert [row.kind for row in rows] == ["start", "multicast", "stop"]
    assert rows[1] == multicast("alice", 1, 3, index=1)


def test_a_row_reused_by_the_caller_keeps_what_it_said_when_appended(tmp_path: Path) -> None:
    """A driver may change and append the same object again."""
    row = multicast("alice")
    with Journal(tmp_path, "alice") as journal:
        for row.first in (1, 2, 3):
            journal.append(row)
    assert [event.first for event, _, _ in read_rows(tmp_path)] == [1, 2, 3]


def test_flush_hands_rows_to_the_operating_system(tmp_path: Path) -> None:
    """Before ``flush`` rows may be only in memory; after it they are in the file."""
    journal = Journal(tmp_path, "alice")
    journal.append(start("alice"))
    assert files_of(tmp_path) == {}
    journal.flush()
    assert files_of(tmp_path) == {
        "alice/000001.ndjson": b'{"process":"alice","index":0,"kind":"start"}\n'
    }
    journal.close()


def test_a_full_buffer_flushes_itself(tmp_path: Path) -> None:
    """At no time is much more than the buffer's size kept from the disk."""
    journal = Journal(tmp_path, "alice")
    for _ in range(10_000):
        journal.append(Event(process="alice", kind="start", detail="x" * 1_000))
        written = sum(map(len, files_of(tmp_path).values())) if journal.row_count % 500 == 0 else 0
        assert journal.row_count % 500 or written > journal.row_count * 1_000 - BUFFER_BYTES
    journal.close()


@given(
    flushes=st.lists(st.booleans(), min_size=30, max_size=30),
    segment_bytes=st.integers(1, 1_000),
)
def test_same_rows_give_the_same_bytes_whenever_flushed(
    tmp_path_factory: pytest.TempPathFactory, flushes: list[bool], segment_bytes: int
) -> None:
    """Segments are cut by the rows alone, so a run repeated is equal byte for byte."""
    folders = [tmp_path_factory.mktemp("journal") for _ in range(2)]
    for folder, is_flushing in zip(folders, (True, False), strict=True):
        with Journal(folder, "p", segment_bytes=segment_bytes) as journal:
            for number, flush in enumerate(flushes, 1):
                journal.append(deliver("p", "q", number, time_us=number * 77))
                if flush and is_flushing:
                    journal.flush()
    assert files_of(folders[0]) == files_of(folders[1])
    assert [event.first for event, _, _ in read_rows(folders[0])] == list(range(1, 31))


def test_writes_cut_short_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may take less than it is given."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    with Journal(tmp_path, "p", segment_bytes=100) as journal:
        for number in range(1, 10):
            journal.append(multicast("p", number))
    assert [event.first for event, _, _ in read_rows(tmp_path)] == list(range(1, 10))


def test_segments_end_with_the_row_that_fills_them(tmp_path: Path) -> None:
    """Rows are never split between segments, and no segment is empty."""
    with Journal(tmp_path, "p", segment_bytes=60) as journal:
        for _ in range(5):
            journal.append(start("p"))  # 41 bytes: two fill a segment
    sizes = [len(data) for data in files_of(tmp_path).values()]
    assert sizes == [82, 82, 41]
    assert list(files_of(tmp_path)) == [f"p/00000{number}.ndjson" for number in (1, 2, 3)]


def test_a_folder_with_segments_is_refused(tmp_path: Path) -> None:
    """Two runs are never mixed in one journal."""
    with Journal(tmp_path, "p") as journal:
        journal.append(start("p"))
    with pytest.raises(UsageError, match="choose another run folder"):
        Journal(tmp_path, "p")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """A file where the folder should be is named."""
    (tmp_path / "events").write_text("")
    with pytest.raises(UsageError, match="there is a file where this folder should be"):
        Journal(tmp_path / "events", "p")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    """No permission: the sentence says what to do."""
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="choose a folder you can write to"):
        Journal(tmp_path, "p")


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    """Not even root can make a folder in /proc or /dev/null."""
    with pytest.raises(UsageError, match="choose"):
        Journal(Path("/dev/null/events"), "p")


@pytest.mark.parametrize("process", ["", "../p", "a/b", ".", "~1", "p~", "p~x", "p\n"])
def test_a_process_name_that_is_no_folder_name_is_refused(tmp_path: Path, process: str) -> None:
    """A journal stays inside its folder."""
    with pytest.raises(UsageError, match="not usable"):
        Journal(tmp_path, process)


def test_a_later_incarnation_has_a_journal_of_its_own(tmp_path: Path) -> None:
    """A process that came back is another process, with its number in the name."""
    Journal(tmp_path, "alice").close()
    Journal(tmp_path, "alice~2").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alice", "alice~2"]


def test_segments_of_no_size_are_refused(tmp_path: Path) -> None:
    """A segment holds at least one row, so asking for none is a mistake."""
    with pytest.raises(UsageError, match="1 byte or more"):
        Journal(tmp_path, "p", segment_bytes=0)


def test_a_closed_journal_takes_no_rows(tmp_path: Path) -> None:
    """What is appended after closing would be lost: it is refused, and closing again is fine."""
    journal = Journal(tmp_path, "p")
    journal.close()
    journal.close()
    journal.flush()
    with pytest.raises(UsageError, match="closed"):
        journal.append(start("p"))
    assert files_of(tmp_path) == {}


def test_an_absurd_row_is_refused_and_the_journal_goes_on(tmp_path: Path) -> None:
    """What the reader would not read is not written, and leaves no gap."""
    with Journal(tmp_path, "p") as journal:
        journal.append(start("p"))
        with pytest.raises(UsageError, match="is not kept"):
            journal.append(Event(process="p", kind="stop", detail="x" * LINE_BYTES_MAX))
        journal.append(stop("p"))
    assert [(event.index, event.kind) for event, _, _ in read_rows(tmp_path)] == [
        (0, "start"),
        (1, "stop"),
    ]


def test_a_row_that_cannot_be_encoded_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    """Half a row of a failed encoding would spoil the next one."""
    with Journal(tmp_path, "p") as journal:
        with pytest.raises(UsageError, match="cannot be written"):
            journal.append(Event(process="p", kind="start", detail="\ud800"))
        journal.append(stop("p"))
    assert [(event.index, event.kind) for event, _, _ in read_rows(tmp_path)] == [(0, "stop")]


_FILL = """
import resource, signal, sys
from pathlib import Path
from antiphon.core.errors import TraceError, UsageError
from antiphon.trace.journal import Journal
from antiphon.trace.schema import Event
if limit := int(sys.argv[2]):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
journal = Journal(Path(sys.argv[1]), "p")
try:
    for _ in range(100_000):
        journal.append(Event(process="p", kind="start"))
except TraceError as error:
    sys.stdout.write(str(error))
try:
    journal.append(Event(process="p", kind="start"))
except UsageError:
    sys.stdout.write(" refused")
journal.close()
"""


def fill(folder: Path, limit: int = 0) -> str:
    """Journal until nothing more fits, and return what was said."""
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(folder), str(limit)],
        check=True, capture_output=True, text=True, timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return done.stdout


def test_a_full_disk_ends_the_journal_with_a_sentence(tmp_path: Path) -> None:
    """A write cut short is reported, no row follows it, and what was written can be read."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    said = fill(tmp_path, limit=300_001)
    assert said.endswith("the disk is full: make room and rerun refused")
    trace = read_rows(tmp_path)
    indexes = [event.index for event, _, _ in trace]
    assert indexes == list(range(len(indexes)))
    assert sum(map(len, files_of(tmp_path).values())) == 300_001
    assert [(item.line, item.byte_count > 0) for item in trace.tally.truncated] == [
        (len(indexes) + 1, True)
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 300 KiB."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(tmp_path)],
        check=False, capture_output=True,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root on Linux")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_no_space_left_ends_the_journal_with_a_sentence(small_disk: Path) -> None:
    """The real thing: ENOSPC in the middle of a row."""
    said = fill(small_disk)
    assert said.endswith("the disk is full: make room and rerun refused")
    indexes = [event.index for event, _, _ in read_rows(small_disk)]
    assert indexes == list(range(len(indexes)))
    assert indexes


def test_a_failed_write_is_a_trace_error(tmp_path: Path) -> None:
    """Any other failure ends the journal too, and names the file."""
    journal = Journal(tmp_path, "p")
    journal.append(start("p"))
    journal.folder.rmdir()
    with pytest.raises(TraceError, match=r"000001\.ndjson: the journal ends here"):
        journal.flush()
