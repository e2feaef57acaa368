"""Whether what was handed over went out soon, in a world in which nothing stands in its way.

Law: where nobody fails, comes or goes, there is room, and every way takes the same time, a message
waits for nothing but the letters before it, and each of those for its acknowledgement, which
whoever waits asks for: a way there, a turn, and a way back. Judged by when applications handed
over what, when it went out, and how many letters the process sent about then.
"""

from collections.abc import Iterable

from antiphon.sim.driver import Driver
from antiphon.sim.scenario import Scenario
from antiphon.sim.timers import TURN_US

_WAY_US = 50
"""What a message takes beyond the distance where delays do not vary."""

_TALK = frozenset(
    {"multicast", "fifo", "causal", "total", "uniform", "uniform-fifo", "uniform-total", "send"}
)


def find_slow_word(scenario: Scenario, drivers: Iterable[Driver]) -> str:
    """Say what went out later than it should, if this world is a calm one; empty if nothing did."""
    if not _is_even(scenario):
        return ""
    turn_us = 2 * (scenario.distance_us + _WAY_US) + TURN_US
    for driver in drivers:
        sent_us = [event.time_us for event in driver.events if event.kind == "send"]
        for number, handed in driver.application.handed.items():
            gone_us = driver.application.gone_us.get(number)
            if gone_us is None:
                continue  # that it went out at all is for others to ask
            letters = 1 + sum(handed.time_us <= time_us <= gone_us for time_us in sent_us)
            if gone_us - handed.time_us > letters * turn_us:
                return (
                    f"word {number} of {driver.me}, with {letters} letters at most before it, went "
                    f"out after {gone_us - handed.time_us} us"
                )
    return ""


def _is_even(scenario: Scenario) -> bool:
    return (
        not scenario.delay_us
        and scenario.limits == "ample"
        and scenario.clocks == "same"
        and all(step.verb in _TALK for step in scenario.steps)
    )
