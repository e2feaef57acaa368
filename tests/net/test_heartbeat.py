"""An event loop that is blocked for too long is told so, before the others draw conclusions."""

import asyncio
import logging
import time

import pytest
from tests.net.harness import QUICK, LoopFactory, choir, play, until

from antiphon.membership.failure_detector import Timing
from antiphon.net.heartbeat import Heartbeat

pytestmark = pytest.mark.net

SLOW = Timing(heartbeat_us=10_000_000, timeout_us=100_000_000)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was said of a blocked event loop."""
    return [record.getMessage() for record in caplog.records if "event loop" in record.message]


def test_beat_late_by_half_of_the_time_to_suspicion_is_told(
    loop_factory: LoopFactory,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who, for how long, what follows and what to do; not for less, and not again at once."""
    beats: list[None] = []

    async def scene() -> None:
        heartbeat = Heartbeat("alice", SLOW, lambda: beats.append(None))
        heartbeat.begin()

        def fire(late_s: float) -> int:
            heartbeat.stop()
            heartbeat._due_s = asyncio.get_running_loop().time() - late_s
            heartbeat._fire()
            return len(warnings(caplog))

        assert [fire(49.0), fire(51.0), fire(99.0)] == [0, 1, 1]
        monkeypatch.setattr("antiphon.net.heartbeat.WARN_S", -1.0)
        heartbeat._quiet_until_s = 0.0
        assert [fire(51.0), fire(51.0)] == [2, 3]
        heartbeat.stop()

    play(loop_factory, scene())
    assert len(beats) == 5
    said = warnings(caplog)[0]
    assert said.startswith("alice was silent for 61.0 s: its event loop was blocked")
    assert "exclude who is silent for 100.0 s" in said
    assert "asyncio.to_thread" in said


def test_heart_beats_until_it_is_stopped(loop_factory: LoopFactory) -> None:
    """Again and again; then no more."""
    beats: list[None] = []

    async def scene() -> None:
        heartbeat = Heartbeat("alice", Timing(heartbeat_us=1_000), lambda: beats.append(None))
        heartbeat.begin()
        await until(lambda: len(beats) > 3, "it beats")
        heartbeat.stop()
        count = len(beats)
        await asyncio.sleep(0.02)
        assert len(beats) == count

    play(loop_factory, scene())


def test_member_whose_application_blocks_the_loop_is_told(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """As a member of a group of one: nobody else is needed to notice."""
    caplog.set_level(logging.WARNING)

    async def scene() -> None:
        async with choir(["alice"], timing=QUICK):
            time.sleep(QUICK.timeout_us * 0.6 / 1e6)  # noqa: ASYNC251 - on purpose
            await asyncio.sleep(0.05)

    play(loop_factory, scene())
    [said] = warnings(caplog)
    assert said.startswith("alice was silent for 0.")
