"""An endpoint in a group of causal blocks: datagrams that come together, reports, sizes of runs."""

from typing import Any

import pytest
from tests.membership.hands import A, B, C
from tests.stack.endpoint_by_hand import THREE, endpoint, of, said

from antiphon.core.errors import UsageError
from antiphon.membership.effects import SendDatagram
from antiphon.stack.blocks import PACKETS_PER_RUN, RUN_BYTES, RUN_BYTES_MAX, Blocks
from antiphon.stack.effects import DeliverRuns, IgnoreMessage
from antiphon.stack.inputs import DATAGRAMS, DatagramsReceived, TimerFired
from antiphon.stack.settings import Settings

SETTINGS = Settings(protocol=Blocks())


def _sent(count: int) -> list[bytes]:
    """Return the datagrams by which a member multicasts so many messages."""
    sender = endpoint(A, THREE, SETTINGS)
    sends = [of(SendDatagram, sender.step(said(b"%d" % number), 0)) for number in range(count)]
    return [datagram.data for (datagram,) in sends]


def test_datagrams_that_come_together_are_one_step() -> None:
    """What is wrong with one is noted, and harms no other; what is late is delivered in order."""
    first, second, third = _sent(3)
    machine = endpoint(B, THREE, SETTINGS)
    arrived = [(A, first), (C, b"\x01noise"), (A, third), (B, second), (A, second), (A, first)]
    effects = machine.step(DatagramsReceived(arrived), 1)
    (delivered,) = of(DeliverRuns, effects)
    assert [list(run.payloads) for run in delivered.runs] == [[b"0"], [b"1"], [b"2"]]
    assert [ignored.sender for ignored in of(IgnoreMessage, effects)] == [C]


def test_report_that_is_due_leaves_with_the_step_that_makes_it_due() -> None:
    """No turn of the event loop is waited for."""
    machine = endpoint(B, THREE, SETTINGS)
    data = _sent(16)
    early = machine.step(DatagramsReceived([(A, each) for each in data[:15]]), 1)
    assert not of(SendDatagram, early)
    assert len(of(SendDatagram, machine.step(DatagramsReceived([(A, data[15])]), 2))) == 1


def test_timer_that_fires_late_is_noted() -> None:
    """By how much: reports are allowed more time then."""
    machine = endpoint(B, THREE, SETTINGS)
    due_us = Blocks().settings.null_us
    machine.step(TimerFired(DATAGRAMS), due_us + 7_000)
    blocks = machine.member.blocks
    assert blocks is not None
    assert blocks.group.machine is not None
    assert blocks.group.machine.recovery.lateness(due_us + 7_000) == 7_000


@pytest.mark.parametrize(
    ("packet_bytes", "run_bytes"),
    [(1_359, RUN_BYTES), (59_959, PACKETS_PER_RUN * 59_959), (300_000, RUN_BYTES_MAX)],
)
def test_runs_are_as_large_as_packets_make_worth_while(packet_bytes: int, run_bytes: int) -> None:
    """Unless it is said how large they are."""
    assert Blocks().run_bytes_on(packet_bytes) == run_bytes
    assert Blocks(run_bytes=5).run_bytes_on(packet_bytes) == 5


def test_windows_are_compared_and_not_empty() -> None:
    """Both are in what members compare."""
    assert Blocks(window=3, window_bytes=5).description == "blocks, window 3, 5 bytes"
    with pytest.raises(UsageError, match="at least 1"):
        Blocks(window_bytes=0)
    with pytest.raises(UsageError, match="512,000"):
        Blocks(run_bytes=RUN_BYTES_MAX + 1)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"window": "x"}, "window is a whole number, not 'x'"),
        ({"window": 1.5}, "window is a whole number, not 1.5"),
        ({"window": True}, "window is a whole number, not True"),
        ({"window": 70_000}, "at most 65,536"),
        ({"window_bytes": None}, "window_bytes is a whole number, not None"),
        ({"window_bytes": 2**50}, "window_bytes is at most"),
        ({"waiting": []}, "waiting is a whole number"),
        ({"waiting": 0}, "at least 1"),
        ({"run_bytes": 1.5}, "run_bytes is a whole number, not 1.5"),
        ({"null_s": None}, "null_s is a number of seconds"),
        ({"null_s": float("nan")}, "null_s is a number of seconds"),
        ({"null_s": float("inf")}, "null_s is a number of seconds"),
        ({"null_s": 0}, "at least 1 us"),
        ({"delay_s": 1e15}, "delay_s is a number of seconds"),
        ({"delay_s": "1"}, "delay_s is a number of seconds"),
        ({"settle_s": -0.1}, "settle_s is a number of seconds"),
        ({"settle_s": True}, "settle_s is a number of seconds"),
    ],
)
def test_what_is_no_setting_is_refused_in_a_sentence(options: dict[str, Any], what: str) -> None:
    """It says which one, what it should be, and what it is."""
    with pytest.raises(UsageError, match=what):
        Blocks(**options)
