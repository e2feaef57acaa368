"""What became of causal blocks at one member: counted, because nobody is told otherwise.

Law: all views of an incarnation together. What was dropped is recovered like what was lost; so
these numbers say what it cost, and nothing of what was delivered.
"""

from collections import Counter
from dataclasses import dataclass

OF_NO_OPEN_VIEW, TOO_EARLY = "of no open view", "too early"


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """What became of causal blocks at this member, since it entered the group.

    - ``dropped``: messages that came and were dropped, of the lowest priority, because too many
      waited for others (``Blocks(waiting=...)``); they are recovered later.
    - ``expired``: messages whose lifetime ended here, of others or its own.
    - ``repeated``: messages that it sent again because somebody lacked them.
    - ``duplicates``: copies that came of what was there.
    - ``nulls``: messages without payload, sent to say how far it is.
    - ``of_no_open_view``: datagrams of a view that is being left, or of an earlier one.
    - ``too_early``: datagrams of a later view for which there was no room.
    """

    dropped: int = 0
    expired: int = 0
    repeated: int = 0
    duplicates: int = 0
    nulls: int = 0
    of_no_open_view: int = 0
    too_early: int = 0


def as_counts(counted: Counter[str]) -> BlockCounts:
    """Return what the machines of all views have counted, and who drove them."""
    return BlockCounts(
        dropped=counted["dropped"],
        expired=counted["expired"],
        repeated=counted["repeated"],
        duplicates=counted["duplicates"],
        nulls=counted["nulls"],
        of_no_open_view=counted[OF_NO_OPEN_VIEW],
        too_early=counted[TOO_EARLY],
    )
