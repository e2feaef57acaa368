"""``antiphon compact``, as people use it."""

from pathlib import Path

from tests.cli.command import antiphon
from tests.trace.hand_written import deliver, multicast, write_rows


def test_log_becomes_parquet_beside_it_and_is_judged(tmp_path: Path) -> None:
    """The folder is named after the log, says what it holds, and takes the same verdict."""
    log = write_rows(tmp_path / "log.ndjson", [multicast("A"), deliver("B", "A"), multicast("B")])
    done = antiphon("compact", str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 rows in 1 Parquet files" in done.stdout
    judged = antiphon("verify", str(tmp_path / "log-parquet"))
    assert judged.returncode == antiphon("verify", str(log)).returncode


def test_oracle_reads_parquet_too(tmp_path: Path) -> None:
    """Whoever judges, the words are the same."""
    log = write_rows(tmp_path / "log.ndjson", [multicast("A")])
    antiphon("compact", str(log))
    judged = antiphon("verify", "--engine", "oracle", str(tmp_path / "log-parquet"))
    assert judged.returncode == antiphon("verify", "--engine", "oracle", str(log)).returncode
