"""Replay: no counter is taken twice, in any order; equal to a slow memory of all counters."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.net.datagrams.replay import WINDOW, ReplayWindow

STEPS = st.lists(
    st.one_of(
        st.integers(-20, 20),
        st.integers(-WINDOW - 20, WINDOW + 20),
        st.sampled_from([-WINDOW, 1 - WINDOW, WINDOW - 1, WINDOW, 1, 0]),
        st.integers(0, 2**40),
    ),
    max_size=200,
)


@given(STEPS)
def test_window_agrees_with_a_memory_of_all_counters(steps: list[int]) -> None:
    """Relative to the highest so far: ahead, behind, again, far ahead, just inside and outside."""
    window, taken, highest = ReplayWindow(), set[int](), 0
    for step in steps:
        counter = max(0, highest + step)
        expected = counter > 0 and counter not in taken and counter > highest - WINDOW
        assert window.is_new(counter) is expected, (counter, highest)
        if expected:
            window.take(counter)
            taken.add(counter)
            highest = max(highest, counter)
    assert window.highest == highest


def test_packets_a_thousand_places_late_are_taken_once() -> None:
    """A window of at least 1,024, as was asked for."""
    window = ReplayWindow()
    window.take(WINDOW)
    late = range(WINDOW - 1023, WINDOW)
    assert all(window.is_new(counter) for counter in late)
    for counter in late:
        window.take(counter)
    assert not any(window.is_new(counter) for counter in late)


def test_counters_that_are_passed_over_are_new_whatever_was_there_before() -> None:
    """What is remembered of a full window does not keep out those that come a window later."""
    for jump in (2, WINDOW // 2, WINDOW - 1, WINDOW, 3 * WINDOW):
        for highest in (WINDOW, WINDOW + 7, 2 * WINDOW - 1):
            window = ReplayWindow()
            for counter in range(1, highest + 1):
                window.take(counter)
            window.take(highest + jump)
            passed = range(max(highest + 1, highest + jump - WINDOW + 1), highest + jump)
            assert all(window.is_new(counter) for counter in passed)
            kept = range(max(1, highest + jump - WINDOW + 1), highest + 1)
            assert not any(window.is_new(counter) for counter in kept)
