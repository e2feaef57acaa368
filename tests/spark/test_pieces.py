"""Offsets of growing journals: ends of whole rows, never falling, fair shares of a backlog."""

import shutil
from pathlib import Path

import pytest
from tests.live.rows import begin, multicast
from tests.trace.hand_written import write_rows

from antiphon.core.errors import TraceError
from antiphon.live.packs import decode
from antiphon.spark.pieces import dealt, grown, packs_between, whole_bytes
from antiphon.trace.schema import LATE, Event


def journal(run: Path, process: str, row_count: int, segment: int = 1) -> Path:
    """Write a segment of a journal."""
    rows = [multicast(process, number) for number in range(1, row_count + 1)]
    return write_rows(run / "events" / process / f"{segment:06}.ndjson", rows)


def test_row_that_is_not_whole_is_not_read(tmp_path: Path) -> None:
    """What a process has begun to write, or a killed one left, is beyond the offset."""
    file = journal(tmp_path, "A", 3)
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"process":"A","kin')
    assert grown(tmp_path, {}) == {str(file): len(whole)}
    assert grown(tmp_path, {str(file): len(whole)}) == {str(file): len(whole)}


def test_folder_without_journals_is_no_progress(tmp_path: Path) -> None:
    """Whoever follows may be there first."""
    assert grown(tmp_path, {}) == {}
    (tmp_path / "events" / "A").mkdir(parents=True)
    assert grown(tmp_path, {}) == {}


def test_journal_that_is_gone_is_said(tmp_path: Path) -> None:
    """Alone, or with its folder: nothing more will come of it."""
    files = [journal(tmp_path / "run", name, 3) for name in ("A", "B")]
    ends = grown(tmp_path / "run", {})
    files[1].unlink()
    with pytest.raises(TraceError, match=f"{files[1]}: is gone, though it was being followed"):
        grown(tmp_path / "run", ends)
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(TraceError, match=f"{files[0]}: is gone, though it was being followed"):
        grown(tmp_path / "run", ends)


def test_journal_that_lacks_its_first_segment_is_said(tmp_path: Path) -> None:
    """There is something to read, but not what comes first: waiting will not help."""
    journal(tmp_path, "A", 3, segment=2)
    with pytest.raises(TraceError, match=r"000001.ndjson: this segment is missing"):
        grown(tmp_path, {})


def test_backlog_is_read_in_equal_shares(tmp_path: Path) -> None:
    """Each journal goes on by the same part of what is left, segment by segment, row by row."""
    files = {name: journal(tmp_path, name, 1_000) for name in ("A", "B")}
    files["A2"] = journal(tmp_path, "A", 1_000, segment=2)
    sizes = {name: file.stat().st_size for name, file in files.items()}
    ends: dict[str, int] = {}
    steps = []
    while True:
        later = grown(tmp_path, ends, 20_000)
        if later == ends:
            break
        read = sum(later.values()) - sum(ends.values())
        assert 0 < read < 21_000
        for file, end in later.items():
            assert whole_bytes(Path(file), 0, end) == end
        steps.append({name: later.get(str(file), 0) for name, file in files.items()})
        ends = later
    assert ends == {str(file): sizes[name] for name, file in files.items()}
    middle = steps[len(steps) // 2]
    parts = (middle["A"] + middle["A2"]) / (sizes["A"] + sizes["A2"]), middle["B"] / sizes["B"]
    assert abs(parts[0] - parts[1]) < 0.1
    assert all(step["A2"] == 0 or step["A"] == sizes["A"] for step in steps)


def test_journal_that_is_shorter_than_before_is_another_run(tmp_path: Path) -> None:
    """What was read is gone: going on would mix two runs."""
    file = journal(tmp_path, "A", 3)
    with pytest.raises(TraceError, match="is shorter than what was read of it"):
        grown(tmp_path, {str(file): file.stat().st_size + 1})


def test_small_pieces_share_a_task() -> None:
    """A task costs more than reading a few rows; large pieces are spread evenly."""
    small = [("a", 0, 10), ("b", 0, 20)]
    assert dealt(small, 8) == [[("b", 0, 20), ("a", 0, 10)]]
    large = [(name, 0, 5 << 20) for name in "abcd"]
    assert [len(hand) for hand in dealt(large, 2)] == [2, 2]
    assert dealt([], 8) == []


def test_packs_hold_the_rows_between_two_offsets(tmp_path: Path) -> None:
    """Blank lines are counted as lines, and are no rows."""
    file = write_rows(tmp_path / "A" / "000001.ndjson", [*begin("A"), multicast("A", 1)])
    first = file.read_bytes().index(b"\n") + 1
    file.write_bytes(file.read_bytes() + b"\n")
    [batch] = packs_between(file, first, file.stat().st_size, "run")
    [row] = batch.to_pylist()
    pack = decode(row["pack"])
    assert (row["run"], row["begin"], pack.row_count, pack.line_count) == ("run", first, 2, 3)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (Event(process="A", kind="deliver", sender="B"), "at byte 0: a deliver row needs `first`"),
        (Event(process="A", kind="start", detail=LATE), "begins late is not judged live"),
        (Event(process="A", kind="start", run="other"), "a row of run 'other'"),
        (Event(process="A", kind="multicast", first=1, to=["B"]), "messages with `to` are not"),
    ],
)
def test_row_that_cannot_be_judged_live_is_refused(
    tmp_path: Path, row: Event, complaint: str
) -> None:
    """In a sentence that names the file and the byte."""
    file = write_rows(tmp_path / "A" / "000001.ndjson", [row])
    with pytest.raises(TraceError, match=complaint):
        list(packs_between(file, 0, file.stat().st_size, "run"))
