"""``antiphon demo``: real processes, real sockets, a real verdict."""

import json
from pathlib import Path

import pytest
from tests.cli.command import antiphon

from antiphon.trace import words
from antiphon.trace.reader import read_rows

SHORT = ("demo", "--messages", "500", "--seconds", "1")


@pytest.mark.net
def test_demo_keeps_the_order_and_says_so(tmp_path: Path) -> None:
    """Five processes multicast, messages were really held back, and the verdict is clean."""
    done = antiphon(*SHORT, "--no-kill", "--engine", "oracle", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "Nobody heard a response before its call" in done.stdout
    singers = _singers(done.stdout)
    assert [(row[1], row[3]) for row in singers] == [("100", "500")] * 5
    assert sum(int(row[4].replace(",", "")) for row in singers) > 0


def _singers(printed: str) -> list[list[str]]:
    table, _, _ = printed.partition("\n\n")
    rows = {line.split()[0]: line.split() for line in table.splitlines() if line.strip()}
    return [rows[name] for name in ("alice", "bob", "carol", "dave", "erin")]


@pytest.mark.net
def test_demo_survives_the_death_of_one_process(tmp_path: Path) -> None:
    """One is killed half-way; the others say all they had to say, in a view without it."""
    done = antiphon(*SHORT, "--engine", "oracle", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "dave was killed" in done.stdout
    assert done.stderr == ""
    singers = _singers(done.stdout)
    assert singers[3][-1] == "killed"
    assert {row[1] for row in singers if row[0] != "dave"} == {"100"}
    assert len({row[3] for row in singers if row[0] != "dave"}) == 1


@pytest.mark.net
@pytest.mark.spark
def test_demo_is_confirmed_by_spark(tmp_path: Path) -> None:
    """The same with Spark as the judge, as JSON."""
    done = antiphon(*SHORT, "--no-kill", "--json", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["engine"] == "spark"
    said = 5 * (500 + 5)  # each says that it is done
    lists = document["verdict"]["delivery_count"] - said
    assert 0 < lists <= 5 * 200, "beside these only the lists of the total order are delivered"
    assert lists % 5 == 0
    properties = document["verdict"]["properties"]
    asked = [item for item in properties if item["reason"] not in words.NOT_ASKED]
    assert {item["status"] for item in asked} == {"holds"}
    assert (tmp_path / "run" / "verdict.json").exists()


@pytest.mark.net
def test_two_rooms_are_one_causality_domain(tmp_path: Path) -> None:
    """Answers cross from room to room, some messages wait; causality holds in the one trace."""
    words = ("--groups", "--engine", "oracle", "--json", "--out", str(tmp_path / "run"))
    done = antiphon(*SHORT, "--no-kill", *words)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    found = {item["property"]: item["status"] for item in verdict["properties"]}
    assert found["causal"] == found["no-orphan"] == found["liveness"] == "holds"
    assert verdict["process_count"] == 4
    rows = [event for event, _, _ in read_rows(tmp_path / "run")]
    groups = {row.process: set[str]() for row in rows}
    for row in rows:
        groups[row.process].update([row.group] if row.kind == "deliver" else [])
    assert groups["alice"] == {"choir"}
    assert groups["bob"] == groups["carol"] == {"band", "choir"}
    assert {row.domain for row in rows if row.kind == "view"} == {"run"}


@pytest.mark.net
def test_who_is_killed_is_out_of_both_rooms(tmp_path: Path) -> None:
    """Each room agrees on a view without carol; no answer is read before its call."""
    words = ("--groups", "--engine", "oracle", "--out", str(tmp_path / "run"))
    done = antiphon(*SHORT, *words)
    assert done.returncode == 0, done.stderr
    assert "carol, who was in both rooms, was killed" in done.stdout
    assert "None of the answers was read before the call" in done.stdout
    assert "2 in view 2" in done.stdout
    assert max(map(len, done.stdout.partition("\n\n")[0].splitlines())) <= 80


def test_demo_into_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    """A folder that holds something else is left alone."""
    (tmp_path / "thesis.txt").write_text("years of work")
    done = antiphon(*SHORT, "--out", str(tmp_path))
    assert (tmp_path / "thesis.txt").exists()
    assert done.returncode == 2
