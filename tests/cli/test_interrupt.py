"""Ctrl-C, as a terminal sends it: to all processes of a command, at any moment."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored where tests run
from antiphon.cli import main
sys.argv[0] = "antiphon"
main()
"""

SECONDS_MAX = 5.0
"""Until a command has ended, on a busy machine. On one that is not, it takes a tenth of this."""


def processes_of(session: int) -> list[str]:
    """Return what still runs of a session."""
    command = ["ps", "-e", "-o", "sess=,stat=,pid=,args="]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split(None, 2) for line in lines]
    return [what for owner, state, what in rows if int(owner) == session and state[0] != "Z"]


def interrupted(
    folder: Path, is_under_way: Callable[[int], bool], *words: str, after_s: float = 0.0
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a session of its own; interrupt all of it when it is under way."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: is_under_way(process.pid))
        time.sleep(after_s)
        assert process.poll() is None, process.communicate()
        os.killpg(process.pid, signal.SIGINT)
        begin_s = time.monotonic()
        output, errors = process.communicate(timeout=60)
        assert time.monotonic() - begin_s < SECONDS_MAX
        wait_until(lambda: not processes_of(process.pid))  # a Java that is starting looks up late
        return subprocess.CompletedProcess(words, process.returncode, output, errors)
    finally:
        for line in processes_of(process.pid):
            os.kill(int(line.split()[0]), signal.SIGKILL)
        process.communicate()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    until_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.02)


@pytest.mark.net
@pytest.mark.parametrize("after_s", [0.0, 0.7, 3.0])
def test_interrupted_demo_ends_at_once_with_its_processes(tmp_path: Path, after_s: float) -> None:
    """One word, no traceback of anybody, status 130, and nothing goes on."""
    words = ("demo", "--engine", "oracle", "--seconds", "30", "--out", "run")
    done = interrupted(
        tmp_path, lambda _: (tmp_path / "run" / "run.json").exists(), *words, after_s=after_s
    )
    assert (done.returncode, done.stderr) == (130, "antiphon: interrupted\n")


@pytest.mark.parametrize("after_s", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["--flush=view-atomic", "--drivers", "--domains", "--blocks"])
def test_interrupted_exploration_ends_at_once_with_its_workers(
    tmp_path: Path, kind: str, after_s: float
) -> None:
    """What the workers are at is given up."""
    words = ("explore", kind, "--seeds", "0..99999", "--jobs", "2")
    done = interrupted(tmp_path, lambda pid: len(processes_of(pid)) > 2, *words, after_s=after_s)
    assert (done.returncode, done.stderr) == (130, "antiphon: interrupted\n")


def test_interrupted_while_it_loads_a_command_says_nothing(tmp_path: Path) -> None:
    """The first moments are no exception: no traceback, and the signal is what ended it."""
    (tmp_path / "typer.py").write_text("import time; print('loading', flush=True); time.sleep(60)")
    code = COMMAND.replace("import signal, sys", "import signal, sys; sys.path.insert(0, '.')")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "explore"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-signal.SIGINT, "")


@pytest.mark.spark
@pytest.mark.parametrize("after_s", [0.5, 6.0])
def test_interrupted_spark_ends_at_once(tmp_path: Path, after_s: float) -> None:
    """Spark is not asked to come to an end, and leaves nothing in the temporary folder."""
    line = '{"process":"A","kind":"multicast","first":%d,"count":1000000}\n'
    (tmp_path / "t.ndjson").write_text("".join(line % (1 + at * 10**6) for at in range(3_000)))

    def has_java(session: int) -> bool:
        return any("java" in what.split()[1] for what in processes_of(session))

    words = ("verify", "--engine", "spark", "t.ndjson")
    done = interrupted(tmp_path, has_java, *words, after_s=after_s)
    assert (done.returncode, done.stderr) == (130, "antiphon: interrupted\n")
    assert list(tmp_path.glob("antiphon-*")) == []


@pytest.mark.parametrize("after_s", [0.0, 1.5])
def test_interrupted_verifier_ends_at_once_with_its_workers(tmp_path: Path, after_s: float) -> None:
    """Whether they are starting or reading."""
    lines = [f'{{"process":"A","kind":"multicast","first":{1 + at}}}' for at in range(1_500_000)]
    (tmp_path / "t").mkdir()
    for name in "AB":
        text = "\n".join(lines).replace('"A"', f'"{name}"')
        (tmp_path / "t" / f"{name}.ndjson").write_text(text)
    words = ("verify", "--cores", "2", "t")
    done = interrupted(tmp_path, lambda pid: len(processes_of(pid)) > 2, *words, after_s=after_s)
    assert (done.returncode, done.stderr) == (130, "antiphon: interrupted\n")
