"""What the oracle found to be wrong, and the verdict that follows.

Law: a finding is one message, or one row, that one process got wrong. Findings are ordered by
process, then by position (where something was not done: by message); the first few are explained.
"""

from collections.abc import Callable, Sequence
from heapq import nsmallest

from antiphon.trace import words
from antiphon.trace.verdict import Property, PropertyVerdict, Status, Violation

EXAMPLES_MAX = 3

Finding = tuple[tuple[str, tuple[int | str, ...]], Callable[[], Violation]]
"""Where a violation stands among the others (process, position), and how to explain it."""


def concluded(which: Property, findings: Sequence[Finding], left_out: str = "") -> PropertyVerdict:
    """Return a verdict, with the first few violations explained."""
    examples = nsmallest(EXAMPLES_MAX, findings, key=lambda finding: finding[0])
    return PropertyVerdict(
        property=which,
        status=Status.VIOLATED if findings else Status.HOLDS,
        violation_count=len(findings),
        reason=left_out,
        violations=tuple(explain() for _, explain in examples),
    )


def concluded_in_groups(
    which: Property, findings: Sequence[Finding], across: str, left_out: str = ""
) -> PropertyVerdict:
    """Return a verdict on causes that were looked for within each group only.

    ``across`` says why something may be wrong across groups, if it may: then nothing is known.
    """
    if across and not findings:
        return unknown(which, words.together(left_out, across, words.GROUPS_APART))
    return concluded(which, findings, words.together(left_out, across))


def unknown(which: Property, reason: str) -> PropertyVerdict:
    """Return the verdict on what the trace cannot tell."""
    return PropertyVerdict(which, Status.UNKNOWN, reason=reason)
