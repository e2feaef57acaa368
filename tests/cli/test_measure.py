"""``antiphon measure`` as a user meets it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
from tests.cli.command import antiphon
from tests.cli.test_report import MAPPED, THEIRS
from tests.cli.test_verify import CHAT


def test_run_is_measured_into_tables(tmp_path: Path) -> None:
    """The tables are in the run folder, and what is shown is in them."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "200", "--out", str(run))
    done = antiphon("measure", str(run))
    assert done.returncode == 0, done.stderr
    assert "delivery delay" in done.stdout
    table = pq.read_table(run / "metrics" / "distributions.parquet").to_pylist()
    whole = [row for row in table if row["process"] is None]
    delays = next(row for row in whole if row["measure"] == "delivery_delay")
    assert delays["count"] == 200 * 4
    assert delays["min"] <= delays["p50"] <= delays["max"]


def test_log_without_times_says_what_is_left_out(tmp_path: Path) -> None:
    """A user's own log has its tables beside it, and no delays."""
    (tmp_path / "chat.ndjson").write_text(CHAT)
    done = antiphon("measure", "chat.ndjson", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out: all rows have the same time" in done.stdout
    assert (tmp_path / "chat.metrics" / "kinds.parquet").is_file()


def test_measures_are_told_although_tables_cannot_be_written(tmp_path: Path) -> None:
    """Finished work is not lost: standard output has it, standard error the sentence."""
    (tmp_path / "chat.ndjson").write_text(CHAT)
    (tmp_path / "taken").write_text("")
    done = antiphon("measure", "chat.ndjson", "--json", "--out", "taken", folder=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["runs"][0]["messages"] == 2
    assert "taken: cannot be written" in done.stderr
    assert "--out" in done.stderr


def test_other_peoples_columns_and_standard_input_are_measured(tmp_path: Path) -> None:
    """Whatever can be judged can be measured: the tables of standard input are beside nothing."""
    (tmp_path / "theirs.ndjson").write_text(THEIRS)
    mapped = antiphon("measure", "theirs.ndjson", *MAPPED, folder=tmp_path)
    assert mapped.returncode == 0, mapped.stderr
    piped = antiphon("measure", "-", folder=tmp_path, text=CHAT)
    assert piped.returncode == 0, piped.stderr
    for name, run in (("theirs", "theirs"), ("stdin", "stdin")):
        [row] = pq.read_table(tmp_path / f"{name}.metrics" / "runs.parquet").to_pylist()
        assert (row["run"], row["messages"], row["deliveries"]) == (run, 2, 4)
