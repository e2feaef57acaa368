"""What can be set of a group that orders by causal blocks; the same at all its members."""

from dataclasses import dataclass

from antiphon.core.errors import UsageError

WINDOW_MAX = 65_536
"""Own messages that not all have delivered; a window beyond this bounds nothing."""

WINDOW_BYTES = 1024 * 1024
"""Their payloads: of several senders a socket's buffer holds so many, where the system allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSettings:
    """Periods, delays and bounds of one group."""

    null_us: int = 50_000
    """A process that has sent nothing for so long sends a null message (time-silence)."""
    delay_us_max: int = 10_000
    """A holder waits between 0 and so long before it sends what another lacks."""
    settle_us: int | None = 10_000
    """A report that comes so much later than a copy, about a round trip, says that it was lost.
    None: the printed rule, which looks at blocks alone."""
    rests: bool = True
    """Whether a process that knows all to have delivered the same is silent; False as printed.
    Only where ``settle_us`` is given: by the printed rule all have to speak for ever."""
    at_once: int = 8
    """How many missing messages a holder sees to at a time, smallest blocks first; 1 as printed."""
    counts_receipts: bool = True
    """Whether the block counter follows what is received, and not only what is delivered, as in
    the printed rule R1.1: losses are found a null period sooner."""
    report_every: int = 16
    """A process that has received so many messages since it last spoke sends a null at once."""
    window: int = 64
    """Own messages that not all have delivered, at most."""
    window_bytes: int = WINDOW_BYTES
    """Their bytes: below that one more is sent, whatever its size."""
    waiting_max: int = 4_096
    """Received messages that cannot be delivered yet, at most; more, and some are dropped."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.null_us < 1 or self.delay_us_max < 0 or (self.settle_us or 0) < 0:
            message = "the null period is at least 1 us, and delays are not negative"
            raise UsageError(message)
        least = min(
            self.at_once, self.report_every, self.waiting_max, self.window, self.window_bytes
        )
        if least < 1 or self.window > WINDOW_MAX:
            message = f"bounds are at least 1, and a window at most {WINDOW_MAX:,}"
            raise UsageError(message)
