"""The page about other people's logs says what happens: its commands are run, in its own order."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from tests.test_tidy import ROOT, read

PAGE = ROOT / "docs" / "any-log.md"


def blocks(page: str) -> list[list[tuple[str, list[str]]]]:
    """Return the commands of each console block, with what they print."""
    found = []
    for text in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL):
        parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
        found.append([(part.splitlines()[0], part.splitlines()[1:]) for part in parts])
    return found


def is_printed(expected: list[str], lines: list[str]) -> bool:
    """Whether lines are as expected; `...` stands for any number of them."""
    if not expected:
        return not lines
    if expected[0] == "...":
        return any(is_printed(expected[1:], lines[skipped:]) for skipped in range(len(lines) + 1))
    return bool(lines) and lines[0] == expected[0] and is_printed(expected[1:], lines[1:])


def run(command: str, folder: Path) -> list[str]:
    """Run a command of the page; return the lines that it prints."""
    before, _, last = command.rpartition(" | ")
    text = "".join((folder / name).read_text() for name in before.split()[1:])
    done = antiphon(*shlex.split(last)[1:], folder=folder, text=text)
    return [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


@pytest.mark.parametrize("number", range(len(blocks(read(PAGE)))))
def test_commands_print_what_the_page_says(tmp_path: Path, number: int) -> None:
    """Files are as `cat` shows them, in this block or an earlier one."""
    for before in blocks(read(PAGE))[: number + 1]:
        for command, expected in before:
            if command.startswith("cat ") and "|" not in command:
                (tmp_path / command.split()[1]).write_text("\n".join(expected) + "\n")
    for command, expected in blocks(read(PAGE))[number]:
        if not command.startswith("cat ") or "|" in command:
            printed = run(command, tmp_path)
            assert is_printed(expected, printed), "\n".join(printed)


def test_wrong_page_would_be_seen() -> None:
    """A line too many, too few or another is found."""
    lines = ["a", "b", "c"]
    assert is_printed(["a", "...", "c"], lines)
    assert is_printed(["..."], lines)
    for wrong in (["a", "...", "b"], ["a", "b"], [*lines, "d"], ["x", "..."]):
        assert not is_printed(wrong, lines)
    assert list(_commands()) == ["cat f", "antiphon verify f"]


def _commands() -> Iterator[str]:
    page = "```console\n$ cat f\n{}\n$ antiphon verify f\n...\n```\n"
    return (command for block in blocks(page) for command, _ in block)
