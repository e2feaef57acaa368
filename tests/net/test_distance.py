"""Members far apart, on real sockets: every message takes its time, and views still change."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from tests.net.harness import free_addresses
from tests.net.processes import running
from tests.net.wires import Wires, wired

from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Status

pytestmark = pytest.mark.net

DELAY_S = 0.15
LATEST_S = 1.5 + 12 * DELAY_S
STAYED = ["p1", "p2", "p3"]
TIMING = {"heartbeat_us": 20_000, "timeout_us": 800_000}
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


def _member(stack: ExitStack, name: str, ports: dict[str, int], **more: Any) -> Popen[str]:
    options = {"me": name} | more.pop("join")
    arguments = {"join": options, "ports": ports, "pause_s": 0.0} | more
    return stack.enter_context(running("tests/net/far_member.py", arguments))


def test_view_without_the_killed_senior_follows_over_distance() -> None:
    """With 150 ms each way, it is there in the time that the promise allows."""

    async def scene(stack: ExitStack) -> float:
        addresses = free_addresses()
        async with wired(addresses, list(addresses), DELAY_S) as (_, ports):
            processes = {
                name: _member(stack, name, ports[name], join={"members": addresses}, pause_s=0.1)
                for name in addresses
            }
            try:
                return await _kill_the_senior(processes)
            finally:  # or whoever reads what they print would wait for ever
                for process in processes.values():
                    process.kill()

    with ExitStack() as stack:
        took_s = asyncio.run(scene(stack))
    assert took_s < LATEST_S + SPARE_S, took_s


def _tell(process: Popen[str], order: str) -> None:
    assert process.stdin is not None, "it is piped"
    process.stdin.write(f"{order}\n")
    process.stdin.flush()


def test_leaver_that_hears_only_some_installs_nothing_that_did_not_count_it(
    tmp_path: Path,
) -> None:
    """What all others delivered in the view before, it would lack: it is told that it is out."""
    run = RunFolder.create(tmp_path / "run", what="test", seed=0, config={}, replay="")
    folder = tmp_path / "run"

    async def scene(stack: ExitStack) -> dict[str, list[dict[str, Any]]]:
        addresses = free_addresses(("p1", "p2", "p3", "p4"))
        async with wired(addresses, list(addresses), 0.001) as (wires, ports):
            processes = {
                name: _member(
                    stack, name, ports[name], timing=TIMING,
                    join={"members": addresses, "trace": str(folder)},
                )
                for name in addresses
            }  # fmt: skip
            try:
                listeners = {name: Listener(process) for name, process in processes.items()}
                for listener in listeners.values():
                    await listener.until(lambda said: said.get("view") == 1, 20.0)
                await _cut_the_leaver_off(processes, wires)
                await listeners["p1"].until(lambda said: said.get("members") == STAYED, 20.0)
                await asyncio.sleep(2.0)
                for name in STAYED:
                    _tell(processes[name], "leave")
                for process in processes.values():
                    await asyncio.to_thread(process.wait, 20.0)
            finally:
                for process in processes.values():
                    process.kill()
            return {name: [said for _, said in one.said] for name, one in listeners.items()}

    with ExitStack() as stack:
        said = asyncio.run(scene(stack))
    assert run.path == folder
    verdict = judge(read_rows(folder))
    broken = [item.property for item in verdict.properties if item.status is Status.VIOLATED]
    assert not broken, (broken, said)
    assert all(line.get("members") != STAYED for line in said["p4"]), said["p4"]


async def _cut_the_leaver_off(processes: dict[str, Popen[str]], wires: Wires) -> None:
    """Let p4 leave, hear late what p3 and p1 say, and seem dead to p1 meanwhile.

    Nobody tells p3 of the view without p4 before it has multicast; and p2, to which p4 comes a
    little late, has not done with p4 when it is in the view in which p4 left.
    """
    for way in (wires["p3", "p1"].back, wires["p3", "p2"].back, wires["p4", "p3"].there):
        way.delay_s = 0.3
    wires["p4", "p3"].back.delay_s = 8.0
    _tell(processes["p4"], "leave")
    await asyncio.sleep(0.12)
    _tell(processes["p3"], "uniform")
    wires["p4", "p1"].back.delay_s = wires["p4", "p1"].there.delay_s = 8.0
    wires["p4", "p2"].there.delay_s = 0.6
    await asyncio.sleep(3.0)
    wires["p4", "p1"].back.delay_s = 0.001
