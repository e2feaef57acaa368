"""``antiphon export`` as a user meets it."""

import json
from pathlib import Path

from tests.cli.command import antiphon
from tests.logs.chat import ROWS, lines


def test_log_is_written_for_a_viewer(tmp_path: Path) -> None:
    """What ShiViz would read is a log of clocks that holds; what Perfetto would read is JSON."""
    (tmp_path / "log.json").write_bytes(lines(ROWS))
    done = antiphon("export", "log.json", "--to", "shiviz", "-o", "s.log", folder=tmp_path)
    assert (done.returncode, done.stdout.startswith("s.log: 6 rows of 3 processes")) == (0, True)
    assert antiphon("verify", "s.log", folder=tmp_path).returncode == 0
    done = antiphon("export", "log.json", "--to", "perfetto", "-o", "p.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "p.json").read_text())["traceEvents"]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A folder, a folder that is not there, and the log itself."""
    (tmp_path / "log.json").write_bytes(lines(ROWS))
    for target, said in (
        (".", "it is a folder"),
        ("no/x", "not there"),
        ("log.json", "is part of"),
    ):
        done = antiphon("export", "log.json", "--to", "shiviz", "-o", target, folder=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert (tmp_path / "log.json").read_bytes() == lines(ROWS)
