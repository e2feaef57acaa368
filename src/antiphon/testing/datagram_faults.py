"""What networks do to datagrams, by a seeded dice.

Law: what becomes of the n-th datagram of one direction depends on the seed, the direction and the
faults that are set, and on nothing else: not on what is in it, nor on other directions.
"""

from dataclasses import dataclass
from random import Random

from antiphon.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramFaults:
    """What becomes of datagrams: chances are from 0 to 1."""

    loss: float = 0.0
    """How many are lost."""
    duplication: float = 0.0
    """How many of the others arrive twice; the second copy is late."""
    reordering: float = 0.0
    """How many are late, so that others overtake them."""
    delay_us: tuple[int, int] = (0, 0)
    """How long each takes, at least and at most, besides what it takes anyway."""
    late_us: int = 10_000
    """How much longer at most what is late takes."""

    def __post_init__(self) -> None:
        """Refuse what is no chance, or no time."""
        low_us, high_us = self.delay_us
        if not 0 <= low_us <= high_us or self.late_us < 0:
            message = f"a delay is at least 0 us, and at most no less: {self.delay_us}"
            raise UsageError(message)
        for chance in (self.loss, self.duplication, self.reordering):
            if not 0 <= chance <= 1:
                message = f"a chance is from 0 to 1, not {chance}"
                raise UsageError(message)


class DatagramDice:
    """One direction: from one process to another."""

    def __init__(self, seed: str) -> None:
        """Draw everything from this seed."""
        self._random = Random(f"datagrams {seed}")

    def fates_us(self, faults: DatagramFaults) -> list[int]:
        """Return how long each copy of the next datagram takes; none: it is lost."""
        draw = self._random.random
        # Each datagram takes as many draws, so that a change of one chance moves no other fate.
        is_lost, is_twice, is_late = (
            draw() < chance for chance in (faults.loss, faults.duplication, faults.reordering)
        )
        low_us, high_us = faults.delay_us
        first, second = (low_us + int(draw() * (high_us - low_us + 1)) for _ in range(2))
        late, later = (int(draw() * (faults.late_us + 1)) for _ in range(2))
        if is_lost:
            return []
        fates = [first + (late if is_late else 0)]
        return [*fates, second + later] if is_twice else fates
