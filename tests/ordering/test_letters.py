"""Letters, causal messages to one member (ISIS 7.2), and the schedules of erratum 000-24.

Law: a table of processes, moved by hand; causality over multicasts and letters together is judged
by the rows alone.
"""

import pytest
from tests.membership.hands import A, B, C, D, X, view_of
from tests.mutants.planted import MUTANTS, planted
from tests.ordering.table import CAUSAL, FIFO, TOTAL, Table

from antiphon.core.control import LetterAsked, LetterTaken
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Letter, Order, Stamp
from antiphon.membership.effects import SendControl
from antiphon.ordering.letters import Letters

EVERYBODY = (A, B, C)


def with_bug(name: str) -> object:
    """Plant a bug for a while."""
    return planted(next(mutant for mutant in MUTANTS if mutant.name == name))


def outcome(table: Table) -> tuple[list[str], dict[str, int]]:
    """Let everything come to an end; return what was broken and what is held."""
    table.settle()
    return table.judge(), table.held


def test_letter_is_delivered_to_its_addressee_alone() -> None:
    """It is in nobody's numbers, and its cost is two messages whatever the size of the group."""
    table = Table(5)
    table.write(A, B)
    assert sum(map(len, table.channels.values())) == 1
    table.settle()
    assert [table.order(who) for who in table.people] == [[], ["a->b"], [], [], []]
    table.say(A)
    assert outcome(table) == ([], {})


def test_sender_starts_nothing_until_the_letter_is_acknowledged() -> None:
    """No multicast and no letter to anybody else; letters to the same member may follow."""
    table = Table(3)
    table.write(A, B)
    machine = table.seats[A].machine
    assert not machine.may_multicast
    assert machine.may_send(B)
    assert not machine.may_send(C)
    with pytest.raises(UsageError):
        table.say(A)
    with pytest.raises(UsageError, match="cannot go out now"):
        table.write(A, C)
    table.write(A, B)
    table.arrive(A, B)
    table.acknowledge(B)
    table.arrive(B, A)
    assert not machine.may_multicast, "one of the two is still on its way"
    table.arrive(A, B)
    table.acknowledge(B)
    table.arrive(B, A)
    assert machine.may_multicast
    assert outcome(table) == ([], {})


@pytest.mark.parametrize("to", [A, X, ProcessId("b", 2)])
def test_letter_to_nobody_in_the_view_is_refused(to: ProcessId) -> None:
    """Not to oneself, not to strangers, not to another incarnation of a member."""
    table = Table(3)
    with pytest.raises(UsageError, match="must be another member of the view"):
        table.write(A, to)
    assert table.seats[A].machine.may_multicast


def news_by_a_second_letter() -> list[str]:
    """000-24, first schedule: p writes to q, then to r, which multicasts."""
    table = Table(3)
    table.write(A, B)
    machine = table.seats[A].machine
    if machine.may_send(C):
        table.write(A, C)
        table.arrive(A, C)
    table.say(C)
    table.arrive(C, B)
    return outcome(table)[0]


def test_letter_to_another_waits_too() -> None:
    """000-24: as printed only multicasts wait, and r's news overtakes the letter to q."""
    assert news_by_a_second_letter() == []
    with with_bug("letter to another does not wait"):  # type: ignore[attr-defined]
        assert news_by_a_second_letter() == ["letters"]


def letter_dies_with_its_sender() -> list[str]:
    """P writes to q and multicasts; that reaches r, and p dies before anything reaches q."""
    table = Table(4)
    table.write(D, B)
    if table.seats[D].machine.may_multicast:
        table.say(D)
        table.arrive(D, C)
    table.crash(D)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), *EVERYBODY)
    return outcome(table)[0]


def test_multicast_waits_for_the_acknowledgement() -> None:
    """ISIS 7.2: else a multicast may survive its sender, and the letter before it not."""
    assert letter_dies_with_its_sender() == []
    with with_bug("sender of a letter goes on multicasting"):  # type: ignore[attr-defined]
        assert letter_dies_with_its_sender() == ["letters"]


def test_letter_and_multicast_that_are_both_held_leave_in_order_of_receipt() -> None:
    """000-24, second schedule: x and m wait for the same w at q, and x came first."""
    table = Table(4)
    table.say(D)
    table.arrive(D, A)
    table.write(A, B)
    table.arrive(A, B)
    table.acknowledge(B)
    table.arrive(B, A)
    table.say(A)
    table.arrive(A, B)
    assert table.order(B) == []
    table.arrive(D, B)
    assert table.order(B) == ["d1", "a->b", "a1"]
    assert outcome(table) == ([], {})


def letter_after_what_its_sender_delivered() -> list[str]:
    """P delivers w and writes to q, which w has not reached."""
    table = Table(3)
    table.say(C)
    table.arrive(C, A)
    table.write(A, B)
    table.arrive(A, B)
    return outcome(table)[0]


def test_letter_waits_for_what_its_sender_had_delivered() -> None:
    """Its stamp is that of its sender's next multicast."""
    assert letter_after_what_its_sender_delivered() == []
    with with_bug("letter has no stamp"):  # type: ignore[attr-defined]
        assert letter_after_what_its_sender_delivered() == ["letters"]


@pytest.mark.parametrize("order", [CAUSAL, TOTAL])
def test_letter_waits_for_what_its_sender_had_multicast(order: Order) -> None:
    """Also for a total message that has no turn yet, at its sender either."""
    table = Table(3)
    table.say(B, order)
    table.write(B, C)
    table.arrive(B, C, count=2)
    assert table.order(C) == ([] if order is TOTAL else ["b1", "b->c"])
    assert outcome(table) == ([], {})
    assert table.order(C) == ["b1", "b->c"]


@pytest.mark.parametrize("order", [CAUSAL, TOTAL, FIFO])
def test_multicast_after_a_letter_carries_no_news_past_it(order: Order) -> None:
    """Whatever its order: the letter is held for w, which neither q nor r has."""
    table = Table(4)
    table.say(D)
    table.arrive(D, A)
    table.write(A, B)
    table.arrive(A, B)
    table.acknowledge(B)
    table.arrive(B, A)
    table.say(A, order)
    table.arrive(A, C)
    table.arrive(A, B)
    table.say(C)
    table.arrive(C, B)
    assert outcome(table) == ([], {})


def test_view_without_the_addressee_sets_its_sender_free() -> None:
    """Nobody waits for the dead."""
    table = Table(3)
    table.write(A, C)
    table.crash(C)
    table.learn(view_of(A, B, number=2, failed=(C,)), A, B)
    table.settle()
    assert table.seats[A].machine.may_multicast
    table.say(A)
    assert outcome(table) == ([], {})


def test_letter_that_comes_after_its_view_has_ended_is_delivered() -> None:
    """Nothing lacks any more: the flush has brought its past."""
    table = Table(4)
    table.say(D)
    table.arrive(D, A)
    table.write(A, B)
    table.crash(D)
    letter = table.channels[A, B].popleft()
    table.learn(view_of(A, B, C, number=2, failed=(D,)), *EVERYBODY)
    while any(table.channels.values()):
        for (source, target), channel in table.channels.items():
            table.arrive(source, target, count=len(channel))
    table.channels[A, B].append(letter)
    assert outcome(table) == ([], {})
    assert table.order(B) == ["d1", "a->b"]


def test_reply_is_acknowledged_when_its_sender_asks() -> None:
    """Answers to calls are acknowledged with the next thing, or on demand."""
    table = Table(2)
    machine = table.seats[A].machine
    table._do(A, machine.send_letter(B, b"", PORT_CALLS))
    table.arrive(A, B)
    other = table.seats[B].machine
    assert not other.letters.is_due
    assert other.letters.unacknowledged
    (asked,) = machine.request_acknowledgement()
    assert isinstance(asked, SendControl)
    assert asked.message == LetterAsked()
    assert machine.request_acknowledgement() == [], "once is enough"
    table._do(A, [asked])
    table.arrive(A, B)
    assert other.letters.is_due
    assert outcome(table) == ([], {})
    assert machine.may_multicast


# Counting.


def test_late_and_repeated_acknowledgements_are_harmless() -> None:
    """Only the count of all letters sent sets the sender free."""
    letters = Letters()
    letters.send(B)
    letters.send(B)
    assert not letters.hear_acknowledgement(B, 1)
    assert not letters.hear_acknowledgement(B, 0)
    assert letters.hear_acknowledgement(B, 2)
    assert not letters.hear_acknowledgement(B, 2)
    assert letters.waiting_for is None


def test_acknowledgement_of_a_letter_that_was_never_sent_is_refused() -> None:
    """The peer's fault; nothing changes."""
    letters = Letters()
    letters.send(B)
    with pytest.raises(PeerError, match="never sent"):
        letters.hear_acknowledgement(B, 2)
    assert letters.waiting_for == B
    assert not letters.hear_acknowledgement(C, 7), (
        "of somebody to whom nothing was sent it means nothing"
    )


def test_letters_of_a_joiner_are_counted_from_before_its_view() -> None:
    """What came early from who joins two views later still counts in its view."""
    letters = Letters()
    letters.receive(X, is_reply=False)
    assert letters.take_acknowledgements() == [(X, 1)]
    letters.enter(view_of(A, B))
    letters.enter(view_of(A, B, X, number=2))
    letters.receive(X, is_reply=False)
    assert letters.take_acknowledgements() == [(X, 2)]


# Hostile peers.


def letter(
    view: int = 1, sender: int = 0, *, first: int = 1, stamp: Stamp = (), group: int = 0
) -> Letter:
    """Return a letter as a peer may forge it."""
    return Letter(
        GroupNumber(group), ViewNumber(view), Rank(sender), first, Order.CAUSAL, stamp, [b"!"]
    )


@pytest.mark.parametrize(
    ("peer", "forged"),
    [
        (A, letter(1, 2)),  # in the name of another
        (A, letter(1, 1)),  # in the name of the receiver
        (A, letter(1, 77)),  # in nobody's name
        (X, letter(1, 0)),  # of a stranger
        (A, letter(1, 0, stamp=((9, 1),))),  # after messages of nobody
        (A, letter(1, 0, stamp=((1, 1),))),  # after what the receiver never multicast
        (A, letter(1, 0, group=7)),  # to another group
        (A, letter(0, 0)),  # of a view that never was
        (A, letter(0, 77)),
        (X, letter(0, 0)),
        (B, letter(1, 1)),  # of who claims to be the receiver
        (B, letter(0, 1)),
    ],
)
def test_forged_letter_is_refused_or_dropped(peer: ProcessId, forged: Letter) -> None:
    """Nothing is delivered, nothing breaks, and letters of correct members still come."""
    table = Table(3)
    machine = table.seats[B].machine
    try:
        effects = machine.take_letter(peer, forged, 0)
    except PeerError:
        effects = machine.take_effects()
    assert not any(type(effect).__name__ == "DeliverRuns" for effect in effects)
    table.write(A, B)
    assert outcome(table) == ([], {})
    assert table.order(B) == ["a->b"]
    assert table.seats[A].machine.may_multicast


def test_forged_acknowledgements_change_nothing() -> None:
    """Of strangers, of others, and of too much."""
    table = Table(3)
    table.write(A, B)
    machine = table.seats[A].machine
    machine.take_control(C, LetterTaken(1), 0)
    machine.take_control(X, LetterTaken(1), 0)
    machine.take_control(C, LetterAsked(), 0)
    with pytest.raises(PeerError, match="never sent"):
        machine.take_control(B, LetterTaken(2**62), 0)
    assert not machine.may_multicast
    assert outcome(table) == ([], {})


def test_letter_carries_its_port() -> None:
    """Letters of services and of the application go the same way."""
    table = Table(2)
    (effect,) = table.seats[A].machine.send_letter(B, b"x", 2)
    assert effect.letter.port == 2  # type: ignore[union-attr]
    assert PORT_APPLICATION == 0


def test_slow_reader_withholds_what_its_application_has_to_take_and_nothing_else() -> None:
    """A reply is taken when it comes, so its sender need not wait for anybody who reads slowly."""
    letters = Letters()
    letters.receive(A, is_reply=True)
    letters.receive(B, is_reply=False)
    letters.receive(B, is_reply=True)
    assert letters.may_acknowledge(withhold=True)
    assert letters.take_acknowledgements(withhold=True) == [(A, 1)]
    assert not letters.may_acknowledge(withhold=True)
    assert letters.may_acknowledge(withhold=False)
    assert letters.take_acknowledgements() == [(B, 2)]
    assert not letters.unacknowledged
    assert not letters.is_due
