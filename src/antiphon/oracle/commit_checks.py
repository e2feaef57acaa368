"""What the oracle asks of transactions: one decision, and none to commit what was refused.

Law: the definition of docs/properties.md (Uniform 5.1): no two processes decide a transaction
differently, those that crashed included, and nobody commits what anybody voted against. Judged
by the `vote` and `decide` rows alone, whatever the view; each lineage by itself. Cost: O(rows).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from antiphon.core.views import lineage_of
from antiphon.oracle.event_graph import Entry, History
from antiphon.oracle.explain import explain_decision
from antiphon.oracle.findings import Finding, concluded
from antiphon.trace import words
from antiphon.trace.schema import COMMIT, NO
from antiphon.trace.verdict import Property, PropertyVerdict, unknown


@dataclass(slots=True)
class _Transaction:
    """What became of one transaction; rows by process name, then in local order."""

    ballot_count: int = 0
    refusals: list[Entry] = field(default_factory=list)
    decisions: list[Entry] = field(default_factory=list)


def judge_commit(history: History) -> PropertyVerdict:
    """Judge whether each transaction was decided in one way, and not against a vote."""
    findings: list[Finding] = []
    is_decided = is_tested = False
    for transaction in _transactions(history).values():
        is_decided |= bool(transaction.decisions)
        is_tested |= bool(transaction.decisions) and transaction.ballot_count > 1
        for decision in transaction.decisions:
            reason = _fault(transaction, decision)
            if reason is not None:
                key = (decision.event.process, (decision.place, 0, decision.run))
                findings.append((key, partial(explain_decision, reason, decision)))
    if not is_decided:
        return unknown(Property.COMMIT, words.NO_DECISION)
    untested = "" if is_tested else words.NO_SECOND_BALLOT
    return concluded(Property.COMMIT, findings, untested=untested)


def _transactions(history: History) -> dict[tuple[str, str, int, str, int], _Transaction]:
    """Return all transactions, by run, group, lineage, who began them, and number."""
    found: dict[tuple[str, str, int, str, int], _Transaction] = {}
    for entry in _ballots(history):
        row = entry.event
        if row.process in history.takeovers.get((entry.run, row.group, row.view), {}):
            continue  # of neither lineage: what it knew alone when it took over
        key = (entry.run, row.group, lineage_of(row.view), row.sender, row.first)
        transaction = found.setdefault(key, _Transaction())
        transaction.ballot_count += 1
        if row.kind == "decide":
            transaction.decisions.append(entry)
        elif row.detail == NO:
            transaction.refusals.append(entry)
    return found


def _ballots(history: History) -> Iterator[Entry]:
    for record in history.records.values():
        for entry in record:
            if entry.event.kind in {"vote", "decide"}:
                yield entry


def _fault(transaction: _Transaction, decision: Entry) -> Entry | None:
    """Return the row that a decision contradicts: a vote against it, or the first decision."""
    if decision.event.detail == COMMIT and transaction.refusals:
        return transaction.refusals[0]
    reference = transaction.decisions[0]
    return reference if reference.event.detail != decision.event.detail else None
