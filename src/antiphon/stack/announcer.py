"""What a process tells all others of itself, and what they told last (Alive).

Law: an Alive says which view its sender is in and which it knows last, whether it is blocked, what
it has received and delivered, and how far its own messages are stable. Channels are reliable, so
once is enough: it is said again when any of that has changed, or somebody has joined who was not
told. A heartbeat without news (Beat) means that what was said last still holds.
"""

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.membership.membership import Membership
from antiphon.stack.receiver import Receiver

ALIVE_BYTES = 1024 * 1024
"""Bytes multicast after which the others are told along with the next own multicast."""


class Announcer:
    """What was said of this process, and of each other one, last."""

    __slots__ = (
        "_heard", "_membership", "_receiver", "_said", "_said_to", "_said_us", "_sent_bytes",
    )  # fmt: skip

    def __init__(self, membership: Membership, receiver: Receiver, now_us: int) -> None:
        """Nothing was said yet."""
        self._membership = membership
        self._receiver = receiver
        self._said_us = now_us
        self._sent_bytes = 0
        self._said: tuple[object, ...] = ()
        self._said_to: dict[ProcessId, None] = {}
        self._heard: dict[ProcessId, Alive] = {}

    # This process.

    def is_due_after(self, byte_count: int, now_us: int) -> bool:
        """So much is multicast: return whether it is time to announce along with it."""
        if self._receiver.tree is not None:
            return False  # receipts go another way
        self._sent_bytes += byte_count
        membership = self._membership
        if self._sent_bytes < ALIVE_BYTES and now_us - self._said_us < membership.heartbeat_us // 2:
            return False
        # Only if all whom it concerns get the run.
        return len(membership.transition.everybody()) == len(self._receiver.members)

    def has_news(self) -> bool:
        """Whether others do not know how this process stands, or somebody has not been told."""
        is_told = self._said_to is self._membership.transition.everybody()
        has_receipts = self._receiver.has_news and self._receiver.tree is None
        return has_receipts or not is_told or self._said != self._standing()

    def _standing(self) -> tuple[object, ...]:
        """Return what an Alive says beside receipts."""
        membership, stability = self._membership, self._receiver.stability
        stable = stability.stable(stability.rank) if self._receiver.tree is None else 0
        return membership.transition.number, self._agreed(), membership.is_blocked, stable

    def _agreed(self) -> int:
        """Return the number of the last view agreed on."""
        latest = self._membership.latest
        return latest.number if latest is not None else 0

    def announce(self, now_us: int) -> Alive:
        """Return what to tell all others now."""
        membership, receiver = self._membership, self._receiver
        assert now_us >= self._said_us, "time does not go back"
        self._said_us = now_us
        self._sent_bytes = receiver.received_bytes = 0
        receiver.has_news = False
        self._said = self._standing()
        self._said_to = membership.transition.everybody()
        is_blocked = membership.is_blocked
        if membership.transition.current is None:  # taken in, but still to install the first view
            return Alive(0, (), 0, self._agreed(), is_blocked)
        return receiver.stability.alive(
            membership.transition.number, receiver.received(), self._agreed(), is_blocked=is_blocked
        )

    def standing(self) -> Alive:
        """Return how this process stands in views, and nothing of receipts."""
        membership = self._membership
        number, is_blocked = membership.transition.number, membership.is_blocked
        return Alive(number, (), 0, self._agreed(), is_blocked)

    # The others.

    def hear(self, peer: ProcessId, alive: Alive) -> None:
        """``peer`` says how it stands."""
        self._heard[peer] = alive

    def agreed_by(self, peer: ProcessId) -> int:
        """Return the last view that ``peer`` is known to know as agreed on."""
        alive = self._heard.get(peer)
        return alive.agreed if alive is not None else 0

    def last_of(self, peer: ProcessId) -> Alive | None:
        """Return what ``peer`` said last, if something may be to do about it; else None.

        Nothing is, if it is a member of the same view, as is everybody.
        """
        alive = self._heard.get(peer)
        membership = self._membership
        transition, latest = membership.transition, membership.latest
        if (
            alive is None
            or latest is None
            or transition.pending
            or membership.is_blocked
            or alive.is_blocked
        ):
            return alive
        is_same = alive.number == alive.agreed == transition.number == latest.number
        is_settled = is_same and peer in self._receiver.ranks and not transition.lingering
        return None if is_settled else alive

    def forget_strangers(self) -> None:
        """A view begins: forget what was said by whom it does not concern."""
        everybody = self._membership.transition.everybody()
        self._heard = {who: said for who, said in self._heard.items() if who in everybody}
        if self._membership.attention.is_sparse:  # it may have been said by who was unknown then
            for who, said in self._heard.items():
                self._membership.roster.note_view(who, said.number)
