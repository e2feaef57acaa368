"""``antiphon sweep`` as a user meets it."""

import json
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
