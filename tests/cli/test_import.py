"""``antiphon import`` as a user meets it: what it shows, writes and refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from tests.logs.chat import ROWS, lines


@pytest.mark.parametrize("name", ["mine.ndjson", "mine.ndjson.gz", "mine.parquet"])
def test_rows_are_shown_written_and_judged(tmp_path: Path, name: str) -> None:
    """What is written is judged like the log that it came from."""
    (tmp_path / "log.json").write_bytes(lines(ROWS))
    done = antiphon("import", "log.json", "--to", name, "--rows", "2", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    shown = [line.split() for line in done.stdout.splitlines()[:4]]
    assert shown[1:3] == [
        ["log.json:1", "A", "multicast", "1"],
        ["log.json:2", "B", "deliver", "A", "1"],
    ]
    assert f"{name}: 6 rows" in done.stdout
    again = antiphon("import", name, "--json", folder=tmp_path)
    document = json.loads(again.stdout)
    assert len(document["rows"]) == len(ROWS)
    violated = [item for item in document["verdict"]["properties"] if item["status"] == "violated"]
    assert [item["property"] for item in violated] == ["causal"]


def test_log_is_judged_on_the_terms_of_verify(tmp_path: Path) -> None:
    """What is asked for alone; and what may lie outside is held against nobody."""
    rows = [
        {"process": "A", "kind": "multicast", "first": 1},
        {"process": "A", "kind": "multicast", "first": 2},
        {"process": "B", "kind": "deliver", "sender": "A", "first": 2},
    ]
    (tmp_path / "log.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    alone = antiphon("import", "log.json", "--only", "fifo", "--json", folder=tmp_path)
    verdict = json.loads(alone.stdout)["verdict"]
    assert [item["property"] for item in verdict["properties"]] == ["fifo"]
    assert alone.returncode == 1
    late = antiphon("import", "log.json", "--only", "fifo", "--begins-late", "B", folder=tmp_path)
    assert (late.returncode, late.stderr) == (0, "")
    clocks = antiphon("import", "log.json", "--only", "clock-own", folder=tmp_path)
    assert "log.json holds messages, and clock-own is about clocks" in clocks.stderr


def test_file_that_cannot_be_written_is_told_first(tmp_path: Path) -> None:
    """Before anything is read: an ending that says nothing, a folder that is not there."""
    for name, said in (
        ("mine.txt", "what is this to be?"),
        ("no/mine.ndjson", "cannot be written"),
    ):
        done = antiphon("import", "log.json", "--to", name, folder=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
