"""Runs as blocks, view by view: what is delivered, what is dropped, what expires, who is harmed."""

import pytest

from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import ExpiredRun, Order, Run
from antiphon.core.views import View
from antiphon.ordering.blocks.codec import encode_block
from antiphon.ordering.blocks.messages import BlockKind, BlockMessage
from antiphon.ordering.blocks.run_blocks import EARLY_MAX, RunBlocks, draw_from
from antiphon.ordering.blocks.settings import BlockSettings

GROUP = GroupNumber(0)
NAMES = [ProcessId(name) for name in ("p", "q", "r")]
P, Q, R = NAMES


def view(number: int) -> View:
    """Return a view of all three."""
    return View(GroupName("g"), ViewNumber(number), tuple(NAMES))


def members(number: int = 1, settings: BlockSettings | None = None) -> list[RunBlocks]:
    """Return the parts of three members in a view."""
    parts = [RunBlocks(GROUP, settings or BlockSettings()) for _ in NAMES]
    for rank, part in enumerate(parts):
        part.enter(view(number), Rank(rank), 0)
    return parts


def run_of(sender: int, first: int, *payloads: bytes, number: int = 1) -> Run:
    """Return a run of a member."""
    return Run(GROUP, ViewNumber(number), Rank(sender), first, Order.CAUSAL, (), list(payloads))


def said(part: RunBlocks, run: Run, **options: int) -> bytes:
    """Return the datagram by which a member sends a run."""
    part.send(run, 0, **options)
    (data,) = part.take_outgoing()
    return data


def test_run_comes_as_it_was_sent_after_its_past() -> None:
    """R has Q's answer before the question of P, and delivers it after that."""
    p, q, r = members()
    question = said(p, run_of(0, 1, b"how", b"much?"))
    (heard,) = q.take(P, question, 1)
    assert list(heard.payloads) == [b"how", b"much?"]
    assert (heard.first, heard.last, heard.sender, heard.stamp) == (1, 2, 0, ())
    answer = said(q, run_of(1, 1, b"three"))
    assert r.take(Q, answer, 2) == []
    assert [run.sender for run in r.take(P, question, 3)] == [0, 1]
    assert r.take(P, question, 4) == []


def test_what_all_have_delivered_is_told_once() -> None:
    """By its last message; nothing is, as soon as somebody is suspected."""
    p, q, r = members()
    said_first = said(p, run_of(0, 1, b"a", b"b"))
    said(p, run_of(0, 3, b"lost"))
    for part in (q, r):
        part.take(P, said_first, 0)
        assert part.take_settled() == []
    for part, member, other in ((q, Q, r), (r, R, q)):
        part.wake(60_000)
        for word in part.take_outgoing():
            p.take(member, word, 60_000)
            other.take(member, word, 60_000)
    assert p.take_settled() == [(0, 2)]
    assert p.take_settled() == []
    assert r.take_settled() == [(0, 2)]
    q.suspect(R, 60_000)
    assert q.take_settled() == []


def test_expired_run_keeps_its_numbers() -> None:
    """Who comes too late gets the numbers, and what follows them."""
    p, q, _ = members()
    first = said(p, run_of(0, 1, b"a", b"b"), lifetime_us=100)
    second = said(p, run_of(0, 3, b"c"))
    assert q.take(P, second, 0) == []
    p.wake(60_000)  # a null message after silence; what has expired, expires
    machine = p.machine
    assert machine is not None
    held = machine.buffer.get(0, 1)
    assert held is not None
    assert held.message.is_void
    tombstone = first[:1] + encode_block(held.message)
    expired, after = q.take(P, tombstone, 60_000)
    assert type(expired) is ExpiredRun
    assert (expired.first, expired.count, list(expired.payloads)) == (1, 2, [b"", b""])
    assert list(after.payloads) == [b"c"]


def test_datagram_of_another_view_is_dropped_or_kept() -> None:
    """One of the view before is dropped and counted; one of the next is taken when that begins."""
    p, q, _ = members()
    old = said(p, run_of(0, 1, b"old"))
    p.enter(view(2), Rank(0), 0)
    new = said(p, run_of(0, 1, b"new", number=2))
    assert q.take(P, new, 0) == []
    assert q.enter(view(2), Rank(1), 0) == [(P, new)]
    assert q.take(P, old, 0) == []
    assert [list(run.payloads) for run in q.take(P, new, 0)] == [[b"new"]]
    assert q.counts == {"of no open view": 1}


def test_early_datagrams_are_bounded() -> None:
    """What does not fit is dropped, and counted: it will be sent again."""
    p, q, _ = members()
    p.enter(view(2), Rank(0), 0)
    data = said(p, run_of(0, 1, b"new", number=2))
    for _ in range(EARLY_MAX + 3):
        q.take(P, data, 0)
    assert q.counts == {"too early": 3}
    assert len(q.enter(view(2), Rank(1), 0)) == EARLY_MAX


def test_nothing_is_taken_or_said_while_a_view_is_left() -> None:
    """After the newer view is known, only the flush counts."""
    p, q, _ = members()
    data = said(p, run_of(0, 1, b"late"))
    q.stop()
    assert q.take(P, data, 0) == []
    q.wake(10**9)
    assert q.take_outgoing() == []
    assert q.has_room
    assert q.is_settled


def test_stranger_is_not_listened_to() -> None:
    """Who is in no view says nothing that counts."""
    p, q, _ = members()
    assert q.take(ProcessId("x"), said(p, run_of(0, 1, b"a")), 0) == []


@pytest.mark.parametrize(
    ("label", "payload"),
    [(b"", b""), (b"\x01\x00", b"\x14\x01\x00"), (b"\x01\x02", b"\x15\x01\x00"), (b"\x01", b"")],
)
def test_block_that_does_not_say_what_it_has_changes_nothing(label: bytes, payload: bytes) -> None:
    """It is its sender's fault alone, and found before it counts."""
    _, q, _ = members()
    message = BlockMessage(0, BlockKind.DATA, 1, 0, (0, 0, 0), payload, 0, None, label)
    with pytest.raises(PeerError):
        q.take(P, b"\x01" + encode_block(message), 0)
    machine = q.machine
    assert machine is not None
    assert machine.buffer.waiting == 0
    assert machine.matrix.last == [0, 0, 0]


def test_window_fills_and_says_who_is_behind() -> None:
    """Nobody has reported: all others are waited for, until one is known to be dead."""
    p, _, _ = members(settings=BlockSettings(window=2))
    for number in (1, 2):
        assert p.has_room
        said(p, run_of(0, number, b"a"))
    assert not p.has_room
    assert p.awaited() == {Q: 0, R: 0}
    p.suspect(Q, 0)
    assert p.awaited() == {R: 0}
    p.suspect(R, 0)
    assert p.has_room


def test_draws_differ_by_member_and_stay_in_range() -> None:
    """The same member and view draw the same numbers; others draw others."""
    one, same, other = (draw_from(seed) for seed in ("p/1", "p/1", "q/1"))
    numbers = [one(9) for _ in range(200)]
    assert numbers == [same(9) for _ in range(200)]
    assert numbers != [other(9) for _ in range(200)]
    assert set(numbers) == set(range(10))
