"""A journal that cannot be written any longer: the group goes on, and nobody takes it for whole."""

import json
from pathlib import Path

import pytest
from tests.net.full_disk import LIMIT_BYTES
from tests.net.harness import DEADLINE_S, LoopFactory
from tests.net.processes import start

from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net


def test_full_disk_stops_the_journal_and_not_the_group(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """The failure is logged once per member, talk goes on, and each stop raises a TraceError."""
    loop = loop_factory.__module__.partition(".")[0]
    process = start("tests/net/full_disk.py", {"folder": str(tmp_path), "loop": loop})
    output, errors = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, errors) == (0, ""), errors
    said = json.loads(output)
    assert len(said["log"]) == 2
    for line in said["log"]:
        assert line.startswith("ERROR the trace of this process ends here: ")
        assert "the disk is full: make room and rerun" in line
    assert len(said["raised"]) == 2
    for line in said["raised"]:
        assert line.startswith("TraceError: ")
        assert "the disk is full: make room and rerun" in line
    assert said["view"] == 1
    _check_trace(tmp_path)


def _check_trace(folder: Path) -> None:
    """What was written before is readable, and is not held to be everything."""
    trace = read_rows(folder)
    rows = [event for event, _, _ in trace]
    assert "stop" not in {event.kind for event in rows}
    verdict = judge(read_rows(folder))
    assert not verdict.is_violated
    assert verdict.of(Property.CAUSAL).status is Status.HOLDS
    assert "alice, bob" in verdict.of(Property.AGREEMENT).reason
    for name in ("alice", "bob"):
        size = (folder / "events" / name / "000001.ndjson").stat().st_size
        assert 0 < size <= LIMIT_BYTES
