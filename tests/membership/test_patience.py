"""When to ask again: after a round trip at least, and each time after twice as long."""

from antiphon.membership.patience import Patience

BEAT = 100
LONGEST = 30_000


def waits(patience: Patience, count: int, rank: int = 0) -> list[int]:
    """Ask so often, each time when it is due; return how long it took from one to the next."""
    now, found = 1_000, []
    for _ in range(count):
        patience.ask(now, rank, BEAT, LONGEST)
        found.append(patience.due_us - now)
        now = patience.due_us
    return found


def test_waits_double_up_to_the_longest() -> None:
    """Who gets no answer asks more and more rarely, but asks."""
    assert waits(Patience(), 4) == [400, 800, 1_600, 3_200]
    assert waits(Patience(), 40)[-1] == LONGEST


def test_junior_waits_longer_than_senior() -> None:
    """Of two that compete the senior one is the quicker."""
    assert waits(Patience(), 1, rank=3) == [700]


def test_waits_are_no_shorter_than_the_round_trips_that_were_seen() -> None:
    """A ballot takes two of them; quicker answers later are believed slowly."""
    patience = Patience()
    patience.ask(0, 0, BEAT, LONGEST)
    patience.hear(2_000)
    patience.rest()
    assert patience.due_us == 0
    assert waits(patience, 1) == [4_000]
    patience.hear(1_000)
    patience.rest()
    assert waits(patience, 1) == [3_500]


def test_who_begins_anew_asks_at_once() -> None:
    """What is decided, or was interrupted, leaves nothing but the round trips that were seen."""
    patience = Patience()
    assert waits(patience, 3) == [400, 800, 1_600]
    patience.rest()
    assert patience.due_us == 0
    assert waits(patience, 2) == [400, 800]
