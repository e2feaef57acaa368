"""Patience: when to ask again for votes that do not come.

Law: channels are reliable, so what was asked arrives, and an answer that does not come in time is
late or lost only with who should give it. Asking again serves who could not answer when it was
asked first, having missed a view; being refused calls for a higher ballot. Neither is done before a
round trip can have passed, as far as one was seen, and each time after twice the time: two that
refuse each other, each trusted by some, sooner or later leave one of them time to finish, and the
senior one sooner.

Only votes in a ballot under way tell how long a round trip takes: others may have been held up for
as long as one of the two was cut off. Who is cut off from a majority asks nothing, and begins anew.

Cost: messages only while a decision is due; as many repetitions as the time taken has doublings.
"""

_BEATS = 4
"""Heartbeats before the most senior member asks again; each rank below waits one more, up to 7."""

_ROUNDS = 2
"""Round trips that a ballot takes."""


class Patience:
    """Of one proposer, for one decision after the other."""

    __slots__ = ("_asked_us", "_round_us", "_tries", "due_us")

    def __init__(self) -> None:
        """Nothing was asked."""
        self._asked_us = 0
        self._round_us = 0
        self._tries = 0
        self.due_us = 0
        """When to ask again."""

    def ask(self, now_us: int, rank: int, heartbeat_us: int, longest_us: int) -> None:
        """A question goes out, for the first time or again."""
        self._asked_us = now_us
        shortest_us = max((_BEATS + rank % 8) * heartbeat_us, _ROUNDS * self._round_us)
        self.due_us = now_us + min(shortest_us << min(self._tries, 16), longest_us)
        self._tries += 1
        assert self.due_us > now_us, "an answer is given time to come"

    def hear(self, now_us: int) -> None:
        """An answer came to what is asked: so long it may take."""
        self._round_us = max(now_us - self._asked_us, self._round_us * 7 // 8)
        assert self._round_us >= 0, "nothing is answered before it is asked"

    def rest(self) -> None:
        """Nothing is to be asked: it is decided, or too few can be reached to decide it."""
        self._tries = self.due_us = 0
