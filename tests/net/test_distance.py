"""Members far apart, on real sockets: every message takes its time, and views still change."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from subprocess import Popen
from typing import Any

import pytest
from tests.net.harness import free_addresses
from tests.net.processes import running
from tests.net.wires import wired

pytestmark = pytest.mark.net

DELAY_S = 0.15
LATEST_S = 1.5 + 12 * DELAY_S
SPARE_S = 1.5
"""For a machine that is busy with other things."""


class Listener:
    """Reads what a member prints, in a thread."""

    def __init__(self, process: Popen[str]) -> None:
        """Begin to read."""
        self.said: list[tuple[float, dict[str, Any]]] = []
        self._process = process
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._read))

    def _read(self) -> None:
        assert self._process.stdout is not None, "it is piped"
        with suppress(ValueError):  # closed meanwhile
            for line in self._process.stdout:
                self.said.append((time.monotonic(), json.loads(line)))

    async def until(self, is_it: Callable[[dict[str, Any]], bool], timeout_s: float) -> float:
        """Wait until something was said; return when."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for when, said in self.said:
                if is_it(said):
                    return when
            await asyncio.sleep(0.01)
        pytest.fail(f"only {self.said} was said")


async def _kill_the_senior(processes: dict[str, Popen[str]]) -> float:
    """Return how long it took until all others were in the view without it."""
    listeners = {name: Listener(process) for name, process in processes.items()}
    for listener in listeners.values():
        await listener.until(lambda said: said.get("view") == 1, 20.0)
    await asyncio.sleep(1.0)
    killed = time.monotonic()
    processes["alice"].kill()
    seen = [
        await listeners[name].until(
            lambda said: said.get("members") == ["bob", "carol"] and said["primary"],
            LATEST_S + 10.0,
        )
        for name in ("bob", "carol")
    ]
    return max(seen) - killed


def test_view_without_the_killed_senior_follows_over_distance() -> None:
    """With 150 ms each way, it is there in the time that the promise allows."""

    async def scene(stack: ExitStack) -> float:
        addresses = free_addresses()
        async with wired(addresses, list(addresses), DELAY_S) as (_, ports):
            processes = {
                name: stack.enter_context(
                    running(
                        "tests/net/far_member.py",
                        {"join": {"me": name, "members": addresses}, "ports": ports[name],
                         "pause_s": 0.1},
                    )
                )
                for name in addresses
            }  # fmt: skip
            try:
                return await _kill_the_senior(processes)
            finally:  # or whoever reads what they print would wait for ever
                for process in processes.values():
                    process.kill()

    with ExitStack() as stack:
        took_s = asyncio.run(scene(stack))
    assert took_s < LATEST_S + SPARE_S, took_s
