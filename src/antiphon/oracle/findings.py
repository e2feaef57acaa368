"""What the oracle found to be wrong, and the verdict that follows.

Law: a finding is one message, or one row, that one process got wrong. Findings are ordered by
process, then by position (where something was not done: by message); the first few are explained.
"""

from collections.abc import Callable, Sequence
from heapq import nsmallest

from antiphon.trace import verdict
from antiphon.trace.verdict import EXAMPLES_MAX, Property, PropertyVerdict, Violation

Finding = tuple[tuple[str, tuple[int | str, ...]], Callable[[], Violation]]
"""Where a violation stands among the others (process, position), and how to explain it."""


def concluded(
    which: Property,
    findings: Sequence[Finding],
    left_out: str = "",
    across: str = "",
    untested: str = "",
    around: str = "",
) -> PropertyVerdict:
    """Return a verdict, with the first few violations explained."""
    examples = nsmallest(EXAMPLES_MAX, findings, key=lambda finding: finding[0])
    violations = [explain() for _, explain in examples]
    count = len(findings)
    return verdict.concluded(which, count, violations, left_out, across, untested, around)
