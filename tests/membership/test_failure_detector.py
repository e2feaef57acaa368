"""The failure detector, driven by hand: complete, adaptive, forgiving, and sure where it can be."""

import pytest
from tests.membership.hands import A, B, C

from antiphon.core.ids import ProcessId
from antiphon.membership.failure_detector import BLOCKED, DEAF, FailureDetector, Timing

BEAT = 100
TIMING = Timing(heartbeat_us=BEAT, timeout_us=1_000, timeout_us_max=8_000)


def watching(*processes: ProcessId) -> FailureDetector:
    """Return a detector that watches these from time 0, when they are heard."""
    detector = FailureDetector(TIMING, 0)
    detector.watch(list(processes), 0)
    for process in processes:
        detector.hear(process, 0)
    return detector


def tick_until(
    detector: FailureDetector, start: int, end: int, *talking: ProcessId
) -> dict[ProcessId, int]:
    """Let time pass, with heartbeats of those that talk; tell when who was suspected."""
    when: dict[ProcessId, int] = {}
    for now in range(start, end + 1, BEAT):
        for process in talking:
            detector.hear(process, now)
        for process in detector.check(now):
            when[process] = now
    return when


def test_silence_is_borne_until_the_last_look_within_the_floor() -> None:
    """Who says nothing is suspected before the silence is longer than the floor, and once."""
    detector = watching(A, B)
    when = tick_until(detector, 0, 3_000, B)
    assert when == {A: TIMING.timeout_us}
    assert list(detector.suspected) == [A]


def test_timeout_follows_the_gaps_that_were_seen() -> None:
    """Who was heard at long and uneven intervals is given more time than the floor."""
    detector = watching(A)
    now = 0
    for gap in [900, 100] * 20:
        for _ in range(gap // BEAT):
            now += BEAT
            assert detector.check(now) == []
        detector.hear(A, now)
    when = tick_until(detector, now + BEAT, now + 6_000)
    assert TIMING.timeout_us + 2 * BEAT < when[A] - now <= TIMING.timeout_us_max + BEAT


def test_timeout_never_exceeds_the_ceiling() -> None:
    """However uneven the past, a dead process is suspected after the ceiling."""
    detector = watching(A)
    now = 0
    for gap in [7_000, 100] * 10:
        for _ in range(gap // BEAT):
            now += BEAT
            detector.check(now)
        detector.hear(A, now)
    detector.check(now)
    when = tick_until(detector, now + BEAT, now + 20_000)
    assert when[A] - now <= TIMING.timeout_us_max + BEAT


def test_wrong_suspicion_ends_and_doubles_the_floor() -> None:
    """A process heard again is trusted at the next look, and has twice the time from then on."""
    detector = watching(A)
    tick_until(detector, 0, 1_100)
    assert A in detector.suspected
    detector.hear(A, 1_150)
    assert A in detector.suspected  # what is suspected changes when one looks, not in between
    assert detector.check(1_200) == []
    assert A not in detector.suspected
    when = tick_until(detector, 1_300, 9_000)
    assert 2 * TIMING.timeout_us - BEAT < when[A] - 1_150 <= 2 * TIMING.timeout_us


def test_doubling_stops_at_the_ceiling() -> None:
    """After many wrong suspicions a process is still suspected after the ceiling."""
    detector = watching(A)
    now = 0
    for _ in range(6):
        when = tick_until(detector, now, now + 10_000)
        assert when[A] - now <= TIMING.timeout_us_max + BEAT
        now += 10_000
        detector.hear(A, now)


def test_own_sleep_is_forgiven_to_everybody() -> None:
    """Who wakes from a long stop suspects nobody for what it slept through."""
    detector = watching(A, B)
    tick_until(detector, 0, 500, A, B)
    assert detector.check(1_000_000) == []
    assert detector.suspected == {}


def test_dead_process_is_suspected_soon_after_own_sleep() -> None:
    """Forgiven time is not given away: a dead process is suspected after a timeout awake."""
    detector = watching(A)
    tick_until(detector, 0, 500, A)
    detector.check(1_000_000)
    when = tick_until(detector, 1_000_000 + BEAT, 1_000_000 + 3_000)
    assert when[A] - 1_000_000 <= TIMING.timeout_us + 2 * BEAT


def test_late_timer_within_two_heartbeats_forgives_nothing() -> None:
    """Ordinary jitter of the own timer does not prolong the timeout."""
    detector = watching(A)
    for now in range(0, 2_001, 2 * BEAT):
        news = detector.check(now)
    assert news == []
    assert A in detector.suspected


@pytest.mark.parametrize("is_watched_first", [True, False])
def test_condemned_process_is_never_trusted_again(is_watched_first: bool) -> None:
    """Certain evidence counts at once and for good, whatever is heard, watched again or not."""
    detector = watching(A, B)
    if not is_watched_first:
        detector.watch([B], 0)
    assert detector.condemn(A) is is_watched_first
    detector.watch([A, B], 10)
    detector.hear(A, 50)
    assert detector.check(100) == []
    assert list(detector.suspected) == [A]


def test_condemning_is_news_only_once() -> None:
    """What is known already, by silence or by evidence, is no news."""
    detector = watching(A, B)
    assert detector.condemn(A)
    assert not detector.condemn(A)
    tick_until(detector, 0, 1_200)
    assert not detector.condemn(B)


def test_who_is_no_longer_watched_is_no_longer_suspected() -> None:
    """A process out of the group is nobody's business; one that stays keeps its suspicion."""
    detector = watching(A, B)
    tick_until(detector, 0, 1_200)
    detector.watch([B, C], 1_200)
    assert list(detector.suspected) == [B]
    detector.hear(A, 1_300)
    assert detector.check(1_300) == []


def test_large_group_beats_more_rarely_and_is_given_the_time() -> None:
    """In a group of hundreds a heartbeat takes longer, and nobody is suspected for that."""
    crowd = [ProcessId(f"m{number}") for number in range(640)]
    detector = FailureDetector(Timing(heartbeat_us=BEAT, timeout_us=1_000), 0)
    detector.watch(crowd, 0)
    assert detector.heartbeat_us == 20 * BEAT
    assert tick_until(detector, 0, 4 * 20 * BEAT) == {}
    now = 4 * 20 * BEAT
    for beat in range(200):
        now += BEAT
        if beat % 20 == 0:
            for process in crowd:
                detector.hear(process, now)
        assert detector.check(now) == []


def test_clock_that_stands_still_or_steps_back_does_no_harm() -> None:
    """Hearing twice in one instant, or at an earlier time, changes nothing."""
    detector = watching(A)
    tick_until(detector, 0, 500, A)
    detector.hear(A, 500)
    detector.hear(A, 100)
    when = tick_until(detector, 600, 3_000)
    assert 1_000 - BEAT < when[A] - 500 <= 1_000 + BEAT


def test_who_says_for_long_that_it_is_deaf_or_blocked_is_unfit() -> None:
    """As long as silence is borne; what it takes back, and own sleep, do not count."""
    detector = watching(A, B)
    detector.note(A, DEAF, 0, is_so=True)
    detector.note(B, BLOCKED, 500, is_so=True)
    detector.note(C, DEAF, 0, is_so=True)
    tick_until(detector, 0, 900, A, B)
    assert detector.unfit(999, DEAF, BLOCKED) == []
    assert detector.has(B, BLOCKED)
    assert detector.unfit(1_000, DEAF, BLOCKED) == [A]
    assert detector.unfit(1_500, BLOCKED) == []
    assert detector.unfit(3_500, BLOCKED) == [B]
    detector.note(A, DEAF, 1_000, is_so=False)
    detector.note(A, BLOCKED, 1_000, is_so=False)
    assert detector.unfit(4_000, DEAF, BLOCKED) == [B]
    detector.check(1_000_000)
    assert detector.unfit(1_000_000, BLOCKED) == []
    detector.watch([A], 1_000_000)
    assert not detector.has(B, BLOCKED)


def test_who_joins_is_given_twice_the_time_for_its_first_sign_of_life() -> None:
    """It learns of it only when it is told, and is heard a round trip after it was taken in."""
    detector = watching(A)
    tick_until(detector, 0, 500, A)
    detector.watch([A, B, C], 500)
    when = tick_until(detector, 600, 900, A, C)
    when |= tick_until(detector, 1_000, 4_000, A)
    assert when == {B: 500 + 2 * TIMING.timeout_us, C: 900 + TIMING.timeout_us}


def test_everybody_is_given_twice_the_time_for_a_first_sign_of_life() -> None:
    """Also by who joins, or founds: the others begin when they are told; later the floor counts."""
    detector = FailureDetector(TIMING, 0)
    tick_until(detector, 0, 500)
    detector.watch([A, B], 500)
    when = tick_until(detector, 600, 900, A)
    when |= tick_until(detector, 1_000, 4_000)
    assert when == {A: 900 + TIMING.timeout_us, B: 500 + 2 * TIMING.timeout_us}
