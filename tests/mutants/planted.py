"""All planted bugs: each is one plausible mistake, most of them out of the errata.

Law: a mistake must be found by exploration alone: by the oracle, by a world that does not come to
rest, or by a machine that complains. ``MUTANTS`` names for each the flush it belongs to and what
it does; importing a module of planted bugs registers them.
"""

from tests.mutants import (
    planted_commit,
    planted_deliveries,
    planted_endpoint,
    planted_entrance,
    planted_far,
    planted_founding,
    planted_isis,
    planted_orders,
    planted_sending,
    planted_takeover,
    planted_uniform,
    planted_views,
)
from tests.mutants.registry import MUTANTS, Mutant, planted

__all__ = [
    "MUTANTS", "Mutant", "planted", "planted_commit", "planted_deliveries", "planted_endpoint",
    "planted_entrance", "planted_far", "planted_founding", "planted_isis", "planted_orders",
    "planted_sending", "planted_takeover", "planted_uniform",
    "planted_views",
]  # fmt: skip
