"""Claims of the papers: each is run, can fail, and says what it compared."""

from pathlib import Path

import pytest

from antiphon.bench import layers
from antiphon.core.errors import AntiphonError, UsageError
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.report.series import figure_file
from antiphon.reproduction import blocks, counts, sockets, table_1, uniform
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import at_least, at_most, between, fit, if_steady, incomparable
from antiphon.reproduction.overlay import flooding
from antiphon.reproduction.running import claims_of, reproduce, run_claim
from antiphon.reproduction.sweeping import Sweeping
from antiphon.trace.claims import ClaimVerdict, read_reproduction

QUICK = Effort(is_quick=True)
SIMULATED = [
    claim
    for part in (
        counts.claims(),
        table_1.claims(),
        uniform.claims(),
        blocks.claims(),
        flooding.claims(),
    )
    for claim in part
    if claim.measure
]
FAILING = {
    "join-cost",  # members agree by quorum first
    "client-server",  # groups of clients are not collapsed into one
    "figure-2", "failures", "control-information",  # errata of the paper
}  # fmt: skip


@pytest.mark.parametrize("claim", SIMULATED, ids=lambda claim: claim.name)
def test_simulated_claim_is_as_this_system_has_it(claim: Claim) -> None:
    """All hold but those that are known not to."""
    result = run_claim(claim, QUICK)
    expected = ClaimVerdict.FAILS if claim.name in FAILING else ClaimVerdict.HOLDS
    assert result.verdict is expected, result.why
    assert result.table is not None
    assert all(len(row) == len(result.table.columns) for row in result.table.rows)
    assert result.our_value != "not run"
    assert f"--only {claim.name} --quick" in result.replay


def test_names_of_claims_differ() -> None:
    """So that one can be asked for."""
    names = [claim.name for claim in claims_of(["isis", "uniform", "blocks", "overlay"])]
    assert len(set(names)) == len(names)


def test_claim_that_needs_what_is_not_there_says_so() -> None:
    """It cannot be compared, and was not run."""
    claim = Claim(
        paper="ISIS", section="9", name="unbuilt", words="It can be built.", paper_value="",
        measure=None, judge=incomparable("nothing here does it"),
    )  # fmt: skip
    result = run_claim(claim, QUICK)
    assert result.verdict is ClaimVerdict.INCOMPARABLE
    assert result.why


def _failing(_effort: Effort) -> Measured:
    message = "no port is free"
    raise AntiphonError(message)


def test_claim_that_cannot_be_run_leaves_the_others(tmp_path: Path) -> None:
    """What is written is read back the same, with tables and figures as files."""
    first, second = SIMULATED[:2]
    broken = Claim(
        paper="ISIS", section="0", name="broken", words="", paper_value="", measure=_failing,
        judge=at_most("x", 1, "x"),
    )  # fmt: skip
    folder = tmp_path / "out"
    found = reproduce(["isis"], QUICK, folder, "again", "1", claims=[first, broken, second])
    assert [claim.verdict for claim in found.claims] == [
        ClaimVerdict.HOLDS, ClaimVerdict.INCOMPARABLE, ClaimVerdict.HOLDS,
    ]  # fmt: skip
    assert found.claims[1].why == "it could not be run here: no port is free"
    again = read_reproduction(folder)
    assert [claim.our_value for claim in again.claims] == [
        claim.our_value for claim in found.claims
    ]
    assert again.claims[0].table == found.claims[0].table
    assert (folder / "tables" / f"isis-{first.name}.csv").read_text().startswith("k,ABCASTs,")
    assert (folder / "figures" / f"isis-{first.name}.svg").read_text().startswith("<svg xmlns")


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """Nothing in it is touched."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not a reproduction's"):
        reproduce(["isis"], QUICK, tmp_path, "", "1", claims=[])


def test_judges_draw_their_lines() -> None:
    """Each can say no, and a busy machine decides nothing."""
    one = Measured(value="", numbers={"x": 1.0, "noise": 1.2})
    assert at_most("x", 1, "x")(one)[0] is ClaimVerdict.HOLDS
    assert at_most("x", 0.9, "x", "so it is")(one) == (
        ClaimVerdict.FAILS, "x: 1, to be at most 0.9; so it is",
    )  # fmt: skip
    assert at_least("x", 1.1, "x")(one)[0] is ClaimVerdict.FAILS
    assert between("x", 1.1, 2, "x")(one)[0] is ClaimVerdict.FAILS
    assert if_steady(at_most("x", 1, "x"))(one)[0] is ClaimVerdict.HOLDS
    busy = Measured(value="", numbers={"x": 1.0, "noise": 1.6})
    assert if_steady(at_most("x", 1, "x"))(busy)[0] is ClaimVerdict.INCOMPARABLE


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.1, ClaimVerdict.HOLDS),
        (-0.05, ClaimVerdict.HOLDS),
        (-0.31, ClaimVerdict.INCOMPARABLE),
        (0.2, ClaimVerdict.FAILS),
    ],
)
def test_share_that_cannot_be_decides_nothing(share: float, expected: ClaimVerdict) -> None:
    """Causal order does not make a multicast cheaper: then other work was measured."""
    [claim] = [each for each in sockets.claims() if each.name == "table-4"]
    assert claim.judge(Measured(value="", numbers={"share": share, "noise": 1.2}))[0] is expected


def test_straight_line_is_fitted() -> None:
    """Slope, intercept, and how much of the points it explains."""
    assert fit([(1, 3), (2, 5), (3, 7)]) == pytest.approx((2, 1, 1))
    assert fit([(1, 0), (2, 1), (3, 0)])[2] == pytest.approx(0)


def test_claims_about_sockets_judge_what_they_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the paper's own round trips put in, the paper's claims hold."""
    from antiphon.reproduction import numbers

    def trips(ms: dict[int, tuple[float, float, float]]) -> sockets.Trips:
        sizes = numbers.SIZES.values()
        return {n: dict(zip(sizes, values, strict=True)) for n, values in ms.items()}

    papers = {"causal": trips(numbers.CBCAST_MS), "total": trips(numbers.ABCAST_MS)}
    monkeypatch.setattr(sockets, "_timed", lambda _effort: (papers, 1.0))
    found = {
        claim.name: run_claim(claim, QUICK)
        for claim in sockets.claims()
        if claim.name in {"table-2", "table-3", "linear-cost", "figure-6", "figure-7"}
    }
    assert {name: result.verdict for name, result in found.items()} == {
        "table-2": ClaimVerdict.INCOMPARABLE, "table-3": ClaimVerdict.INCOMPARABLE,
        "linear-cost": ClaimVerdict.HOLDS, "figure-6": ClaimVerdict.HOLDS,
        "figure-7": ClaimVerdict.HOLDS,
    }  # fmt: skip
    assert found["figure-7"].figure is not None
    assert "ABCAST, 1991" in figure_file(found["figure-7"].figure)


@pytest.mark.net
def test_round_trips_are_measured_on_sockets() -> None:
    """Two orders, three sizes, real processes."""
    from antiphon.bench.round_trips import measure_round_trips

    for order in ("causal", "total"):
        times = measure_round_trips(order, 1, (0, 1_000), 10)
        assert set(times) == {0, 1_000}
        assert all(time.us > 0 and time.noise >= 1 for time in times.values())


@pytest.mark.net
def test_layers_are_measured() -> None:
    """Every layer of ours takes some time."""
    found = layers.measure_layers(30, 100)
    assert set(found) == set(layers.LAYERS)
    assert all(found[name] > 0 for name in (layers.CAUSAL, layers.PROTOCOL, layers.TRANSPORT))


def test_function_belongs_to_the_layer_of_its_file() -> None:
    """By the folder inside the package, whatever the package is installed in."""
    assert layers.layer_of("x/antiphon/src/antiphon/ordering/vector.py", "step") == layers.CAUSAL
    assert layers.layer_of("x/antiphon/net/driver/driver.py", "take") == layers.TRANSPORT
    assert layers.layer_of("~", "<method 'send' of '_socket.socket' objects>") == layers.SYSTEM
    assert layers.layer_of("lib/asyncio/events.py", "_run") == layers.LOOP


def _square(number: int) -> int:
    return number * number


def test_points_are_computed_once_and_in_order_whoever_computes() -> None:
    """In this process, or by workers; what is asked for twice is known the second time."""
    asked: list[int] = []

    def watched(number: int) -> int:
        asked.append(number)
        return _square(number)

    here = Sweeping()
    points = [(3,), (1,), (3,), (2,)]
    assert here.values(watched, points) == [9, 1, 9, 4]
    assert here.values(watched, [(2,), (5,)]) == [4, 25]
    assert asked == [3, 1, 2, 5]
    assert Sweeping(LocalExecutor(2)).values(_square, points) == [9, 1, 9, 4]


def test_claim_is_the_same_whoever_computes_it() -> None:
    """Processes of their own find what this one finds."""
    claim = next(each for each in blocks.claims() if each.name == "last-message")
    effort = Effort(is_quick=True, sweeping=Sweeping(LocalExecutor(2)))
    here, there = run_claim(claim, QUICK), run_claim(claim, effort)
    assert there.our_value == here.our_value
    assert there.table == here.table
