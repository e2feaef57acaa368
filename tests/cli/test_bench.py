"""`antiphon bench` as a user meets it, without measuring anything."""

import pytest

from antiphon.bench.suite import PARTS
from antiphon.cli.bench import bench


@pytest.mark.parametrize("part", [part for part in PARTS if part != "changes"])
def test_help_says_in_its_first_line_what_is_measured(part: str) -> None:
    """Each part by its name; changes are those of views."""
    summary = (bench.__doc__ or "").splitlines()[0]
    assert part in summary
