"""Pacing: nothing is delayed on an idle line, and no more leaves than line and burst allow."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.net.datagrams.pacing import Pacer


def test_idle_line_sends_at_once() -> None:
    """Also what is larger than a burst; the debt is waited for afterwards."""
    pacer = Pacer(1_000_000, 1_000)
    assert pacer.wait_us(0) == 0
    pacer.take(5_000)
    assert pacer.wait_us(0) == 4_001
    assert pacer.wait_us(4_000) == 1
    assert pacer.wait_us(4_001) == 0
    assert Pacer(1, 1).wait_us(10**15) == 0


def test_clock_that_stands_still_gives_nothing() -> None:
    """Asking again and again brings no bytes."""
    pacer = Pacer(1_000_000, 100)
    pacer.take(100)
    assert {pacer.wait_us(7) for _ in range(100)} == {1}


@given(
    rate=st.integers(1, 10**10),
    burst=st.integers(1, 10**6),
    packets=st.lists(st.tuples(st.integers(1, 65_507), st.integers(0, 10**5)), max_size=60),
)
def test_no_more_leaves_than_rate_and_burst_allow(
    rate: int, burst: int, packets: list[tuple[int, int]]
) -> None:
    """In any time, however long the line was idle before: the burst, the rate, and one packet."""
    pacer, now_us = Pacer(rate, burst), 0
    sent: list[tuple[int, int]] = []
    for byte_count, pause_us in packets:
        now_us += pause_us
        wait_us = pacer.wait_us(now_us)
        if wait_us:
            assert pacer.wait_us(now_us + wait_us - 1) == 1, "it asks for no more than it needs"
        now_us += wait_us
        assert pacer.wait_us(now_us) == 0
        sent.append((now_us, byte_count))
        pacer.take(byte_count)
    for first, (began_us, _) in enumerate(sent):
        total = 0
        for ended_us, byte_count in sent[first:]:
            assert total * 10**6 < burst * 10**6 + rate * (ended_us - began_us) or not total
            total += byte_count
