"""One conversation, the simulator and real sockets: the same promises kept, the same liar caught.

The test bodies below know nothing of what carries the messages; they judge what is left: a trace.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance import arms
from tests.conformance.arms import MEMBER_COUNT, NAMES
from tests.conformance.singer import HOPS, total

from antiphon.oracle import judge
from antiphon.trace import words
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

NOT_ASKED = {Property.TOTAL, Property.TOTAL_CAUSAL, Property.UNIFORM, Property.COMMIT}
"""Nobody asks for these in this conversation."""

ARMS = [
    *(pytest.param(f"simulator {seed}", id=f"simulator-{seed}") for seed in range(1, 6)),
    pytest.param("asyncio", marks=pytest.mark.net),
    pytest.param("uvloop", marks=pytest.mark.net),
    pytest.param("processes", marks=pytest.mark.net),
]


def _hold(arm: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, plant: bool) -> None:
    """Hold the conversation, with the right machine or with one that delivers on receipt."""
    if plant:
        arms.plant_here(monkeypatch)
    match arm.split():
        case ["simulator", seed]:
            arms.simulate(folder, int(seed))
        case ["asyncio"]:
            arms.hold_in_one_loop(folder, asyncio.new_event_loop)
        case ["uvloop"]:
            arms.hold_in_one_loop(folder, pytest.importorskip("uvloop").new_event_loop)
        case _:
            arms.hold_in_processes(folder, plant=plant)


@pytest.mark.parametrize("arm", ARMS)
def test_conversation_keeps_every_promise(
    arm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is delivered everywhere, in causal order, though answers overtook their questions."""
    _hold(arm, tmp_path, monkeypatch, plant=False)
    verdict = judge(read_rows(tmp_path))
    for item in verdict.properties:
        if item.property in NOT_ASKED:
            assert item.status is Status.UNKNOWN, item
            continue
        if item.reason == words.NO_VIEW_LEFT:  # not everybody saw the view that others left
            continue
        assert item.status is Status.HOLDS, item
        assert item.reason == "", item
    _check_complete(verdict)
    rows = [event for event, _, _ in read_rows(tmp_path)]
    held = sum(row.kind == "receive" and row.queue_depth > 0 for row in rows)
    assert held > MEMBER_COUNT, "hardly anything was held back: nothing was put to the test"
    chain = _longest_chain(rows)
    assert len(chain) >= HOPS
    assert len(set(chain)) >= MEMBER_COUNT - 1, "the longest chain stays among few members"


@pytest.mark.parametrize("arm", ARMS)
def test_machine_that_delivers_on_receipt_is_caught(
    arm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same conversation, ordered by nobody: causal order is violated, and only that."""
    _hold(arm, tmp_path, monkeypatch, plant=True)
    verdict = judge(read_rows(tmp_path))
    _check_complete(verdict)
    broken = [item.property for item in verdict.properties if item.status is Status.VIOLATED]
    assert broken == [Property.CAUSAL]
    causal = verdict.of(Property.CAUSAL)
    assert causal.status is Status.VIOLATED
    for violation in causal.violations:
        assert violation.process in NAMES
        assert violation.earlier is not None
        assert violation.chain


def _check_complete(verdict: Verdict) -> None:
    assert verdict.process_count == MEMBER_COUNT
    assert verdict.message_count == total(MEMBER_COUNT)
    assert verdict.delivery_count == total(MEMBER_COUNT) * MEMBER_COUNT


def _longest_chain(rows: list[Event]) -> list[str]:
    """Return the senders along the longest chain: message, delivery, answer, delivery, ..."""
    journals = {name: [row for row in rows if row.process == name] for name in NAMES}
    at = dict.fromkeys(NAMES, 0)
    known: dict[str, list[str]] = {name: [] for name in NAMES}
    chains: dict[tuple[str, int], list[str]] = {}
    moved = True
    while moved:
        moved = False
        for name in NAMES:
            while at[name] < len(journals[name]) and _walk(journals[name][at[name]], known, chains):
                at[name] += 1
                moved = True
    assert all(at[name] == len(journals[name]) for name in NAMES), "the trace runs in a circle"
    return max(chains.values(), key=len)


def _walk(
    row: Event, known: dict[str, list[str]], chains: dict[tuple[str, int], list[str]]
) -> bool:
    """Take a row into account; False if it has to wait for a multicast at another process."""
    if row.kind == "multicast":
        for number in _numbers(row):
            chains[row.process, number] = [*known[row.process], row.process]
    if row.kind == "deliver" and row.sender != row.process:
        for number in _numbers(row):
            chain = chains.get((row.sender, number))
            if chain is None:
                return False
            if len(chain) > len(known[row.process]):
                known[row.process] = chain
    return True


def _numbers(row: Event) -> Iterator[int]:
    return iter(range(row.first, row.first + row.count))
