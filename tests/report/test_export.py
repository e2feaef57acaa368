"""Traces as ShiViz and Perfetto read them: clocks that hold, and events that keep to the format."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.logs.chat import ROWS
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, view

from antiphon.logs.clocks.judging import judge_clocks
from antiphon.logs.clocks.parsing import ClockEvent, read_clocks
from antiphon.report.export.writing import Viewer, export
from antiphon.report.record import RecordedTrace, read_record
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.world import World
from antiphon.trace.log import Log
from antiphon.trace.schema import Event
from antiphon.trace.verdict import ClockProperty, Status


def recorded(rows: list[Event]) -> RecordedTrace:
    """Return rows as an export takes them."""
    return read_record(((row, "log", line) for line, row in enumerate(rows, 1)), "run")


def shiviz_events(path: Path, rows: list[Event]) -> list[ClockEvent]:
    """Return what ShiViz would read, and see that its clocks hold."""
    export(recorded(rows), Viewer.SHIVIZ, path)
    verdict = judge_clocks(Log.of(path))
    assert not verdict.is_violated, verdict
    assert verdict.of(ClockProperty.OWN).status is Status.HOLDS
    assert verdict.of(ClockProperty.OWN).reason == "", "every line belongs to an event"
    return read_clocks(Log.of(path), None).events


def test_clocks_say_who_knew_what(tmp_path: Path) -> None:
    """As in the chat: C knows the question only through the answer."""
    events = shiviz_events(tmp_path / "a.log", [view("A", "A", "B", "C"), *ROWS])
    assert [(event.host, event.clock, event.text) for event in events] == [
        ("A", {"A": 1}, "view 1 with A B C"),
        ("A", {"A": 2}, "multicast 1"),
        ("B", {"A": 2, "B": 1}, "deliver 1 of A"),
        ("B", {"A": 2, "B": 2}, "multicast 1"),
        ("A", {"A": 3, "B": 2}, "deliver 1 of B"),
        ("C", {"A": 2, "B": 2, "C": 1}, "deliver 1 of B"),
        ("C", {"A": 2, "B": 2, "C": 2}, "deliver 1 of A"),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_any_trace_has_clocks_that_hold(tmp_path: Path, seed: int) -> None:
    """However wrong: every row but frames is an event, once."""
    rows = random_trace(seed)
    events = shiviz_events(tmp_path / "a.log", rows)
    assert len(events) == sum(row.kind != "send_frame" for row in rows)


def test_simulated_run_has_clocks_that_hold(tmp_path: Path) -> None:
    """And whoever delivers a message knows that it was multicast."""
    rows = World(random_scenario(7)).run().events
    clocks = {(each.host, each.own): each.clock for each in shiviz_events(tmp_path / "a.log", rows)}
    counts: Counter[str] = Counter()
    sent: dict[tuple[str, int, str, int], int] = {}
    delivered: list[tuple[tuple[str, int, str, int], str, int]] = []
    for row in rows:
        counts[row.process] += row.kind != "send_frame"
        for number in range(row.first, row.first + row.count):
            message = (row.group, row.view, row.sender or row.process, number)
            if row.kind == "multicast":
                sent[message] = counts[row.process]
            elif row.kind == "deliver":
                delivered.append((message, row.process, counts[row.process]))
    assert len(delivered) > 100
    for message, process, own in delivered:
        assert clocks[process, own][message[2]] >= sent[message]


def test_rows_that_wait_for_each_other_are_told_once(tmp_path: Path) -> None:
    """Each delivers what the other multicasts only later."""
    rows = [deliver("A", "B"), multicast("A"), deliver("B", "A"), multicast("B")]
    events = shiviz_events(tmp_path / "a.log", rows)
    assert Counter(event.host for event in events) == {"A": 2, "B": 2}


def test_names_with_blanks_are_hosts(tmp_path: Path) -> None:
    """ShiViz takes a host up to the next blank."""
    rows = [multicast("big alice"), deliver("bob", "big alice")]
    assert [event.host for event in shiviz_events(tmp_path / "a.log", rows)] == ["big_alice", "bob"]


REQUIRED = {
    "M": {"args"},
    "X": {"dur", "cat", "args"},
    "i": {"s", "cat", "args"},
    "s": {"id", "cat"},
    "f": {"id", "cat", "bp"},
}
"""What the Trace Event Format asks of each phase, besides what it asks of all."""


def perfetto(path: Path, rows: list[Event]) -> list[dict[str, Any]]:
    """Return what Perfetto would read, and see that it keeps to the format."""
    export(recorded(rows), Viewer.PERFETTO, path)
    document = json.loads(path.read_text())
    assert document["displayTimeUnit"] == "ms"
    events: list[dict[str, Any]] = document["traceEvents"]
    for event in events:
        assert {"ph", "name", "pid", "tid", "ts"} | REQUIRED[event["ph"]] == event.keys()
        assert isinstance(event["ts"], int)
        assert event["ts"] >= 0
        assert event.get("s", "t") == "t"
        assert event.get("bp", "e") == "e"
    return events


def track(event: dict[str, Any]) -> tuple[int, int]:
    """Return where an event is shown."""
    return event["pid"], event["tid"]


def slices_of_arrows(events: list[dict[str, Any]]) -> dict[int, list[str]]:
    """Return in which slices Perfetto has each arrow begin and end: the last begun by then."""
    open_slices: dict[tuple[int, int], list[dict[str, Any]]] = {}
    found: dict[int, list[str]] = {}
    for event in sorted(events, key=lambda each: int(each["ts"])):  # stable, as Perfetto's is
        stack = open_slices.setdefault(track(event), [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        if event["ph"] == "X":
            stack.append(event)
        elif event["ph"] in "sf":
            found.setdefault(event["id"], []).append(stack[-1]["name"])
    return found


def test_arrows_are_of_their_own_slices_where_much_happens_at_once(tmp_path: Path) -> None:
    """A process multicasts twice, and delivers its own messages, in one moment."""
    rows = [multicast("A", 1), multicast("A", 2), deliver("A", "A", 1), deliver("A", "A", 2)]
    rows += [deliver("B", "A", 1), multicast("B", 1), deliver("B", "A", 2), deliver("A", "B", 1)]
    for row in rows:
        row.time_us = 510 if row.process == "A" else 600
    rows[-1].time_us = 700
    found = slices_of_arrows(perfetto(tmp_path / "a.json", rows))
    assert sorted(map(tuple, found.values())) == [
        ("multicast 1", "deliver 1 of A"),
        ("multicast 1", "deliver 1 of B"),
        ("multicast 2", "deliver 2 of A"),
    ]


@pytest.mark.parametrize("seed", range(30))
def test_arrows_begin_and_end_in_slices(tmp_path: Path, seed: int) -> None:
    """Tracks have names, slices do not overlap but where they are equal, arrows have two ends."""
    rows = random_trace(seed)
    for number, row in enumerate(rows):
        row.time_us = (seed % 2) * number * 3
    events = perfetto(tmp_path / "a.json", rows)
    named = {
        track(event): event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    shown = [event for event in events if event["ph"] in "Xi"]
    assert {track(event) for event in shown} == named.keys()
    assert set(named.values()) == {row.process for row in rows}
    assert len(shown) == sum(row.kind != "send_frame" for row in rows)
    slices = {(track(event), event["ts"]) for event in events if event["ph"] == "X"}
    ends: dict[int, list[str]] = {}
    for event in events:
        if event["ph"] in "sf":
            assert (track(event), event["ts"]) in slices
            ends.setdefault(event["id"], []).append(event["ph"])
    assert all(pair == ["s", "f"] for pair in ends.values())


def test_chat_has_an_arrow_per_delivery(tmp_path: Path) -> None:
    """From who multicast to who delivered."""
    events = perfetto(tmp_path / "a.json", ROWS)
    names = {
        track(event): event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    arrows: dict[int, list[str]] = {}
    for event in events:
        if event["ph"] in "sf":
            arrows.setdefault(event["id"], []).append(names[track(event)])
    assert sorted(map(tuple, arrows.values())) == [("A", "B"), ("A", "C"), ("B", "A"), ("B", "C")]
