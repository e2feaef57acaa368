"""Values counted in buckets: quantiles in memory that does not grow, and sums of parts.

Law: values are numbers from 0 up. Below ``EXACT`` each integer has a bucket of its own; above, a
bucket is 2 % wider than the one before, so a quantile is exact or at most 1 % off. Count, sum,
least and greatest are exact. Distributions of parts can be added up in any order.
"""

import math
from collections.abc import Iterator

import msgspec

EXACT = 50
"""Integers below are told apart; from here on a step to the next integer is 2 % or less."""

GRAIN = math.log(1.02)


def bucket_of(value: float) -> int:
    """Return the number of the bucket that a value is in."""
    return int(value) if value < EXACT else EXACT + int(math.log(value / EXACT) / GRAIN)


def bounds_of(bucket: int) -> tuple[float, float]:
    """Return the least value of a bucket, and the least that is above it."""
    if bucket < EXACT:
        return float(bucket), float(bucket + 1)
    low = EXACT * math.exp((bucket - EXACT) * GRAIN)
    return low, low * math.exp(GRAIN)


class Distribution(msgspec.Struct):
    """Values, each counted with a weight."""

    buckets: dict[int, int] = {}
    total: int = 0
    """The weights of all values together."""
    weighted_sum: float = 0.0
    low: float = math.inf
    high: float = 0.0

    def add(self, value: float, weight: int = 1) -> None:
        """Count a value."""
        self.add_bucket(bucket_of(value), weight, value * weight, value, value)

    def add_bucket(
        self, bucket: int, weight: int, weighted_sum: float, low: float, high: float
    ) -> None:
        """Count values of one bucket."""
        self.buckets[bucket] = self.buckets.get(bucket, 0) + weight
        self.total += weight
        self.weighted_sum += weighted_sum
        self.low, self.high = min(self.low, low), max(self.high, high)

    def include(self, other: "Distribution") -> None:
        """Count what another has counted."""
        for bucket, weight in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + weight
        self.total += other.total
        self.weighted_sum += other.weighted_sum
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    @property
    def mean(self) -> float:
        """Return the mean; 0 of nothing."""
        return self.weighted_sum / self.total if self.total else 0.0

    def quantile(self, part: float) -> float:
        """Return the value that ``part`` of all are at most."""
        last = 0.0
        for value, share in self.curve():
            last = value
            if share >= part:
                break
        return last

    def curve(self) -> Iterator[tuple[float, float]]:
        """Yield values in order, each with the share of all that are at most so large."""
        done = 0
        for bucket in sorted(self.buckets):
            done += self.buckets[bucket]
            low, above = bounds_of(bucket)
            middle = low if bucket < EXACT else math.sqrt(low * above)
            yield min(max(middle, self.low), self.high), done / self.total
