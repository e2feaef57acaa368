"""Timers of the driver: set anew they replace what was set, they are never early, and they stop."""

import asyncio

from tests.net.harness import LoopFactory, play, until

from antiphon.net.driver.timers import Timers
from antiphon.stack.effects import SetTimer
from antiphon.stack.inputs import ACKNOWLEDGE, HEARTBEAT, Timer

Fired = list[tuple[Timer, int]]


def test_timer_set_anew_fires_once_then(loop_factory: LoopFactory) -> None:
    """What was set before does not fire; other timers are not touched."""

    async def scene() -> Fired:
        now_us = [0]
        fired: Fired = []
        timers = Timers(lambda: now_us[0], lambda timer, late_us: fired.append((timer, late_us)))
        timers.set(SetTimer(HEARTBEAT, 0))
        timers.set(SetTimer(ACKNOWLEDGE, 0))
        timers.set(SetTimer(HEARTBEAT, 2_000))
        now_us[0] = 5_000
        await until(lambda: len(fired) > 1, "both have fired")
        await asyncio.sleep(0.01)
        return fired

    assert play(loop_factory, scene()) == [(ACKNOWLEDGE, 5_000), (HEARTBEAT, 3_000)]


def test_timer_is_never_early(loop_factory: LoopFactory) -> None:
    """A loop that wakes before the clock says so has to wait again."""

    async def scene() -> None:
        now_us = [0]
        fired: Fired = []
        timers = Timers(lambda: now_us[0], lambda timer, late_us: fired.append((timer, late_us)))
        timers.set(SetTimer(HEARTBEAT, 1_000))
        await asyncio.sleep(0.02)
        assert not fired, "the clock stands still"
        now_us[0] = 1_000
        await until(lambda: fired, "it has fired")
        assert fired == [(HEARTBEAT, 0)]

    play(loop_factory, scene())


def test_stopped_timers_do_not_fire(loop_factory: LoopFactory) -> None:
    """Neither those that were set, nor those that are set later."""

    async def scene() -> Fired:
        fired: Fired = []
        timers = Timers(lambda: 0, lambda timer, late_us: fired.append((timer, late_us)))
        timers.set(SetTimer(HEARTBEAT, 0))
        timers.stop()
        timers.set(SetTimer(ACKNOWLEDGE, 0))
        await asyncio.sleep(0.01)
        return fired

    assert play(loop_factory, scene()) == []
