"""The table of columns in docs/trace-format.md, made from ``schema.py``.

Law: the schema is the only place where a column is described; the page repeats it, and a test
holds the two equal. To bring the page up to date:

    python -m antiphon.trace.column_table docs/trace-format.md
"""

import ast
import sys
from pathlib import Path

import msgspec

from antiphon.core.errors import UsageError
from antiphon.trace import schema
from antiphon.trace.schema import Event

BEGIN = "<!-- columns: made by antiphon.trace.column_table, do not edit -->"
END = "<!-- end of columns -->"

_HUGE = 10**12

_TYPES = {
    "str": "text",
    "Name": "text, not empty",
    "bool": "true or false",
    "dict[str, Size] | None": "object of integers, from 0",
    "list[Name] | None": "list of texts",
}


def column_table() -> str:
    """Return the columns of a trace as a Markdown table."""
    rows = ["| column | type | if left out | what it says |", "|---|---|---|---|"]
    fields = {field.name: field for field in msgspec.structs.fields(Event)}
    for name, annotation, meaning in _described_fields():
        default = "required" if fields[name].required else _shown(fields[name].default)
        rows.append(f"| `{name}` | {_type_words(annotation)} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


def updated(page: str) -> str:
    """Return ``page`` with a fresh table between its two marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        message = f"the page needs the lines {BEGIN!r} and {END!r} around its table: add them"
        raise UsageError(message)
    return f"{head}{BEGIN}\n\n{column_table()}\n{END}{tail}"


def _described_fields() -> list[tuple[str, str, str]]:
    """Return name, annotation and docstring of each field of the row, in order."""
    assert schema.__file__ is not None, "the schema is a file"
    tree = ast.parse(Path(schema.__file__).read_text(encoding="utf-8"))
    row = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Event"
    )
    described = []
    for field, meaning in zip(row.body, row.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            words = ast.literal_eval(meaning.value) if isinstance(meaning, ast.Expr) else ""
            meant = " ".join(str(words).split())
            described.append((field.target.id, ast.unparse(field.annotation), meant))
    return described


def _type_words(annotation: str) -> str:
    """Return a type as a reader of JSON would say it; choices are spelt out."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    alias = getattr(schema, annotation)
    if hasattr(alias, "__metadata__"):
        (bounds,) = alias.__metadata__
        return _bounds_words(bounds.ge, bounds.le)
    choices: tuple[str, ...] = alias.__args__
    return "one of " + ", ".join(f"`{choice}`" for choice in choices if choice)


def _bounds_words(least: int, most: int) -> str:
    """Return the bounds of an integer, where they are not just those of 64 bits."""
    if least < -1:
        return "integer"
    return f"integer, {least} to {most}" if most < _HUGE else f"integer, from {least}"


def _shown(default: object) -> str:
    return "nothing" if default in ("", None) else f"`{str(default).lower()}`"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
