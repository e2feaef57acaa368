"""A process killed with SIGKILL leaves a journal that reads as a gap-free prefix."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon.trace.reader import read_rows

_WRITER = """
import sys, time
from pathlib import Path
from antiphon.trace.journal import Journal
from antiphon.trace.schema import Event
folder, pause_s = Path(sys.argv[1]), float(sys.argv[2])
journal = Journal(folder, "p", segment_bytes=1_000_000)
flush_at = time.monotonic()
while True:
    now = time.monotonic()
    journal.append(Event(process="p", kind="deliver", sender="q", first=journal.row_count + 1,
                         time_us=int(now * 1e6)))
    if now >= flush_at:
        journal.flush()
        flush_at = now + 0.2
    if pause_s:
        time.sleep(pause_s)
"""


@pytest.mark.parametrize("pause_s", [0.0, 0.001], ids=["flat-out", "leisurely"])
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_process_leaves_a_gap_free_prefix(
    tmp_path: Path, seed: int, pause_s: float
) -> None:
    """Killed at any moment: every row up to the last one read is there, less than 1 s is lost."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path), str(pause_s)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        deadline = time.monotonic() + 30
        while not list(tmp_path.rglob("*.ndjson")) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(random.Random(seed).uniform(0.05, 0.4))
    finally:
        killed_us = int(time.monotonic() * 1e6)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    rows = [event for event, _, _ in read_rows(tmp_path)]
    assert [row.index for row in rows] == list(range(len(rows)))
    assert [row.first for row in rows] == list(range(1, len(rows) + 1))
    assert killed_us - rows[-1].time_us < 1_000_000
