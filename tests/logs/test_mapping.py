"""Other people's columns and values: what a user may say, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.logs.chat import places, same_from_both
from tests.logs.tables import write_records
from tests.logs.test_tables import refused

from antiphon.core.errors import UsageError
from antiphon.logs.mapping import column_map
from antiphon.logs.reading import read_log
from antiphon.trace.log import Log

THEIRS = [
    {"who": who, "op": op, "h": {"from": sender, "seq": seq}, "at": at}
    for who, op, sender, seq, at in [
        (1, "S", None, "1", "2024-05-01T12:00:00Z"),
        (2, "R", 1, "1", "2024-05-01T12:00:01Z"),
        (2, "S", None, "1", "2024-05-01T12:00:02Z"),
        (3, "R", 2, "1", "2024-05-01T12:00:03Z"),
        (3, "R", 1, "1", "2024-05-01T12:00:04Z"),
        (1, "R", 2, "1", "2024-05-01T12:00:05Z"),
    ]
]
SAID = [
    "process=who, kind=op,kind:multicast=S",
    "kind:deliver=R,sender=h.from,first=h.seq,time_us=at",
]


def mapped(path: Path, *said: str) -> Log:
    """Return a log that is read as these words say."""
    return replace(Log.of(path), columns=column_map(said))


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records as JSON lines."""
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return path


def test_mapped_columns_are_judged(tmp_path: Path) -> None:
    """Names, values, objects within objects, numbers as text, names as numbers; JSON or Parquet."""
    for path in (
        write_lines(tmp_path / "a.json", THEIRS),
        write_records(tmp_path / "a.parquet", THEIRS),
    ):
        log = mapped(path, *SAID)
        assert places(same_from_both(log)) == [(str(path), line) for line in (1, 2, 3, 4)]
        events = [event for event, _, _ in read_log(log)]
        assert [event.process for event in events] == ["1", "2", "2", "3", "3", "1"]
        assert events[1].time_us - events[0].time_us == 1_000_000


@pytest.mark.parametrize(
    ("said", "value", "time_us"),
    [("time_s=t", 1.5, 1_500_000), ("time_ms=t", "7", 7_000), ("time_us=t", 3, 3)],
)
def test_times_have_units(tmp_path: Path, said: str, value: object, time_us: int) -> None:
    """The name that a time is mapped to says its unit."""
    path = write_lines(tmp_path / "a.json", [{"process": "A", "kind": "start", "t": value}])
    ((event, _, _),) = read_log(mapped(path, said))
    assert event.time_us == time_us


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("sender", "--map sender: say ours=theirs, as in sender=from or kind:multicast=SEND"),
        ("sendr=from", "--map sendr=from: a trace has no column 'sendr': it has run, process,"),
        ("kind:sent=S", "--map kind:sent=S: `kind` is never 'sent': it is one of start, view,"),
    ],
)
def test_words_that_say_nothing_are_refused(said: str, refusal: str) -> None:
    """With those that would do."""
    with pytest.raises(UsageError) as caught:
        column_map([said])
    assert str(caught.value).startswith(refusal)
    assert column_map([]) is None


def test_rows_of_no_interest_are_left_out(tmp_path: Path) -> None:
    """Nothing else is: a kind that is not known is asked about."""
    path = write_lines(tmp_path / "a.json", [*THEIRS, {"who": 3, "op": "PING"}])
    assert refused(mapped(path, *SAID)).startswith(f"{path}:7: what is `kind` 'PING'? Say --map")
    verdict = same_from_both(mapped(path, *SAID, "kind:skip=PING"))
    assert verdict.event_count == len(THEIRS)


def test_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With those that are: in a table at once, in JSON where the row lacks it."""
    path = write_lines(tmp_path / "a.json", THEIRS)
    assert refused(mapped(path, *SAID, "sender=h.form")) == (
        f"{path}:2: there is no 'h.form' here to be `sender`: there are who, op, h, at"
    )
    path = write_records(tmp_path / "a.parquet", THEIRS)
    assert refused(mapped(path, *SAID, "sender=form")).startswith(
        f"{path}:1: there is no column 'form' to be `sender`: there are who, op, h, at; "
    )
