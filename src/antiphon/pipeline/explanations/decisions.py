"""Wrong decisions, explained with the lines of the trace.

Law: as in ``explain``; votes and decisions say themselves where they are recorded.
"""

from antiphon.pipeline.checks.commit import BallotRow, WrongDecision
from antiphon.pipeline.ingest.ballots import Ballot
from antiphon.pipeline.survey.scopes import Survey
from antiphon.trace import words
from antiphon.trace.explanations import BallotEvent, explain_decision
from antiphon.trace.verdict import Link, Violation

_VOTES = (Ballot.NO, Ballot.YES)


def explain_wrong_decision(survey: Survey, files: list[str], wrong: WrongDecision) -> Violation:
    """Explain a decision that contradicts a vote, or another decision."""

    def link(row: BallotRow, text: str) -> Link:
        index = survey.row_index(wrong.run, row.process, row.position)
        return Link(row.process, index, text, files[row.segment], row.line)

    transaction = words.transaction(wrong.initiator, wrong.number)
    explanation = explain_decision(
        transaction, wrong.group, _event(wrong.decision), _event(wrong.reason)
    )
    return explanation.written(wrong.run, link)


def _event(row: BallotRow) -> BallotEvent[BallotRow]:
    return BallotEvent(row.process, row.what in _VOTES, row.what.detail, row)
