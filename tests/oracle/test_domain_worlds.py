"""Random structures of overlapping groups: the oracle says of them what the definitions say."""

from collections import Counter
from random import Random

from tests.oracle.definitions import UNKNOWN
from tests.oracle.domain_definitions import causal_count, orphan_count
from tests.oracle.known_groups import ASKED, CAUSAL, NO_ORPHAN
from tests.pipeline.domain_worlds import random_world, right_world

from antiphon.oracle import judge
from antiphon.trace import words
from antiphon.trace.verdict import PropertyVerdict, Status

SEEDS = range(400)
UNTESTED = (words.NO_DELIVERY, words.NO_DELIVERY_LEFT, words.ALL_IN_FIFO_ORDER)


def count_of(item: PropertyVerdict) -> int:
    """Return how often a property is broken, or that it is unknown."""
    return UNKNOWN if item.status is Status.UNKNOWN else item.violation_count


def test_right_worlds_break_nothing() -> None:
    """Views, crashes and holes that are excused violate nothing; most of them are known to hold."""
    seen: Counter[tuple[str, Status]] = Counter()
    for seed in SEEDS:
        verdict = judge(right_world(Random(f"right {seed}")))
        for which in ASKED:
            assert verdict.of(which).status is not Status.VIOLATED, (seed, verdict.of(which))
            seen[which, verdict.of(which).status] += 1
    assert seen[CAUSAL, Status.HOLDS] > 0.9 * len(SEEDS)
    assert seen[NO_ORPHAN, Status.UNKNOWN] >= 5


def test_planted_violations_are_found_and_counts_are_those_of_the_definitions() -> None:
    """What was done shows at the process where it was done; counts are the literal loops'."""
    seen: Counter[object] = Counter()
    for seed in SEEDS:
        rows, planted = random_world(seed)
        verdict = judge(rows)
        if planted is not None:
            which, process = planted
            seen[which] += 1
            item = verdict.of(which)
            assert item.violation_count, f"seed {seed}: {which} at {process}"
        if verdict.of(CAUSAL).reason.startswith(UNTESTED):
            continue
        found = (count_of(verdict.of(CAUSAL)), count_of(verdict.of(NO_ORPHAN)))
        assert found == (causal_count(rows), orphan_count(rows)), f"seed {seed}"
        seen.update(len(violation.chain) for violation in verdict.of(CAUSAL).violations)
    assert seen[CAUSAL] >= 100
    assert seen[NO_ORPHAN] >= 50
    assert seen[5] + seen[6] + seen[7] >= 50, "chains by way of others"
