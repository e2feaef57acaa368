"""A sweep: every cell once, whatever happens on the way."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from antiphon.core.errors import UsageError
from antiphon.oracle.judging import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.tables.table import Executor
from antiphon.sweep import cells, running
from antiphon.sweep.cells import cell_of, run_cell
from antiphon.sweep.experiment import Experiment, experiment_of
from antiphon.sweep.results import save_results, schema
from antiphon.trace.sweep_folder import CellResult, SweepFolder


def experiment(**more: Any) -> Experiment:
    """Return a small experiment."""
    document = {"seeds": 2, "simulate": {"messages": 30}, "grid": {"processes": [2, 3]}} | more
    return experiment_of(document, Path("small.toml"))


def swept(folder: Path, executor: Executor | None = None, **more: Any) -> list[CellResult]:
    """Sweep, and return the results."""
    target = SweepFolder(folder)
    return running.sweep(executor or LocalExecutor(), experiment(**more), target, "again", "1")


def test_results_are_the_same_whoever_computes(executor: Executor, tmp_path: Path) -> None:
    """A Spark task, a worker and this process simulate the same worlds."""
    results = swept(tmp_path / "a", executor)
    expected = [run_cell(cell_of(*each)) for each in experiment().cells()]
    for result, other in zip(results, expected, strict=True):
        result.seconds = other.seconds
        assert result == other
    assert [result.properties["causal"] for result in results] == ["holds"] * 4
    assert all(result.counts["messages"] == 30 for result in results)
    assert len(list((tmp_path / "a" / "cells").iterdir())) == 4


def test_faults_are_swept_too(tmp_path: Path) -> None:
    """Somebody crashes: the view changes, promises are kept, and that takes time."""
    [result] = swept(
        tmp_path,
        seeds=1,
        simulate={"messages": 60, "crashes": 1, "pauses": 1, "partitions": 1},
        grid={"processes": [4]},
    )
    assert (result.status, result.violated) == ("done", [])
    assert result.properties["views"] == result.properties["view-atomic"] == "holds"
    assert result.measures["view_change"]["count"] >= 1
    assert "--crashes 1 --pauses 1 --partitions 1" in result.replay
    table = pq.read_table(save_results([result], SweepFolder(tmp_path))).to_pylist()
    assert table[0]["view_change_p50"] > 0
    assert (table[0]["crashes"], table[0]["pauses"], table[0]["partitions"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("simulate", "sentence"),
    [
        ({"processes": 3, "crashes": 2}, "of 3 processes 1 may crash"),
        ({"processes": 2, "pauses": 1}, "only three processes or more"),
        ({"crashes": 1, "payload_bytes": 64}, "payload_bytes cannot be set where"),
        ({"crashes": "one"}, "simulate.crashes cannot be 'one': give a number"),
    ],
)
def test_faults_that_cannot_be_are_refused(simulate: dict[str, object], sentence: str) -> None:
    """Before anything runs, with the key of the file."""
    with pytest.raises(UsageError, match=sentence):
        experiment(simulate=simulate, grid={"delay_us": [1, 2]})


def test_workers_keep_what_they_finish(tmp_path: Path) -> None:
    """Two processes side by side."""
    assert len(swept(tmp_path / "a", LocalExecutor(2))) == 4
    assert len(SweepFolder(tmp_path / "a").results()) == 4


def test_finished_cell_is_never_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a larger grid adds is run, and what is damaged."""
    swept(tmp_path)
    ran: list[int] = []

    def counted(cell: cells.Cell) -> CellResult:
        ran.append(cell.parameters["processes"])
        return run_cell(cell)

    monkeypatch.setattr(running, "run_cell", counted)
    assert len(swept(tmp_path)) == 4
    assert ran == []
    assert len(swept(tmp_path, grid={"processes": [2, 3, 4]})) == 6
    assert ran == [4, 4]
    (tmp_path / "cells" / f"{swept(tmp_path)[0].digest}.json").write_text("{")
    swept(tmp_path)
    assert ran == [4, 4, 2]


def test_cell_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the table with its error and its replay command, and is run again next time."""
    real = judge

    def broken(events: Any, run: str) -> Any:
        if any(event.process == "p3" for event in events):
            message = "no verdict"
            raise RuntimeError(message)
        return real(events, run)

    monkeypatch.setattr(cells, "judge", broken)
    results = swept(tmp_path)
    assert [result.status for result in results] == ["done", "done", "failed", "failed"]
    assert results[2].error == "RuntimeError: no verdict"
    assert "antiphon simulate --seed 1 --processes 3 --messages 30" in results[2].replay
    monkeypatch.setattr(cells, "judge", real)
    assert [result.status for result in swept(tmp_path)] == ["done"] * 4


def test_sweep_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was finished before is taken from the folder."""

    def killed(cell: cells.Cell) -> CellResult:
        if cell.parameters["processes"] == 3:
            raise KeyboardInterrupt
        return run_cell(cell)

    monkeypatch.setattr(running, "run_cell", killed)
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path)
    assert len(SweepFolder(tmp_path).results()) == 2
    monkeypatch.setattr(running, "run_cell", run_cell)
    assert len(swept(tmp_path)) == 4


def test_other_code_has_other_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a result of an old protocol is not taken for one of the new."""
    before = cell_of({"processes": 2}, 1).digest
    assert cell_of({"processes": 2}, 1).digest == before
    assert cell_of({"processes": 2}, 2).digest != before
    monkeypatch.setattr(cells, "code_digest", lambda: "other")
    assert cell_of({"processes": 2}, 1).digest != before


def test_large_cell_is_judged_by_the_vectorised_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same verdict."""
    cell = cell_of(next(experiment().cells())[0], 1)
    expected = run_cell(cell)
    monkeypatch.setattr(cells, "ORACLE_ACTS_MAX", 10)
    monkeypatch.setattr(cells, "judge", None)
    assert run_cell(cell).properties == expected.properties


def test_table_has_a_row_per_cell(tmp_path: Path) -> None:
    """With parameters, verdict, counts and measures."""
    results = swept(tmp_path)
    table = pq.read_table(save_results(results, SweepFolder(tmp_path)))
    assert table.schema.equals(schema())
    rows = table.to_pylist()
    assert [row["processes"] for row in rows] == [2, 2, 3, 3]
    assert {row["verdict"] for row in rows} == {"holds"}
    assert all(row["delivery_delay_p50"] > 0 for row in rows)


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """Nothing in it is touched."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="has files in it that are not a sweep's"):
        swept(tmp_path)


def test_page_tells_every_column() -> None:
    """docs/sweeps.md has a row for each column, or for each measure's family of them."""
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    from antiphon.sweep.results import MEASURED, STATISTICS

    family = {f"{name}_{part}": f"{name}_*" for name in MEASURED for part in STATISTICS}
    missing = [name for name in schema().names if f"`{family.get(name, name)}`" not in page]
    assert not missing, missing
