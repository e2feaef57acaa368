"""Pages that list what there is list all of it.

Law: as in ``test_tidy``: each rule is tried on a small wrong example before it is trusted.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import get_args

from tests.test_tidy import ROOT, module_name, project_files, read

from antiphon.stack.effects import Effect
from antiphon.stack.inputs import Input

MACHINE = ROOT / "docs" / "machine.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAPERS = ROOT / "docs" / "papers.md"

LIMITED = tuple(
    f"src/antiphon/{package}/"
    for package in ("core", "ordering", "membership", "toolkit", "stack", "net")
)
"""Folders whose limits and timeouts the page lists."""

LIMIT = re.compile(r"[A-Z0-9_]+_(MAX|MIN|S|US|BYTES)")

NO_LIMITS = {
    "core.records": {"NUMBER_MAX", "_FLAGS_MAX", "_ORDER_MAX"},
    "core.runs": {"PORT_MAX"},
    "core.varint": {"VALUE_MAX", "_BYTES_MAX"},
    "core.views": {"NUMBER_MAX", "LINEAGE_MAX"},
    "membership.entrance": {"_NAMED_MAX"},
    "net.datagrams.packets": {"HEADER_BYTES", "OVERHEAD_BYTES", "_NONCE_BYTES", "_TAG_BYTES"},
    "net.datagrams.packing": {"_LENGTH_BYTES", "_PIECES_MAX"},
    "net.driver.reception": {"_EARLY_FRAME_BYTES"},
    "net.session.lobby": {"_HELD_FRAME_BYTES"},
    "net.session.peer": {"_IDS_MAX"},
    "net.stream.reading": {"_CHUNK_S"},
    "net.transport.address": {"_PORT_MAX"},
    "net.transport.environment": {"_START_BYTES"},
    "net.transport.framing": {"_READ_BYTES"},
    "net.transport.ports": {"_TRIES_MAX", "_CLAIMS_MAX"},
    "stack.early": {"EARLY_RUN_BYTES"},
    "stack.process": {"_BARE_MAX"},
}
"""What a format can hold, what something is counted with, and caches: nobody comes up to these."""


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


def limits(module: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the module, as the page calls it, with each constant that sounds like a limit."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (part for target in targets for part in ast.walk(target)):
                if isinstance(part, ast.Name) and LIMIT.fullmatch(part.id):
                    yield module.removeprefix("antiphon."), part.id


def is_in_table(module: str, name: str, table: list[list[str]]) -> bool:
    """Whether a row names a constant, and where it is."""
    return any(
        len(cells) == 3 and f"`{module}`" in cells[2] and f"`{name}`" in " ".join(cells)
        for cells in table
    )


def limits_of_project() -> list[tuple[str, str]]:
    """Return all of them."""
    files = project_files((".py",), *LIMITED)
    return [item for file in files for item in limits(module_name(file), read(file))]


def test_table_of_limits_is_whole() -> None:
    """Whatever is called a limit in the code is in the table, with its module."""
    table = rows(read(ARCHITECTURE), "Limits and timeouts")
    found = [
        f"{module}.{name}"
        for module, name in limits_of_project()
        if name not in NO_LIMITS.get(module, ()) and not is_in_table(module, name, table)
    ]
    assert not found, f"docs/architecture.md, limits and timeouts: add {found}"


def test_table_of_limits_names_what_exists() -> None:
    """A constant that a row or the list of exceptions names is in one of the modules it names."""
    defined = set(limits_of_project())
    named = {(module, name) for module, names in NO_LIMITS.items() for name in names}
    assert named <= defined, f"gone: {named - defined}"
    for cells in rows(read(ARCHITECTURE), "Limits and timeouts"):
        modules = re.findall(r"`([a-z_.]+)`", cells[2])
        names = {name for name in re.findall(r"`(\w+)`", " ".join(cells)) if LIMIT.fullmatch(name)}
        files = [ROOT / "src" / "antiphon" / f"{module.replace('.', '/')}.py" for module in modules]
        there = {name for file in files if file.exists() for _, name in limits("", read(file))}
        assert names <= there, f"{names - there} is not in {modules}"


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


def claims_without_a_test(section: str) -> Iterator[str]:
    """Yield what a section says a test shows (a letter for its file, and its name) if none does."""
    files = dict(re.findall(r"\b([A-Z]) =\s\[`\w+\.py`\]\(\.\./([\w/]+\.py)\)", section))
    files |= {key: path for path, key in re.findall(r"\(\.\./([\w/]+\.py)\) \(([A-Z])\)", section)}
    for key, name in re.findall(r"\| ([A-Z]) `(\w+)`", section):
        if f"def test_{name}(" not in read(ROOT / files[key]):
            yield f"{key} {name}"


def test_claims_of_papers_are_shown_by_tests_that_exist() -> None:
    """Where docs/papers.md names files by letters: those whose tests have no list of their own."""
    sections = [part for part in read(PAPERS).split("\n## ") if re.search(r"\b[A-Z] =\s\[`", part)]
    assert len(sections) == 3
    for section in sections:
        assert re.search(r"\| [A-Z] `\w+`", section)
        missing = list(claims_without_a_test(section))
        assert not missing, f"docs/papers.md: no such test: {missing}"


def test_claim_without_a_test_is_found() -> None:
    """One of two tests exists, in each way of naming its file."""
    here = "[`test_pages.py`](../tests/test_pages.py)"
    table = "\n| a | Q `limits_are_found_and_looked_for` | |\n| b | Q `nothing` | |\n"
    assert list(claims_without_a_test(f"Q = {here}{table}")) == ["Q nothing"]
    assert list(claims_without_a_test(f"{here} (Q); R =\n{here}{table}")) == ["Q nothing"]


def test_limits_are_found_and_looked_for() -> None:
    """Private ones too, several in a line, and only where a row names their module."""
    text = "A_MAX, _B_S = 1, 2\nC_US: int = 3\nMAXIMUM = 4\ndef f():\n    D_BYTES = 5\n"
    assert list(limits("antiphon.core.a", text)) == [
        ("core.a", "A_MAX"),
        ("core.a", "_B_S"),
        ("core.a", "C_US"),
    ]
    table = [["a thing", "5 (`A_MAX`)", "`core.a`"]]
    assert is_in_table("core.a", "A_MAX", table)
    assert not is_in_table("core.b", "A_MAX", table)
    assert not is_in_table("core.a", "MAX", table)
