"""Disks that are full, and outputs that take no more: a sentence, and what was found is not lost.

A limit on the size of files stands for the disk: the system's answer differs in its words alone.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from tests.logs.chat import ROWS, lines

NEARLY_NOTHING = 900
"""Bytes that a file may have: enough for records of a run and of a sweep; for no cell or page."""


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a log in which causal order is violated."""
    path = tmp_path / "chat.ndjson"
    path.write_bytes(lines(ROWS))
    return path


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what was said; it is one line, and status 2."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    [said] = done.stderr.splitlines()
    return said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [("verify",), ("verify", "--json"), ("import",)])
def test_output_that_takes_no_more_is_a_sentence_with_the_verdict(
    chat: Path, words: tuple[str, ...]
) -> None:
    """Nothing is violated, or what is: that is on standard error at least."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "antiphon", *words, chat.name],
            cwd=chat.parent, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "NO_COLOR": "1"}, timeout=60,
        )  # fmt: skip
    said = sentence(done)
    assert "standard output cannot be written (No space left on device): send it elsewhere" in said
    assert said.endswith("; violated: causal") is (words[0] == "verify")


def test_page_that_finds_no_room_leaves_the_verdict(chat: Path) -> None:
    """It is printed instead."""
    words = ("report", chat.name, "--engine", "oracle")
    done = antiphon(*words, folder=chat.parent, file_bytes_max=NEARLY_NOTHING)
    assert "chat.report.html: cannot be written (File too large)" in sentence(done)
    assert "causal         ✗ violated" in done.stdout


@pytest.mark.parametrize("name", ["mine.ndjson", "mine.parquet"])
def test_import_that_finds_no_room_still_judges(chat: Path, name: str) -> None:
    """The rows are not written, and judged all the same."""
    words = ("import", chat.name, "--to", name)
    done = antiphon(*words, folder=chat.parent, file_bytes_max=100)
    assert f"{name}: cannot be written (File too large)" in sentence(done)
    assert "causal         ✗ violated" in done.stdout
    assert not (chat.parent / name).exists()


def test_claims_that_find_no_room_are_told_all_the_same(tmp_path: Path) -> None:
    """Those that come after what could not be written, too: it took minutes."""
    words = ("--only", "counterexample", "--only", "detection-cost")
    done = antiphon("reproduce", "uniform", "--quick", *words, folder=tmp_path, file_bytes_max=1500)
    assert done.returncode == 2
    assert "2 claims: 2 hold" in done.stdout
    assert done.stderr.startswith("antiphon: reproductions/uniform: cannot be written (")
    assert done.stderr.count("\n") == 1


def test_sweep_that_finds_no_room_is_a_sentence(tmp_path: Path) -> None:
    """From a process of its own; the same command goes on when there is room."""
    (tmp_path / "small.toml").write_text("seeds = 2\n[simulate]\nmessages = 20\n")
    done = antiphon("sweep", "small.toml", folder=tmp_path, file_bytes_max=NEARLY_NOTHING)
    said = sentence(done)
    assert "sweeps/small: cannot be written (File too large): make room for it" in said
    assert antiphon("sweep", "small.toml", folder=tmp_path).returncode == 0


def test_table_that_finds_no_room_is_said_in_the_systems_words(tmp_path: Path) -> None:
    """Not in those of the library that writes it; and the measures have been shown."""
    antiphon("simulate", "--messages", "50", "--out", "run", folder=tmp_path)
    done = antiphon("measure", "run", folder=tmp_path, file_bytes_max=NEARLY_NOTHING)
    assert "run/metrics: cannot be written (File too large)" in sentence(done)
    assert "delivery delay" in done.stdout
    done = antiphon("compact", "run", "-o", "packed", folder=tmp_path, file_bytes_max=1000)
    assert "cannot be written (File too large): make room" in sentence(done)
    assert not (tmp_path / "packed").exists()


@pytest.mark.spark
def test_spark_that_finds_no_room_is_a_sentence(tmp_path: Path) -> None:
    """For what does not fit in memory; the cure is in it."""
    antiphon("simulate", "--messages", "4000", "--out", "run", folder=tmp_path)
    done = antiphon("verify", "run", "--engine", "spark", folder=tmp_path, file_bytes_max=40_000)
    assert "is full (this machine): make room, or name another folder: TMPDIR" in sentence(done)


@pytest.mark.spark
def test_yarn_that_is_not_there_is_said_in_its_cause(chat: Path) -> None:
    """Not in the first of Spark's warnings."""
    done = antiphon("verify", chat.name, "--master", "yarn", folder=chat.parent)
    assert "HADOOP_CONF_DIR or YARN_CONF_DIR must be set" in sentence(done)
