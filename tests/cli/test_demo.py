"""``antiphon demo``: real processes, real sockets, a real verdict."""

import json
from pathlib import Path

import pytest
from tests.cli.command import antiphon

SHORT = ("demo", "--messages", "500", "--seconds", "1")


@pytest.mark.net
def test_demo_keeps_the_order_and_says_so(tmp_path: Path) -> None:
    """Five processes multicast, messages were really held back, and the verdict is clean."""
    done = antiphon(*SHORT, "--engine", "oracle", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "Nobody heard a response before its call" in done.stdout
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    singers = [rows[name] for name in ("alice", "bob", "carol", "dave", "erin")]
    assert [(row[1], row[3]) for row in singers] == [("100", "500")] * 5
    assert sum(int(row[4].replace(",", "")) for row in singers) > 0


@pytest.mark.net
@pytest.mark.spark
def test_demo_is_confirmed_by_spark(tmp_path: Path) -> None:
    """The same with Spark as the judge, as JSON."""
    done = antiphon(*SHORT, "--json", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["engine"] == "spark"
    assert document["verdict"]["delivery_count"] == 2_500
    assert {item["status"] for item in document["verdict"]["properties"]} == {"holds"}
    assert (tmp_path / "run" / "verdict.json").exists()


def test_demo_into_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    """A folder that holds something else is left alone."""
    (tmp_path / "thesis.txt").write_text("years of work")
    done = antiphon(*SHORT, "--out", str(tmp_path))
    assert (tmp_path / "thesis.txt").exists()
    assert done.returncode == 2
