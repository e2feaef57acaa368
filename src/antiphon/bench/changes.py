"""What failures and joins cost on real processes: five of them on loopback, killed and joined.

Law: times are of the machine's one monotonic clock, read by the members themselves when their
application reads the view; everything between the kill and the last member's view counts.
"""

import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from antiphon.bench.changes_member import MemberSpec, Sample, ViewSeen
from antiphon.core.errors import AntiphonError
from antiphon.net.transport.ports import free_ports

MEMBER_COUNT = 5
_WAIT_S = 30.0
_decoder = msgspec.json.Decoder(ViewSeen | Sample)


class MemberProcesses:
    """Members as processes, and everything they print."""

    def __init__(self, *, is_loaded: bool, rejoin: bool = False) -> None:
        """Start the founding members."""
        self._is_loaded = is_loaded
        self._lines: queue.Queue[ViewSeen | Sample] = queue.Queue()
        self._listeners: list[threading.Thread] = []
        self.samples: list[Sample] = []
        self.views: list[ViewSeen] = []
        self.processes: dict[str, subprocess.Popen[str]] = {}
        names = [f"m{number}" for number in range(1, MEMBER_COUNT + 1)]
        addresses = [f"127.0.0.1:{port}" for port in free_ports(MEMBER_COUNT)]
        self.members = dict(zip(names, addresses, strict=True))
        for name in names:
            spec = MemberSpec(name, members=self.members, is_loaded=is_loaded, rejoin=rejoin)
            self.start(spec)
        self.wait_for_view(1, names)

    def start(self, spec: MemberSpec) -> None:
        """Start one more process."""
        command = [sys.executable, "-m", "antiphon.bench.changes_member"]
        process = subprocess.Popen(
            [*command, msgspec.json.encode(spec).decode()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.processes[spec.name] = process
        listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self._listeners.append(listener)
        listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None, "stdout is a pipe"
        with process.stdout as lines:
            for line in lines:
                self._lines.put(_decoder.decode(line))

    def take(self, timeout_s: float) -> ViewSeen | None:
        """Wait for the next line; return it if it is about a view."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(line, Sample):
            self.samples.append(line)
            return None
        self.views.append(line)
        return line

    def wait_for_view(self, number: int, names: list[str]) -> list[ViewSeen]:
        """Wait until all of these have seen view ``number`` or a later one."""
        end_s = time.monotonic() + _WAIT_S
        while time.monotonic() < end_s:
            seen = {view.name: view for view in self.views if view.number >= number}
            if all(name in seen for name in names):
                return [self._first(name, number) for name in names]
            self.take(0.2)
        message = f"view {number} was not seen by all of {', '.join(names)} in {_WAIT_S:g} s"
        raise AntiphonError(message)

    def _first(self, name: str, number: int) -> ViewSeen:
        return next(view for view in self.views if view.name == name and view.number >= number)

    def watch(self, seconds: float) -> None:
        """Let time pass."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.take(0.2)

    @property
    def newest(self) -> int:
        """The number of the last view that anybody has seen."""
        return max(view.number for view in self.views)

    def close(self) -> None:
        """End every process that is still there."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        for listener in self._listeners:
            listener.join()


@contextmanager
def cluster(*, is_loaded: bool, rejoin: bool = False) -> Iterator[MemberProcesses]:
    """Five members, for a while."""
    members = MemberProcesses(is_loaded=is_loaded, rejoin=rejoin)
    try:
        yield members
    finally:
        members.close()


def measure_failover_ms(repeats: int) -> list[float]:
    """Return, for each of ``repeats`` groups, the time from kill -9 to the last one's new view."""
    times = []
    for turn in range(repeats):
        with cluster(is_loaded=False) as members:
            # Now the most senior member, which coordinates, now the most junior one.
            names = list(members.processes)
            victim, *others = names[::-1] if turn % 2 else names
            members.watch(0.5)
            killed_ns = time.monotonic_ns()
            members.processes[victim].kill()
            seen = members.wait_for_view(2, others)
            times.append((max(view.time_ns for view in seen) - killed_ns) / 1e6)
    return times


def measure_joins(count: int) -> list[float]:
    """Return how long traffic paused at each of five loaded members for each of ``count`` joins."""
    pauses = []
    with cluster(is_loaded=True) as members:
        names = list(members.processes)
        members.watch(1.0)
        for number in range(count):
            address = f"127.0.0.1:{free_ports(1)[0]}"
            name = f"j{number}"
            before = members.newest
            spec = MemberSpec(name, at=address, seeds=[members.members[names[0]]])
            members.start(spec)
            seen = members.wait_for_view(before + 1, names)
            pauses += [view.pause_ms for view in seen]
            stdin = members.processes[name].stdin
            assert stdin is not None, "stdin is a pipe"
            members.watch(0.5)
            before = members.newest
            stdin.close()
            members.wait_for_view(before + 1, names)
            members.watch(0.3)
    return pauses


def measure_load(seconds: float) -> dict[str, Any]:
    """Load five members for a while: views seen (one: nobody was suspected), bytes kept."""
    with cluster(is_loaded=True) as members:
        members.watch(seconds)
        kept = [sample.kept_bytes for sample in members.samples]
        half = len(kept) // 2
        delivered = {sample.name: sample.delivered for sample in members.samples}
        return {
            "seconds": seconds,
            "views": members.newest,
            "kept_bytes_max": max(kept),
            "kept_bytes_median_first_half": statistics.median(kept[:half]),
            "kept_bytes_median_second_half": statistics.median(kept[half:]),
            "delivered_per_s": min(delivered.values()) / seconds,
        }
