"""The ledger of examples/ledger.py, tested: all tellers end with one balance, whatever breaks."""

import importlib.util
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
