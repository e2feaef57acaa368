"""The bar that says how far a judge has come."""

import gzip
from pathlib import Path

import pytest
from tests.logs.tables import write_parquet
from tests.pipeline.large_trace import write_large_trace
from tests.trace.hand_written import multicast

from antiphon.cli.judging_bar import COLUMNS, LINES, SPARK, JudgingBar, about_rows, rows_in
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import STEPS, verify

Shown = list[tuple[float, str, str]]


@pytest.mark.parametrize("shares", [LINES, COLUMNS, SPARK])
def test_shares_are_those_of_all_steps(shares: dict[str, int]) -> None:
    """In their order, and make up the whole."""
    assert sum(shares.values()) == 100
    assert [name for name in shares if name in STEPS] == list(STEPS)


@pytest.mark.parametrize("worker_count", [1, 2])
def test_rows_and_steps_are_told_as_they_come(tmp_path: Path, worker_count: int) -> None:
    """From nothing to all of it, never back; rows are those about messages."""
    run = write_large_trace(tmp_path / "run", process_count=3, round_count=200, run_length=1)
    shown: Shown = []
    bar = JudgingBar(LINES, lambda *told: shown.append(told), rows=2_000)
    executor = LocalExecutor(worker_count, lambda batch: bar.rows(rows_in(batch)))
    verdict = verify(executor, run, on_step=bar.step)
    fractions = [fraction for fraction, _, _ in shown]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert fractions[-1] == pytest.approx(1.0)
    row_count = verdict.message_count + verdict.delivery_count
    assert any(said.startswith(f"ingest {row_count:,} of about") for _, said, _ in shown)
    assert any(said == f"orders {row_count:,} rows" for _, said, _ in shown)


def test_time_left_follows_from_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter took a minute: three more are left; nothing is said of the first hundredths."""
    now_s = 0.0
    monkeypatch.setattr("antiphon.cli.judging_bar.time.monotonic", lambda: now_s)
    shown: Shown = []
    bar = JudgingBar({"ingest": 50, "matrix": 50}, lambda *told: shown.append(told), rows=100)
    bar.rows(2)
    assert shown[-1][2] == ""
    now_s = 60.0
    bar.rows(48)
    assert shown[-1] == (0.25, "ingest 50 of about 100 rows", "3:00 left")
    bar.tasks(3, 4)
    assert shown[-1] == (0.375, "ingest 3 of 4 tasks", "1:40 left")
    bar.tasks(1, 4)
    assert shown[-1][0] == 0.375
    bar.step("", 2, 2)
    assert shown[-1][0] == 1.0


def test_rows_are_guessed_from_a_few_files(tmp_path: Path) -> None:
    """Of Parquet they are known; what cannot be read is for others to tell."""
    rows = [multicast("A", number, index=number) for number in range(1, 3_001)]
    run = write_large_trace(tmp_path / "run", process_count=4, round_count=500, run_length=1)
    exact = sum(len(file.read_bytes().splitlines()) for file in run.rglob("*.ndjson"))
    assert about_rows(run) == pytest.approx(exact, rel=0.1)
    assert about_rows(write_parquet(tmp_path / "a.parquet", rows)) == 3_000
    packed = tmp_path / "a.ndjson.gz"
    packed.write_bytes(gzip.compress(b"".join(file.read_bytes() for file in run.rglob("*.ndjson"))))
    assert about_rows(packed) > 0
    assert about_rows(tmp_path / "nowhere") == 0
