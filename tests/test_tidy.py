"""House rules that no linter knows: sizes, laws, purity, dead modules, links, words to avoid.

Law: a rule is a function from a file to complaints that say where and what to do, and each rule
is tried on a small wrong example before it is trusted with the tree.
"""

import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

Rule = Callable[[str, str], Iterator[str]]

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PURE = re.compile(r"src/antiphon/(core|membership|oracle|ordering|stack|toolkit)/")
IMPURE_MODULES = frozenset(
    next(
        contract["forbidden_modules"]
        for contract in SETTINGS["tool"]["importlinter"]["contracts"]
        if contract["id"] == "pure"
    )
)

UNREPEATABLE_MODULES = frozenset({"secrets", "socket", "time"})
UNREPEATABLE_CALLS = frozenset(
    {"create_connection", "create_server", "open_connection", "start_server", "urandom"}
)

# Written so that this file does not break its own rule.
UNSPEAKABLE = {
    "a folder of one machine": re.compile(r"(?<![\w.}])/(?:home|Users|root|work|opt)/[\w.]"),
    "a package registry": re.compile(r"pypi[.]org|python[h]osted|file:///\w"),
    "where packages come from": re.compile(r"--(?:extra-)?(?:index-url|find-links)[ =]\S"),
}


def file_too_long(name: str, text: str) -> Iterator[str]:
    """A file that no longer fits in mind wants to be two."""
    count = text.count("\n")
    if count > FILE_LINES_MAX:
        yield f"{name}: {count} lines, over {FILE_LINES_MAX}: split it"


def function_too_long(name: str, text: str) -> Iterator[str]:
    """A function longer than a screen hides its steps."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES_MAX:
                yield f"{name}:{node.lineno}: {node.name} has {count} lines: name its steps"


def law_missing(name: str, text: str) -> Iterator[str]:
    """A module opens by saying what it is for."""
    if not ast.get_docstring(ast.parse(text)):
        yield f"{name}:1: no module docstring: say its purpose and its law"


def protocol_impure(name: str, text: str) -> Iterator[str]:
    """Protocol folders know no clock, dice, log, socket or thread, and nothing asynchronous."""
    if not PURE.match(name):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            roots = {module.partition(".")[0] for module in imported_names(node)}
            for root in sorted(roots & IMPURE_MODULES):
                yield f"{name}:{node.lineno}: imports {root}: take what you need as an argument"
        if isinstance(node, ast.AsyncFunctionDef):
            yield f"{name}:{node.lineno}: {node.name} is async: return effects instead"


def driver_unrepeatable(name: str, text: str) -> Iterator[str]:
    """The network driver has clock, dice and connections from its environment alone."""
    if not name.startswith("src/antiphon/net/") or name.startswith("src/antiphon/net/transport/"):
        return
    for node in ast.walk(ast.parse(text)):
        said: set[str] = set()
        if isinstance(node, ast.Import | ast.ImportFrom):
            said = {module.partition(".")[0] for module in imported_names(node)}
            said &= UNREPEATABLE_MODULES
        elif isinstance(node, ast.Attribute):
            said = {node.attr} & UNREPEATABLE_CALLS
        for what in sorted(said):
            yield f"{name}:{getattr(node, 'lineno', 0)}: uses {what}: ask the environment"


def word_unspeakable(name: str, text: str) -> Iterator[str]:
    """No file says where on one machine something was, or where packages come from."""
    for what, pattern in UNSPEAKABLE.items():
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: names {what} ({found[0]}): take it out"


def link_broken(name: str, text: str) -> Iterator[str]:
    """A link in a page, and a page named in code, is there."""
    if name.endswith(".md"):
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", prose)
        folder = (ROOT / name).parent
    else:
        targets = re.findall(r"\bdocs/[\w/.-]+\.md\b", text)
        folder = ROOT
    for target in targets:
        if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
            yield f"{name}: {target} is not there: write it, or do not point to it"


RULES: Mapping[Rule, tuple[str, ...]] = {
    file_too_long: (".py",),
    function_too_long: (".py",),
    law_missing: (".py",),
    protocol_impure: (".py",),
    driver_unrepeatable: (".py",),
    word_unspeakable: ("",),
    link_broken: (".md", ".py"),
}

WRONG: Mapping[Rule, tuple[str, str]] = {
    file_too_long: ("a.py", "\n" * (FILE_LINES_MAX + 1)),
    function_too_long: ("a.py", "async def f():\n" + "    pass\n" * FUNCTION_LINES_MAX),
    law_missing: ("a.py", "# not a docstring\n"),
    protocol_impure: ("src/antiphon/core/a.py", "def f():\n    from time import time\n"),
    driver_unrepeatable: ("src/antiphon/net/a.py", "def f():\n    loop.create_server(1)\n"),
    word_unspeakable: ("a.md", "see /{}/alice\n".format("home")),
    link_broken: ("a.md", "[b](nowhere.md#part)\n"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_finds_a_planted_fault(rule: Rule) -> None:
    """Each rule complains once about a small file that breaks it."""
    assert len(list(rule(*WRONG[rule]))) == 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_tree_keeps_the_rule(rule: Rule) -> None:
    """No file of the project breaks the rule."""
    complaints = [
        complaint
        for file in project_files(RULES[rule])
        for complaint in rule(file.relative_to(ROOT).as_posix(), read(file))
    ]
    assert not complaints, "\n".join(["", *complaints])


def test_every_module_is_reached() -> None:
    """Each module is reached from the package, a program, a benchmark or an example."""
    dead = unreached(
        {module_name(file): read(file) for file in project_files((".py",), "src/antiphon")},
        [read(file) for file in project_files((".py",), "benchmarks", "examples")],
    )
    assert not dead, f"nothing imports {', '.join(dead)}: use it or delete it"


def test_module_imported_only_by_a_dead_one_is_dead() -> None:
    """Being imported does not save a module if its importer is never reached itself."""
    modules = {
        "antiphon": "import antiphon.live",
        "antiphon.live": "LAZY = 'antiphon.named'",
        "antiphon.named": "",
        "antiphon.program": 'if __name__ == "__main__": pass',
        "antiphon.shown": "",
        "antiphon.stale": "from antiphon import rot",
        "antiphon.rot": "",
    }
    assert unreached(modules, ["from antiphon import shown"]) == ["antiphon.rot", "antiphon.stale"]


def project_files(endings: tuple[str, ...], *folders: str) -> list[Path]:
    """Return the text files that git tracks or would track; without git, all but hidden ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    names = answer.stdout.split("\0") if answer.returncode == 0 else walk(ROOT)
    wanted = sorted({n for n in names if n.endswith(endings) and n.startswith(folders or "")})
    files = [ROOT / name for name in wanted]
    return [file for file in files if file.is_file() and b"\0" not in file.read_bytes()]


def walk(root: Path) -> Iterator[str]:
    """Yield the names of the files of an unpacked archive."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "__", "runs"))]
        yield from (str((Path(folder) / name).relative_to(root)) for name in files)


def read(file: Path) -> str:
    """Return a file's text."""
    return file.read_text(encoding="utf-8")


def module_name(file: Path) -> str:
    """Return the dotted name of a source file."""
    parts = file.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unreached(modules: Mapping[str, str], programs: Iterable[str]) -> list[str]:
    """Return the modules that neither the programs nor the entry points lead to."""
    scripts = SETTINGS["project"]["scripts"].values()
    waiting = ["antiphon", "antiphon.testing", *(script.partition(":")[0] for script in scripts)]
    waiting += [name for name, text in modules.items() if '__name__ == "__main__"' in text]
    for text in programs:
        waiting += mentioned(text)
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += mentioned(modules[name])
            waiting.append(name.rpartition(".")[0])
    return sorted(modules.keys() - reached)


def mentioned(text: str) -> Iterator[str]:
    """Yield what a module imports, and every string: modules may be loaded by name."""
    for node in ast.walk(ast.parse(text)):
        yield from imported_names(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def imported_names(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that an import statement may load."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield node.module
