"""What machines do becomes rows that the reader takes."""

from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.trace.rows import Rows
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import Event


def rows_of_bob() -> tuple[Rows, list[Event]]:
    """Return a writer of rows, in a view of alice and bob, and what it has written."""
    events: list[Event] = []
    rows = Rows("bob", "g", events.append)
    members = (ProcessId("alice"), ProcessId("bob"))
    rows.view(0, View(GroupName("g"), ViewNumber(3), members))
    events.clear()
    return rows, events


def test_runs_say_what_was_asked_for() -> None:
    """Order and uniform delivery are in the row, whatever happened to the run."""
    rows, events = rows_of_bob()
    run = Run(
        GroupNumber(1), ViewNumber(3), Rank(0), 5, Order.TOTAL, (), [b"x", b"yz"], uniform=True
    )
    rows.run(7, "deliver", run, 0)
    assert events == [
        Event(
            process="bob", time_us=7, kind="deliver", group="g", view=3, sender="alice", first=5,
            count=2, order="total", uniform=True, bytes=3,
        )
    ]  # fmt: skip


def test_view_rows_name_the_domain_and_what_it_stands() -> None:
    """Only they do: a verifier needs it once per group."""
    events: list[Event] = []
    rows = Rows("bob", "g", events.append, domain="d", resilience=2)
    rows.view(0, View(GroupName("g"), ViewNumber(1), (ProcessId("bob"),)))
    rows.run(
        1, "multicast", Run(GroupNumber(1), ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), [b""]), 0
    )
    assert [(row.kind, row.domain, row.resilience) for row in events] == [
        ("view", "d", 2), ("multicast", "", 0),
    ]  # fmt: skip


def test_votes_and_decisions_name_their_transaction() -> None:
    """Who began it, its number there, and what was said."""
    rows, events = rows_of_bob()
    for is_it in (True, False):
        rows.vote(1, "alice~2", 4, is_yes=is_it)
        rows.decide(2, "alice~2", 4, is_commit=is_it)
    assert [(row.kind, row.detail) for row in events] == [
        ("vote", "yes"), ("decide", "commit"), ("vote", "no"), ("decide", "abort"),
    ]  # fmt: skip
    assert {(row.group, row.view, row.sender, row.first) for row in events} == {
        ("g", 3, "alice~2", 4)
    }
    assert [problem_of(row) for row in events] == [None] * 4


def test_letters_name_sender_number_and_addressee() -> None:
    """A letter sent by bob is bob's; one taken is its sender's."""
    rows, events = rows_of_bob()
    rows.send_letter(1, "alice", 9, 12)
    rows.take_letter(2, "alice", 3, 5)
    sent, taken = events
    assert (sent.kind, sent.sender, sent.first, sent.detail, sent.bytes) == (
        "send", "bob", 9, "alice", 12,
    )  # fmt: skip
    assert (taken.kind, taken.sender, taken.first, taken.bytes) == ("take", "alice", 3, 5)
    assert [problem_of(row) for row in events] == [None] * 2
