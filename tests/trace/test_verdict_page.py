"""The page about the JSON of verdicts says what the types say."""

import json
import types
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from tests.test_pages import rows
from tests.test_tidy import ROOT, read
from tests.trace.hand_written import deliver, multicast

from antiphon.logs.clocks.judging import ENGINE
from antiphon.oracle import judge
from antiphon.trace.verdict import (
    ClockProperty,
    Hop,
    Link,
    MessageId,
    PropertyVerdict,
    Terms,
    Verdict,
    Violation,
)

PAGE = read(ROOT / "docs" / "verdict-schema.md")
DOCUMENTS = (Verdict, Terms, PropertyVerdict, Violation, Hop, MessageId, Link)
WORDS = {str: "text", int: "integer", bool: "true or false", types.NoneType: "null"}


def said(kind: Any) -> str:
    """Return a type as a reader of JSON would say it."""
    if kind in WORDS:
        return WORDS[kind]
    arguments = [each for each in get_args(kind) if each is not ...]
    if get_origin(kind) is tuple:
        of = "text" if _is_choice(arguments[0]) else said(arguments[0])
        return f"list of {of}"
    if get_origin(kind) is dict:
        return f"object of {said(arguments[1]).replace('list', 'lists')}"
    if get_origin(kind) in {Union, types.UnionType}:
        return " or ".join(map(said, arguments))
    if _is_choice(kind):
        return "one of " + ", ".join(f"`{each.value}`" for each in kind)
    assert kind in DOCUMENTS, f"say on the page what {kind} is"
    return str(kind.__name__)


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


@pytest.mark.parametrize("kind", DOCUMENTS, ids=lambda kind: kind.__name__)
def test_page_lists_every_field_with_its_type(kind: type[msgspec.Struct]) -> None:
    """In the order of the document, and no other."""
    hints = get_type_hints(kind)
    expected = [[f"`{name}`", said(hints[name])] for name in kind.__struct_fields__]
    table = rows(PAGE, kind.__name__)
    assert [cells[:2] for cells in table] == expected
    assert all(cells[2].endswith(".") for cells in table)


def test_document_has_the_fields_of_the_page() -> None:
    """As it is written, not only as it is declared; no field is left out."""
    verdict = judge([multicast("A", 1, 2), deliver("B", "A", 2)])
    document = json.loads(msgspec.json.encode(verdict))
    fifo = document["properties"][0]
    [violation] = fifo["violations"]
    parts = {
        "Verdict": document, "Terms": document["terms"], "PropertyVerdict": fifo,
        "Violation": violation, "MessageId": violation["message"], "Link": violation["chain"][0],
    }  # fmt: skip
    for name, part in parts.items():
        assert [f"`{field}`" for field in part] == [cells[0] for cells in rows(PAGE, name)], name
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_page_says_what_a_log_of_clocks_has() -> None:
    """Its engine and its properties, which the types do not show."""
    [engine] = [cells[2] for cells in rows(PAGE, "Verdict") if cells[0] == "`engine`"]
    assert f"`{ENGINE}`" in engine
    [judged] = [cells[2] for cells in rows(PAGE, "PropertyVerdict") if cells[0] == "`property`"]
    assert all(f"`{which.value}`" in judged for which in ClockProperty)


def test_type_that_has_no_words_is_noticed() -> None:
    """The rule is tried on what the page cannot say."""
    with pytest.raises(AssertionError, match="say on the page"):
        said(float)
    assert said(dict[str, tuple[str, ...]]) == "object of lists of text"
    assert said(MessageId | None) == "MessageId or null"
