"""The ledger of examples/ledger.py, tested: all tellers end with one balance, whatever breaks."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.testing import Cluster

PLACE = Path(__file__).parents[2] / "examples" / "ledger.py"
SPEC = importlib.util.spec_from_file_location("ledger", PLACE)
assert SPEC is not None
assert SPEC.loader is not None
ledger = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ledger)


@pytest.mark.parametrize("seed", range(5))
def test_balance_is_right_though_connections_break(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three tellers book their entries while connections are cut, and all balances are equal."""
    with Cluster(seed) as cluster:
        tellers = [
            cluster.process(name).start(ledger.main(name, str(tmp_path))) for name in ledger.MEMBERS
        ]
        for _ in range(20):
            cluster.advance(0.001)
            cluster.cut("anna", "ben")
            cluster.cut("ben", "cleo")
        for teller in tellers:
            cluster.wait_for(teller)
        cluster.check(at_rest=True)
    total = 3 * sum(range(1, ledger.ENTRIES + 1))
    assert capsys.readouterr().out == f"3000 entries, balance {total}\n" * 3


def test_page_shows_a_test_that_runs_as_it_is(tmp_path: Path) -> None:
    """Who copies it from docs/testing.md into a file and runs pytest sees it pass."""
    root = PLACE.parents[1]
    page = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?ledger.main.*?)```", page, re.DOTALL)
    (tmp_path / "test_ledger.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--rootdir={tmp_path}", str(tmp_path / "test_ledger.py")],
        cwd=root, check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "5 passed" in done.stdout, done.stdout + done.stderr
