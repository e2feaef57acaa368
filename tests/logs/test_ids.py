"""Messages that have ids, and no numbers: numbered as they were multicast, judged, and refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.logs.chat import ROWS, lines, places, same_from_both
from tests.logs.test_tables import words
from tests.pipeline.trace_generator import random_trace

from antiphon.core.errors import TraceError
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.logs.reading import read_log
from antiphon.trace.log import Log
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property


@contextmanager
def opened(path: Path, rows: list[Event]) -> Iterator[Log]:
    """Give a log of these rows, whose messages have ids."""
    path.write_bytes(b"\n\n" + lines(rows))
    with opened_log([path], column_map(["id=id"])) as log:
        yield log


def row(process: str, kind: str, name: str, **fields: object) -> Event:
    """Return a row about a message that has an id."""
    return Event(process=process, kind=kind, id=name, **fields)  # type: ignore[arg-type]


def test_messages_are_numbered_as_they_were_multicast(tmp_path: Path) -> None:
    """Per sender, group and view; who delivers need not say the sender; evidence is the user's."""
    rows = [
        row("B", "deliver", "z"),
        row("A", "multicast", "z"), row("A", "multicast", "a"),
        row("A", "multicast", "g", group="g"),
        row("B", "multicast", "b"), row("B", "deliver", "a"), row("C", "deliver", "b"),
    ]  # fmt: skip
    with opened(tmp_path / "a.json", rows) as log:
        found = [(event.first, event.sender, event.id) for event, _, _ in read_log(log)]
        assert found == [
            (1, "A", "z"), (1, "", "z"), (2, "", "a"), (1, "", "g"), (1, "", "b"), (2, "A", "a"),
            (1, "B", "b"),
        ]  # fmt: skip
        verdict = same_from_both(log)
        assert verdict.run == "a"
        assert places(verdict)[-1] == (str(tmp_path / "a.json"), 9), "two lines are blank"


def test_ids_say_what_numbers_say(tmp_path: Path) -> None:
    """Random traces of one message per row, with ids in place of numbers, get the same verdicts."""
    compared = 0
    for seed in range(40):
        rows = [
            msgspec.structs.replace(event, index=-1)
            for event in random_trace(seed)
            if event.count == 1
        ]
        path = tmp_path / f"{seed}.json"
        path.write_bytes(lines(rows))
        by_number = words(same_from_both(path))
        names = _names(rows, Random(seed))
        if names is None:
            continue
        for event in rows:
            if event.kind in {"multicast", "deliver", "receive"}:
                event.id = names[_message(event)]
                event.first = 0
        with opened(tmp_path / f"{seed}-ids.json", rows) as log:
            by_id = words(same_from_both(log))
        assert [item[:4] for item in by_id] == [item[:4] for item in by_number], seed
        compared += 1
    assert compared > 10, "most are left out"


def _message(event: Event) -> tuple[str, str, int, str, int]:
    return event.run, event.group, event.view, event.sender or event.process, event.first


def _names(rows: list[Event], dice: Random) -> dict[tuple[str, str, int, str, int], str] | None:
    """Return an id for each message; None where numbers were not given in order of multicast."""
    sent: dict[tuple[str, str, int, str], list[int]] = {}
    names = {}
    for event in rows:
        if event.kind in {"multicast", "deliver", "receive"}:
            names[_message(event)] = f"{dice.getrandbits(64):x}"
        if event.kind == "multicast":
            *of, number = _message(event)
            numbers = sent.setdefault(tuple(of), [])  # type: ignore[arg-type]
            if number not in numbers:
                numbers.append(number)
    is_in_order = all(numbers == [*range(1, len(numbers) + 1)] for numbers in sent.values())
    return names if is_in_order else None


def test_made_up_message_is_seen(tmp_path: Path) -> None:
    """If its sender is said; else there is no telling whose it is."""
    rows = [row("A", "multicast", "a"), row("B", "deliver", "x", sender="A")]
    with opened(tmp_path / "a.json", rows) as log:
        (violation,) = same_from_both(log).of(Property.NO_CREATION).violations
        assert violation.text == 'B delivered message 2 of A ("x"), which A never multicast'
    said = "a.json:4: nobody multicasts 'x', and this row does not say who its sender is"
    rows = [row("A", "multicast", "a"), row("B", "deliver", "x")]
    with pytest.raises(TraceError, match=said), opened(tmp_path / "a.json", rows):
        pass


def test_id_of_two_messages_is_refused(tmp_path: Path) -> None:
    """It names neither."""
    rows = [row("A", "multicast", "a"), row("B", "multicast", "a")]
    said = "a.json:4: B multicasts 'a', which A multicast, too"
    with pytest.raises(TraceError, match=said), opened(tmp_path / "a.json", rows):
        pass


def test_log_with_ids_alone_says_what_to_do(tmp_path: Path) -> None:
    """Without being asked, nobody numbers messages."""
    (tmp_path / "a.json").write_bytes(lines([row("A", "multicast", "a"), *ROWS]))
    with pytest.raises(TraceError, match=r"a\.json:1: .* numbered by their `id`, say --map id=id"):
        list(read_log(tmp_path / "a.json"))
