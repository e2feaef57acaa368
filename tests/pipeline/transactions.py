"""Transactions for random traces: who voted how, and decided what.

Law: as they come from ``ballots``, all is right: who decides, decides the same, and nobody commits
what was refused. Some vote late, or not at all, and some never learn the decision.
"""

from random import Random

from antiphon.trace.schema import ABORT, COMMIT, NO, YES, Event


def ballots(
    group: str, names: list[str], dice: Random, view: int = 1, since: int = 1
) -> list[Event]:
    """Return the votes and decisions of some transactions, numbered from ``since``."""
    rows: list[Event] = []
    for number in range(since, since + dice.choice([0, 0, 0, 1, 1, 2])):
        initiator = dice.choice(names)
        voters = [name for name in names if dice.random() < 0.9]
        refused = [name for name in voters if dice.random() < 0.15]
        decision = ABORT if refused or dice.random() < 0.3 else COMMIT
        said = [("vote", name, NO if name in refused else YES) for name in voters]
        said += [("decide", name, decision) for name in names if dice.random() < 0.9]
        rows += [
            Event(
                process=name, kind="vote" if kind == "vote" else "decide", group=group, view=view,
                sender=initiator, first=number, detail=detail,
            )
            for kind, name, detail in said
        ]  # fmt: skip
    return rows
