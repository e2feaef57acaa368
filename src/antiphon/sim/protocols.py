"""Ways in which the runs of a simulated group reach its members, by name.

Law: what a world needs of a protocol follows from its scenario: periods from how far processes are
from each other, bounds from how much room there is.
"""

from antiphon.sim.scenario import PROTOCOLS, Scenario
from antiphon.stack.blocks import Blocks
from antiphon.stack.dissemination import GroupProtocol

_SECOND_US = 1_000_000


def protocol_of(scenario: Scenario) -> GroupProtocol | None:
    """Return the protocol of a world's group; None: straight from the sender, with vector time."""
    if scenario.protocol != "blocks":
        return PROTOCOLS[scenario.protocol]
    round_trip_s = (2 * scenario.distance_us + 4 * scenario.delay_us + 500) / _SECOND_US
    is_tight = scenario.limits == "tight"
    return Blocks(
        null_s=max(0.01, round_trip_s),
        delay_s=round_trip_s / 2,
        settle_s=round_trip_s,
        window=3 if is_tight else 64,
        window_bytes=100 if is_tight else 65_536,
        waiting=2 if is_tight else 4_096,
        run_bytes=64 if is_tight else 16_384,
    )
