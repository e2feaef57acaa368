"""An event loop that is blocked for too long is told so, before the others draw conclusions."""

import asyncio
import logging
import time

import pytest
from tests.net.harness import QUICK, LoopFactory, choir, play

from antiphon.membership.failure_detector import Timing
from antiphon.net.driver.heartbeat import Lateness

pytestmark = pytest.mark.net

SLOW = Timing(heartbeat_us=10_000_000, timeout_us=100_000_000, timeout_us_max=100_000_000)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was said of a blocked event loop."""
    return [record.getMessage() for record in caplog.records if "event loop" in record.message]


def test_beat_late_by_half_of_the_time_to_suspicion_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who, for how long, what follows and what to do; not for less, and not again at once."""
    lateness = Lateness("alice", SLOW)
    counts = []
    for now_s, late_s in ((100.0, 49.0), (200.0, 51.0), (209.0, 99.0), (211.0, 51.0)):
        lateness.note(now_s, late_s)
        counts.append(len(warnings(caplog)))
    assert counts == [0, 1, 1, 2]
    said = warnings(caplog)[0]
    assert said.startswith("alice was silent for 61.0 s: its event loop was blocked")
    assert "exclude who is silent for 100.0 s" in said
    assert "asyncio.to_thread" in said


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
