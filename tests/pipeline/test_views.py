"""The views of a trace on the driver, and which rows are looked at once more because of them."""

from pathlib import Path

from tests.pipeline.test_scopes import reports_of
from tests.trace.hand_written import deliver, multicast, view

from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.survey.views import Views, unsettled
from antiphon.trace.schema import Event

OWNER = ("t", "g", "A")


def views_of(folder: Path, *files: list[Event]) -> tuple[Views, list[Report]]:
    """Return the views of a trace of these files, and the reports."""
    reports = reports_of(folder / "t", *files)
    return Views(reports), reports


def numbered(*rows: Event) -> list[Event]:
    """Number the rows of a process."""
    for index, row in enumerate(rows):
        row.index = index
    return list(rows)


def test_a_view_is_current_up_to_the_next_of_its_group(tmp_path: Path) -> None:
    """Views of another group end nothing; a view installed twice has two stays."""
    views, _ = views_of(
        tmp_path,
        numbered(
            view("A", "A", group="g"), view("A", "A", group="h"),
            view("A", "A", group="g", view=2), view("A", "A", group="g"),
        ),
    )  # fmt: skip
    assert views.stays(OWNER, 1) == [(0, 2 * STRIDE), (3 * STRIDE, NEVER)]
    assert views.stays(OWNER, 2) == [(2 * STRIDE, 3 * STRIDE)]
    assert views.stays(OWNER, 3) == []
    current = [views.current(OWNER, position) for position in (-1, 0, STRIDE + 7, 2 * STRIDE)]
    assert [row and row.view for row in current] == [None, 1, 1, 2]


def test_strands_within_their_view_are_settled_without_a_look_at_their_rows(
    tmp_path: Path,
) -> None:
    """Also if the view was installed in an earlier file; who has no views is not asked."""
    rows = numbered(
        view("A", "A", group="g"), multicast("A", group="g"), deliver("A", "B", group="g"),
        view("A", "A", group="g", view=2), multicast("A", group="g", view=2),
    )  # fmt: skip
    views, reports = views_of(tmp_path, rows[:2], rows[2:], [multicast("B", group="g")])
    assert [list(unsettled(views, report.strands)) for report in reports] == [[], [], []]


def test_strands_that_reach_beyond_their_view_are_not_settled(tmp_path: Path) -> None:
    """One row too early, or too late, is enough; which one, the rows will say."""
    early, late = multicast("A", 1, group="g", view=2), deliver("A", "B", 2, group="g")
    rows = numbered(
        view("A", "A", group="g"), deliver("A", "B", 1, group="g"), early,
        view("A", "A", group="g", view=2), multicast("A", 2, group="g", view=2), late,
    )  # fmt: skip
    views, [report] = views_of(tmp_path, rows)
    found = [(strand.sender, stays) for strand, stays in unsettled(views, report.strands)]
    assert found == [("B", [(0, 3 * STRIDE)]), ("A", [(3 * STRIDE, NEVER)])]


def test_equal_members_are_taken_apart_once(tmp_path: Path) -> None:
    """A thousand processes with the same view have one list of its members."""
    views, _ = views_of(tmp_path, [view(name, "A", "B", "C", group="g") for name in "ABC"])
    rows = [row for rows in views.rows.values() for row in rows]
    assert len({id(views.members(row)) for row in rows}) == 1
    assert views.rosters == {("t", "g", 1): [("A", "B", "C")]}
