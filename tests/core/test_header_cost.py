"""What order costs on the wire, counted in bytes of real frames."""

import pytest

from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run, SetsOrder
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain

GROUP = GroupNumber(1)


def _machines(size: int) -> list[VectorDomain]:
    members = tuple(ProcessId(f"p{rank}") for rank in range(size))
    view = View(GroupName("chat"), ViewNumber(1), members)
    machines = [VectorDomain() for _ in members]
    for member, machine in zip(members, machines, strict=True):
        machine.install(GROUP, view, view.rank_of(member))
    return machines


def _burst(count: int, length: int = 64) -> Run:
    return _machines(4)[0].multicast(GROUP, [bytes(length)] * count, Order.CAUSAL)


def _header_bytes(*runs: Run) -> int:
    payload_bytes = sum(len(payload) for run in runs for payload in run.payloads)
    return len(encode_runs(0, 0, list(runs))) - payload_bytes


@pytest.mark.parametrize("count", [4, 5, 16, 64, 500, 1_000])
def test_header_of_a_run_is_at_most_four_bytes_a_message(count: int) -> None:
    """From four 64-byte messages in a run on, the whole frame costs no more than promised."""
    assert _header_bytes(_burst(count)) <= 4 * count


@pytest.mark.parametrize(("count", "header_bytes"), [(1, 15), (4, 15), (127, 15), (128, 16)])
def test_header_of_a_run_does_not_grow_with_the_run(count: int, header_bytes: int) -> None:
    """Only the number of messages itself takes a byte more, from 128 on."""
    assert _header_bytes(_burst(count)) == header_bytes


def test_unequal_lengths_cost_one_byte_a_message() -> None:
    """14 for the run, and a byte for the length of each message below 256 bytes."""
    run = _machines(2)[0].multicast(GROUP, [bytes(60), bytes(64), bytes(61)], Order.CAUSAL)
    assert _header_bytes(run) == 14 + 3


def test_next_run_in_a_frame_costs_three_bytes() -> None:
    """It goes on where the one before ended: flags, count, length."""
    machine = _machines(4)[0]
    runs = [machine.multicast(GROUP, [bytes(64)], Order.CAUSAL) for _ in range(100)]
    assert _header_bytes(*runs) == _header_bytes(runs[0]) + 99 * 3
    assert _header_bytes(*runs) <= 4 * 100


def test_each_changed_entry_costs_two_bytes() -> None:
    """A byte for the number of entries, then rank and count of each."""
    machines = _machines(6)
    for sender in (1, 2, 5):
        run = machines[sender].multicast(GROUP, [bytes(64)] * 3, Order.CAUSAL)
        machines[0].receive(run)
    stamped = machines[0].multicast(GROUP, [bytes(64)], Order.CAUSAL)
    plain = machines[0].multicast(GROUP, [bytes(64)], Order.CAUSAL)
    assert stamped.stamp == ((1, 3), (2, 3), (5, 3))
    assert _header_bytes(stamped) == _header_bytes(plain) + 1 + 2 * 3


def test_order_costs_nothing_until_it_is_asked_for() -> None:
    """A total or causal run has one byte of flags; uniform delivery, a port, a list a second."""
    plain, uniform, ported = (
        Run(GROUP, ViewNumber(1), Rank(0), 1, Order.TOTAL, (), [bytes(64)], None, *more)
        for more in ((False, 0), (True, 0), (False, 1))
    )
    causal = Run(GROUP, ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), [bytes(64)])
    assert _header_bytes(plain) == _header_bytes(causal)
    assert _header_bytes(uniform) == _header_bytes(plain) + 1
    assert _header_bytes(ported) == _header_bytes(plain) + 2


def test_each_turn_costs_two_bytes() -> None:
    """A list is flags, number, successor and count, then rank and number of each turn."""
    plain = Run(GROUP, ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), [bytes(64)])
    for count in (0, 1, 10, 100):
        order = SetsOrder(1, ((3, 7),) * count)
        run = Run(GROUP, ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), [bytes(64)], sets_order=order)
        assert _header_bytes(run) == _header_bytes(plain) + 4 + 2 * count


def test_fifo_multicast_costs_what_an_unstamped_causal_one_costs() -> None:
    """The order is two bits of the flags."""
    machine = _machines(4)[0]
    causal = machine.multicast(GROUP, [bytes(64)], Order.CAUSAL)
    fifo = machine.multicast(GROUP, [bytes(64)], Order.FIFO)
    assert _header_bytes(causal) == _header_bytes(fifo)
