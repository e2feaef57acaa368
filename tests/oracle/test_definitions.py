"""The oracle agrees with the definitions read out literally, on forged traces of all sorts."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from tests.oracle.definitions import FIVE, UNKNOWN
from tests.oracle.forged_traces import forged_trace
from tests.oracle.forged_views import forged_views, right_views
from tests.oracle.view_definitions import all_counts
from tests.pipeline.scrambled_orders import scrambled_orders

from antiphon.oracle import judge
from antiphon.oracle.event_graph import causal_pasts, direct_predecessors, history_of, out_of_order
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

SEEDS = range(1_000)
ORDERS = (
    Property.FIFO,
    Property.CAUSAL,
    Property.NO_ORPHAN,
    Property.TOTAL,
    Property.TOTAL_CAUSAL,
)


IN_TOTAL_ORDER = (Property.TOTAL, Property.TOTAL_CAUSAL, Property.UNIFORM)


def forged_orders(seed: int) -> list[Event]:
    """Return a trace in which many disagree about the total order."""
    return scrambled_orders(Random(f"orders {seed}"))


def found(rows: list[Event]) -> dict[Property, int]:
    """Return the oracle's counts."""
    return {
        item.property: UNKNOWN if item.status is Status.UNKNOWN else item.violation_count
        for item in judge(rows).properties
    }


@pytest.mark.parametrize(
    ("forged", "asked"),
    [
        (forged_trace, FIVE),
        (forged_views, tuple(which for which in Property if which not in IN_TOTAL_ORDER)),
        (forged_orders, IN_TOTAL_ORDER),
    ],
    ids=["one view", "several views", "several orders"],
)
def test_forged_traces_have_the_counts_of_the_definitions(
    forged: Callable[[int], list[Event]], asked: tuple[Property, ...]
) -> None:
    """Status and count of every property are those of the literal loops, for every seed."""
    seen: Counter[tuple[Property, int]] = Counter()
    for seed in SEEDS:
        rows = forged(seed)
        expected = all_counts(rows)
        assert found(rows) == expected, f"seed {seed}"
        seen.update((which, min(count, 2)) for which, count in expected.items())
    # All of this must really have come up: unknown, holds, broken once, broken more often.
    for which in asked:
        assert min(seen[which, count] for count in (0, 1, 2)) >= 20, (which, seen)
        assert seen[which, UNKNOWN] >= 1


def test_right_traces_with_several_views_break_nothing() -> None:
    """Joining, leaving, crashing and coming back violate no property by themselves."""
    view_count = 0
    for seed in SEEDS:
        rows = right_views(Random(f"views {seed}"))
        assert max(found(rows).values()) <= 0, f"seed {seed}: {found(rows)}"
        view_count += len({row.view for row in rows if row.kind == "view"})
    assert view_count > 2 * len(SEEDS)


def test_forged_traces_contain_breaks_of_long_chains() -> None:
    """Deliveries that break causality only through others occur, so the closure is put to work."""
    long_breaks = 0
    for seed in SEEDS:
        rows = forged_trace(seed)
        history = history_of(rows, "")
        transitive = sum(
            1 for scope in history.scopes for _ in out_of_order(history, scope, causal_pasts(scope))
        )
        direct = judge(rows).of(Property.CAUSAL).violation_count
        long_breaks += transitive > direct
    assert long_breaks >= 5


def test_causal_pasts_are_the_transitive_closure_even_of_cycles() -> None:
    """The sweeps find what following direct causes step by step finds, in cycles too."""
    cycles = 0
    for seed in SEEDS:
        for scope in history_of(forged_trace(seed), "").scopes:
            direct = direct_predecessors(scope)
            closure = dict(direct)
            for middle in scope.bits:
                for message, known in closure.items():
                    if known & scope.bits[middle]:
                        closure[message] = known | closure[middle]
            cycles += any(closure[message] & bit for message, bit in scope.bits.items())
            expected = {message: closure[message] & ~bit for message, bit in scope.bits.items()}
            assert causal_pasts(scope) == expected, f"seed {seed}"
    assert cycles >= 20


@pytest.mark.parametrize(
    "forged",
    [forged_trace, forged_views, forged_orders],
    ids=["one view", "several views", "several orders"],
)
def test_every_violation_is_explained_by_rows_of_the_trace(
    forged: Callable[[int], list[Event]],
) -> None:
    """Chains name rows that are there, and end at the process where it shows."""
    for seed in SEEDS:
        rows = forged(seed)
        verdict = judge([(row, "log", line) for line, row in enumerate(rows, 1)])
        for item in verdict.properties:
            assert len(item.violations) == min(3, item.violation_count)
            for violation in item.violations:
                for link in violation.chain:
                    assert rows[link.line - 1].process == link.process, f"seed {seed}"
                    assert link.file == "log"
                assert violation.chain[-1].process == violation.process
                assert violation.text.startswith(violation.process)
                is_about_messages = item.property not in {Property.VIEWS, Property.COMMIT}
                assert (violation.message is not None) == is_about_messages
                assert violation.message is None or str(violation.message) in violation.text
                if item.property in ORDERS:
                    assert str(violation.earlier) in violation.text
