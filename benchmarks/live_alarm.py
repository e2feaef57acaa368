"""How soon `antiphon verify --follow` raises a violation, and how many rows a second it follows.

Law: five real processes on loopback multicast at a steady rate, one message per row of a journal,
and are followed from the beginning. One of them lies in its journal: for a tenth of a second it
records what it delivers of the first process later than it does, behind answers of others, which
had delivered it: three parties, and causal order broken by way of the third only. The clock runs
from the first wrong row (its own time) to the line that tells of it. Bars: 10 s, and 50,000 rows a
second, with the five processes on the same machine.

    python benchmarks/live_alarm.py [SECONDS] [MESSAGES PER SECOND AND PROCESS] [LIES]
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partialmethod
from pathlib import Path

import antiphon
from antiphon.net.transport.ports import free_ports
from antiphon.trace.journal import Journal
from antiphon.trace.schema import Event

NAMES = ("alice", "bob", "carol", "dave", "erin")
LIAR, VICTIM = "carol", "alice"
LIE_ROWS = 400
"""A lie ends when so many deliveries of others have been recorded: a tenth of a second."""
WARM_S = 10.0
"""For Spark's workers to start, once it follows."""


class Lie:
    """A journal's `append` that holds rows back for a while."""

    def __init__(self, begins_s: list[float]) -> None:
        """Lie at these times, in seconds from now."""
        now = time.monotonic()
        self._begins = [now + begin for begin in begins_s]
        self._held: list[Event] = []
        self._others = 0
        self._honest = Journal.append

    def append(self, journal: Journal, event: Event) -> None:
        """Take a row: pass it on, or hold it back."""
        is_lying = bool(self._begins) and self._begins[0] <= time.monotonic()
        if is_lying and event.kind == "deliver":
            if event.sender == VICTIM:
                self._held.append(event)
                return
            self._others += bool(self._held)
        self._honest(journal, event)
        if self._others >= LIE_ROWS:
            for held in self._held:
                self._honest(journal, held)
            self._held.clear()
            del self._begins[0]
            self._others = 0


def _lying(journal: Journal, lie: Lie, event: Event) -> None:
    lie.append(journal, event)


async def member(
    me: str, ports: list[int], run: str, seconds: float, rate: float, lies: list[float]
) -> None:
    """Multicast at a steady rate, a message at a time."""
    members = {name: f"127.0.0.1:{port}" for name, port in zip(NAMES, ports, strict=True)}
    if me == LIAR and lies:
        lie = Lie(lies)
        Journal.append = partialmethod(_lying, lie)  # type: ignore[assignment]
    timing = antiphon.Timing(timeout_us=20_000_000)  # a busy machine is not what is measured here
    async with antiphon.join("live", me=me, members=members, trace=run, timing=timing) as group:

        async def read() -> None:
            async for _ in group.batches():
                pass

        reading = asyncio.ensure_future(read())
        begin, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - begin) < seconds:
            while sent < elapsed * rate:
                await group.cbcast(bytes(64))
                await asyncio.sleep(0)  # a run of its own, so a row of its own
                sent += 1
            await asyncio.sleep(max(0.0, sent / rate - (time.monotonic() - begin)))
    await reading


def main() -> None:
    """Measure, and say so."""
    seconds, rate = float(_argument(1, "60")), float(_argument(2, "1000"))
    lie_count = int(_argument(3, "3"))
    with tempfile.TemporaryDirectory(prefix="antiphon-live-") as folder:
        _measure(Path(folder), seconds, rate, lie_count)


def _measure(folder: Path, seconds: float, rate: float, lie_count: int) -> None:
    run = folder / "run"
    run.mkdir()
    command = [sys.executable, "-m", "antiphon", "verify", "--follow", "--json", str(run)]
    follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    _wait_for(folder / "run.live" / "query" / "metadata")
    lies = [10.0 + (seconds - 15.0) * place / max(1, lie_count) for place in range(lie_count)]
    nodes = _start(run, seconds, rate, lies)
    busy = Busy([follower.pid, *(node.pid for node in nodes)], seconds)
    busy.start()
    assert follower.stdout is not None, "it is a pipe"
    delays: list[float] = []
    lines: list[dict[str, object]] = []
    for line in follower.stdout:
        now_us = time.time_ns() // 1000
        update = json.loads(line)
        lines.append(update)
        if "-v" in sys.argv:
            print(update["elapsed_s"], update["rows"], update["rows_per_s"], update["lag_s"])
        for alarm in update["alarms"]:
            violation = alarm["violation"]
            if violation["property"] == "causal":
                delays.append((now_us - _time_us(violation["chain"][-1])) / 1e6)
                print(f"  {delays[-1]:.2f} s: {violation['text']}", flush=True)
    for node in nodes:
        node.wait()
    status = follower.wait()
    busy.join()
    _report(lines, delays, status, lie_count, seconds)
    print(
        f"cores: {busy.nodes:.2f} for the processes, {busy.follower:.2f} to follow them, "
        f"{busy.others:.2f} for others on this machine"
    )


class Busy(threading.Thread):
    """Who used how many cores, in the middle of a run."""

    def __init__(self, pids: list[int], seconds: float) -> None:
        """Watch the follower, which comes first, and the processes."""
        super().__init__(daemon=True)
        self._pids = pids
        self._seconds = seconds
        self.nodes = self.follower = self.others = 0.0

    def run(self) -> None:
        """Look twice."""
        time.sleep(self._seconds * 0.3)
        before, then_s = self._used(), time.monotonic()
        time.sleep(self._seconds * 0.5)
        after, now_s = self._used(), time.monotonic()
        self.follower, self.nodes, self.others = (
            (two - one) / (now_s - then_s) for one, two in zip(before, after, strict=True)
        )

    def _used(self) -> tuple[float, float, float]:
        """Return processor time of the follower, of the processes, and of all else, in seconds."""
        used, parents = _processes()
        follower, *nodes = (_with_children(pid, used, parents) for pid in self._pids)
        with Path("/proc/stat").open(encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:8]]
        busy = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
        return follower, sum(nodes), busy - follower - sum(nodes)


def _processes() -> tuple[dict[int, float], dict[int, int]]:
    """Return the processor time and the parent of every process."""
    used, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        used[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return used, parents


def _with_children(pid: int, used: dict[int, float], parents: dict[int, int]) -> float:
    children = [child for child, parent in parents.items() if parent == pid]
    return used.get(pid, 0.0) + sum(_with_children(child, used, parents) for child in children)


def _wait_for(file: Path) -> None:
    """Wait until Spark follows."""
    while not file.exists():
        time.sleep(0.2)
    time.sleep(WARM_S)


def _start(
    run: Path, seconds: float, rate: float, lies: list[float]
) -> list[subprocess.Popen[bytes]]:
    ports = free_ports(len(NAMES))
    arguments = [json.dumps(each) for each in (list(ports), str(run), seconds, rate, lies)]
    return [
        subprocess.Popen([sys.executable, __file__, "member", name, *arguments]) for name in NAMES
    ]


def _time_us(link: dict[str, object]) -> int:
    """Return the time of a row."""
    with Path(str(link["file"])).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == link["line"]:
                return int(json.loads(line)["time_us"])
    raise LookupError(link)


def _report(
    lines: list[dict[str, object]], delays: list[float], status: int, lies: int, seconds: float
) -> None:
    rates = [float(str(line["rows_per_s"])) for line in lines if line["lag_s"]]
    lags = [float(str(line["lag_s"])) for line in lines if line["lag_s"]]
    remembered = [int(str(line["remembered"])) for line in lines]
    last = lines[-1]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; status {status}")
    print(f"rows {last['rows']:,}, of messages {last['messages']:,}, in {seconds:g} s")
    print(f"rows/s: median {statistics.median(rates):,.0f}, best {max(rates):,.0f}")
    print(f"s behind: median {statistics.median(lags):.2f}, worst {max(lags):.2f}")
    print(f"remembered: median {statistics.median(remembered):,.0f}, most {max(remembered):,}")
    if delays:
        print(f"violation to alarm, s: first {delays[0]:.2f}, worst {max(delays):.2f}, lies {lies}")


def _argument(place: int, default: str) -> str:
    return sys.argv[place] if len(sys.argv) > place else default


if __name__ == "__main__":
    if _argument(1, "") == "member":
        antiphon.run(member(sys.argv[2], *(json.loads(each) for each in sys.argv[3:])))
    else:
        main()
