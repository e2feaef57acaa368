"""What is judged together, and who is held to what."""

from pathlib import Path

import msgspec
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view, write_rows

from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.ingest.reading import Report, read_source
from antiphon.pipeline.ingest.sources import find_sources
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.survey.layout import STRAND_LINES
from antiphon.pipeline.survey.scopes import Survey, strand_tables, survey
from antiphon.trace.schema import LEFT, Event


def reports_of(folder: Path, *files: list[Event]) -> list[Report]:
    """Return the reports on files with these rows."""
    for number, rows in enumerate(files):
        write_rows(folder / f"f{number}.ndjson", rows)
    found = []
    for source in find_sources([folder]):
        *_, last = read_source(source)
        found.append(msgspec.json.decode(last.column("report")[0].as_py(), type=Report))
    return found


def whole(found: Survey) -> list[str]:
    """Return the processes whose record is whole."""
    [records] = found.records.values()
    return sorted(name for name, record in records.items() if record.is_whole)


def test_records_are_whole_unless_something_says_otherwise(tmp_path: Path) -> None:
    """A crash, or a start without a quiet end, leaves a record open; a user's log is complete."""
    rows = [
        multicast("user"),
        start("quiet"), stop("quiet"),
        start("leaver"), stop("leaver", LEFT),
        start("told"), stop("told", "told to"),
        start("cut"), multicast("cut"),
        start("crashed"), crash("crashed"), stop("crashed"),
        start("restless"), stop("restless"), Event(process="restless", kind="receive"),
    ]  # fmt: skip
    assert whole(survey(reports_of(tmp_path, rows))) == ["leaver", "quiet", "user"]


def test_the_last_file_says_how_a_record_ends(tmp_path: Path) -> None:
    """The end of a journal is that of its last segment, wherever the crash was noted."""
    first = [Event(process="A", kind="start", index=0), Event(process="B", kind="start", index=0)]
    second = [
        Event(process="A", kind="stop", detail="quiescent", index=1),
        Event(process="B", kind="crash", index=1),
    ]
    third = [Event(process="B", kind="stop", detail="quiescent", index=2)]
    found = survey(reports_of(tmp_path, third, first, second))
    assert whole(found) == ["A"]
    assert found.records[tmp_path.name]["B"].last.last_position == 2 * STRIDE


def test_members_are_those_of_views_or_all_that_took_part(tmp_path: Path) -> None:
    """View rows decide who must agree, if there are any."""
    rows = [
        view("A", "A", "B", "absent", group="g"),
        deliver("C", "A", group="g"),
        multicast("A", group="h"),
        deliver("B", "ghost", group="h"),
    ]
    of_g, of_h = survey(reports_of(tmp_path, rows)).scopes
    assert of_g.members() == ["A", "B", "absent"]
    assert of_g.names == ["A", "B", "C", "absent"]
    assert of_g.layout().held == [0, 1]
    assert of_h.members() == ["A", "B"]
    assert of_h.names == ["A", "B", "ghost"]


def test_movers_are_members_that_installed_a_view_and_the_next(tmp_path: Path) -> None:
    """Joiners, those who stay behind, and strangers to the view do not count."""
    rows = [
        view("A", "A", "B", "C"), view("B", "A", "B", "C"), view("C", "A", "B", "C"),
        view("S", "A"),
        view("A", "A", "B", "D", view=2), view("B", "A", "B", "D", view=2),
        view("D", "A", "B", "D", view=2), view("S", "A", "B", "D", view=2),
        start("A"), multicast("A"), multicast("C"), start("C"),
    ]  # fmt: skip
    first, second = survey(reports_of(tmp_path, rows)).scopes
    assert first.movers() == ["A", "B"]
    assert second.movers() == []
    held = dict(zip(first.names, first.layout().is_bound, strict=True))
    assert held == {"A": True, "B": True, "C": False, "S": True}
    assert first.layout().movers == [0, 1]


def test_doubt_begins_where_an_open_record_ends(tmp_path: Path) -> None:
    """Messages of a sender may have been multicast off the record only if its record is open."""
    rows = [start("A"), multicast("A", 1, 5), multicast("B", 1, 5), deliver("B", "ghost")]
    [scope] = survey(reports_of(tmp_path, rows)).scopes
    assert dict(zip(scope.names, scope.layout().doubt_above, strict=True)) == {
        "A": 5,
        "B": NEVER,
        "ghost": 0,
    }


def test_senders_share_the_buckets_whatever_their_rate(tmp_path: Path) -> None:
    """A sender of ten times as many messages has buckets ten times as wide."""
    rows = [multicast("A", number) for number in range(1, 101)]
    rows += [multicast("B", number, 10) for number in range(1, 1001, 10)]
    [scope] = survey(reports_of(tmp_path, rows)).scopes
    grain = Grain(cells_per_bucket=1, rows_per_bucket_min=20, numbers_per_bucket_min=2)
    assert scope.widths(grain) == [100 // 11 + 1, 1000 // 11 + 1]


def test_strands_are_known_by_rank(tmp_path: Path) -> None:
    """The table for a file says scope, sender, process and kind of each of its strands."""
    reports = reports_of(
        tmp_path,
        [multicast("B", group="h"), deliver("B", "A", group="g")],
        [deliver("C", "B", group="h")],
    )
    tables = strand_tables(reports, survey(reports).scopes, Grain())
    named = {
        number: [dict(zip(STRAND_LINES, strand, strict=True)) for strand in table.T.tolist()]
        for number, table in tables.items()
    }
    width = {"width": 64}
    assert named == {
        0: [
            {"scope": 1, "sender": 0, "process": 0, "what": 1} | width,
            {"scope": 0, "sender": 0, "process": 1, "what": 0} | width,
        ],
        1: [{"scope": 1, "sender": 0, "process": 1, "what": 0} | width],
    }
