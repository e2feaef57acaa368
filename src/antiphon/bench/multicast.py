"""Measure one spec: real processes on loopback, four unless it says otherwise, one rate.

Law: the clock runs from the moment the members are told to go until the last member has the last
message, so nobody's start-up is counted and nobody's delay is hidden.
"""

import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from antiphon.bench.spec import MEMBER_COUNT, MemberReport, Spec
from antiphon.core.errors import AntiphonError
from antiphon.net.transport.ports import free_ports

_MEMBER_S = 120


class Rate(NamedTuple):
    """How fast a run was."""

    per_s: float
    """Messages per second at each receiver."""
    cpu_us: float
    """Processor time per message, of all members together: steadier on a busy machine."""


def measure(spec: Spec) -> Rate:
    """Run the members, as many as the spec has ports, and return how fast they were."""
    spec = msgspec.structs.replace(spec, ports=free_ports(len(spec.ports) or MEMBER_COUNT))
    said = run_members("antiphon.bench.member", msgspec.json.encode(spec).decode(), spec.names)
    return _rate(spec, [msgspec.json.decode(line, type=MemberReport) for line in said])


def run_members(module: str, spec: str, names: Iterable[str]) -> list[str]:
    """Run a process per member, all from the same moment on; return what each reports."""
    members = [
        subprocess.Popen(
            [sys.executable, "-m", module, spec, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    try:
        for member in members:
            _read_line(member)
        _tell(members)
        reports = [_read_line(member) for member in members]
        _tell(members)
        for member in members:
            member.wait(_MEMBER_S)
    finally:
        for member in members:
            member.kill()
            member.communicate()
    return reports


def _tell(members: list[subprocess.Popen[str]]) -> None:
    for member in members:
        assert member.stdin is not None, "stdin is a pipe"
        member.stdin.write("go\n")
        member.stdin.flush()


def _read_line(member: subprocess.Popen[str]) -> str:
    assert member.stdout is not None, "stdout is a pipe"
    line = member.stdout.readline()
    if not line:
        message = f"a member of the benchmark ended early with status {member.wait()}"
        raise AntiphonError(message)
    return line


def _rate(spec: Spec, reports: list[MemberReport]) -> Rate:
    receivers = [report for report in reports if spec.expected_from_others(report.name)]
    for report in receivers:
        expected = spec.expected_from_others(report.name)
        if (
            report.received_count != expected
            or report.received_bytes != expected * spec.payload_bytes
        ):
            message = f"{report.name} received {report.received_count} of {expected} messages"
            raise AntiphonError(message)
    begin_ns = min(report.begin_ns for report in reports)
    end_ns = max(report.end_ns for report in receivers)
    per_s = spec.expected_from_others(receivers[0].name) / ((end_ns - begin_ns) / 1e9)
    multicast_count = spec.message_count * len(spec.sender_names)
    return Rate(per_s, sum(report.cpu_s for report in reports) / multicast_count * 1e6)
