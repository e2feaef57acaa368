"""Wrong deliveries, added up, with the smallest picked as examples.

Law: a finding is a run of messages that one process got wrong in one way, at consecutive
positions; every property's findings have the same columns, so they are counted and chosen from
together. Counts are of single messages. The smallest is the one at the first process by name,
then at the first position there.

    scope, what           where, and what is wrong (``What``)
    process, position     who got the first of them wrong, and when (0: it did not happen)
    sender, first, count  the messages
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.trace.verdict import EXAMPLES_MAX, Property

FINDING_TYPES = {
    "scope": "int",
    "what": "int",
    "process": "int",
    "position": "bigint",
    "sender": "int",
    "first": "bigint",
    "count": "bigint",
}
FINDING_COLUMNS = list(FINDING_TYPES)
FINDING_SCHEMA = ", ".join(f"{name} {sql_type}" for name, sql_type in FINDING_TYPES.items())


class What(IntEnum):
    """The ways in which a delivery can be wrong."""

    NOT_FIFO = 1
    NOT_CAUSAL = 2
    MULTICAST_AGAIN = 3
    DELIVERED_AGAIN = 4
    NOT_MULTICAST = 5
    IN_DOUBT = 6
    """Not multicast as far as the sender's record goes, but that may end early."""
    TOO_EARLY = 7
    """Delivered by the sender itself before it was multicast."""
    NOT_DELIVERED = 8
    OTHER_MEMBERS = 9
    """A view with other members than elsewhere."""
    OUT_OF_TURN = 10
    """A view whose number does not follow that of the view before."""
    NOT_LISTED = 11
    """A view without the process that installed it."""
    MULTICAST_ASTRAY = 12
    """In another view than that of the message."""
    DELIVERED_ASTRAY = 13
    NOT_ATOMIC = 14
    """Delivered by another that went on to the next view, too."""
    ORPHAN = 15
    """Delivered, but something before it never."""
    OWN_MISSING = 16
    STALLED = 17
    """Never delivered, though its sender is there to the end."""
    NOT_TOTAL = 18
    """Delivered before what another process delivered first."""
    NOT_TOTAL_CAUSAL = 19
    NOT_UNIFORM = 20
    """Delivered by anybody, but not here."""


PROPERTY_OF = {
    What.NOT_FIFO: Property.FIFO,
    What.NOT_CAUSAL: Property.CAUSAL,
    What.MULTICAST_AGAIN: Property.NO_DUPLICATE,
    What.DELIVERED_AGAIN: Property.NO_DUPLICATE,
    What.NOT_MULTICAST: Property.NO_CREATION,
    What.IN_DOUBT: Property.NO_CREATION,
    What.TOO_EARLY: Property.NO_CREATION,
    What.NOT_DELIVERED: Property.AGREEMENT,
    What.OTHER_MEMBERS: Property.VIEWS,
    What.OUT_OF_TURN: Property.VIEWS,
    What.NOT_LISTED: Property.VIEWS,
    What.MULTICAST_ASTRAY: Property.SENDING_VIEW,
    What.DELIVERED_ASTRAY: Property.SENDING_VIEW,
    What.NOT_ATOMIC: Property.VIEW_ATOMIC,
    What.ORPHAN: Property.NO_ORPHAN,
    What.OWN_MISSING: Property.SELF_DELIVERY,
    What.STALLED: Property.LIVENESS,
    What.NOT_TOTAL: Property.TOTAL,
    What.NOT_TOTAL_CAUSAL: Property.TOTAL_CAUSAL,
    What.NOT_UNIFORM: Property.UNIFORM,
}

NOT_DONE = (
    What.NOT_DELIVERED,
    What.NOT_ATOMIC,
    What.OWN_MISSING,
    What.STALLED,
    What.NOT_UNIFORM,
)
"""What did not happen has no position."""


class Finding(NamedTuple):
    """One message that one process got wrong."""

    process: int
    position: int
    sender: int
    number: int
    scope: int
    what: What


@dataclass(slots=True)
class Findings:
    """All that is wrong in one way in one scope."""

    scope: int
    what: What
    count: int
    senders: list[int]
    examples: list[Finding]


def together(tables: Iterable[DataFrame]) -> DataFrame:
    """Return the findings of several properties as one table."""
    return reduce(DataFrame.unionByName, tables).select(FINDING_COLUMNS)


def totals(findings: DataFrame) -> DataFrame:
    """Count the findings of each scope and kind; keep the smallest as examples."""
    order = F.struct("process", "position", "sender", "first")
    example = F.struct("process", "position", "sender", "first", "count")
    return (
        findings.groupBy("scope", "what")
        .agg(
            F.sum("count").alias("count"),
            F.collect_set("sender").alias("senders"),
            F.min_by(example, order, EXAMPLES_MAX).alias("examples"),
        )
        .select("scope", "what", "count", "senders", "examples")
    )


def collected(of_totals: DataFrame) -> list[Findings]:
    """Bring the totals to the driver, the examples message by message."""
    rows = of_totals.toArrow().to_pylist()
    return [
        Findings(
            row["scope"],
            What(row["what"]),
            row["count"],
            sorted(row["senders"]),
            _singles(row["scope"], What(row["what"]), row["examples"]),
        )
        for row in rows
    ]


def _singles(scope: int, what: What, runs: list[dict[str, int]]) -> list[Finding]:
    """Return the smallest single messages of these runs."""
    moves = what not in NOT_DONE
    singles = [
        Finding(
            process=run["process"],
            position=run["position"] + place * moves,
            sender=run["sender"],
            number=run["first"] + place,
            scope=scope,
            what=what,
        )
        for run in runs
        for place in range(min(run["count"], EXAMPLES_MAX))
    ]
    return sorted(singles)[:EXAMPLES_MAX]
