"""Pages that list what there is list all of it.

Law: as in ``test_tidy``: each rule is tried on a small wrong example before it is trusted.
"""

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from tests.test_tidy import ROOT, read

from antiphon.stack.effects import Effect
from antiphon.stack.inputs import Input

MACHINE = ROOT / "docs" / "machine.md"


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its head."""
    _, _, section = page.partition(f"\n## {heading}\n")
    section = section.partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def unlisted(names: Iterable[str], table: list[list[str]]) -> Iterator[str]:
    """Yield the names that the first column of a table does not give as code."""
    listed = {name for cells in table for name in re.findall(r"`(\w+)", cells[0])}
    return (name for name in names if name not in listed)


def test_machine_page_lists_every_input_and_effect() -> None:
    """A driver's author finds on the page whatever can be given, and whatever can come."""
    page = read(MACHINE)
    for heading, kinds in (("What each input says", Input), ("What each effect means", Effect)):
        names = [kind.__name__ for kind in get_args(kinds)]
        assert names
        missing = list(unlisted(names, rows(page, heading)))
        assert not missing, f"docs/machine.md, {heading}: add {missing}"


def test_name_that_is_only_mentioned_is_not_listed() -> None:
    """The first column counts, in the table asked for."""
    page = (
        "\n## A\n`Zero`\n| x | y |\n|---|---|\n| `One(a)`, `Two` | `Three` |\n\n## B\n| `Four` |\n"
    )
    table = rows(page, "A")
    assert table == [["`One(a)`, `Two`", "`Three`"]]
    names = ["Zero", "One", "Two", "Three", "Four"]
    assert list(unlisted(names, table)) == ["Zero", "Three", "Four"]
