"""The machine of causal blocks: windows, priorities, lifetimes, timers, hostile peers."""

from dataclasses import replace

import pytest
from tests.ordering.blocks.table import NULL_US, SETTINGS, Table

from antiphon.core.errors import BackPressureError, PeerError, UsageError
from antiphon.ordering.blocks.machine import NEVER, CausalBlocks
from antiphon.ordering.blocks.messages import BlockKind, BlockMessage, TransmitBlock
from antiphon.ordering.blocks.settings import BlockSettings


def _message(
    sender: int, block: int, delivered: tuple[int, ...], payload: bytes = b"x", priority: int = 0
) -> BlockMessage:
    return BlockMessage(sender, BlockKind.DATA, block, 0, delivered, payload, priority)


def test_slowest_member_slows_the_sender() -> None:
    """A full window is refused, and open again when the slowest has delivered."""
    table = Table(settings=replace(SETTINGS, window=2))
    table.say("p", "1", lost_at="r")
    table.say("p", "2", lost_at="r")
    table.pass_period()
    machine = table.machines["p"]
    assert not machine.has_room
    assert machine.slowest() == 2
    with pytest.raises(BackPressureError, match="2 messages"):
        table.say("p", "3")
    assert table.periods_until("r", "2") <= 8
    table.pass_period()
    assert machine.has_room
    assert machine.slowest() is None


def test_receiver_reports_before_its_silence_ends() -> None:
    """After so many messages, so that a full window opens again."""
    table = Table("pq", replace(SETTINGS, window=4))
    for number in range(20):
        table.say("p", f"{number}")
    assert len(table.delivered["q"]) == 20
    assert table.machines["q"].counts["nulls"] == 10


def test_window_has_so_many_bytes_and_one_message() -> None:
    """Whatever the size of that one; a report opens it again."""
    table = Table("pq", replace(SETTINGS, window_bytes=100))
    machine = table.machines["p"]
    table.say("p", "x" * 99, lost_at="q")
    assert machine.has_room
    table.say("p", "x" * 500, lost_at="q")
    assert not machine.has_room
    with pytest.raises(BackPressureError, match="2 messages, 599 bytes"):
        table.say("p", "x")
    table.pass_period()
    assert table.periods_until("q", "x" * 500) <= 8
    table.pass_period()
    assert machine.has_room
    assert machine.buffer.byte_count(0) == 0


def test_receiver_reports_when_half_a_window_of_bytes_has_come() -> None:
    """So large messages do not wait for as many as small ones do."""
    table = Table("pq", replace(SETTINGS, window_bytes=100))
    for number in range(12):
        table.say("p", f"{number:025}")
    assert len(table.delivered["q"]) == 12
    assert table.machines["q"].counts["nulls"] == 6


def test_window_bounds_what_receivers_hold() -> None:
    """What is a window behind is everywhere, though its reports have not come."""
    machine = CausalBlocks(3, 1, replace(SETTINGS, window=2), lambda _top: 0)
    for block in range(1, 8):
        assert machine.receive(_message(0, block, (block - 1, 0, 0)), 0, 0)
    assert machine.buffer.count(0) == 2


def test_full_buffer_drops_the_lowest_priority() -> None:
    """It is recovered like what was lost; what is delivered meanwhile is taken."""
    table = Table("pq", replace(SETTINGS, waiting_max=2))
    machine = table.machines["q"]
    first, second, third, fourth = (
        _message(0, block, (block - 1, 0), b"%d" % block, priority)
        for block, priority in ((1, 0), (2, 5), (3, 1), (4, 7))
    )
    for message in (second, third, fourth):
        table.hear("q", message)
    assert machine.counts["dropped"] == 1
    assert machine.buffer.get(0, 3) is None
    table.hear("q", first)
    assert table.delivered["q"] == ["1", "2"]
    table.hear("q", third)
    assert table.delivered["q"] == ["1", "2", "3", "4"]


def test_of_equal_priorities_the_latest_is_dropped() -> None:
    """It is needed last."""
    table = Table("pq", replace(SETTINGS, waiting_max=1))
    for block in (3, 2):
        table.hear("q", _message(0, block, (block - 1, 0)))
    assert table.machines["q"].buffer.get(0, 2) is not None
    assert table.machines["q"].buffer.get(0, 3) is None


def test_copy_carries_what_is_left_of_a_lifetime() -> None:
    """Whoever gets it late delivers it in time, or its tombstone."""
    table = Table()
    table.say("p", "m", lost_at="r", lifetime_us=10 * NULL_US)
    periods = table.periods_until("r", "m")
    left = [message.lifetime_us for _, message, is_repeated in table.sent if is_repeated]
    assert set(left) == {(10 - periods) * NULL_US}


def test_message_expires_while_it_waits() -> None:
    """It is skipped in its place, not before."""
    table = Table()
    late = table.say("p", "late", lost_at="qr")
    table.hear("q", late)
    short = table.say("q", "short", lost_at="pr", lifetime_us=NULL_US // 2)
    table.hear("r", short)
    table.now_us += NULL_US // 2
    assert table.delivered["r"] == []
    table.hear("r", late)
    assert table.delivered["r"] == ["late", "-"]
    assert table.machines["r"].counts["expired"] == 1


def test_whoever_hears_a_copy_draws_a_new_delay() -> None:
    """And gives up when nobody lacks the message any more."""
    draws = iter([100, 700])
    settings = replace(SETTINGS, delay_us_max=1_000)
    machine = CausalBlocks(3, 0, settings, lambda _top: next(draws))
    (sent, _) = machine.multicast(b"m", 0)
    assert isinstance(sent, TransmitBlock)
    for sender in (1, 2):
        report = BlockMessage(sender, BlockKind.NULL, 2, 2, (0, 0, 0))
        machine.receive(report, sender, 10)
    machine.wake(machine.due_us)
    now_us = NULL_US
    assert machine.recovery.due_us == {(1, 0): now_us + 100}
    machine.receive(sent.message, 1, now_us + 50)
    assert machine.recovery.due_us == {(1, 0): now_us + 50 + 700}
    for sender in (1, 2):
        report = BlockMessage(sender, BlockKind.NULL, 3, 2, (1, 0, 0))
        machine.receive(report, sender, now_us + 60)
    assert machine.recovery.due_us == {}
    assert machine.due_us == 2 * NULL_US


def test_report_that_was_on_its_way_does_not_count_against_a_copy() -> None:
    """One that comes a round trip later does, be it the first copy or another."""
    machine = CausalBlocks(2, 0, replace(SETTINGS, settle_us=1_000), lambda _top: 0)
    machine.multicast(b"m", 0)
    blocks = iter(range(2, 9))

    def report(now_us: int) -> int:
        machine.receive(BlockMessage(1, BlockKind.NULL, next(blocks), 0, (0, 0)), 1, now_us)
        return sum(isinstance(each, TransmitBlock) for each in machine.wake(now_us))

    assert [report(now_us) for now_us in (10, 999, 1_000, 1_010, 1_999, 2_000)] == [
        0,
        0,
        1,
        0,
        0,
        1,
    ]


def test_who_runs_late_allows_reports_more_time() -> None:
    """Twice its lateness, which halves with every second; a smaller one does not replace it."""
    machine = CausalBlocks(2, 0, replace(SETTINGS, settle_us=1_000), lambda _top: 0)
    machine.recovery.note_late(2_000, 0)
    machine.recovery.note_late(100, 1)
    machine.multicast(b"m", 0)
    blocks = iter(range(2, 9))

    def report(now_us: int) -> bool:
        machine.receive(BlockMessage(1, BlockKind.NULL, next(blocks), 0, (0, 0)), 1, now_us)
        return any(
            isinstance(each, TransmitBlock) and each.is_repeated for each in machine.wake(now_us)
        )

    assert [report(now_us) for now_us in (1_000, 4_999, 5_000)] == [False, False, True]
    assert not report(5_000 + 4_999)
    assert report(2_000_000)
    assert not report(2_000_000 + 1_999)
    assert report(2_000_000 + 2_000)


def test_all_beyond_a_block_is_a_reason_without_delay() -> None:
    """Once: what was sent again is judged by time."""
    machine = CausalBlocks(2, 0, replace(SETTINGS, settle_us=1_000), lambda _top: 0)
    machine.multicast(b"1", 0)
    machine.multicast(b"2", 0)
    for block in (2, 3):
        machine.receive(BlockMessage(1, BlockKind.NULL, block, 2, (0, 0)), 1, 10)
    assert list(machine.recovery.due_us) == [(1, 0)]
    assert len(machine.wake(10)) == 1
    machine.receive(BlockMessage(1, BlockKind.NULL, 4, 2, (0, 0)), 1, 11)
    assert not machine.recovery.due_us


def test_what_a_suspect_says_itself_is_not_taken() -> None:
    """What others bring of it is."""
    table = Table()
    message = table.say("p", "m", lost_at="qr")
    table.suspect("p")
    table.hear("q", message)
    assert table.delivered["q"] == []
    table.hear("q", message, source="r")
    assert table.delivered["q"] == ["m"]


@pytest.mark.parametrize(
    "message",
    [
        _message(1, 5, (4, 0, 0)),
        _message(0, 9, (8, 0, 0)),
        _message(1, 9, (0, 3, 0)),
        _message(2, 2**32 - 1, (0, 0, 0)),
    ],
    ids=["own block never sent", "own message never sent", "second after the same", "far ahead"],
)
def test_peer_that_contradicts_itself_is_at_fault(message: BlockMessage) -> None:
    """And nothing is changed by what it said."""
    table = Table()
    for block in (3, 4):
        table.hear("p", _message(1, block, (0, block - 1 if block == 4 else 0, 0)))
    matrix = table.machines["p"].matrix
    before = matrix.counter, list(matrix.last), list(matrix.highest)
    with pytest.raises(PeerError):
        table.hear("p", message)
    assert before == (matrix.counter, list(matrix.last), list(matrix.highest))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lifetime_us": 0}, "lifetime is 1 to"),
        ({"priority": 8}, "priorities are 0 to 7"),
        ({"payload": bytes(1_000_001)}, "1,000,000 bytes"),
    ],
)
def test_message_that_cannot_be_is_refused(wrong: dict[str, object], said: str) -> None:
    """By a sentence, and nothing is sent."""
    machine = CausalBlocks(2, 0, BlockSettings(), lambda _top: 0)
    arguments = {"payload": b"", "now_us": 0} | wrong
    with pytest.raises(UsageError, match=said):
        machine.multicast(**arguments)  # type: ignore[arg-type]
    assert machine.matrix.counter == 0


@pytest.mark.parametrize(
    "wrong",
    [{"null_us": 0}, {"delay_us_max": -1}, {"window": 0}, {"at_once": 0}, {"window": 10**6}],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    """By a sentence."""
    with pytest.raises(UsageError):
        BlockSettings(**wrong)  # type: ignore[arg-type]


def test_group_that_no_field_can_number_is_refused() -> None:
    """A rank has two bytes."""
    with pytest.raises(UsageError, match="65,537"):
        CausalBlocks(65_537, 0, BlockSettings(), lambda _top: 0)


def test_group_rests_when_all_is_known_to_all() -> None:
    """Who has lost the last message, or a report of it, is asked until it is known to have it."""
    table = Table(settings=replace(SETTINGS, settle_us=0))
    for _ in range(3):
        table.pass_period()
    assert all(machine.due_us == NEVER for machine in table.machines.values())
    table.say("p", "m", lost_at="r")
    assert table.periods_until("r", "m") <= 2
    for _ in range(4):
        table.pass_period()
    spoken = len(table.sent)
    assert all(machine.due_us == NEVER for machine in table.machines.values())
    for _ in range(3):
        table.pass_period()
    assert len(table.sent) == spoken
    assert {message.kind for _, message, _ in table.sent} >= {BlockKind.NULL, BlockKind.ASK}


def test_who_rests_answers_at_once() -> None:
    """And says nothing more, if that is all."""
    machine = CausalBlocks(2, 0, replace(SETTINGS, settle_us=1_000), lambda _top: 0)
    assert len(machine.wake(NULL_US)) == 1
    assert machine.wake(2 * NULL_US) == []
    assert machine.due_us == NEVER
    machine.receive(BlockMessage(1, BlockKind.ASK, 2, 0, (0, 0)), 1, 3 * NULL_US)
    assert machine.due_us == 3 * NULL_US
    (answer,) = machine.wake(3 * NULL_US)
    assert isinstance(answer, TransmitBlock)
    assert answer.message.kind is BlockKind.NULL
    assert machine.wake(4 * NULL_US) == []


def test_group_whose_numbers_are_used_up_says_so() -> None:
    """And goes on taking what comes; a new view begins anew."""
    machine = CausalBlocks(2, 0, SETTINGS, lambda _top: 0)
    machine.matrix.counter = 2**32 - 1
    with pytest.raises(UsageError, match="begin another view"):
        machine.multicast(b"", 0)
    assert machine.wake(machine.due_us) == []
    assert machine.due_us > NULL_US
