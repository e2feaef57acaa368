"""Distributed commit, step by step: who is asked, who decides, what joiners know."""

from collections import deque
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import BackPressureError, PeerError, UsageError
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.toolkit.commit import (
    DECISIONS_MAX,
    OPEN_MAX,
    AskVote,
    Commit,
    Decided,
    Effect,
    KnowPast,
    Multicast,
    Outcome,
)
from antiphon.toolkit.commit_messages import (
    WHY_LENGTH_MAX,
    Begin,
    Decision,
    Lack,
    Message,
    Open,
    State,
    Transaction,
    Vote,
    decode,
    encode,
    parse_transaction,
)

A, B, C, D = (ProcessId(name) for name in "abcd")
T = Transaction("a", 1)


def view(number: int, *members: ProcessId, joined: tuple[ProcessId, ...] = ()) -> View:
    """Return a view."""
    return View(GroupName("g"), ViewNumber(number), members, joined=joined)


class Group:
    """Machines whose multicasts reach all members at once, in one order."""

    def __init__(self, *members: ProcessId) -> None:
        """Found a group."""
        self.machines = {me: Commit(me) for me in members}
        self.votes: dict[ProcessId, bool] = {}
        self.mail: deque[tuple[ProcessId, bytes]] = deque()
        self.uniform: list[bytes] = []
        self.decided: dict[ProcessId, Decided] = {}
        self.asked: list[tuple[ProcessId, bytes]] = []
        self.enter(view(1, *members))

    def enter(self, new: View) -> None:
        """Let everybody enter a view."""
        for me in new.members:
            machine = self.machines.setdefault(me, Commit(me))
            self.do(me, machine.enter(new, 0))
        self.run()

    def do(self, me: ProcessId, effects: list[Effect]) -> None:
        """Do what a machine returned."""
        for effect in effects:
            match effect:
                case Multicast(payload, is_uniform):
                    self.mail.append((me, payload))
                    self.uniform += [payload] * is_uniform
                case AskVote(transaction, body):
                    self.asked.append((me, body))
                    if me in self.votes:
                        self.do(me, self.machines[me].vote(transaction, is_yes=self.votes[me]))
                case Decided():
                    self.decided[me] = effect
                case KnowPast():
                    pass

    def run(self) -> None:
        """Deliver until nothing is under way."""
        while self.mail:
            sender, payload = self.mail.popleft()
            for me, machine in self.machines.items():
                self.do(me, machine.deliver(sender, payload, 0))

    def begin(
        self, me: ProcessId, body: bytes = b"body", needs: tuple[str, ...] = ()
    ) -> Transaction:
        """Begin a transaction."""
        transaction, effects = self.machines[me].begin(body, needs)
        self.do(me, effects)
        self.run()
        return transaction


def test_transaction_all_agree_to_is_committed_by_all() -> None:
    """Everybody is asked with the body, and votes yes; beginning and decision are uniform."""
    group = Group(A, B, C)
    group.votes = {A: True, B: True, C: True}
    transaction = group.begin(B, b"pay")
    assert group.asked == [(A, b"pay"), (B, b"pay"), (C, b"pay")]
    assert [type(decode(payload)) for payload in group.uniform] == [Begin, Decision]
    assert {me: one.outcome for me, one in group.decided.items()} == dict.fromkeys(
        (A, B, C), Outcome.COMMIT
    )
    assert group.machines[C].recall(transaction) is Outcome.COMMIT
    assert not group.machines[C].is_open(transaction)


def test_one_refusal_aborts_and_says_why() -> None:
    """A participant's no is everybody's, with its reason; the others are not waited for."""
    group = Group(A, B, C)
    transaction = group.begin(A)
    group.do(C, group.machines[C].vote(transaction, is_yes=False, why="no money"))
    group.run()
    assert group.decided[B] == Decided(transaction, Outcome.ABORT, "c refused: no money")
    assert group.machines[A].vote(transaction, is_yes=True) == [], "too late, and no harm"


def test_vote_that_does_not_come_aborts_after_the_deadline() -> None:
    """The coordinator waits so long and no longer; the others do not act on the time."""
    group = Group(A, B, C)
    group.votes = {A: True, B: True}
    group.begin(B)
    group.do(B, group.machines[B].tick(10**9))
    group.do(A, group.machines[A].tick(4_999_999))
    group.run()
    assert not group.decided
    group.do(A, group.machines[A].tick(5_000_000))
    group.run()
    assert group.decided[C].why == "c did not vote within 5 s"


def test_participant_gone_without_a_vote_aborts() -> None:
    """The view that says it is gone is enough."""
    group = Group(A, B, C)
    group.votes = {A: True, B: True}
    group.begin(A)
    del group.machines[C]
    group.enter(view(2, A, B))
    assert group.decided[B].why == "c was gone before it voted"


def test_participant_gone_after_its_vote_still_counts() -> None:
    """A yes outlives its voter, at a new coordinator too."""
    group = Group(A, B, C)
    group.votes = {A: True, C: True}
    transaction = group.begin(A)
    del group.machines[A]
    group.do(B, group.machines[B].vote(transaction, is_yes=True))
    group.run()
    assert not group.decided, "the coordinator is dead"
    group.enter(view(2, B, C))
    assert {one.outcome for one in group.decided.values()} == {Outcome.COMMIT}


def test_transaction_without_whom_it_needs_is_aborted() -> None:
    """Nobody is asked, and the coordinator says who is missing; any incarnation will do."""
    group = Group(A, ProcessId("b", 2))
    group.votes = dict.fromkeys(group.machines, True)
    group.begin(A, needs=("a", "b", "c"))
    assert not group.asked
    assert group.decided[A].why == "c is needed, and is not in the group"
    group.begin(A, needs=("a", "b"))
    assert group.decided[A].outcome is Outcome.COMMIT


def test_who_was_missing_is_known_to_a_coordinator_that_joined() -> None:
    """A joiner that has to decide does not take the transaction for one that only lacks votes."""
    joiner = Commit(C)
    joiner.enter(view(2, A, C, joined=(C,)), 0)
    joiner.deliver(A, encode(State(2, (Open(T, (C,), (), "b"),), ())), 0)
    (said,) = joiner.enter(view(3, C), 0)
    assert isinstance(said, Multicast)
    assert decode(said.payload) == Decision(T, False, "b is needed, and is not in the group")


def test_joiner_learns_what_was_decided_and_what_is_open() -> None:
    """A joiner takes no part in what was begun before, but knows, and can decide it."""
    group = Group(A, B)
    group.votes = {A: True, B: True}
    first = group.begin(A)
    group.votes = {A: True}
    second = group.begin(A)
    group.asked.clear()
    group.enter(view(2, A, B, C, joined=(C,)))
    assert group.machines[C].knows_past
    assert group.machines[C].recall(first) is Outcome.COMMIT
    assert group.machines[C].is_open(second)
    assert not group.asked
    with pytest.raises(UsageError, match="was not asked"):
        group.machines[C].vote(second, is_yes=True)
    del group.machines[A], group.machines[B]
    group.enter(view(3, C))
    assert group.decided[C].why == "b was gone before it voted"


def test_joiner_lives_through_what_came_before_it_was_told() -> None:
    """What is delivered before the past comes is held back, and taken in order then."""
    joiner = Commit(C)
    assert joiner.enter(view(2, A, B, C, joined=(C,)), 0) == [Multicast(encode(Lack(2)))]
    assert not joiner.knows_past
    assert joiner.deliver(B, encode(Begin(1, 0, b"body")), 0) == []
    assert joiner.deliver(A, encode(Lack(2)), 0) == []
    past = State(2, (), (Decision(T, True, ""),))
    asked = joiner.deliver(A, encode(past), 0)
    assert asked == [KnowPast(), AskVote(Transaction("b", 1), b"body")]
    assert joiner.recall(T) is Outcome.COMMIT


def test_past_of_before_the_joiner_came_is_for_others() -> None:
    """A joiner waits for what is as of a view that it has been in."""
    joiner = Commit(C)
    joiner.enter(view(3, A, B, C, joined=(C,)), 0)
    assert joiner.deliver(A, encode(State(2, (), ())), 0) == []
    assert not joiner.knows_past


def test_joiners_alone_begin_with_nothing() -> None:
    """If nobody is left who knows the past, those who are there stop waiting for it."""
    group = Group(A)
    lost = group.begin(A)
    machines = {B: Commit(B), C: Commit(C)}
    for machine in machines.values():
        machine.enter(view(2, A, B, C, joined=(B, C)), 0)
        for sender in (A, B, C):
            machine.deliver(sender, encode(Lack(1)), 0)
        assert not machine.knows_past, "that was of another view"
    group.machines = machines
    group.enter(view(3, B, C))
    assert machines[B].knows_past
    assert machines[C].recall(lost) is None
    group.votes = {B: True, C: True}
    group.begin(C)
    assert group.decided[B].outcome is Outcome.COMMIT


def test_joiner_that_is_left_alone_decides_what_it_began_before_it_was_told() -> None:
    """What was begun and delivered since the coordinator came is no lost past: it is decided."""
    joiner = Commit(B)
    joiner.enter(view(2, A, B, joined=(B,)), 0)
    mine, said = joiner.begin(b"body")
    (begin,) = said
    assert isinstance(begin, Multicast)
    assert joiner.deliver(B, begin.payload, 0) == []
    (lack,) = joiner.enter(view(3, B), 0)
    assert isinstance(lack, Multicast)
    effects = joiner.deliver(B, lack.payload, 0)
    assert AskVote(mine, b"body") in effects
    decisions = [
        decode(effect.payload)
        for effect in effects
        if isinstance(effect, Multicast) and effect.is_uniform
    ]
    assert decisions == [Decision(mine, False, "a was gone before it voted")]


@pytest.mark.parametrize("joined_later", [False, True])
def test_joiners_alone_decide_what_one_of_them_began(joined_later: bool) -> None:
    """The senior one saw all that any of them saw, and tells the others, be they of its view."""
    group = Group(A)
    group.machines = {B: Commit(B), C: Commit(C)}
    second = view(2, A, B, joined=(B,)) if joined_later else view(2, A, B, C, joined=(B, C))
    begun = Transaction("b", 1)
    for me in second.members[1:]:
        group.machines[me].enter(second, 0)
    _, said = group.machines[B].begin(b"body")
    for me in second.members[1:]:
        for effect in said:
            assert isinstance(effect, Multicast)
            group.machines[me].deliver(B, effect.payload, 0)
    group.enter(view(3, B, C, joined=(C,) if joined_later else ()))
    assert group.machines[C].knows_past
    assert group.decided[B].why == "a was gone before it voted"
    assert group.machines[C].recall(begun) is Outcome.ABORT
    assert ((C, b"body") in group.asked) is not joined_later


def test_nonsense_sent_to_a_joiner_does_not_spoil_the_rest() -> None:
    """Of what was held back only the wrong message is dropped."""
    joiner = Commit(C)
    joiner.enter(view(2, A, B, C, joined=(C,)), 0)
    for number in (1, 1, 2):
        joiner.deliver(B, encode(Begin(number, 0, b"")), 0)
    effects = joiner.deliver(A, encode(State(2, (), ())), 0)
    assert [one.transaction.number for one in effects if isinstance(one, AskVote)] == [1, 2]


def founded() -> Commit:
    """Return member b of a, b, c, to which a has begun a transaction."""
    machine = Commit(B)
    machine.enter(view(1, A, B, C), 0)
    machine.deliver(A, encode(Begin(1, 0, b"")), 0)
    return machine


def test_decision_of_another_than_the_coordinator_is_refused() -> None:
    """Only the most senior member decides."""
    with pytest.raises(PeerError, match="c decides a/1/0, and is not coordinator"):
        founded().deliver(C, encode(Decision(T, False, "")), 0)


def test_commit_without_all_votes_is_refused() -> None:
    """No correct coordinator commits what this process has not agreed to."""
    machine = founded()
    with pytest.raises(PeerError, match="a commits a/1/0, on which not all have voted yes"):
        machine.deliver(A, encode(Decision(T, True, "")), 0)
    assert machine.is_open(T)


def test_vote_of_a_stranger_is_refused() -> None:
    """Who does not take part has no vote."""
    with pytest.raises(PeerError, match="d votes on a/1/0 unasked, or twice"):
        founded().deliver(D, encode(Vote(T, True, "")), 0)


def test_second_vote_is_refused() -> None:
    """Nobody changes its mind."""
    machine = founded()
    machine.deliver(C, encode(Vote(T, False, "")), 0)
    with pytest.raises(PeerError, match="unasked, or twice"):
        machine.deliver(C, encode(Vote(T, True, "")), 0)
    machine.vote(T, is_yes=True)
    with pytest.raises(UsageError, match="vote once"):
        machine.vote(T, is_yes=True)


def test_words_on_an_unknown_transaction_are_passed_over() -> None:
    """It may have ended too long ago to be remembered."""
    unknown = Transaction("c", 9)
    assert founded().deliver(C, encode(Vote(unknown, True, "")), 0) == []
    assert founded().deliver(A, encode(Decision(unknown, True, "")), 0) == []
    assert founded().vote(unknown, is_yes=True) == []


def test_transaction_begun_twice_is_refused() -> None:
    """A number is used once."""
    with pytest.raises(PeerError, match="a begins transaction a/1/0 twice"):
        founded().deliver(A, encode(Begin(1, 0, b"")), 0)


def test_flood_of_transactions_is_refused() -> None:
    """A process may have so many open and no more, by its own machine and by all others."""
    initiator, other = Commit(A), Commit(B)
    other.enter(view(1, A, B), 0)
    for _ in range(OPEN_MAX):
        _, effects = initiator.begin(b"")
        for effect in effects:
            assert isinstance(effect, Multicast)
            other.deliver(A, effect.payload, 0)
    with pytest.raises(BackPressureError, match="wait until some are decided"):
        initiator.begin(b"")
    with pytest.raises(PeerError, match="a begins ever more transactions"):
        other.deliver(A, encode(Begin(OPEN_MAX + 1, 0, b"")), 0)


def test_memory_of_decisions_is_bounded() -> None:
    """The oldest decisions are forgotten; an initiator can go on for ever."""
    group = Group(A)
    group.votes = {A: True}
    all_of_them = [group.begin(A) for _ in range(DECISIONS_MAX + 10)]
    machine = group.machines[A]
    assert machine.recall(all_of_them[9]) is None
    assert machine.recall(all_of_them[10]) is Outcome.COMMIT


def test_long_reason_is_cut() -> None:
    """A participant that explains itself at length, and oddly, is heard as far as there is room."""
    group = Group(A, B)
    transaction = group.begin(A)
    group.do(B, group.machines[B].vote(transaction, is_yes=False, why="\udcff" + "x" * 10_000))
    group.run()
    assert len(group.decided[A].why) == WHY_LENGTH_MAX


def test_state_with_a_vote_of_nobody_is_refused() -> None:
    """A joiner believes only what makes sense, and goes on waiting."""
    joiner = Commit(C)
    joiner.enter(view(2, A, C, joined=(C,)), 0)
    wrong = State(2, (Open(T, (A,), ((1, True, ""),)),), ())
    with pytest.raises(PeerError, match="a vote on a/1/0 is of no participant"):
        joiner.deliver(A, encode(wrong), 0)
    assert not joiner.knows_past
    assert joiner.deliver(A, encode(State(2, (), ())), 0) == [KnowPast()]


def test_view_without_this_process_ends_its_part() -> None:
    """A leaver's last view asks nothing of it."""
    machine = founded()
    assert machine.enter(view(2, C), 0) == []


def test_transaction_is_read_back_from_its_name() -> None:
    """What a resource has stored names the same transaction after a restart."""
    transaction = Transaction("anna~2", 17, 0xFEED)
    assert parse_transaction(str(transaction)) == transaction
    with pytest.raises(UsageError, match="names no transaction"):
        parse_transaction("anna")


@given(st.binary(max_size=200))
def test_any_bytes_raise_only_peer_errors(payload: bytes) -> None:
    """Whatever a member multicasts, it is taken or refused."""
    with suppress(PeerError):
        founded().deliver(C, payload, 0)


@pytest.mark.fuzz
def test_damaged_words_raise_only_peer_errors() -> None:
    """What was a message once is taken or refused, and the machine goes on either way."""
    state = State(2, (Open(T, (A, B, C), ((0, True, ""),), "z"),), (Decision(T, True, ""),))
    words: list[Message] = [
        Begin(2, 0, b"body", ("a",)),
        Vote(T, True, "why"),
        Decision(T, False, "x"),
        state,
        State(2, state.opened, (), 1, 2),
    ]
    random = Random(1)
    refused = 0
    for turn in range(4000):
        payload = bytearray(encode(random.choice([*words, Lack(2)])))
        for _ in range(random.randint(1, 3)):
            payload[random.randrange(len(payload))] = random.randrange(256)
        machine = founded() if turn % 2 else Commit(C)
        try:
            machine.enter(view(2, A, B, C, joined=(C,)), 0)
            machine.deliver(random.choice([A, B, C, D]), bytes(payload), 0)
            machine.enter(view(3, B, C), 0)
            machine.tick(10**9)
        except PeerError:
            refused += 1
    assert 0 < refused < 4000


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        encode(Vote(T, True, ""))[:-1],
        encode(Vote(Transaction("a" * 81, 1), True, "")),
        encode(Vote(T, True, "x" * (WHY_LENGTH_MAX + 1))),
        encode(Begin(2**62 + 1, 0, b"")),
        b"\x91" * 100_000,
    ],
    ids=["nothing", "no msgpack", "cut off", "long name", "long reason", "large", "deep"],
)
def test_forged_bytes_are_refused(payload: bytes) -> None:
    """What is out of bounds is the peer's fault."""
    with pytest.raises(PeerError, match="a message about a transaction cannot be read"):
        decode(payload)
