"""What is measured in a run, each told once: its name, its unit, and what exactly it is.

Law: the pipeline computes these, pages draw them, tables and documents call them by these names.
Delays and durations that compare clocks of different processes are marked so, and are left out
wherever a record contradicts itself: a message that was delivered before it was multicast.
"""

from typing import NamedTuple


class MeasureDefinition(NamedTuple):
    """One measure."""

    name: str
    unit: str
    what: str
    """Of what it is the distribution, and whose rows it is counted with."""
    compares_clocks: bool = False
    """Whether times of different processes enter into it."""


DELIVERY_DELAY = MeasureDefinition(
    "delivery_delay",
    "us",
    "from the `multicast` row to the `deliver` row of a message at another process, per message; "
    "counted at who delivers",
    compares_clocks=True,
)
HOLD_TIME = MeasureDefinition(
    "hold_time",
    "us",
    "from the `receive` row to the `deliver` row of a message at one process, per message: the "
    "time in the delay queue, or until order or stability allow it; counted at who delivers",
)
QUEUE_LENGTH = MeasureDefinition(
    "queue_length",
    "runs",
    "`queue_depth`, the runs held in the delay queue, after each row; counted at whose row it is",
)
HEADER_BYTES = MeasureDefinition(
    "header_bytes",
    "bytes",
    "`overhead_bytes` of a `multicast` row, so of one run of messages, for one copy; counted at "
    "the sender; rows that do not say are left out",
)
STABILITY_LAG = MeasureDefinition(
    "stability_lag",
    "us",
    "from the `multicast` row to the moment at which the last member of the view has the message "
    "(its `receive` row, or `deliver` where a process records no arrivals), per message; counted "
    "at the sender. What some member never had is unstable, and counted apart",
    compares_clocks=True,
)
VIEW_CHANGE = MeasureDefinition(
    "view_change",
    "us",
    "from the first crash or suspicion of who is not in the view any more to the last "
    "installation; where there was none, from the first installation to the last; per view that "
    "follows another",
    compares_clocks=True,
)

MEASURES = (DELIVERY_DELAY, HOLD_TIME, QUEUE_LENGTH, HEADER_BYTES, STABILITY_LAG, VIEW_CHANGE)
"""Those that have a distribution, in the order in which they are told."""
