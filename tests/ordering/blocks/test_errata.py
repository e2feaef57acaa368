"""Errata of Blocks (004), each by the schedule that shows it; the eleventh is our own."""

from dataclasses import replace

import pytest
from tests.ordering.blocks.table import NULL_US, SETTINGS, Table

from antiphon.ordering.blocks.messages import BlockKind


@pytest.mark.parametrize("names", ["pq", "pqr", "pqrs"])
def test_004_1_what_all_others_lost_its_sender_sends_again(names: str) -> None:
    """Nobody else can: the printed rule forbids it to the sender."""
    table = Table(names)
    table.say("p", "m", lost_at=names[1:])
    assert table.periods_until("q", "m") <= 3
    assert all(table.delivered[name] == ["m"] for name in names)


def test_004_2_message_waits_for_its_senders_earlier_one() -> None:
    """By the printed, inverted condition it would not."""
    table = Table()
    table.say("p", "m1", lost_at="r")
    table.say("p", "m2")
    assert table.delivered["r"] == []
    table.periods_until("r", "m2")
    assert table.delivered["r"] == ["m1", "m2"]


def test_004_2_concurrent_messages_do_not_wait_for_each_other() -> None:
    """By the printed condition the second would wait for ever."""
    table = Table()
    first = table.say("p", "m", lost_at="qr")
    second = table.say("q", "n", lost_at="pr")
    table.hear("r", first)
    table.hear("r", second)
    assert table.delivered["r"] == ["m", "n"]


def test_004_3_least_maximum_block_moves() -> None:
    """The own maximum is set, and told, with everything that is sent."""
    table = Table()
    for _ in range(3):
        table.pass_period()
    assert all(machine.matrix.limit >= 1 for machine in table.machines.values())


def test_004_4_last_message_before_silence_is_recovered_in_three_periods() -> None:
    """Null messages count blocks, and tell vector and maximum."""
    table = Table()
    table.say("p", "m", lost_at="r")
    assert table.periods_until("r", "m") <= 3


def test_004_4_lost_null_message_holds_up_nothing() -> None:
    """No vector names it, and nobody keeps or repeats it."""
    table = Table()
    table.pass_period(lost_at="qr")
    message = table.say("p", "m")
    assert message.before == 0
    assert table.delivered["r"] == ["m"]
    assert not table.machines["q"].buffer.get(0, 1)


def test_004_5_message_is_kept_until_all_have_delivered_it() -> None:
    """However high the least maximum block is: copies are lost, too."""
    table = Table()
    table.say("p", "m", lost_at="r")
    table.deaf = "r"
    for _ in range(6):
        table.pass_period()
    assert table.machines["p"].matrix.limit > 1
    assert table.machines["p"].buffer.count(0) == table.machines["q"].buffer.count(0) == 1
    table.deaf = ""
    assert table.periods_until("r", "m") <= 1
    table.pass_period()
    table.pass_period()
    assert not any(machine.buffer.all() for machine in table.machines.values())


def test_004_6_late_copy_of_what_was_forgotten_is_dropped() -> None:
    """It is not delivered twice."""
    table = Table()
    message = table.say("p", "m")
    table.pass_period()
    table.pass_period()
    assert not table.machines["r"].buffer.all()
    table.hear("r", message)
    assert table.delivered["r"] == ["m"]
    assert table.machines["r"].counts["duplicates"] == 1


def test_004_7_copy_is_what_was_sent() -> None:
    """Whoever sends it: sender, block, maximum and vector are the original ones."""
    table = Table()
    table.say("q", "n")
    message = table.say("p", "m", lost_at="r")
    table.periods_until("r", "m")
    copies = [(who, copy) for who, copy, is_repeated in table.sent if is_repeated]
    assert copies
    assert all(copy == message for _, copy in copies)


@pytest.mark.parametrize("is_sender", [True, False])
def test_004_8_crash_freezes_nothing(is_sender: bool) -> None:
    """What reached one other before its sender died, or somebody else did, is recovered."""
    table = Table("pqrs")
    table.say("p", "m", lost_at="rs" if is_sender else "q")
    table.suspect("p" if is_sender else "s")
    lacking = "r" if is_sender else "q"
    assert table.periods_until(lacking, "m") <= 3
    assert all(table.delivered[name] == ["m"] for name in table.living)


def test_004_8_suspicion_keeps_the_column_until_the_view() -> None:
    """Only then is there nothing left to settle."""
    table = Table("pqr")
    table.say("p", "m", lost_at="r")
    table.suspect("p")
    assert table.machines["q"].unsettled(0) == [1]
    table.periods_until("r", "m")
    table.pass_period()
    assert table.machines["q"].unsettled(0) == table.machines["r"].unsettled(0) == []


def test_004_9_expired_message_leaves_a_tombstone() -> None:
    """What follows it can be delivered where it was lost."""
    table = Table()
    table.say("p", "m1", lost_at="r", lifetime_us=NULL_US // 2)
    table.pass_period()
    table.say("p", "m2")
    assert table.delivered["q"] == ["m1", "m2"]
    table.periods_until("r", "m2")
    assert table.delivered["r"] == ["-", "m2"]
    kinds = {copy.kind for _, copy, is_repeated in table.sent if is_repeated}
    assert kinds == {BlockKind.VOID}


def test_004_10_past_of_the_past_is_in_the_vector() -> None:
    """What q had delivered when it spoke comes before what it said, at every other."""
    table = Table()
    table.say("p", "m1", lost_at="r")
    table.say("q", "answer")
    assert table.machines["q"].matrix.last[0] == 1
    assert table.delivered["r"] == []
    table.periods_until("r", "answer")
    assert table.delivered["r"] == ["m1", "answer"]


def test_004_10_lost_copy_is_sent_again() -> None:
    """Null messages alone make the least maximum move, and with it the next attempt."""
    table = Table("pq")
    table.say("p", "m", lost_at="q")
    table.deaf = "q"
    for _ in range(5):
        table.pass_period()
    tries = len(table.repeated)
    assert tries >= 2
    table.deaf = ""
    table.pass_period()
    assert table.delivered["q"] == ["m"]


def test_004_11_orphan_of_the_dead_does_not_stop_recovery() -> None:
    """What lacks a message that died with its sender is not sent again, and others are.

    As printed, the held message of the smallest block is sent, and nothing else: an orphan, whose
    lack never ends, would be sent for ever, and what the living lack never.
    """
    table = Table("pqrs")
    table.say("p", "lost with p", lost_at="qrs")
    table.say("p", "orphan", lost_at="rs")
    table.suspect("p")
    table.say("q", "m", lost_at="s")
    assert table.periods_until("s", "m") <= 4
    assert ("q", "orphan") not in table.repeated
    assert table.delivered["q"] == ["m"]


def test_counter_that_follows_receipts_is_beyond_what_is_lacking() -> None:
    """By rule R1.1 it takes a word more per missing message; order is the same."""
    settings = replace(SETTINGS, window=64, report_every=64)
    for is_followed in (True, False):
        table = Table(settings=replace(settings, counts_receipts=is_followed))
        for number in range(1, 17):
            table.say("p", f"{number}", lost_at="r" if 10 <= number <= 15 else "")
        matrix = table.machines["r"].matrix
        assert matrix.last[0] == 9
        assert matrix.stamp()[0] == (17 if is_followed else 10)
