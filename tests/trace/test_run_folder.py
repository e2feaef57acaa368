"""The run folder: made once, never mixed, never deleting what is not ours."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.trace.hand_written import deliver, multicast

from antiphon.core.errors import TraceError, UsageError
from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict


def create(path: Path, *, overwrite: bool = False, seed: int | None = 7) -> RunFolder:
    """Make a run folder."""
    return RunFolder.create(
        path,
        what="simulate",
        config={"process_count": 5, "out": path},
        seed=seed,
        replay="antiphon simulate --seed 7",
        overwrite=overwrite,
    )


def test_a_run_created_is_opened_with_the_same_record(tmp_path: Path) -> None:
    """``run.json`` says what ran, with which seed and versions, and how to do it again."""
    path = tmp_path / "runs" / "a"
    created, opened = create(path), RunFolder.open(path)
    assert opened.name == created.name == "a"
    assert opened.record.seed == 7
    assert opened.record.what == "simulate"
    assert opened.record.replay == "antiphon simulate --seed 7"
    assert opened.record.config == {"process_count": 5, "out": str(path)}
    assert opened.record.python == ".".join(map(str, sys.version_info[:3]))
    assert opened.record.antiphon
    assert sorted(file.name for file in path.iterdir()) == ["events", "run.json"]


def test_a_journal_of_a_run_is_read_from_its_folder(tmp_path: Path) -> None:
    """What the run's journals write is what reading the run folder yields."""
    run = create(tmp_path / "a")
    for process in ("q", "p"):
        with run.journal(process) as journal:
            journal.append(multicast(process))
    assert [event.process for event, _, _ in read_rows(run.path)] == ["p", "q"]


def test_a_verdict_saved_is_read_back(tmp_path: Path) -> None:
    """``verdict.json`` holds the whole verdict."""
    run = create(tmp_path / "a")
    verdict = judge([multicast("p"), deliver("q", "p")], run.name)
    run.save_verdict(verdict)
    assert msgspec.json.decode(run.verdict_path.read_bytes(), type=Verdict) == verdict


def test_a_run_in_the_way_is_refused(tmp_path: Path) -> None:
    """A folder that holds a run is not touched unless told to."""
    with create(tmp_path / "a").journal("p") as journal:
        journal.append(multicast("p"))
    with pytest.raises(UsageError, match="holds a run already: choose another folder, or pass"):
        create(tmp_path / "a")
    assert len(list(read_rows(tmp_path / "a"))) == 1


def test_overwriting_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    """What we wrote goes, what a person put there stays."""
    path = tmp_path / "a"
    run = create(path)
    with run.journal("p") as journal:
        journal.append(multicast("p"))
    for folder in (run.metrics_path, run.figures_path):
        folder.mkdir()
        (folder / "old").write_text("old")
    run.verdict_path.write_text("{}")
    run.report_path.write_text("old")
    (path / "notes.txt").write_text("mine")
    again = create(path, overwrite=True, seed=None)
    assert sorted(file.name for file in path.iterdir()) == ["events", "notes.txt", "run.json"]
    assert list(again.events_path.iterdir()) == []
    assert RunFolder.open(path).record.seed is None


def test_overwriting_does_not_follow_links(tmp_path: Path) -> None:
    """If ``events`` is a link, the link goes, not what it leads to."""
    run = create(tmp_path / "a")
    run.events_path.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("mine")
    run.events_path.symlink_to(tmp_path / "elsewhere")
    create(run.path, overwrite=True)
    assert (tmp_path / "elsewhere" / "precious").read_text() == "mine"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_of_other_things_is_refused_even_with_force(
    tmp_path: Path, overwrite: bool
) -> None:
    """Without ``run.json`` the folder is not ours to clear."""
    (tmp_path / "events").mkdir()
    with pytest.raises(UsageError, match="not a run's: choose another folder"):
        create(tmp_path, overwrite=overwrite)
    assert (tmp_path / "events").is_dir()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """A path that is a file cannot be a run folder."""
    (tmp_path / "a").write_text("")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(UsageError, match="there is a file where this folder should be"):
            create(path)


def test_an_unwritable_place_is_refused(tmp_path: Path) -> None:
    """One sentence says what to do, to root as well (who cannot write to /proc either)."""
    place = Path("/proc/antiphon") if os.geteuid() == 0 else tmp_path / "a"
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="choose another folder"):
        create(place)


def test_opening_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """A missing or damaged ``run.json`` is named."""
    with pytest.raises(TraceError, match=r"run\.json: cannot be read .*: give the folder of a run"):
        RunFolder.open(tmp_path)
    for damage in (b"", b"{", b"{}", b"\xff", b"[" * 100_000, b'{"name": 1}'):
        (tmp_path / "run.json").write_bytes(damage)
        with pytest.raises(TraceError, match=r"run\.json:1: damaged"):
            RunFolder.open(tmp_path)


def test_importing_the_trace_is_quick_and_light() -> None:
    """The trace layer loads neither Spark nor the simulator, nor package metadata."""
    code = (
        "import sys; from antiphon.trace import reader, run_folder;"
        "sys.exit(any(name in sys.modules for name in "
        "('pyspark', 'importlib.metadata', 'antiphon.sim', 'typer')))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0
    )
