"""The page about the JSON of verdicts says what the types say."""

import json
from typing import get_type_hints

import msgspec
import pytest
from tests.schema_words import said
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


@pytest.mark.parametrize("kind", DOCUMENTS, ids=lambda kind: kind.__name__)
def test_page_lists_every_field_with_its_type(kind: type[msgspec.Struct]) -> None:
    """In the order of the document, and no other."""
    hints = get_type_hints(kind)
    expected = [[f"`{name}`", said(hints[name], DOCUMENTS)] for name in kind.__struct_fields__]
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
        said(complex, DOCUMENTS)
    assert said(dict[str, tuple[str, ...]], DOCUMENTS) == "object of lists of text"
    assert said(MessageId | None, DOCUMENTS) == "MessageId or null"
    assert said(list[tuple[float, float]], DOCUMENTS) == "list of pairs of numbers"
