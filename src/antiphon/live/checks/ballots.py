"""Transactions, as they are voted on and decided: one decision, and none against a vote.

Law: the definition of docs/properties.md. A transaction is forgotten once everybody in the group
has decided it: whoever decides has voted, or will not. Cost: the ballots of those that are open.
"""

from collections.abc import Callable, Iterator

from antiphon.core.views import lineage_of
from antiphon.live.memory.record import Ballot, GroupRecord, Key, OpenTransaction, RunMemory
from antiphon.live.memory.remembered import Place
from antiphon.live.stories import Teller
from antiphon.trace import words
from antiphon.trace.explanations import Explanation, explain_decision
from antiphon.trace.schema import COMMIT, NO

BALLOTS_MAX = 10_000
"""Transactions of a group that are remembered."""

Wrong = tuple[Key, Callable[[Teller], Explanation[Place]]]


def take_ballot(memory: RunMemory, group: int, sender: int, number: int, ballot: Ballot) -> None:
    """Take a `vote` or `decide` row."""
    about = memory.groups[group]
    if any(one.process == ballot.process and one.view == ballot.view for one in about.takeovers):
        return  # of neither lineage: what it knew alone when it took over
    key = f"{lineage_of(ballot.view)}/{number}/{memory.name_of(sender)}"
    transaction = about.transactions.setdefault(key, OpenTransaction(group, sender, number))
    transaction.ballots.append(ballot)


def leave_out(memory: RunMemory, group: int, process: int, view: int) -> None:
    """Forget what a process voted and decided in a view that it left by taking over."""
    for transaction in memory.groups[group].transactions.values():
        transaction.ballots = [
            ballot
            for ballot in transaction.ballots
            if (ballot.process, ballot.view) != (process, view)
        ]


def wrong_decisions(memory: RunMemory, transaction: OpenTransaction) -> Iterator[Wrong]:
    """Yield the decisions that contradict a vote, or the first decision by name."""
    ballots = sorted(
        transaction.ballots, key=lambda each: (memory.name_of(each.process), each.place[3])
    )
    refusal = next((each for each in ballots if each.is_vote and each.says == NO), None)
    decisions = [each for each in ballots if not each.is_vote]
    for decision in decisions:
        if decision.says == COMMIT and refusal is not None:
            reason = refusal
        elif decision.says != decisions[0].says:
            reason = decisions[0]
        else:
            continue
        key = (memory.name_of(decision.process), decision.place[3], 0)
        yield key, _telling(memory, transaction, decision, reason)


def finished(about: GroupRecord, members: set[int]) -> list[str]:
    """Return the transactions that need not be remembered any more: all members decided them."""
    done = [
        key
        for key, transaction in about.transactions.items()
        if members and members <= {each.process for each in transaction.ballots if not each.is_vote}
    ]
    too_many = len(about.transactions) - len(done) - BALLOTS_MAX
    if too_many > 0:
        done += [key for key in about.transactions if key not in set(done)][:too_many]
    return done


def _telling(
    memory: RunMemory, transaction: OpenTransaction, decision: Ballot, reason: Ballot
) -> Callable[[Teller], Explanation[Place]]:
    def tell(teller: Teller) -> Explanation[Place]:
        name = words.transaction(memory.name_of(transaction.sender), transaction.number)
        group = memory.groups[transaction.group].name
        one = teller.ballot(decision.process, decision.says, decision.place, is_vote=False)
        two = teller.ballot(reason.process, reason.says, reason.place, is_vote=reason.is_vote)
        return explain_decision(name, group, one, two)

    return tell
