"""Logs of clocks: how they are found in text, what is wrong with them, and what is refused."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.logs.executions import Happening, random_execution, write_govector

from antiphon.core.errors import AntiphonError
from antiphon.logs.clocks.judging import judge_clocks
from antiphon.logs.clocks.parsing import holds_clocks, read_clocks
from antiphon.logs.mapping import column_map
from antiphon.trace.log import Log
from antiphon.trace.verdict import ClockProperty, Status, Verdict

OWN, MEMORY, FUTURE, MERGE = ClockProperty

CHAT = [
    ("a", {"a": 1}, "asks"),
    ("b", {"a": 1, "b": 1}, "hears"),
    ("b", {"a": 1, "b": 2}, "answers"),
    ("c", {"a": 1, "b": 2, "c": 1}, "reads"),
]


def judged(path: Path, pattern: str | None = None) -> Verdict:
    """Return the verdict on a file."""
    return judge_clocks(Log.of(path), pattern)


def broken(verdict: Verdict) -> dict[ClockProperty, int]:
    """Return what is violated, and how often."""
    counts = {which: verdict.of(which).violation_count for which in ClockProperty}
    return {which: count for which, count in counts.items() if count}


@pytest.mark.parametrize("seed", range(60))
def test_clocks_of_an_execution_hold(tmp_path: Path, seed: int) -> None:
    """Whatever happens, and in whatever order hosts are written down."""
    events = random_execution(Random(seed))
    assert not judged(write_govector(tmp_path / "a.log", events)).is_violated
    by_host = sorted(events, key=lambda event: event.host)
    assert not judged(write_govector(tmp_path / "b.log", by_host)).is_violated


def _of_host(events: list[Happening], place: int) -> list[int]:
    return [n for n, event in enumerate(events) if event.host == events[place].host]


def _lose_event(events: list[Happening], dice: Random) -> int | None:
    """Take an event out that is not its host's last: the next one is one too far."""
    place = dice.randrange(len(events))
    later = [n for n in _of_host(events, place) if n > place]
    del events[place]
    return later[0] - 1 if later else None


def _forget(events: list[Happening], dice: Random) -> int | None:
    """Lower an entry that the host had before."""
    place = dice.randrange(len(events))
    event = events[place]
    before = [n for n in _of_host(events, place) if n < place]
    known = [
        other
        for other, entry in (events[before[-1]].clock if before else {}).items()
        if other != event.host and entry == event.clock[other]
    ]
    if not known:
        return None
    event.clock[dice.choice(known)] -= 1
    return place


def _foresee(events: list[Happening], dice: Random) -> int | None:
    """Know an event more of another host than it ever had."""
    place = dice.randrange(len(events))
    other = dice.choice([event.host for event in events])
    if other == events[place].host:
        return None
    events[place].clock[other] = max(event.clock.get(other, 0) for event in events) + 1
    return place


def _merge_less(events: list[Happening], dice: Random) -> int | None:
    """Leave out, of what a message brought, what it told about a third host."""
    knew = {(each.host, each.clock[each.host]): each.clock for each in events}
    for place in dice.sample(range(len(events)), len(events)):
        event = events[place]
        before = [n for n in _of_host(events, place) if n < place]
        had = events[before[-1]].clock if before else {}
        learnt = [host for host, entry in event.learnt.items() if entry > had.get(host, 0)]
        for third in learnt:
            sources = [knew[host, event.clock[host]] for host in learnt if host != third]
            if any(clock.get(third, 0) > had.get(third, 0) for clock in sources):
                event.clock[third] = had.get(third, 0)
                return place
    return None


@pytest.mark.parametrize(
    ("which", "damage"),
    [(OWN, _lose_event), (MEMORY, _forget), (FUTURE, _foresee), (MERGE, _merge_less)],
)
def test_planted_damage_is_found_where_it_is(
    tmp_path: Path,
    which: ClockProperty,
    damage: Callable[[list[Happening], Random], int | None],
) -> None:
    """Each rule finds what breaks it, with the line of the offending clock."""
    tried = 0
    for seed in range(200):
        dice = Random(seed)
        events = random_execution(dice)
        place = damage(events, dice)
        if place is None:
            continue
        tried += 1
        path = write_govector(tmp_path / "a.log", events)
        item = judged(path).of(which)
        assert item.status is Status.VIOLATED, seed
        if item.violation_count <= len(item.violations):
            lines = [violation.chain[-1].line for violation in item.violations]
            assert 2 * place + 1 in lines, seed
            assert {link.file for each in item.violations for link in each.chain} == {str(path)}
    assert tried > 40


def test_each_violation_is_explained(tmp_path: Path) -> None:
    """In a sentence that names the event, the entry, and what it should have been."""
    cases = [
        (2, {"a": 1, "b": 3}, "event 2 of b (answers) has 3 for b itself, where 2 was expected"),
        (2, {"b": 2}, "event 2 of b (answers) has 0 for a, where the event before it had 1"),
        (1, {"a": 4, "b": 1}, "event 1 of b (hears) has 4 for a, whose last entry for itself is 1"),
        (0, {"a": 1, "b": 1}, ("event 1 of a (asks) knows event 1 of b (hears), which knows it "
                              "already")),
        (3, {"b": 2, "c": 1}, ("event 1 of c (reads) knows event 2 of b (answers), which had 1 for "
                              "a, but has 0 for it")),
        (2, {"a": 1, "b": 2, "c": 1}, ("event 2 of b (answers) knows event 1 of c (reads), which "
                                      "knows it already")),
        (1, {"a": 1}, "event 1 of b (hears) has no entry for b itself, where 1 was expected"),
    ]  # fmt: skip
    for place, clock, expected in cases:
        events = [Happening(*each, {}) for each in CHAT]
        events[place].clock = clock
        verdict = judged(write_govector(tmp_path / "a.log", events))
        said = [violation.text for item in verdict.properties for violation in item.violations]
        assert expected in said, said


def test_one_event_learnt_is_enough(tmp_path: Path) -> None:
    """Whoever hears of a single event has to know what it knew."""
    clocks = [("a", {"a": 1}), ("b", {"a": 1, "b": 1}), ("c", {"b": 1, "c": 1})]
    events = [Happening(host, clock, "", {}) for host, clock in clocks]
    verdict = judged(write_govector(tmp_path / "a.log", events))
    assert broken(verdict) == {MERGE: 1}
    assert [link.line for link in verdict.of(MERGE).violations[0].chain] == [3, 5]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{host} {clock}\n{event}\n", 7),
        ("{event}\n{host} {clock}\n", 8),
        ("17 {host} {clock}\n{event}\n", 7),
        ("{host} {clock} {event}\n", 4),
        ('{host} "{event}" {clock}\n', 4),
        ("{host} {event} {clock}\n", 4),
    ],
)
def test_usual_formats_are_known(tmp_path: Path, text: str, line: int) -> None:
    """Without a word about them; the line is that of the clock."""
    path = tmp_path / "a.log"
    rows = [
        text.replace("{host}", host).replace("{event}", said).replace("{clock}", json.dumps(clock))
        for host, clock, said in CHAT
    ]
    path.write_text("".join(rows))
    assert holds_clocks(Log.of(path))
    read = read_clocks(Log.of(path), None)
    assert [(event.host, event.clock, event.text) for event in read.events] == CHAT
    assert (read.events[-1].line, read.left_out) == (line, [])
    assert not judged(path).is_violated


def test_file_may_say_its_expression_itself(tmp_path: Path) -> None:
    """In its first line, as ShiViz reads it; what is no event is counted."""
    rows = "".join(f"[{said}] {host} {json.dumps(clock)}\n" for host, clock, said in CHAT)
    path = tmp_path / "a.txt"
    path.write_text(f"\\[(?<event>.*)\\] (?<host>\\w+) (?<clock>{{.*}})\n\n{rows}the end\n")
    assert holds_clocks(Log.of(path))
    verdict = judged(path)
    assert verdict.event_count == len(CHAT)
    assert verdict.of(OWN).reason == f"1 line is no event and left out, first {path}:7"


def test_hosts_that_are_not_in_the_log_are_named(tmp_path: Path) -> None:
    """What is said of them is left out; where nothing is left, it is unknown."""
    path = write_govector(tmp_path / "a.log", [Happening("a", {"a": 1, "x": 3}, "", {})])
    verdict = judged(path)
    assert verdict.of(FUTURE).status is Status.UNKNOWN
    assert verdict.of(FUTURE).reason.startswith("1 host has no event in the log")


@pytest.mark.parametrize(
    ("text", "pattern", "said"),
    [
        ("hello\nworld\n", r"(?<host>\S+) (?<clock>{.*}) (?<event>.*)",
         (r":1: '(?P<host>\S+) (?P<clock>{.*}) (?P<event>.*)' finds no event here, which begins "
         "'hello': give another --regex")),
        ("a {}\n", r"(?<host>\S+) (?<clock>{.*})", "has no group event: say (?<event>...)"),
        ("a {}\n", "(", "--regex: '(' is no regular expression"),
        ('a {"a": "1"}\nx\n', r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)",
         """:1: the clock '{"a": "1"}' is no JSON object of whole numbers: mend it"""),
        ('(?<host>.*) (?<clock>{.*}) (?<event>.*)\n=== (?<trace>.*)\na {"a": 1} x\n', None,
         ":2: several executions are in one file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, text: str, pattern: str | None, said: str
) -> None:
    """With the first line, where an expression finds nothing."""
    path = tmp_path / "a.log"
    path.write_text(text)
    with pytest.raises(AntiphonError) as caught:
        judged(path, pattern)
    assert said in str(caught.value)


def test_logs_of_messages_are_not_taken_for_clocks(tmp_path: Path) -> None:
    """JSON lines with clocks are still what they are."""
    path = tmp_path / "a.log"
    path.write_text('{"process": "a", "kind": "multicast", "first": 1, "clock": {"a": 1}}\n')
    assert not holds_clocks(Log.of(path))
    assert not holds_clocks(Log.of(tmp_path))


def test_line_with_an_event_is_an_event_whatever_is_around_it(tmp_path: Path) -> None:
    """A time before it, something after it; a line between two is none."""
    path = tmp_path / "a.log"
    path.write_text(
        '12:00:00 [a] {"a": 1} begins (ms)\n# rotated\n12:00:01 [b] {"b": 1} begins (ms)\n'
        '12:00:02 [b] {"a": 1, "b": 2} hears (ms)\n'
    )
    read = read_clocks(Log.of(path), r"\[(?<host>\w)\] (?<clock>{.*}) (?<event>\w+)")
    assert [(event.host, event.line) for event in read.events] == [("a", 1), ("b", 3), ("b", 4)]
    assert read.left_out == [(str(path), 2)]


ROWS: list[dict[str, object]] = [
    {"host": host, "clock": clock, "event": text} for host, clock, text in CHAT
]
"""The same, a row each."""


def rows_as(folder: Path, ending: str, rows: list[dict[str, object]]) -> Path:
    """Write rows in one of the formats."""
    path = folder / f"rows.{ending}"
    names = list(rows[0])
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif ending == "csv":
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(names)
            table.writerows(
                [json.dumps(v) if isinstance(v, dict) else v for v in row.values()] for row in rows
            )
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("ending", ["ndjson", "csv", "parquet"])
def test_rows_with_clocks_are_judged(tmp_path: Path, ending: str) -> None:
    """Under the usual names, or those that are mapped; the line is the row's."""
    path = rows_as(tmp_path, ending, ROWS)
    assert holds_clocks(Log.of(path))
    verdict = judged(path)
    assert (broken(verdict), verdict.event_count) == ({}, 4)
    theirs: list[dict[str, object]] = [
        {"node": r["host"], "vc": r["clock"], "kind": "x"} for r in ROWS
    ]
    theirs[3]["vc"] = {"b": 2, "c": 1}  # c knows b's answer, and not what b had heard
    path = rows_as(tmp_path, ending, theirs)
    log = Log((path,), columns=column_map(["process=node,clock=vc"]))
    assert holds_clocks(log)
    verdict = judge_clocks(log)
    assert broken(verdict) == {MERGE: 1}
    [violation] = verdict.of(MERGE).violations
    assert (violation.chain[-1].file, violation.chain[-1].line) == (
        str(path),
        5 if ending == "csv" else 4,
    )


def test_rows_with_clocks_that_lie_are_refused_by_line(tmp_path: Path) -> None:
    """A clock that is none, and a row without; rows about messages are none of ours."""
    for clock, said in (
        ({"a": "x"}, "rows.ndjson:5: the clock '{'a': 'x'}' is no JSON object of whole numbers"),
        ({"a": -1}, "rows.ndjson:5: the clock '{'a': -1}' has a negative entry: mend it"),
        (None, "rows.ndjson:5: there is no 'clock' here: there are host, clock; say which"),
    ):
        path = rows_as(tmp_path, "ndjson", [*ROWS, {"host": "a", "clock": clock}])
        with pytest.raises(AntiphonError, match=re.escape(said)):
            judged(path)
    others: list[dict[str, object]] = [
        {"process": "a", "kind": "multicast", "first": 1, "clock": {"a": 1}},
        {"process": "a", "type": "sent", "first": 1, "clock": {"a": 1}},
        {"process": "a", "clock": None},
    ]
    for row in others:
        assert not holds_clocks(Log.of(rows_as(tmp_path, "ndjson", [row])))
