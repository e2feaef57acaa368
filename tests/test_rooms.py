"""House rules about rooms: how full they are, who knows whom, and whether what is named exists.

Law: as in ``test_tidy``: each rule is tried on a small wrong example before it is trusted with the
tree. What breaks a rule today, outside the rooms that were made to keep it, is listed with it; a
list only ever gets shorter.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.test_tidy import ROOT, imported_names, module_name, project_files, read

FILES_MAX = 10
METHODS_MAX = 30

ROOMS = tuple(f"src/antiphon/{room}" for room in ("live", "logs", "net", "oracle", "pipeline"))
"""Folders in which, and below which, no folder has more than ``FILES_MAX`` files."""

LARGE_CLASSES: set[str] = set()
"""To be divided."""

KNOTTED: set[str] = set()
"""Modules that import each other, a knot per line: to be untied."""

DANGLING: set[tuple[str, str]] = set()
"""Modules, and what their docstrings name that does not exist: to be mended."""

NAMESAKES = {
    # The network's and the simulator's: the same part, driven by each in its own way.
    "Application", "Bootstrap", "Calling", "Driver", "Node", "Process", "Timers",
    # The machine's and the application's, or the wire's: one thing, seen from two sides.
    "Ballot", "Flush", "Letter", "Request", "State", "View",
    # The two judges': they share no code.
    "Act", "Component", "Finding", "Outcome", "Past", "Scope", "Survey", "Trace",
    # Different things: to be renamed.
    "Ending", "Link", "Message", "Report",
}  # fmt: skip
"""Names that classes of several modules bear."""

FILE_ENDINGS = (".json", ".md", ".ndjson", ".toml", ".txt")

Modules = Mapping[str, ast.Module]


@cache
def modules_of_project() -> Modules:
    """Return every module of the package, by its dotted name."""
    return {
        module_name(file): ast.parse(read(file)) for file in project_files((".py",), "src/antiphon")
    }


def full_rooms(files: list[str]) -> dict[str, int]:
    """Return the folders with too many files, and how many they have."""
    folders = [Path(file).parent.as_posix() for file in files]
    return {name: folders.count(name) for name in folders if folders.count(name) > FILES_MAX}


def large_classes(modules: Modules) -> dict[str, int]:
    """Return the classes with too many methods, and how many they have."""
    found = {}
    for module, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = [
                    part
                    for part in node.body
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                ]
                if len(methods) > METHODS_MAX:
                    found[f"{module}.{node.name}"] = len(methods)
    return found


def namesakes(modules: Modules) -> dict[str, list[str]]:
    """Return the names that classes of several modules bear, with those modules."""
    found: dict[str, list[str]] = {}
    for module, tree in modules.items():
        for name in {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}:
            found.setdefault(name, []).append(module)
    return {name: sorted(where) for name, where in found.items() if len(where) > 1}


def imports_of(modules: Modules) -> dict[str, set[str]]:
    """Return which modules each imports: wherever it says so, also only for types."""
    return {
        module: {
            name
            for node in ast.walk(tree)
            for name in imported_names(node)
            if name in modules and name != module
        }
        for module, tree in modules.items()
    }


def knots(modules: Modules) -> list[list[str]]:
    """Return the sets of modules of which each imports, in some steps, each other."""
    imports = imports_of(modules)
    reached = {module: _reached(module, imports) for module in modules}
    found = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in modules
        if module in reached[module]
    }
    return sorted(map(list, found))


def _reached(module: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return what a module imports, in one step or more."""
    waiting, found = list(imports[module]), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports[name]
    return found


def dangling(modules: Modules) -> Iterator[tuple[str, str]]:
    """Yield what docstrings name that is not there, with the module that they are in.

    Looked at are dotted names that begin with the package's, in all docstrings, and names in double
    backquotes where a module introduces itself: each must be a module (or package, or file),
    something that a module or a class defines, or a word that the module itself uses.
    """
    defined = {module: set(_defined(tree)) for module, tree in modules.items()}
    known = {name for names in defined.values() for name in names}
    known |= {part for module in modules for part in module.split(".")}
    for module, tree in modules.items():
        for text in _docstrings(tree):
            for name in re.findall(r"\bantiphon(?:\.\w+)+", text):
                if not is_there(name, defined):
                    yield module, name
        own = known.union(_used(tree))
        for name in re.findall(r"``([a-z_][\w.]*)``", ast.get_docstring(tree) or ""):
            is_known = is_file(name, modules) if "." in name else name in own
            if not is_known and not is_there_below(name, defined):
                yield module, name


def is_file(name: str, modules: Modules) -> bool:
    """Whether a name is that of a module's file, or of a file that is not ours to check."""
    packages = {module.rpartition(".")[0] for module in modules}
    ending = f".{name.removesuffix('.py')}"
    is_module = any(module.endswith(ending) for module in modules if module not in packages)
    return is_module if name.endswith(".py") else name.endswith(FILE_ENDINGS)


def is_there_below(name: str, defined: Mapping[str, set[str]]) -> bool:
    """Whether a dotted name, with the names of its packages before it or not, is there."""
    packages = {module.rpartition(".")[0] for module in defined}
    full = [name, *(f"{package}.{name}" for package in packages)]
    return "." in name and any(is_there(each, defined) for each in full)


def is_there(name: str, defined: Mapping[str, set[str]]) -> bool:
    """Whether a dotted name is that of a module, or of something that a module defines."""
    if name in defined:
        return True
    module, _, last = name.rpartition(".")
    if module in defined:
        return last in defined[module]
    return "." in module and is_there(module, defined)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass


def _defined(tree: ast.Module | ast.ClassDef | ast.If) -> Iterator[str]:
    """Yield the names that a module gives to something: in it, or in its classes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.If):
            yield from _defined(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def _used(tree: ast.Module) -> Iterator[str]:
    """Yield the words of a module's code, those that it reads or writes included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def makers(modules: Modules, name: str) -> list[str]:
    """Return the modules that make something of this class."""
    return sorted(
        module
        for module, tree in modules.items()
        if any(
            isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name
            for node in ast.walk(tree)
        )
    )


def missing_in_page(text: str, modules: Modules) -> Iterator[str]:
    """Yield what a page names that is not there: modules, and files of ours."""
    defined = {module: set(_defined(tree)) for module, tree in modules.items()}
    for name in re.findall(r"\bantiphon(?:\.\w+)+\b(?!/)", text):
        if not name.endswith(FILE_ENDINGS) and not is_there(name, defined):
            yield name
    for name in re.findall(r"\b(?:src|tests|docs|examples|benchmarks)/[\w/]+\.\w+", text):
        if not (ROOT / name).exists():
            yield name


def test_rooms_have_few_files() -> None:
    """The folders that were given rooms keep them small enough to know at a glance."""
    files = [file.relative_to(ROOT).as_posix() for file in project_files((".py",), *ROOMS)]
    found = full_rooms(files)
    assert not found, f"more than {FILES_MAX} files: divide {found}"


def test_classes_have_few_methods() -> None:
    """A class does one thing, in at most so many methods."""
    found = large_classes(modules_of_project())
    new = {name: count for name, count in found.items() if name not in LARGE_CLASSES}
    assert not new, f"more than {METHODS_MAX} methods: divide {new}"


def test_classes_have_names_of_their_own() -> None:
    """One name is one thing, wherever it is read; the list has no name that is borne once."""
    found = namesakes(modules_of_project())
    new = {name: where for name, where in found.items() if name not in NAMESAKES}
    assert not new, f"one of each wants another name: {new}"
    assert not NAMESAKES - found.keys(), "these are borne once: take them off the list"


def test_no_modules_import_each_other() -> None:
    """Imports lead one way, those that are only for types included."""
    found = [knot for knot in knots(modules_of_project()) if not KNOTTED.issuperset(knot)]
    assert not found, f"these import each other: {found}"


def test_docstrings_name_what_exists() -> None:
    """A module that another's docstring sends the reader to is there."""
    found = [item for item in dangling(modules_of_project()) if item not in DANGLING]
    assert not found, f"named, but not there: {found}"


def test_pages_name_what_exists() -> None:
    """A module or file that a page sends the reader to is there."""
    modules = modules_of_project()
    found = {
        file.name: missing
        for file in project_files((".md",))
        if file.name != "CHANGELOG.md" and (missing := list(missing_in_page(read(file), modules)))
    }
    assert not found, f"named, but not there: {found}"


def test_verdicts_are_told_in_one_place() -> None:
    """The oracle and the pipeline judge apart; what a verdict says is written once, for both."""
    modules = modules_of_project()
    assert makers(modules, "Violation") == ["antiphon.trace.explanations"]
    assert makers(modules, "PropertyVerdict") == ["antiphon.trace.verdict"]


def test_planted_faults_are_found() -> None:
    """Each rule complains about a small wrong example, and only about what is wrong in it."""
    assert full_rooms([f"a/{n}.py" for n in range(11)] + ["b/1.py"]) == {"a": 11}
    methods = "\n".join(f"    def f{n}(self): pass" for n in range(METHODS_MAX + 1))
    assert large_classes({"m": ast.parse(f"class A:\n{methods}\nclass B: pass")}) == {"m.A": 31}
    twins = {"m": ast.parse("class A: pass\nclass B: pass"), "n": ast.parse("class A: pass")}
    assert namesakes(twins) == {"A": ["m", "n"]}
    tree = {
        "antiphon.a": "if TYPE_CHECKING:\n    from antiphon.b import B",
        "antiphon.b": "def f():\n    from antiphon import c",
        "antiphon.c": "import antiphon.a, antiphon.d",
        "antiphon.d": '"""See ``b``, ``gone``, ``antiphon.b.f``, antiphon.b.g and ``b.h``."""',
    }
    modules = {name: ast.parse(text) for name, text in tree.items()}
    assert knots(modules) == [["antiphon.a", "antiphon.b", "antiphon.c"]]
    named = sorted(name for _, name in dangling(modules))
    assert named == ["antiphon.b.g", "b.h", "gone"]
    page = "`antiphon.b.f`, `antiphon.x.y`, tests/test_rooms.py, src/antiphon/gone.py"
    assert makers({"m": ast.parse("v.A(1)"), "n": ast.parse("A")}, "A") == ["m"]
    assert list(missing_in_page(page, modules)) == ["antiphon.x.y", "src/antiphon/gone.py"]
