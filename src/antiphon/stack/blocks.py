"""Causal blocks as the protocol of a group: messages by datagram, recovered by any holder.

Law: what an application chooses is checked here, and compared when members meet: what must be alike
at all of them is in the ``description``. Periods and delays need not be, and what a process draws
(``ordering.blocks.run_blocks``) is its own.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.membership.effects import Outbox
from antiphon.membership.transition import Transition
from antiphon.ordering.blocks.run_blocks import RunBlocks
from antiphon.ordering.blocks.settings import WINDOW_BYTES, WINDOW_MAX, BlockSettings
from antiphon.stack.block_traffic import BlockTraffic
from antiphon.stack.dissemination import GroupProtocol

_PER_SECOND = 1_000_000

SECONDS_MAX = 3_600
"""The longest period or delay: with an hour, nothing lost is recovered any more."""

_BYTES_MAX = 2**40

_WHOLE = {
    "window": WINDOW_MAX,
    "window_bytes": _BYTES_MAX,
    "waiting": _BYTES_MAX,
    "run_bytes": _BYTES_MAX,
}
"""What is counted, and the most of it that means anything."""

GROUP = GroupNumber(0)
"""How runs name a group that is alone in its domain."""

RUN_BYTES = 32_000

RUN_BYTES_MAX = 512_000

PACKETS_PER_RUN = 4
"""So many large packets, as there are on loopback, make one run."""


@dataclass(frozen=True, kw_only=True)
class Blocks(GroupProtocol):
    """Causal order on datagrams, which may be lost (docs/protocols/blocks.md).

    - ``window``: runs of a sender that not all members have delivered, before it waits;
      ``window_bytes``: their bytes, likewise. The same at all members, and compared.
    - ``null_s``: a member that has sent nothing for so many seconds says how far it is, while there
      is need.
    - ``delay_s``: who repeats what another lacks waits between 0 and so many seconds, drawn anew
      each time.
    - ``settle_s``: a report that comes so many seconds later than a copy says that it was lost:
      more than a round trip, with all that waits in buffers while everybody sends.
    - ``waiting``: runs that came and wait for others; beyond that, one of the lowest priority is
      dropped, and recovered later.
    - ``run_bytes``: payload bytes of one run, but for single messages that are larger; by default
      32,000, or four packets if these are larger, as they are on loopback. A run of several
      packets is lost if one of them is.
    """

    window: int = 64
    window_bytes: int = WINDOW_BYTES
    null_s: float = 0.05
    delay_s: float = 0.005
    settle_s: float = 0.03
    waiting: int = 4_096
    run_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for name, most in _WHOLE.items():
            value = getattr(self, name)
            if (isinstance(value, bool) or not isinstance(value, int)) and (
                name != "run_bytes" or value is not None
            ):
                _refuse(name, "a whole number", value)
            if value is not None and value > most:
                _refuse(name, f"at most {most:,}", value)
        for name in ("null_s", "delay_s", "settle_s"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= SECONDS_MAX:  # NaN is in no order
                _refuse(name, f"a number of seconds, from 0 to {SECONDS_MAX:,}", value)
        if self.run_bytes is not None and not 1 <= self.run_bytes <= RUN_BYTES_MAX:
            message = f"a run of causal blocks has 1 to {RUN_BYTES_MAX:,} bytes: set run_bytes so"
            raise UsageError(message)
        self.settings  # noqa: B018 - checked here, not when the group begins

    @cached_property
    def settings(self) -> BlockSettings:
        """What the machine is told."""
        return BlockSettings(
            null_us=int(self.null_s * _PER_SECOND),
            delay_us_max=int(self.delay_s * _PER_SECOND),
            settle_us=int(self.settle_s * _PER_SECOND),
            window=self.window,
            window_bytes=self.window_bytes,
            waiting_max=self.waiting,
        )

    @property
    def description(self) -> str:
        """The window, too: a member forgets what is more than one behind."""
        return f"blocks, window {self.window}, {self.window_bytes} bytes"

    def begin(self, out: Outbox, transition: Transition) -> BlockTraffic:
        """Begin a process's part in a group, outside any view."""
        run_bytes = RUN_BYTES if self.run_bytes is None else self.run_bytes
        return BlockTraffic(out, transition, RunBlocks(GROUP, self.settings, run_bytes))

    def run_bytes_on(self, packet_bytes: int) -> int:
        """Return how large runs are where a packet has room for so many bytes.

        What a run costs is much the same whatever its size.
        """
        if self.run_bytes is not None:
            return self.run_bytes
        return min(RUN_BYTES_MAX, max(RUN_BYTES, PACKETS_PER_RUN * packet_bytes))


def _refuse(name: str, expected: str, given: object) -> NoReturn:
    message = f"{name} is {expected}, not {given!r:.100}"
    raise UsageError(message)
