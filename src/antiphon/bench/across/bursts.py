"""Bursts over several groups of a causality domain, beside one group, on real sockets.

    python -m antiphon.bench.across.bursts [BURSTS [TURNS]]

Law: four processes on loopback multicast bursts of 20, each a run of its own: in one group; in
three groups of one domain that all four are in, a burst here and a burst there, so that every burst
is a switch of groups; the same without a domain; and in three groups of three of them each, without
and with a domain. Systems take turns, and each ratio is of two neighbours in one turn. Where groups
have three members fewer messages reach a receiver: what has no domain is what to compare with.
"""

import statistics
import subprocess
import sys
from typing import NamedTuple

import msgspec

from antiphon.bench.across.bursts_member import BurstReport, BurstSpec
from antiphon.core.errors import AntiphonError
from antiphon.net.transport.ports import free_ports

_NAMES = ("m0", "m1", "m2", "m3")

Groups = dict[str, tuple[str, ...]]

_ALL: Groups = {"a": _NAMES}
_TWINS: Groups = {"a": _NAMES, "b": _NAMES, "c": _NAMES}
_RING: Groups = {"a": _NAMES[:3], "b": _NAMES[1:], "c": (*_NAMES[2:], _NAMES[0])}


class BurstRate(NamedTuple):
    """What one run gave."""

    per_s: float
    """Messages of others, at each receiver, on the average."""
    cpu_us: float
    """Processor time of all, for each message received."""


def measure_bursts(
    groups: Groups,
    resilience: int,
    bursts: int,
    burst: int = 20,
    payload_bytes: int = 64,
) -> BurstRate:
    """Measure one run."""
    addresses = {
        name: f"127.0.0.1:{port}" for name, port in zip(_NAMES, free_ports(4), strict=True)
    }
    specs = [
        BurstSpec(
            name=name, at=addresses[name], resilience=resilience, bursts=bursts, burst=burst,
            payload_bytes=payload_bytes,
            groups={
                group: {member: addresses[member] for member in members}
                for group, members in groups.items()
            },
        )
        for name in _NAMES
    ]  # fmt: skip
    members = [
        subprocess.Popen(
            [sys.executable, "-m", "antiphon.bench.across.bursts_member",
             msgspec.json.encode(spec).decode()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for spec in specs
    ]  # fmt: skip
    try:
        for member in members:
            _line(member)
        _go(members)
        reports = [msgspec.json.decode(_line(member), type=BurstReport) for member in members]
        _go(members)
        for member in members:
            member.wait(30)
    finally:
        for member in members:
            member.kill()
            member.communicate()
    took_s = (max(one.end_ns for one in reports) - min(one.begin_ns for one in reports)) / 1e9
    received = sum(one.received for one in reports)
    cpu_s = sum(one.cpu_s for one in reports)
    return BurstRate(received / len(reports) / took_s, 1e6 * cpu_s / received)


def measure_burst_ratios(bursts: int, turns: int) -> dict[str, list[BurstRate]]:
    """Measure all systems in turn, some times."""
    systems: dict[str, tuple[Groups, int]] = {
        "one group": (_ALL, 0),
        "three of all four, no domain": (_TWINS, 0),
        "three of all four, resilience 1": (_TWINS, 1),
        "three of three each, no domain": (_RING, 0),
        "three of three each, resilience 1": (_RING, 1),
    }
    rates: dict[str, list[BurstRate]] = {name: [] for name in systems}
    for _ in range(turns):
        for name, (groups, resilience) in systems.items():
            rates[name].append(measure_bursts(groups, resilience, bursts))
    return rates


def _line(member: "subprocess.Popen[str]") -> str:
    assert member.stdout is not None, "it is piped"
    line = member.stdout.readline()
    if not line:
        message = f"a process of the measurement ended early with status {member.wait()}"
        raise AntiphonError(message)
    return line


def _go(members: "list[subprocess.Popen[str]]") -> None:
    for member in members:
        assert member.stdin is not None, "it is piped"
        member.stdin.write("go\n")
        member.stdin.flush()


def main() -> None:
    """Print a line for each system."""
    bursts, turns = (int(word) for word in (*sys.argv[1:], "1500", "3")[:2])
    rates = measure_burst_ratios(bursts, turns)
    one = rates["one group"]
    for name, found in rates.items():
        per_s = statistics.median(rate.per_s for rate in found)
        ratio = statistics.median(a.per_s / b.per_s for a, b in zip(found, one, strict=True))
        cpu = statistics.median(b.cpu_us / a.cpu_us for a, b in zip(found, one, strict=True))
        line = f"{name}: {per_s:,.0f} messages/s, to one group {ratio:.2f}, "
        sys.stdout.write(line + f"in processor time {cpu:.2f}\n")


if __name__ == "__main__":
    main()
