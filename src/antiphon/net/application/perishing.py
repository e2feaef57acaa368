"""Lifetimes, priorities and sizes of messages of causal blocks, as applications say them.

Law: what cannot be given is refused before anything is sent: elsewhere there is neither.
"""

from collections.abc import Callable

from antiphon.core.errors import UsageError
from antiphon.core.runs import PORT_APPLICATION, Order
from antiphon.net.transport.environment import Environment
from antiphon.net.transport.interface import DATAGRAM_NEEDS, check_needs
from antiphon.ordering.blocks.codec import BLOCK_MAX, LIFETIME_US_MAX, PAYLOAD_BYTES_MAX
from antiphon.ordering.blocks.messages import PRIORITY_MAX
from antiphon.ordering.blocks.run_blocks import RunBlocks
from antiphon.stack.blocks import Blocks
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.member_datagrams import HEAD_BYTES
from antiphon.stack.send_queue import How, how_of
from antiphon.stack.settings import Settings


def perishable(
    settings: Settings, order: Order, priority: int, lifetime_s: float | None, *, uniform: bool
) -> How:
    """Return how to multicast with a priority and a lifetime; refuse what cannot be."""
    settings.check(order, uniform=uniform)
    if not isinstance(settings.protocol, Blocks):
        message = "lifetimes and priorities are of causal blocks: join with protocol=Blocks()"
        raise UsageError(message)
    if type(priority) is not int or not 0 <= priority <= PRIORITY_MAX:
        message = f"a priority is a number from 0 to {PRIORITY_MAX}, not {priority!r:.100}"
        raise UsageError(message)
    lifetime_us = None
    if lifetime_s is not None:
        is_number = isinstance(lifetime_s, int | float) and not isinstance(lifetime_s, bool)
        if not is_number or not 1 <= lifetime_s * 1e6 <= LIFETIME_US_MAX:
            most_s = LIFETIME_US_MAX // 1_000_000
            message = (
                f"a lifetime is more than 0 and at most {most_s:,} seconds, not {lifetime_s!r:.100}"
            )
            raise UsageError(message)
        lifetime_us = int(lifetime_s * 1e6)
    assert not uniform, "causal blocks have refused it"
    return how_of(order, False, PORT_APPLICATION, priority, lifetime_us)  # noqa: FBT003 - as above


def check_transports(environment: Environment, protocol: GroupProtocol | None) -> None:
    """Refuse a protocol on a network that lacks what it needs, before anything is opened."""
    check_needs(environment.transport)
    if isinstance(protocol, Blocks):
        check_needs(environment.datagrams, DATAGRAM_NEEDS)


def check_numbers(blocks: RunBlocks, group: str) -> None:
    """Refuse to take what a view has no number for, while there is one for all that was taken."""
    if blocks.is_spent:
        message = (
            f"group {group} has used up the {BLOCK_MAX:,} block numbers of its view: multicast "
            "again in the next one, which begins when a process joins or leaves"
        )
        raise UsageError(message)


def check_for(settings: Settings) -> Callable[[list[bytes], int], None] | None:
    """Return what refuses messages that this group cannot carry; None: it carries all."""
    if not isinstance(settings.protocol, Blocks):
        return None
    limit = PAYLOAD_BYTES_MAX - HEAD_BYTES

    def check(batch: list[bytes], byte_count: int) -> None:
        if byte_count > limit and (longest := max(map(len, batch))) > limit:
            message = (
                f"a message of {longest:,} bytes is above the limit of causal blocks, {limit:,}: "
                "cut it up, or multicast a reference to it"
            )
            raise UsageError(message)

    return check
