"""The page about the JSON of reproductions says what the types say."""

from typing import get_type_hints

import msgspec
import pytest
from tests.schema_words import said
from tests.test_pages import rows
from tests.test_tidy import ROOT, read

from antiphon.trace.claims import ClaimResult, FigureData, Reproduction, Series, TableData

PAGE = read(ROOT / "docs" / "reproduction-schema.md")
DOCUMENTS = (Reproduction, ClaimResult, TableData, FigureData, Series)


@pytest.mark.parametrize("kind", DOCUMENTS, ids=lambda kind: kind.__name__)
def test_page_lists_every_field_with_its_type(kind: type[msgspec.Struct]) -> None:
    """In the order of the document, and no other."""
    hints = get_type_hints(kind)
    expected = [[f"`{name}`", said(hints[name], DOCUMENTS)] for name in kind.__struct_fields__]
    assert [cells[:2] for cells in rows(PAGE, kind.__name__)] == expected
