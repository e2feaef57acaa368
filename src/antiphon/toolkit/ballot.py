"""A ballot: one open transaction, who takes part in it, and how they voted so far.

Law: a vote is cast once and never taken back, and it counts whatever becomes of its voter.
"""

from collections.abc import Container
from dataclasses import dataclass, field

from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.toolkit.commit_messages import Open, Transaction, Vote


@dataclass(slots=True)
class Ballot:
    """An open transaction, as one process knows it."""

    participants: tuple[ProcessId, ...]
    since_us: int
    """When it became known here."""
    lacks: str = ""
    """Who is needed, and takes no part."""
    votes: dict[ProcessId, Vote] = field(default_factory=dict)
    has_voted: bool = False
    """Whether this process has voted; its vote may be on its way still."""
    is_said: bool = False
    """Whether this process, as coordinator, has multicast a decision."""

    @property
    def is_unanimous(self) -> bool:
        """Whether everybody has voted yes."""
        votes = self.votes
        return all(who in votes and votes[who].is_yes for who in self.participants)

    def obstacle(self, members: Container[ProcessId], now_us: int, vote_us_max: int) -> str | None:
        """Return what forbids to commit, "" if nothing does, None if that is still open."""
        if self.lacks:
            return f"{self.lacks} is needed, and is not in the group"
        missing: ProcessId | None = None
        for who in self.participants:
            vote = self.votes.get(who)
            if vote is None and who not in members:
                return f"{who} was gone before it voted"
            if vote is None:
                missing = missing or who
            elif not vote.is_yes:
                return f"{who} refused: {vote.why}"
        if missing is None:
            return ""
        if now_us - self.since_us >= vote_us_max:
            return f"{missing} did not vote within {vote_us_max / 1e6:g} s"
        return None

    def told(self, transaction: Transaction) -> Open:
        """Return what to tell those who join."""
        votes = tuple(
            (place, vote.is_yes, vote.why)
            for place, who in enumerate(self.participants)
            if (vote := self.votes.get(who)) is not None
        )
        assert len(votes) == len(self.votes), "only participants vote"
        return Open(transaction, self.participants, votes, self.lacks)


def ballot_of(told: Open, now_us: int) -> Ballot:
    """Return a ballot as another process knows it."""
    if any(place >= len(told.participants) for place, _, _ in told.votes):
        message = f"a vote on {told.transaction} is of no participant"
        raise PeerError(message)
    votes = {
        told.participants[place]: Vote(told.transaction, is_yes, why)
        for place, is_yes, why in told.votes
    }
    return Ballot(told.participants, now_us, told.lacks, votes)
