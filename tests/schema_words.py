"""Types of JSON documents, as the pages that describe them say it."""

import types
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

WORDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    types.NoneType: "null",
}


def said(kind: Any, documents: Sequence[type]) -> str:
    """Return a type as a reader of JSON would say it; ``documents`` are those of the page."""
    if kind in WORDS:
        return WORDS[kind]
    arguments = [each for each in get_args(kind) if each is not ...]
    if get_origin(kind) in {tuple, list, Sequence, dict}:
        return _many(kind, arguments, documents)
    if get_origin(kind) in {Union, types.UnionType}:
        return " or ".join(said(each, documents) for each in arguments)
    if _is_choice(kind):
        return "one of " + ", ".join(f"`{each.value}`" for each in kind)
    assert kind in documents, f"say on the page what {kind} is"
    return str(kind.__name__)


def _many(kind: Any, arguments: list[Any], documents: Sequence[type]) -> str:
    if get_origin(kind) is tuple and len(arguments) > 1:
        return f"pair of {said(arguments[0], documents)}s"
    of = "text" if _is_choice(arguments[-1]) else said(arguments[-1], documents)
    what = "object" if get_origin(kind) is dict else "list"
    return f"{what} of {of.replace('list', 'lists').replace('pair', 'pairs')}"


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)
