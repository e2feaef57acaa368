"""What joiners are told of transactions when it does not go into one message."""

import pytest
from tests.toolkit.test_commit import A, B, C, D, T, view

from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.records import MEMBERS_MAX, PAYLOAD_BYTES_MAX
from antiphon.toolkit import commit_parts
from antiphon.toolkit.ballot import Ballot
from antiphon.toolkit.commit import (
    DECISIONS_MAX,
    OPEN_MAX,
    Commit,
    Effect,
    KnowPast,
    Multicast,
    Outcome,
)
from antiphon.toolkit.commit_messages import (
    WHY_LENGTH_MAX,
    Begin,
    Decision,
    Message,
    Open,
    State,
    Transaction,
    Vote,
    decode,
    encode,
)
from antiphon.toolkit.commit_parts import PART_BYTES, cut

LONG = "\N{MUSICAL SYMBOL G CLEF}" * WHY_LENGTH_MAX
THREE = tuple(Decision(Transaction("a", number), True, "") for number in (1, 2, 3))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one thing told in a message."""
    monkeypatch.setattr(commit_parts, "PART_BYTES", 1)


def said(effects: list[Effect]) -> list[Message]:
    """Return what is multicast, and see that it can be."""
    payloads = [one.payload for one in effects if isinstance(one, Multicast)]
    assert all(len(payload) <= PAYLOAD_BYTES_MAX for payload in payloads)
    return [decode(payload) for payload in payloads]


def knowing(me: ProcessId, *decided: Decision) -> Commit:
    """Return a member of a, b that knows of decisions, on what c began in another incarnation."""
    machine = Commit(me)
    machine.enter(view(1, A, B), 0)
    machine._decided = {one.transaction: one for one in decided}
    return machine


def test_open_transactions_of_many_members_are_told_in_parts() -> None:
    """Members that each have as much open as they may are told of, whatever the sum of it."""
    members = [ProcessId(f"{'m' * 60}{number:02}", address="h" * 40) for number in range(24)]
    teller = Commit(members[0])
    teller.enter(view(1, *members), 0)
    for member in members:
        for number in range(OPEN_MAX):  # as if all of them had begun so much
            teller._open[Transaction(str(member), number)] = Ballot(tuple(members), 0)
    joiner = Commit(D)
    joined = view(2, *members, D, joined=(D,))
    joiner.enter(joined, 0)
    parts = said(teller.enter(joined, 0))
    assert sum(len(encode(part)) for part in parts) > PAYLOAD_BYTES_MAX
    for part in parts[:-1]:
        assert joiner.deliver(members[0], encode(part), 0) == []
    assert not joiner.knows_past
    assert joiner.deliver(members[0], encode(parts[-1]), 0) == [KnowPast()]
    assert joiner.open_count == teller.open_count == 24 * OPEN_MAX


def test_part_is_small_and_the_largest_thing_goes_into_one() -> None:
    """A part is no larger than agreed, unless one thing alone is; that can be multicast still."""
    crowd = tuple(
        ProcessId(f"{'m' * 60}{number:04}", 2**31, 2**62, "\u20ac" * 128)
        for number in range(MEMBERS_MAX)
    )
    votes = tuple((place, False, LONG) for place in range(MEMBERS_MAX))
    huge = Open(T, crowd, votes, "z" * 64)
    decided = tuple(Decision(Transaction("a" * 75, n), False, LONG) for n in range(DECISIONS_MAX))
    state = State(2, (huge, huge), decided)
    parts = cut(state)
    sizes = [len(encode(part)) for part in parts]
    assert max(sizes) <= PAYLOAD_BYTES_MAX
    assert all(size <= PART_BYTES + 100 for size in sizes[2:])
    assert 8_000_000 < sum(sizes[2:]) < 9_000_000, "as DECISIONS_MAX says"
    assert [(part.place, part.part_count) for part in parts] == [
        (place, len(parts)) for place in range(len(parts))
    ]
    assert tuple(one for part in parts for one in part.opened) == state.opened
    assert tuple(one for part in parts for one in part.decided) == state.decided


@pytest.mark.usefixtures("small_parts")
def test_coordinator_that_dies_between_two_parts_is_followed_by_one_that_tells_all() -> None:
    """What the first one told is dropped, be it in the way or not; nobody knows before the end."""
    first, second, joiner = knowing(A, *THREE), knowing(B, *THREE), Commit(C)
    joined = view(2, A, B, C, joined=(C,))
    second.enter(joined, 0)
    joiner.enter(joined, 0)
    for part in said(first.enter(joined, 0))[:2]:
        assert second.deliver(A, encode(part), 0) == joiner.deliver(A, encode(part), 0) == []
    later = view(3, B, C)
    joiner.enter(later, 0)
    again = said(second.enter(later, 0))
    assert [(part.number, part.place) for part in again if isinstance(part, State)] == [
        (3, 0), (3, 1), (3, 2),
    ]  # fmt: skip
    for part in again[:2]:
        assert joiner.deliver(B, encode(part), 0) == []
    assert joiner.deliver(B, encode(again[2]), 0) == [KnowPast()]
    assert [joiner.recall(one.transaction) for one in THREE] == [Outcome.COMMIT] * 3


@pytest.mark.usefixtures("small_parts")
def test_all_are_told_once_when_all_parts_have_come() -> None:
    """Who was told, and who told, do not tell again in the next view."""
    first, second = knowing(A, *THREE), knowing(B, *THREE)
    joined = view(2, A, B, C, joined=(C,))
    second.enter(joined, 0)
    parts = said(first.enter(joined, 0))
    assert len(parts) == 3
    for part in parts:
        second.deliver(A, encode(part), 0)
    assert second.enter(view(3, B, C), 0) == []


@pytest.mark.usefixtures("small_parts")
def test_parts_that_come_in_two_views_are_one_whole() -> None:
    """What could not be sent before a view changed is as good after it, for who heard the first."""
    first, joiner, late = knowing(A, *THREE), Commit(C), Commit(D)
    joined, later = view(2, A, B, C, joined=(C,)), view(3, A, B, C, D, joined=(D,))
    joiner.enter(joined, 0)
    parts = said(first.enter(joined, 0))
    joiner.deliver(A, encode(parts[0]), 0)
    assert not joiner.knows_past
    for machine in (joiner, late):
        machine.enter(later, 0)
    for part in parts[1:]:
        assert late.deliver(A, encode(part), 0) == []
        joiner.deliver(A, encode(part), 0)
    assert joiner.knows_past
    assert not late.knows_past, "it was not there when the first part came"


@pytest.mark.parametrize(
    "between",
    [
        State(2, (), THREE[1:2], 2, 3),
        State(2, (), THREE[1:2], 1, 4),
        State(3, (), THREE[1:2], 1, 3),
    ],
    ids=["one is missing", "another count", "another view"],
)
def test_parts_that_do_not_go_together_are_not_taken(between: State) -> None:
    """What is put together was cut by one process, as of one view; the next whole is taken."""
    joiner = Commit(C)
    joiner.enter(view(2, A, B, C, joined=(C,)), 0)
    for part in (State(2, (), THREE[:1], 0, 3), between, State(2, (), THREE[2:], 2, 3)):
        assert joiner.deliver(A, encode(part), 0) == []
    assert not joiner.knows_past
    for place, one in enumerate(THREE):
        joiner.deliver(A, encode(State(2, (), (one,), place, 3)), 0)
    assert joiner.knows_past


def test_part_that_cannot_be_is_refused() -> None:
    """There is no part beyond the last one, and there is one at least."""
    joiner = Commit(C)
    joiner.enter(view(2, A, B, C, joined=(C,)), 0)
    with pytest.raises(PeerError, match="a tells part 2 of 2"):
        joiner.deliver(A, encode(State(2, (), (), 2, 2)), 0)
    with pytest.raises(PeerError, match="cannot be read"):
        decode(encode(State(2, (), (), 0, 0)))
    with pytest.raises(PeerError, match="b tells what was decided, and is not coordinator"):
        joiner.deliver(B, encode(State(2, (), (), 0, 2)), 0)


@pytest.mark.usefixtures("small_parts")
def test_what_comes_between_parts_is_lived_through_afterwards() -> None:
    """A joiner holds back what is said meanwhile, and takes it in order when it knows."""
    first, joiner = knowing(A, *THREE), Commit(C)
    joined = view(2, A, B, C, joined=(C,))
    joiner.enter(joined, 0)
    one, two, three = said(first.enter(joined, 0))
    begun = Transaction("b", 1)
    for sender, message in [(A, one), (B, Begin(1, 0, b"")), (A, two), (B, Vote(begun, True, ""))]:
        assert joiner.deliver(sender, encode(message), 0) == []
    joiner.deliver(A, encode(three), 0)
    assert joiner.is_open(begun)
    assert list(joiner._open[begun].votes) == [B]
