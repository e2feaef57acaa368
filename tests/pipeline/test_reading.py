"""One file turned into numbers, and what the report says about it."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.trace.hand_written import (
    crash,
    decide,
    deliver,
    multicast,
    start,
    stop,
    view,
    vote,
    write_rows,
)

from antiphon.pipeline.ingest import reading
from antiphon.pipeline.ingest.ballots import BALLOT_LINES, Ballot, Pile
from antiphon.pipeline.ingest.position import STRIDE
from antiphon.pipeline.ingest.reading import LINES, Report, ViewRow, read_source
from antiphon.pipeline.ingest.sources import find_sources
from antiphon.pipeline.survey.layout import Numbers
from antiphon.pipeline.tables.chunks import unpacked
from antiphon.trace.schema import LEFT, Event


def read(path: Path) -> tuple[Numbers, Report]:
    """Return the rows of a file, and the report on it."""
    [source] = find_sources([path])
    *packs, last = read_source(source)
    rows = [rows for pack in packs for rows in unpacked(pack, "rows", len(LINES))]
    report = msgspec.json.decode(last.column("report")[0].as_py(), type=Report)
    return np.concatenate([np.zeros((len(LINES), 0), dtype=np.int64), *rows], axis=1), report


def test_rows_become_numbers(tmp_path: Path) -> None:
    """Multicast and deliver rows are six integers each; names are in the report."""
    rows = [multicast("A", 1, 3, group="g"), deliver("A", "B", 5, group="g", view=2)]
    numbers, report = read(write_rows(tmp_path / "t.ndjson", rows))
    assert [dict(zip(LINES, row, strict=True)) for row in numbers.T.tolist()] == [
        {
            "strand": 0, "first": 1, "count": 3,
            "position": STRIDE, "after": STRIDE - 1, "line": 1,
        },
        {
            "strand": 1, "first": 5, "count": 1,
            "position": 2 * STRIDE, "after": 2 * STRIDE - 1, "line": 2,
        },
    ]  # fmt: skip
    one, two = report.strands
    assert (one.scope, one.process, one.sender, one.is_multicast) == (("t", "g", 1), "A", "A", True)
    assert (one.row_count, one.message_count, one.highest, one.last_position) == (1, 3, 3, STRIDE)
    assert (two.scope, two.process, two.sender) == (("t", "g", 2), "A", "B")
    assert not two.is_multicast


def test_numbered_rows_go_by_their_index(tmp_path: Path) -> None:
    """Positions follow the index where there is one, the line otherwise."""
    rows = [
        multicast("A", index=0),
        multicast("B"),
        multicast("A", 2, index=1),
        multicast("B", 2),
    ]
    numbers, report = read(write_rows(tmp_path / "t.ndjson", rows))
    assert (numbers[3] // STRIDE).tolist() == [0, 2, 1, 4]
    assert [record.is_numbered for record in report.records] == [True, False]


def test_no_multicast_lies_between_a_delivery_and_what_it_comes_after(tmp_path: Path) -> None:
    """Deliveries between two multicasts of a scope share a place; other scopes do not matter."""
    rows = [
        deliver("A", "B", 1, index=0),
        deliver("A", "B", 2, index=1),
        multicast("A", 1, index=2),
        deliver("A", "B", 3, index=3),
        multicast("A", 1, index=4, group="other"),
        deliver("A", "C", 1, index=5),
    ]
    numbers, _ = read(write_rows(tmp_path / "t.ndjson", rows))
    afters = numbers[4].tolist()
    assert afters[0] == afters[1] == -1
    assert afters[3] == afters[5] == 3 * STRIDE - 1


def test_report_tells_how_records_end(tmp_path: Path) -> None:
    """Starts, crashes and ends are noted, whatever kinds of rows come between."""
    rows = [
        start("A"),
        start("B"),
        crash("B"),
        multicast("C"),
        stop("A"),
        Event(process="B", kind="receive"),
        stop("C", "told to"),
    ]
    _, report = read(write_rows(tmp_path / "t.ndjson", rows))
    a, b, c = report.records
    assert (a.has_start, a.has_crash, a.is_at_rest, a.row_count, a.last_line) == (
        True, False, True, 2, 5,
    )  # fmt: skip
    assert (b.has_start, b.has_crash, b.is_at_rest, b.row_count, b.last_line) == (
        True, True, False, 3, 6,
    )  # fmt: skip
    assert (c.has_start, c.is_at_rest) == (False, False)


def test_report_has_all_view_rows_with_their_places(tmp_path: Path) -> None:
    """Each view row is there with its members in order, its position and its line."""
    rows = [view("A", "B", "A", group="g"), multicast("A"), view("A", "Z", view=2)]
    _, report = read(write_rows(tmp_path / "t.ndjson", rows))
    assert report.views == [
        ViewRow("t", "A", "g", 1, '["B","A"]', STRIDE, 1),
        ViewRow("t", "A", "", 2, '["Z"]', 3 * STRIDE, 3),
    ]


def test_report_tells_where_strands_begin_and_end(tmp_path: Path) -> None:
    """The first and last position of multicasts and of deliveries are noted."""
    rows = [multicast("A"), deliver("A", "B", 1), multicast("A", 2), deliver("A", "B", 2)]
    _, report = read(write_rows(tmp_path / "t.ndjson", rows))
    places = [(strand.first_position, strand.last_position) for strand in report.strands]
    assert places == [(STRIDE, 3 * STRIDE), (2 * STRIDE, 4 * STRIDE)]


def test_a_leave_is_a_quiet_end(tmp_path: Path) -> None:
    """A record that ends with a leave is at rest, and says so."""
    _, report = read(write_rows(tmp_path / "t.ndjson", [start("A"), stop("A", LEFT), stop("B")]))
    assert [(part.is_at_rest, part.has_left) for part in report.records] == [
        (True, True),
        (True, False),
    ]


def test_what_is_asked_for_tells_strands_apart(tmp_path: Path) -> None:
    """Total order and uniform delivery are noted of multicasts and of deliveries."""
    rows = [
        multicast("A", 1, order="total"),
        multicast("A", 2, order="total", uniform=True),
        deliver("A", "B", uniform=True),
        deliver("A", "B", 2, order="causal"),
    ]
    _, report = read(write_rows(tmp_path / "t.ndjson", rows))
    asked = [(strand.is_total, strand.is_uniform) for strand in report.strands]
    assert asked == [(True, False), (True, True), (False, True), (False, False)]


def test_votes_and_decisions_go_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are five integers each, in packs of their own; the report says whose they are."""
    monkeypatch.setattr(reading, "ROWS_PER_PACK", 2)
    rows = [
        vote("A", "yes", "B", 7, group="g"), multicast("A"), vote("A", "no", "C"),
        decide("A", "commit", "B", 7, group="g"),
    ]  # fmt: skip
    path = write_rows(tmp_path / "t.ndjson", rows)
    [source] = find_sources([path])
    *packs, last = read_source(source)
    ballots = [
        dict(zip(BALLOT_LINES, row, strict=True))
        for pack in packs
        if pack.column("ballots")[0].is_valid
        for part in unpacked(pack, "ballots", len(BALLOT_LINES))
        for row in part.T.tolist()
    ]
    assert ballots == [
        {"pile": 0, "number": 7, "what": Ballot.YES, "position": STRIDE, "line": 1},
        {"pile": 1, "number": 1, "what": Ballot.NO, "position": 3 * STRIDE, "line": 3},
        {"pile": 0, "number": 7, "what": Ballot.COMMIT, "position": 4 * STRIDE, "line": 4},
    ]
    assert len(packs) == 3
    report = msgspec.json.decode(last.column("report")[0].as_py(), type=Report)
    assert report.piles == [
        Pile(0, "t", "g", 0, "A", "B", has_decision=True),
        Pile(1, "t", "", 0, "A", "C", has_decision=False),
    ]


def test_bad_row_ends_the_file_with_the_readers_sentence(tmp_path: Path) -> None:
    """What cannot be read is part of the report, with file and line: nothing is raised."""
    path = write_rows(tmp_path / "t.ndjson", [multicast("A")])
    path.write_bytes(path.read_bytes() + b'{"process":"A","kind":"dance"}\n')
    _, report = read(path)
    assert report.error.startswith(f"{path}:2: ")


def test_truncated_journal_is_reported(tmp_path: Path) -> None:
    """A row cut short by a kill is no error at the end of a journal."""
    path = write_rows(
        tmp_path / "run" / "events" / "A" / "000001.ndjson", [multicast("A", index=0)]
    )
    path.write_bytes(path.read_bytes() + b'{"process":"A","ki')
    numbers, report = read(tmp_path / "run")
    assert numbers.shape[1] == 1
    assert report.error == ""
    assert [cut.line for cut in report.truncated] == [2]


def test_long_files_come_in_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a pack of rows is in memory at once."""
    monkeypatch.setattr(reading, "ROWS_PER_PACK", 4)
    path = write_rows(tmp_path / "t.ndjson", [multicast("A", number) for number in range(1, 11)])
    [source] = find_sources([path])
    *packs, _ = read_source(source)
    lengths = [rows.shape[1] for pack in packs for rows in unpacked(pack, "rows", len(LINES))]
    assert lengths == [4, 4, 2]
    assert read(path)[0][1].tolist() == list(range(1, 11))
