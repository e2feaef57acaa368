"""What the README shows is so: the program, the verdict, and the words it quotes."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import antiphon

from antiphon.oracle.event_graph import ACTS_MAX, MULTICASTS_MAX

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, page: Path = ROOT / "README.md") -> list[str]:
    """Return the blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_hello_is_the_example() -> None:
    """Who copies the first program copies the one that is tested."""
    assert blocks("python")[0] == (ROOT / "examples" / "hello.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_can_be_read(number: int) -> None:
    """Every piece of Python is Python, as it stands or inside a coroutine."""
    compile(blocks("python")[number], "README", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.net
def test_program_in_two_groups_runs() -> None:
    """It needs no address that somebody else may have, and ends by itself."""
    [program] = [block for block in blocks("python") if "antiphon.run(main())" in block]
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    said = "lobby: alice says I am in room 1\nroom-1: alice says hello\n"
    assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.parametrize("block", blocks("python", ROOT / "docs" / "groups.md"))
def test_python_about_groups_can_be_read(block: str) -> None:
    """So is every piece on the page about groups."""
    compile(block, "groups.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_verdict_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """The log in the README gets the verdict in the README, line by line where it shows any."""
    [session] = [block for block in blocks("console") if block.startswith("$ cat chat.ndjson")]
    _, log, shown = re.split(r"^\$ .*\n", session, flags=re.MULTILINE)
    (tmp_path / "chat.ndjson").write_text(log)
    [words] = re.findall(r"^\$ antiphon (verify .*)$", session, flags=re.MULTILINE)
    done = antiphon(*words.split(), folder=tmp_path)
    assert done.returncode == 1
    printed = " ".join(done.stdout.split())
    for piece in shown.split("..."):
        assert " ".join(piece.split()) in printed


def test_limits_of_the_oracle_are_its_limits() -> None:
    """What it takes is said with its true numbers."""
    said = f"up to {MULTICASTS_MAX:,} messages and\n{ACTS_MAX:,} deliveries"
    assert said in README
