"""``antiphon sweep`` as a user meets it."""

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.command import antiphon

EXPERIMENT = 'seeds = 2\n[simulate]\nmessages = 30\n[grid]\norder = ["causal", "total"]\n'


def test_sweep_shows_a_line_per_combination_and_goes_on(tmp_path: Path) -> None:
    """The second time nothing is left to do."""
    (tmp_path / "orders.toml").write_text(EXPERIMENT)
    done = antiphon("sweep", "orders.toml", "--cores", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 cells: sweeps/orders/results.parquet" in done.stdout
    assert done.stdout.count("holds") == 2
    again = antiphon("sweep", "orders.toml", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["cells"] == 4


def test_wrong_key_is_one_sentence(tmp_path: Path) -> None:
    """Status 2, no traceback."""
    (tmp_path / "orders.toml").write_text("[grid]\nprocess = [1]\n")
    done = antiphon("sweep", "orders.toml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("antiphon: orders.toml: grid.process is no parameter")
    assert len(done.stderr.splitlines()) == 1


def test_sweep_is_shown_as_a_page(tmp_path: Path) -> None:
    """In its folder, with the command that sweeps again."""
    (tmp_path / "orders.toml").write_text(EXPERIMENT)
    antiphon("sweep", "orders.toml", "--cores", "1", folder=tmp_path)
    done = antiphon("report", "sweeps/orders", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 cells, none to look at" in done.stdout
    page = (tmp_path / "sweeps" / "orders" / "report.html").read_text(encoding="utf-8")
    assert "antiphon sweep orders.toml" in page


def test_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    """After kill -9, what was finished is not run again; nobody is left behind."""
    text = "seeds = 60\n[simulate]\nmessages = 300\n[grid]\nprocesses = [3, 4]\n"
    (tmp_path / "many.toml").write_text(text)
    cells = tmp_path / "sweeps" / "many" / "cells"
    command = [sys.executable, "-m", "antiphon", "sweep", "many.toml", "--cores", "2"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None and len(_files(cells)) < 3:
            time.sleep(0.05)
        running.kill()
    before = {file: file.stat().st_mtime_ns for file in _files(cells)}
    assert 3 <= len(before) < 120
    done = antiphon("sweep", "many.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(_files(cells)) == 120
    assert all(file.stat().st_mtime_ns == time_ns for file, time_ns in before.items())


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))
