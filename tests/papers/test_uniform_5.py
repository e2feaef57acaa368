"""Uniform 5, general remarks: what is claimed of commit and of partitions.

5.1 Distributed commit
    all decide alike                                  ..._all_decide_alike
    one refusal, or one that is gone, aborts          ..._refusal_aborts, ..._missing_vote_aborts
    the decision is a uniform multicast               ..._decision_is_uniform
    case 1: anybody has it, so all who go on do       ..._case_1_decision_survives
    case 2: nobody has it, a new coordinator decides  ..._case_2_new_coordinator_decides
    it blocks only if membership does                 ..._blocks_only_with_membership
5.2 Network partitions
    one sequence of majority views                    ..._only_a_majority_goes_on
    a minority stops                                  ..._minority_neither_sends_nor_decides
    the protocols are resistant to partitions         ..._partitions_in_random_worlds
    uniform: received anywhere, then by the majority  ..._uniform_message_of_the_minority
"""

from tests.golden.acts import Decided
from tests.papers.play import Play, catches, findings, world

from antiphon.sim.exploration import examine


def _vote_all(play: Play, votes: dict[str, str]) -> None:
    play.do(*(f"{who} votes {vote}" for who, vote in votes.items()))


def _decisions(play: Play) -> dict[str, list[str]]:
    """Return what each process has learned of transactions."""
    found: dict[str, list[str]] = {}
    for act in play.acts:
        if isinstance(act, Decided):
            found.setdefault(act.who, []).append(act.outcome)
    return found


@catches("first vote decides")
def test_uniform_5_1_all_decide_alike() -> None:
    """All vote yes, and nobody decides before the last vote is there: then all commit."""
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"p": "yes", "q": "yes"})
    play.do("the rest happens")
    assert _decisions(play) == {}
    play.do("r votes yes", "the rest happens")
    assert _decisions(play) == {who: ["commit"] for who in "pqr"}
    assert play.broken_promises() == []


@catches("first vote decides")
def test_uniform_5_1_refusal_aborts() -> None:
    """One refuses: all abort, also those that voted yes."""
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"p": "yes", "q": "yes", "r": "no"})
    play.do("the rest happens")
    assert _decisions(play) == {who: ["abort"] for who in "pqr"}
    assert play.broken_promises() == []


@catches("who is gone counts as yes")
def test_uniform_5_1_missing_vote_aborts() -> None:
    """Who is gone without a vote may have refused."""
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"p": "yes", "q": "yes"})
    play.change_view(without="r")
    assert _decisions(play) == {who: ["abort"] for who in "pq"}


@catches("decision is multicast plainly")
def test_uniform_5_1_decision_is_uniform() -> None:
    """The coordinator decides, and does not act on it before all members have the decision."""
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"q": "yes", "r": "yes", "p": "yes"})
    play.do("q and r receive Vote from p", "p receives Vote from q and r")
    assert _decisions(play) == {}
    play.change_view(without="p")
    assert _decisions(play) == {who: ["commit"] for who in "qr"}
    assert play.broken_promises() == []


@catches("new coordinator decides again", "unmarked messages are dropped")
def test_uniform_5_1_case_1_decision_survives() -> None:
    """Coordinator p aborted for want of a vote, all have its decision, and p dies.

    The vote that was missing comes later: a coordinator that decided afresh would commit.
    """
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"p": "yes", "q": "yes"})
    play.do("the rest happens", "5000 ms pass", "q and r receive Decision from p", "q acknowledges")
    play.do("r acknowledges", "p receives Confirm from q and r")
    assert _decisions(play) == {"p": ["abort"]}
    play.do("r votes yes")
    play.change_view(without="p")
    assert _decisions(play) == {who: ["abort"] for who in "pqr"}
    assert play.broken_promises() == []


@catches("new coordinator waits for the old one")
def test_uniform_5_1_case_2_new_coordinator_decides() -> None:
    """All have voted, p dies undecided: q has the votes, and decides in view 2."""
    play = Play()
    play.do("group of p q r with transactions", "q begins pay", "the rest happens")
    _vote_all(play, {"p": "yes", "q": "yes", "r": "yes"})
    play.do("q and r receive Vote from p", "q receives Vote from r", "r receives Vote from q")
    play.change_view(without="p")
    assert _decisions(play) == {who: ["commit"] for who in "qr"}
    assert play.broken_promises() == []


@catches("new coordinator waits for the old one")
def test_uniform_5_1_blocks_only_with_membership() -> None:
    """Wherever the coordinator dies, the others decide as soon as they have a view without it."""
    steps = [
        "q votes yes", "r votes yes", "p votes yes", "p receives Vote from q",
        "p receives Vote from r", "q receives Vote and Decision from p", "q receives Vote from r",
        "r receives Vote and Decision from p", "r receives Vote from q", "q acknowledges",
        "r acknowledges", "p receives Confirm from q and r", "p acknowledges",
        "q receives Confirm from p",
    ]  # fmt: skip
    for count in range(len(steps) + 1):
        play = Play()
        play.do("group of p q r with transactions", "q begins pay", "the rest happens")
        play.do(*steps[:count])
        play.change_view(without="p")
        for who in "qr":
            if not any(step.startswith(f"{who} votes") for step in steps[:count]):
                play.do(f"{who} votes yes")
        play.do("the rest happens")
        decisions = _decisions(play)
        assert sorted({*decisions, "q", "r"}) == sorted(decisions), count
        assert len({outcome for one in decisions.values() for outcome in one}) == 1, count
        assert play.broken_promises() == [], count


@catches("new coordinator decides again", "decision is multicast plainly")
def test_uniform_5_1_commit_in_random_worlds() -> None:
    """In random worlds with transactions nobody decides otherwise than anybody else."""
    assert findings(range(40)) == []


# 5.2 Network partitions.


@catches("one member is a quorum")
def test_uniform_5_2_only_a_majority_goes_on() -> None:
    """Two sides suspect each other: the three have a view 2, the two have none."""
    play = Play()
    play.do("group of p q r s t", "p multicasts m", "all is received")
    play.do(*(f"{who} suspects {other}" for who in "pq" for other in "rst"))
    play.do(*(f"{who} suspects {other}" for who in "rst" for other in "pq"))
    for pair in [pair for pair in play.table.channels if (pair[0] in "pq") != (pair[1] in "pq")]:
        play.table.channels[pair].clear()
    for _ in range(12):
        for source, target in play.table.busy():
            if (source in "pq") == (target in "pq"):
                play.do(f"{target} receives all from {source}")
    assert [play.views(who) for who in "pqrst"] == [[1], [1], [1, 2], [1, 2], [1, 2]]


@catches("one member is a quorum")
def test_uniform_5_2_minority_neither_sends_nor_decides() -> None:
    """A process that reaches no majority is told so, and multicasts nothing."""
    play = Play()
    play.do("group of p q r s", "p multicasts m", "all is received", "s suspects p")
    assert "s is blocked: it reaches only r s" in play.do("s suspects q")
    assert play.do("s multicasts n") == ["s has to wait with it"]
    assert play.count("Prepare") == 0


@catches("any half is a quorum")
def test_uniform_5_2_partitions_in_random_worlds() -> None:
    """Partitions that come and go leave one group, and every promise kept, in many a world."""
    assert findings(range(40)) == []


@catches("unmarked messages are dropped", "unstable messages are not forwarded")
def test_uniform_5_2_uniform_message_of_the_minority() -> None:
    """p1 and p2 are cut off with a uniform message that the others have received, or not.

    If p2 delivered it, the majority did; in no schedule does the minority alone.
    """
    for cut_us in range(2_000, 6_000, 250):
        text = f"""
        founders 5
        at 2000 uniform p2 1
        at {cut_us} partition p1 p2
        at 400000 heal
        at 600000 causal p3 1
        """
        assert examine(world(text)) is None, cut_us
