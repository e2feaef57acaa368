"""The documentation's table of columns is the schema's."""

from pathlib import Path
from typing import get_args

import pytest

from antiphon.core.errors import UsageError
from antiphon.trace.column_table import BEGIN, END, column_table, updated
from antiphon.trace.schema import Event, Kind

PAGE = Path(__file__).parents[2] / "docs" / "trace-format.md"


def test_the_page_has_the_current_table() -> None:
    """If this fails: python -m antiphon.trace.column_table docs/trace-format.md."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == updated(page)


def test_every_column_is_in_the_table_with_its_meaning() -> None:
    """Each field of the row has a line, in order, with a type and a sentence."""
    lines = column_table().splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [cell[0] for cell in cells] == [f"`{name}`" for name in Event.__struct_fields__]
    assert all(all(cell) for cell in cells)


def test_every_kind_is_on_the_page() -> None:
    """The table of kinds has a line for each, and no other."""
    table = PAGE.read_text(encoding="utf-8").partition("| kind |")[2].partition("\n\n")[0]
    listed = [line.split("`")[1] for line in table.splitlines()[2:]]
    assert listed == list(get_args(Kind))


def test_a_page_without_marks_is_refused() -> None:
    """The table has a place in the page, or is not put there."""
    assert column_table() in updated(f"head {BEGIN} old {END} tail")
    for page in ("", BEGIN, END):
        with pytest.raises(UsageError, match="add them"):
            updated(page)
