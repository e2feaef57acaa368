"""Claims of Overlay about its figures: they hold in a world as the paper has it, and can fail."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from antiphon.models.traffic import NetworkMeasures
from antiphon.reproduction.claim import Claim, Effort
from antiphon.reproduction.overlay import crossover, figures, queues, runs
from antiphon.reproduction.overlay.runs import Kind, NetworkRun
from antiphon.reproduction.running import claims_of, run_claim
from antiphon.trace.claims import ClaimVerdict

QUICK = Effort(is_quick=True)
FIGURES = [*figures.claims(), *queues.claims()]


def as_in_the_paper(kind: Kind, cell: NetworkRun) -> NetworkMeasures:
    """Return what the paper's words say of one run."""
    size, data = cell.size, cell.data
    is_overlay = kind == "overlay"
    growth = 1 + data / 100
    copies = 10 * size if is_overlay else size
    control = 32 if is_overlay else 32 + 4 * size
    return NetworkMeasures(
        delay_mean_ms=growth if is_overlay else 5, delay_max_ms=20, messages=copies,
        total_bytes=copies * (control + data), hops=3 * copies,
        held_mean=0 if is_overlay else size / 100, held_max=0 if is_overlay else size // 10,
        load_mean=growth if is_overlay else 5, load_bytes_mean=100,
        queue_max=round(100 * growth) if is_overlay else 50, duration_ms=10, deliveries=1,
        link_bytes=np.zeros(2, np.int64),
    )  # fmt: skip


def the_other_way_round(kind: Kind, cell: NetworkRun) -> NetworkMeasures:
    """Return what the paper says of the other protocol, and queues that data makes longer."""
    other: Kind = "timestamp" if kind == "overlay" else "overlay"
    found = as_in_the_paper(other, cell)
    return replace(found, held_max=1 + cell.data) if kind == "timestamp" else found


def put_in(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    """Have all claims see other runs."""
    for module in (runs, queues, crossover):
        monkeypatch.setattr(module, "run", run)


@pytest.mark.parametrize(
    "claim", [each for each in FIGURES if each.name != "queue-and-data"], ids=lambda each: each.name
)
def test_claim_holds_where_it_is_as_the_paper_says(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And shows both protocols, in a table and in a figure."""
    put_in(monkeypatch, as_in_the_paper)
    result = run_claim(claim, QUICK)
    assert result.verdict is ClaimVerdict.HOLDS, result.why
    assert result.figure is not None
    assert {series.name.partition(",")[0] for series in result.figure.series} == {
        "Overlay", "Timestamp",
    }  # fmt: skip
    assert result.table is not None
    assert len(result.table.rows) == len(result.figure.series[0].points)


@pytest.mark.parametrize("claim", FIGURES, ids=lambda claim: claim.name)
def test_claim_fails_where_it_is_the_other_way_round(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every judge can say no."""
    put_in(monkeypatch, the_other_way_round)
    assert run_claim(claim, QUICK).verdict is ClaimVerdict.FAILS


def test_every_figure_has_a_claim() -> None:
    """Figures 2 to 17, Table 1 and the crossover formula."""
    claims = claims_of(["overlay"])
    sections = " ".join(f"{claim.section}." for claim in claims)
    assert all(f"figure {number}." in sections for number in range(2, 18))
    assert {"total-bytes", "copies", "control-information", "crossover"} <= {
        claim.name for claim in claims
    }


def test_crossover_by_bytes_is_four_times_the_formula() -> None:
    """An entry of a timestamp has four bytes, and the formula counts entries."""
    claim = next(each for each in crossover.claims() if each.name == "crossover")
    result = run_claim(claim, QUICK)
    assert result.verdict is ClaimVerdict.FAILS
    assert "265 bytes for 512 nodes, where the formula says 64" in result.our_value


def test_load_of_links_is_averaged_over_the_same_time_for_both() -> None:
    """Until the slower protocol is through."""
    cell = NetworkRun(30, 0.1, 1, 3, 0)
    found = {(kind, cell): runs.run(kind, cell) for kind in runs.KINDS}
    longest = max(each.duration_ms for each in found.values())
    first = found["overlay", cell]
    value = runs._value("load_mean", "overlay", cell, found)
    assert value == pytest.approx(first.load_mean * first.duration_ms / longest)


def test_claim_without_numba_says_what_to_install() -> None:
    """It cannot be compared; the other papers need no numba."""
    code = """
import sys
sys.modules["numba"] = None
from antiphon.reproduction.claim import Effort
from antiphon.reproduction.running import claims_of, run_claim
claim = next(each for each in claims_of(["overlay"]) if each.name == "figure-3")
result = run_claim(claim, Effort(is_quick=True))
print(result.verdict, "/", result.why)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    said = "models need numba: run: pip install 'antiphon[models]'"
    assert done.stdout == f"cannot be compared / it could not be run here: {said}\n"
