"""A small log in which C hears B's answer before A's question, and who judges it."""

from pathlib import Path

import msgspec
from tests.trace.hand_written import deliver, multicast

from antiphon.cli.engines import Engine, judge
from antiphon.trace.log import Log
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Verdict

ROWS = [
    multicast("A"),
    deliver("B", "A"),
    multicast("B"),
    deliver("C", "B"),
    deliver("C", "A"),
    deliver("A", "B"),
]
"""The answer is in row 4."""

ENGINES = [Engine.ORACLE, Engine.LOCAL]


def lines(rows: list[Event]) -> bytes:
    """Return rows as a file holds them."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def places(verdict: Verdict) -> list[tuple[str, int]]:
    """Return the files and lines that show that causal order is violated."""
    (violation,) = verdict.of(Property.CAUSAL).violations
    return [(link.file, link.line) for link in violation.chain]


def same_from_both(where: Path | Log) -> Verdict:
    """Return the verdict that the oracle and the pipeline give, word for word."""
    one, other = (judge(where, engine) for engine in ENGINES)
    assert one == msgspec.structs.replace(other, engine="oracle")
    return one
