"""Journals become Parquet, or stay as they are."""

import shutil
from pathlib import Path

import pytest
from tests.pipeline.large_trace import write_large_trace
from tests.trace.hand_written import multicast, write_rows

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.compact import compact
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify
from antiphon.trace.segments import segments
from antiphon.trace.verdict import Verdict


def journals(folder: Path, *, swapped_at: int = -1) -> Path:
    """Write a small run folder."""
    return write_large_trace(
        folder, process_count=3, round_count=20, run_length=4, view_count=2, swapped_at=swapped_at
    )


def told(verdict: Verdict) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """Return what was found, and where: lines, and files without their endings."""
    return [
        (item.property.value, item.violation_count, places(item.violations))
        for item in verdict.properties
    ]


def places(violations: tuple[object, ...]) -> list[tuple[str, int]]:
    """Return where the links of chains are recorded."""
    links = [link for violation in violations for link in violation.chain]  # type: ignore[attr-defined]
    return [(Path(link.file).with_suffix("").name, link.line) for link in links]


@pytest.mark.parametrize("worker_count", [1, 2])
def test_parquet_gets_the_verdict_of_the_journals(tmp_path: Path, worker_count: int) -> None:
    """Rows keep their numbers, so that evidence is found where it was."""
    run = journals(tmp_path / "run", swapped_at=5)
    before = verify(LocalExecutor(), run)
    done = compact(LocalExecutor(worker_count), run, tmp_path / "small")
    shutil.rmtree(run)
    after = verify(LocalExecutor(), tmp_path / "small")
    assert told(after) == told(before)
    assert before.is_violated
    assert (done.file_count, done.row_count) == (3, before.event_count)


def test_row_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    """As where journals are judged; it is reported."""
    run = journals(tmp_path / "run")
    last = segments(run)[-1].path
    last.write_bytes(last.read_bytes()[:-5])
    done = compact(LocalExecutor(), run, tmp_path / "small")
    [truncated] = done.truncated
    assert truncated.file == str(last)
    assert verify(LocalExecutor(), tmp_path / "small").event_count == done.row_count


def test_what_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    """The sentence is the reader's, and the folder is gone again."""
    run = journals(tmp_path / "run")
    file = segments(run)[1].path
    file.write_text('{"process": "x"}\n', encoding="ascii")
    with pytest.raises(TraceError, match=r"000001\.ndjson:1"):
        compact(LocalExecutor(), run, tmp_path / "small")
    assert not (tmp_path / "small").exists()


def test_folder_in_use_is_refused(tmp_path: Path) -> None:
    """Nothing is written over, and Parquet is not written again."""
    log = write_rows(tmp_path / "log.ndjson", [multicast("A")])
    with pytest.raises(UsageError, match="something here already"):
        compact(LocalExecutor(), log, tmp_path)
    compact(LocalExecutor(), log, tmp_path / "small")
    with pytest.raises(UsageError, match="Parquet already"):
        compact(LocalExecutor(), tmp_path / "small", tmp_path / "smaller")


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One sentence: a file is in the way."""
    log = write_rows(tmp_path / "log.ndjson", [multicast("A")])
    with pytest.raises(UsageError, match="cannot be written"):
        compact(LocalExecutor(), log, log / "small")
