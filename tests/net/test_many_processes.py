"""Many processes of the operating system in one group that floods an overlay, on loopback.

Law: connections are counted by the operating system, and by the members themselves; what was
delivered, and in which order, is judged by the oracle from the members' journals.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from tests.net.harness import verdict_on
from tests.net.processes import start

from antiphon.net.transport.ports import free_ports
from antiphon.ordering.overlay.topologies import incomplete_hypercube

pytestmark = pytest.mark.net

AT_A_TIME = 8
"""Processes that are being started at once: each takes half a second of a core to begin."""

VICTIM = 3
"""The rank of the member that is killed: it has a parent and children in the tree."""

ESTABLISHED = "01"


def sockets(state: str) -> list[int]:
    """Return the local ports of sockets in one state, as the operating system says."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return [int(each[1].partition(":")[2], 16) for each in fields if each[3] == state]


def degrees(size: int) -> list[int]:
    """Return how many neighbours each member has, by rank."""
    return [len(incomplete_hypercube(size, rank)) for rank in range(size)]


class Choir:
    """The members, each a process."""

    def __init__(self, size: int, folder: Path, timeout_us: int, deadline_s: float) -> None:
        """Choose their places; after ``deadline_s`` all are killed."""
        self.names = [f"p{number:02}" for number in range(size)]
        self.ports = free_ports(size)
        self.places = {
            name: f"127.0.0.1:{port}" for name, port in zip(self.names, self.ports, strict=True)
        }
        self._folder = folder
        self._timing = {"heartbeat_us": timeout_us // 10, "timeout_us": timeout_us}
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self._watchdog = Timer(deadline_s, self.kill_all)
        self._watchdog.start()
        self._until_s = time.monotonic() + deadline_s

    def start(self, names: Sequence[str], seeds: Sequence[str]) -> None:
        """Start these, and wait until all are in; each asks one of the ``seeds``, in turn."""
        for place, name in enumerate(names):
            self._start(name, [self.places[seeds[place % len(seeds)]]] if seeds else [])
        for name in names:
            assert "entered" in self.answer(name)

    def _start(self, name: str, seeds: list[str]) -> None:
        options: dict[str, Any] = {"me": name, "trace": str(self._folder), "connect_s": 300.0}
        options |= {"at": self.places[name], "seeds": seeds}
        arguments = {"join": options, "timing": self._timing}
        self.processes[name] = start("tests/net/overlay_member.py", arguments)

    def ask(self, what: str) -> dict[str, dict[str, Any]]:
        """Ask all, and return what each answers."""
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.write(f"{what}\n")
            process.stdin.flush()
        return {name: self.answer(name) for name in self.processes}

    def answer(self, name: str) -> dict[str, Any]:
        """Return the next line that a process says."""
        process = self.processes[name]
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"{name} has ended: {process.communicate()[1][-2000:]}"
        said: dict[str, Any] = json.loads(line)
        assert "error" not in said, f"{name}: {said}"
        return said

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait."""
        while not condition():
            assert time.monotonic() < self._until_s, "it takes too long"
            time.sleep(0.25)

    def wait_until_all(self, condition: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until what each answers is so."""
        self.wait_until(lambda: all(map(condition, self.ask("look").values())))

    def is_calm(self) -> bool:
        """Whether each is connected with as many as it has neighbours, and no more, as it says."""
        said = self.ask("look")
        members = next(iter(said.values()))["members"]
        wanted = dict(zip(members, degrees(len(members)), strict=True))
        return all(each["links"] == wanted[name] for name, each in said.items())

    def connection_count(self) -> int:
        """Return how many connections there are, as the operating system says."""
        ports = set(self.ports)
        return sum(port in ports for port in sockets(ESTABLISHED))

    def kill(self, name: str) -> None:
        """Let a process be gone."""
        process = self.processes.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()

    def leave(self) -> None:
        """Let all leave, and end."""
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.write("leave\n")
            process.stdin.flush()
        for name, process in self.processes.items():
            _, errors = process.communicate()
            assert process.returncode == 0, f"{name}: {errors[-2000:]}"
        self.processes.clear()

    def kill_all(self) -> None:
        """End whatever is left."""
        for process in list(self.processes.values()):
            process.kill()

    def close(self) -> None:
        """End."""
        self._watchdog.cancel()
        self.kill_all()
        for process in self.processes.values():
            process.communicate()


@contextmanager
def choir(size: int, folder: Path, timeout_us: int, deadline_s: float) -> Iterator[Choir]:
    """Have members for as long as the block lasts."""
    made = Choir(size, folder, timeout_us, deadline_s)
    try:
        yield made
    finally:
        made.close()


def live(made: Choir, folder: Path) -> None:
    """Found, join, multicast, become calm, lose a member to a kill, go on, leave; be judged."""
    size = len(made.names)
    made.start(made.names[:1], ())
    for place in range(1, size, AT_A_TIME):
        made.start(made.names[place : place + AT_A_TIME], made.names[:place])
    made.wait_until_all(lambda said: len(said["members"]) == size)
    made.ask("sing 2")
    made.wait_until_all(lambda said: said["read"] == 2 * size)
    made.wait_until(made.is_calm)
    assert made.connection_count() == sum(degrees(size)) // 2

    made.ask("sing 1")
    victim = made.ask("look")[made.names[0]]["members"][VICTIM]
    made.kill(victim)
    made.wait_until_all(lambda said: len(said["members"]) == size - 1)
    said = made.ask("look")
    before = {each["read"] for each in said.values()}
    assert 3 * size >= max(before) >= 3 * size - 1
    made.ask("sing 1")
    made.wait_until_all(lambda said: said["read"] >= max(before) + size - 1)
    assert len({each["read"] for each in made.ask("look").values()}) == 1
    made.wait_until(made.is_calm)
    assert made.connection_count() == sum(degrees(size - 1)) // 2
    made.leave()
    verdict_on(folder)


def test_twenty_four_processes_are_connected_with_neighbours_only_and_outlive_a_kill(
    tmp_path: Path,
) -> None:
    """Each with about log2 24 others; one founds the group, and the others join, some at a time."""
    with choir(24, tmp_path, 4_000_000, 280) as made:
        live(made, tmp_path)


@pytest.mark.slow
def test_sixty_four_processes_are_connected_with_neighbours_only_and_outlive_a_kill(
    tmp_path: Path,
) -> None:
    """Each with six others, as long as nobody fails."""
    with choir(64, tmp_path, 10_000_000, 900) as made:
        live(made, tmp_path)
