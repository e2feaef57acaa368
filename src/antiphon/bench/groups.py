"""What many groups cost that the same processes share: idle, at a death, and to join one more.

Law: four processes on loopback, all of them in every group; times are of the machine's monotonic
clock, read by the processes themselves when their application reads the view. Beside them five
processes in one group, idle.
"""

import subprocess
import sys
import time
from contextlib import ExitStack

import msgspec

from antiphon.bench.figures import Figure, make_figure
from antiphon.bench.groups_member import GroupsSpec, Line
from antiphon.core.errors import AntiphonError
from antiphon.net.transport.ports import free_ports

PROCESS_COUNT = 4
_LONE_COUNT = 5
_LAST = 10
"""Joins at the end of which the median is taken: one alone is noise."""


def measure_groups(group_count: int, rest_s: float) -> list[Figure]:
    """Measure processes that share so many groups."""
    idle, took_ms = _share(PROCESS_COUNT, group_count, rest_s)
    lone, _ = _share(_LONE_COUNT, 1, rest_s)
    lone_cpu = [round(100 * line.cpu, 2) for line in lone]
    joins = _join(group_count)
    last_ms = sorted(joins[-_LAST:])[_LAST // 2]
    what = f"{PROCESS_COUNT} processes that share {group_count} groups, idle, the costliest"
    cpu = [round(100 * line.cpu, 2) for line in idle]
    memory = [round(line.memory_mb, 1) for line in idle]
    connections = [line.connections for line in idle]
    return [
        make_figure(
            f"{what}: connections", max(connections), PROCESS_COUNT - 1, at_most=True,
            detail={"each": connections},
        ),
        make_figure(f"{what}: % of a core", max(cpu), 2.0, at_most=True, detail={"each": cpu}),
        make_figure(
            f"{_LONE_COUNT} processes in one group, idle, the costliest: % of a core",
            max(lone_cpu), 0.3, at_most=True, detail={"each": lone_cpu},
        ),
        make_figure(f"{what}: MB", max(memory), 60.0, at_most=True, detail={"each": memory}),
        make_figure(
            f"ms from kill -9 to the last of {group_count} views at all others", max(took_ms),
            500.0, at_most=True, detail={"each": took_ms},
        ),
        make_figure(
            f"join of the {group_count}th group that two processes share, to the 1st",
            last_ms / joins[0], 2.0, at_most=True,
            detail={"first_ms": joins[0], "second_ms": joins[1], "last_ten_median_ms": last_ms},
        ),
    ]  # fmt: skip


def _share(process_count: int, group_count: int, rest_s: float) -> tuple[list[Line], list[float]]:
    """Return what each process costs when idle, and how long each took to know of a death."""
    addresses = tuple(f"127.0.0.1:{port}" for port in free_ports(process_count))
    specs = [
        GroupsSpec(f"p{number}", at, addresses, group_count, rest_s=rest_s)
        for number, at in enumerate(addresses)
    ]
    with ExitStack() as stack:
        processes = [_start(stack, spec) for spec in specs]
        for process in processes:
            _hear(process)
        idle = [_hear(process) for process in processes]
        killed_s = time.monotonic()
        processes[-1].kill()
        seen = [_hear(process).last_view_s for process in processes[:-1]]
    return idle, [round((seen_s - killed_s) * 1e3, 1) for seen_s in seen]


def _join(group_count: int) -> list[float]:
    """Return how long one process took to join each group of another, in milliseconds."""
    host, guest = (f"127.0.0.1:{port}" for port in free_ports(2))
    with ExitStack() as stack:
        _hear(_start(stack, GroupsSpec("host", host, (), group_count)))
        spec = GroupsSpec("guest", guest, (host,), group_count, does_join=True)
        return _hear(_start(stack, spec)).join_ms


def _start(stack: ExitStack, spec: GroupsSpec) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "antiphon.bench.groups_member"]
    process = subprocess.Popen(
        [*command, msgspec.json.encode(spec).decode()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def _hear(process: subprocess.Popen[str]) -> Line:
    assert process.stdout is not None, "it is piped"
    line = process.stdout.readline()
    if not line:
        message = "a process of the measurement has died: run it by itself to see why"
        raise AntiphonError(message)
    return msgspec.json.decode(line, type=Line)
