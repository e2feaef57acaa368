"""A member, as far as its group's messages travel by datagram (``block_traffic``).

Law: what the blocks deliver is counted, kept and delivered as any run; while a view is being left,
only relays are.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run
from antiphon.membership.effects import Effect, Outbox
from antiphon.ordering.blocks.codec import PAYLOAD_BYTES_MAX
from antiphon.stack.block_traffic import BlockTraffic
from antiphon.stack.dissemination import Dissemination
from antiphon.stack.member_questions import MemberQuestions

HEAD_BYTES = 64
"""What a record has beside one message, at most."""

PAYLOADS_BYTES_SAFE = PAYLOAD_BYTES_MAX - HEAD_BYTES
"""So many bytes of messages are no message that is too large."""


def as_blocks(way: Dissemination | None, group: GroupNumber, now_us: int) -> BlockTraffic | None:
    """Return the way in which messages of a group travel, if it is by datagram."""
    if not isinstance(way, BlockTraffic):
        return None
    way.group.group, way.now_us = group, now_us
    return way


class MemberDatagrams(MemberQuestions):
    """What comes, and is due, by datagram."""

    _out: Outbox
    blocks: BlockTraffic | None
    """What carries this process's runs by datagram, where the group has chosen that."""

    def take_datagrams(
        self, arrived: Iterable[tuple[ProcessId, bytes]], now_us: int
    ) -> list[tuple[ProcessId, str]]:
        """Take datagrams; return what is wrong with some: these change nothing."""
        blocks = self.blocks
        faults: list[tuple[ProcessId, str]] = []
        if blocks is None or self.membership.is_over:
            return faults
        blocks.now_us = now_us
        ready: list[Run] = []
        for peer, data in arrived:
            try:
                if peer != self.me:
                    ready += blocks.take_datagram(peer, data)
            except PeerError as error:
                faults.append((peer, str(error)))
        self.receiver.accept(ready)
        self._look_what_is_settled(blocks)
        return faults

    def _look_what_is_settled(self, blocks: BlockTraffic) -> None:
        """Drop copies of what the blocks know to be everywhere: no receipts are needed for it."""
        for rank, last in blocks.group.take_settled():
            # Who numbers its messages wrongly has some that were passed over here.
            delivered = self.receiver.received()[rank]
            self.receiver.stability.learn_stable(rank, min(last, delivered))

    def wake_blocks(self, now_us: int) -> list[Effect]:
        """Do what causal blocks have to do by now."""
        if self.blocks is not None and not self.membership.is_over:
            self.blocks.now_us = now_us
            self.blocks.wake()
        return self._out.take()

    def check_payloads(self, payloads: Sequence[bytes], more: int = 0) -> None:
        """Refuse messages that are too large for this group, with so many bytes ``more``."""
        limit = PAYLOAD_BYTES_MAX - HEAD_BYTES - more
        if self.blocks is not None and any(len(payload) > limit for payload in payloads):
            message = (
                f"a message of causal blocks has at most {limit:,} bytes: cut it up, or multicast "
                "a reference to it"
            )
            raise UsageError(message)

    def _take_early_datagrams(self) -> None:
        """A view begins: take what came for it before."""
        if self.blocks is not None:
            self.take_datagrams(self.blocks.take_early(), self.blocks.now_us)

    def _look_at_blocks(self, blocks: BlockTraffic, now_us: int) -> None:
        """Take, if a newer view is known by now, what others had relayed for it before that."""
        blocks.now_us = now_us
        membership = self.membership
        for peer, run in blocks.take_relays() if membership.transition.pending else ():
            # Nothing more of who has failed: it is reported as excluded (003-3).
            if membership.roster.takes_from(peer, run.view) and not membership.is_over:
                with suppress(PeerError):
                    fresh = self.receiver.take_fresh(peer, run)
                    if fresh is not None:
                        membership.flush.take_runs([fresh])
