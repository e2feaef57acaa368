"""Who has no room for what it has delivered holds applications up, and nothing else."""

from dataclasses import replace

import pytest
from tests.ordering.blocks.table import NULL_US, SETTINGS, Table

from antiphon.ordering.blocks.machine import NEVER, CausalBlocks
from antiphon.ordering.blocks.settings import BlockSettings

RESTING = replace(SETTINGS, settle_us=NULL_US // 2, window=2)


def _lag(table: Table, who: str, reads: int = 0, *, is_behind: bool = True) -> None:
    table.machines[who].lag(table.now_us, reads, is_behind=is_behind)
    table._settle(who)


def _fill(table: Table) -> CausalBlocks:
    """Let q be behind, and p send until it is held up; return the machine of p."""
    _lag(table, "q")
    table.say("p", "1")
    table.say("p", "2")
    table.pass_period()
    return table.machines["p"]


def test_who_is_behind_delivers_and_does_not_confirm() -> None:
    """All is forgotten, as all have delivered it; and p may say what tools have to say."""
    table = Table(settings=RESTING)
    machine = _fill(table)
    assert table.delivered["q"] == table.delivered["r"] == ["1", "2"]
    assert not machine.buffer.all()
    assert machine.has_room
    assert not machine.window.is_open
    assert set(machine.window.unconfirmed()) == {1}, "q, and nobody else"
    for number in range(3, 9):
        table.say("p", f"{number}")
        table.pass_period()
    assert len(machine.window._sent) == RESTING.window, "no more is kept of it"
    _lag(table, "q", is_behind=False)
    assert machine.window.is_open
    assert not machine.window._sent
    assert machine.window._bytes == 0


def test_who_has_room_again_says_so_at_once_and_all_rest() -> None:
    """No period passes; and then nobody speaks any more."""
    table = Table(settings=RESTING)
    machine = _fill(table)
    _lag(table, "q", is_behind=False)
    assert machine.window.is_open
    assert machine.window.unconfirmed() == {}
    for _ in range(3):
        table.pass_period()
    assert all(each.due_us == NEVER for each in table.machines.values())


def test_word_of_room_that_is_lost_is_asked_for() -> None:
    """Who is held up asks every period; nobody else has any need to speak."""
    table = Table(settings=RESTING)
    machine = _fill(table)
    for _ in range(5):
        table.pass_period()
        assert machine.due_us == table.now_us + NULL_US
    q = table.machines["q"]
    q.lag(table.now_us, 0, is_behind=False)
    q.wake(table.now_us)  # what it says reaches nobody
    assert not machine.window.is_open
    table.pass_period()
    assert machine.window.is_open


def test_bytes_count_too() -> None:
    """One large message is enough."""
    table = Table("pq", replace(RESTING, window=16, window_bytes=100))
    _lag(table, "q")
    table.say("p", "x" * 99)
    table.pass_period()
    assert table.machines["p"].window.is_open
    table.say("p", "x")
    table.pass_period()
    assert not table.machines["p"].window.is_open
    assert table.machines["p"].has_room


def test_messages_that_are_counted_together_count_all_the_same() -> None:
    """Who is let in has room: the last three of four count as one, and q confirms the first."""
    table = Table("pq", RESTING)
    machine = _fill(table)
    for message in "34":
        table.say("p", message)  # by a tool, say: beyond the window
        table.pass_period()
    blocks = [block for block, _, _ in machine.window._sent]
    assert len(blocks) == RESTING.window
    machine.window._confirm(1, blocks[0])
    assert len(machine.window._sent) == 1
    assert not machine.window.is_open, "three are not confirmed, and two are let in at a time"


def test_who_reads_slowly_is_seen_to_move() -> None:
    """Also where the word of it is lost; who reads nothing is not."""
    table = Table(settings=RESTING)
    machine = _fill(table)
    seen = machine.window.unconfirmed()[1]
    for _ in range(3):
        table.pass_period()
        assert machine.window.unconfirmed() == {1: seen}
    _lag(table, "q", reads=1)
    assert machine.window.unconfirmed() == {1: seen + 1}
    table.machines["q"].lag(table.now_us, 2, is_behind=True)
    table.machines["q"].wake(table.now_us)  # which reaches nobody
    table.pass_period()
    assert machine.window.unconfirmed() == {1: seen + 2}
    assert not machine.window.is_open


def test_who_is_dead_holds_nobody_up() -> None:
    """Its word is waited for no longer."""
    table = Table(settings=RESTING)
    machine = _fill(table)
    table.suspect("q")
    assert machine.window.is_open


@pytest.mark.parametrize("window", [1, 64])
def test_who_is_alone_is_never_held_up(window: int) -> None:
    """There is nobody who could lack room."""
    machine = CausalBlocks(1, 0, BlockSettings(window=window), lambda _top: 0)
    for _ in range(100):
        machine.multicast(b"x", 0)
        assert machine.window.is_open


def test_late_word_of_room_counts_for_nothing() -> None:
    """What was said before q was behind comes after what it said later."""
    table = Table(settings=RESTING)
    table.pass_period()
    early = next(message for who, message, _ in reversed(table.sent) if who == "q")
    machine = _fill(table)
    table.hear("p", early)
    assert not machine.window.is_open
