"""Causal blocks: one process of one group, on channels that lose, reorder and repeat (Blocks).

Rule. A multicast carries its block number, its sender's last-delivered vector and its maximum
block; it is delivered when, for every member, what its vector names has been delivered (004-2).
A process that was silent for a null period, or has received ``report_every`` messages since it last
spoke, sends a null message with the same stamp, which is neither held nor named by later vectors
(004-4). From the stamps each process learns what others
lack (``matrix``); whoever holds it sends it again, unchanged (``recovery``, 004-7), until all have
delivered it (``buffer``). A copy of what was delivered is dropped, however late (004-6).

Invariant. At every process ``last[k] == b`` means that all messages of k up to block b were
delivered, in order, each once, and each after everything in its causal past.

Fault model. Datagrams may be lost, repeated and reordered; one that is sent again for ever arrives
in the end. Processes crash. A suspicion is final, the same everywhere in the end, and given from
outside: then the suspect's reports are no longer waited for, nothing more is taken from itself, and
what others hold of its messages is still recovered (004-8). What any live process has delivered all
live ones deliver; a message of a dead process whose past died with it is held by some, and
delivered by none.

Rest. A process that has told all it has delivered, and knows all to have delivered the same, is
silent. One that does not know it asks (a null message of kind ``ASK``), every null period, and
whoever rests answers. So a lost message, report or answer is asked for again, and in the end
nobody speaks. The paper's processes speak for ever; ours are known to live by other means.

Lifetimes. An expired message keeps its place: a tombstone is delivered, and recovered, instead
(004-9). Each holder reckons what is left of the lifetime by its own clock; time on the way is not
counted, so a message may be delivered late by that, and never expires early.

Flow control. A process has at most ``window`` messages that not all live members are known to have
delivered (``has_room``): the slowest member slows every sender, and ``slowest`` names it. Its
application is admitted while all have room for what they have delivered (``window``); who is held
up so asks every null period, and who has room again says so at once.

Cost. n - 1 datagrams of 11 + 4 n bytes beside the payload, and no round, where nothing is lost;
n (n - 1) null messages per silent null period; n - 1 datagrams per copy that is sent again. A lost
message is recovered a random delay after the next report of whoever lacks it, so about a null
period later; by the printed rule two to three periods, and more in large groups.
"""

from collections import Counter
from dataclasses import replace

from antiphon.core.errors import BackPressureError, PeerError, UsageError
from antiphon.ordering.blocks.buffer import BlockBuffer, HeldBlock
from antiphon.ordering.blocks.codec import (
    BLOCK_MAX,
    JUMP_MAX,
    LIFETIME_US_MAX,
    MEMBERS_MAX,
    PAYLOAD_BYTES_MAX,
    check_block,
)
from antiphon.ordering.blocks.matrix import BlockMatrix
from antiphon.ordering.blocks.messages import (
    PRIORITY_MAX,
    BlockEffect,
    BlockKind,
    BlockMessage,
    DeliverBlock,
    TransmitBlock,
)
from antiphon.ordering.blocks.recovery import BlockRecovery, Draw
from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.ordering.blocks.window import BlockWindow

NEVER = 2**62
"""When nothing is due."""


class CausalBlocks:
    """The machine of one member of a group, in one view."""

    def __init__(
        self, size: int, me: int, settings: BlockSettings, draw: Draw, now_us: int = 0
    ) -> None:
        """Begin in a group of ``size`` members; ``draw`` gives random numbers."""
        if not 1 <= size <= MEMBERS_MAX or not 0 <= me < size:
            message = f"a group of causal blocks has 1 to {MEMBERS_MAX:,} members, not {size:,}"
            raise UsageError(message)
        self.me = me
        self.settings = settings
        self.matrix = BlockMatrix(size, me, counts_receipts=settings.counts_receipts)
        self.buffer = BlockBuffer(size, settings.window, settings.waiting_max)
        self.window = BlockWindow(self.matrix, settings)
        self.recovery = BlockRecovery(self.matrix, self.buffer, settings, draw)
        self.counts: Counter[str] = Counter()
        """Of nulls, repeated, duplicates, dropped (under pressure) and expired messages."""
        self._waiters: list[dict[int, None]] = [{} for _ in range(size)]
        self._null_us = now_us + settings.null_us
        self._unreported = self._unreported_bytes = 0
        self._owes = True  # a first word
        self._is_behind = self._said_behind = False
        self._reads = b""
        self._rests = settings.rests and settings.settle_us is not None
        # A sender whose window is full must not wait for the end of a silence.
        self._report_every = min(settings.report_every, max(1, settings.window // 2))
        self._report_bytes = settings.window_bytes // 2

    # What is asked.

    @property
    def due_us(self) -> int:
        """When :meth:`wake` is to be called next; ``NEVER``: not before something happens."""
        due_us = self.recovery.due_us
        return min(self._null_us, *due_us.values()) if due_us else self._null_us

    @property
    def has_room(self) -> bool:
        """Whether a message can be multicast now."""
        buffer, settings, me = self.buffer, self.settings, self.me
        return buffer.count(me) < settings.window and buffer.byte_count(me) < settings.window_bytes

    def slowest(self) -> int | None:
        """Return the live member that has delivered least of the own messages; None: all has."""
        others = [
            (self.matrix.reported[member][self.me], member)
            for member, is_live in enumerate(self.matrix.live)
            if is_live and member != self.me
        ]
        least, member = min(others, default=(0, self.me))
        return member if others and least < self.matrix.last[self.me] else None

    def unsettled(self, suspect: int) -> list[int]:
        """Return a suspect's blocks delivered here, not everywhere: to settle before a view."""
        return self.buffer.kept(suspect, 0, self.settings.window)

    # What happens.

    def multicast(
        self,
        payload: bytes,
        now_us: int,
        *,
        priority: int = 0,
        lifetime_us: int | None = None,
        label: bytes = b"",
    ) -> list[BlockEffect]:
        """Send a message to all, and deliver it here; its tombstone keeps the ``label``."""
        if not 0 <= priority <= PRIORITY_MAX or len(payload) > PAYLOAD_BYTES_MAX:
            text = f"priorities are 0 to {PRIORITY_MAX}, payloads up to {PAYLOAD_BYTES_MAX:,} bytes"
            raise UsageError(text)
        if lifetime_us is not None and not 1 <= lifetime_us <= LIFETIME_US_MAX:
            text = f"a lifetime is 1 to {LIFETIME_US_MAX:,} us, not {lifetime_us:,}"
            raise UsageError(text)
        if not self.has_room:
            count, size = self.buffer.count(self.me), self.buffer.byte_count(self.me)
            text = f"{count} messages, {size:,} bytes, are not known to be everywhere yet: wait"
            raise BackPressureError(text)
        if self.matrix.counter >= BLOCK_MAX:
            text = f"there are no blocks beyond {BLOCK_MAX:,}: begin another view"
            raise UsageError(text)
        message = BlockMessage(
            self.me, BlockKind.DATA, *self._stamped(now_us), payload, priority, lifetime_us, label,
            self._is_behind,
        )  # fmt: skip
        self.matrix.last[self.me] = message.block
        self.window.send(message.block, len(payload))
        self.buffer.put(HeldBlock(message, now_us, is_delivered=True))
        self._look(None, now_us)
        return [TransmitBlock(message), DeliverBlock(message)]

    def receive(self, message: BlockMessage, source: int, now_us: int) -> list[BlockEffect]:
        """Take a message that came from ``source``: its sender, or whoever sends it again."""
        check_block(message, self.matrix.size)
        if not self.matrix.live[source]:
            return []
        is_known = self._take_copy(message, now_us)
        self._check(message, is_known=is_known)
        is_news = message.sender != self.me and self.matrix.hear(message, now_us)
        if is_news:
            self.window.hear(message)
        effects: list[BlockEffect] = []
        if message.kind is BlockKind.ASK:
            self._owes = True
            self._end_rest(now_us)
        if not is_known:
            self._end_rest(now_us + self.settings.null_us)
            self.buffer.put(HeldBlock(message, now_us, is_delivered=False))
            effects = self._deliver_all(message.sender, now_us)
            self._relieve()
            self._count_unreported(len(message.payload), now_us)
        if is_news or effects:
            self._look(message.sender, now_us)
        return effects

    def wake(self, now_us: int) -> list[BlockEffect]:
        """Do what is due: send again what others lack, and a null message after silence."""
        effects: list[BlockEffect] = []
        for held in self.recovery.take_due(now_us):
            self._expire(held, now_us)
            self.counts["repeated"] += 1
            effects.append(TransmitBlock(self._as_of(held, now_us), is_repeated=True))
        if now_us >= self._null_us:
            for held in self.buffer.all():
                self._expire(held, now_us)
            effects += self._speak(now_us)
        return effects

    def suspect(self, member: int, now_us: int) -> None:
        """Wait no longer for a member; take nothing more from itself."""
        assert member != self.me, "nobody suspects itself"
        if self.matrix.live[member]:
            self.matrix.suspect(member)
            self.window.look()
            self._look(None, now_us)

    def lag(self, now_us: int, reads: int, *, is_behind: bool) -> None:
        """There is no room here for more, but some was read; or there is: both are said at once.

        ``reads`` is another number whenever something was read.
        """
        before = self._is_behind, self._reads
        self._is_behind, self._reads = is_behind, b"%x" % reads if is_behind else b""
        if self._said_behind and before != (is_behind, self._reads):
            self._owes = True
            self._null_us = min(self._null_us, now_us)

    # Steps.

    def _check(self, message: BlockMessage, *, is_known: bool) -> None:
        """Refuse a message that contradicts what is known."""
        last, sender = self.matrix.last, message.sender
        if message.block > max(self.matrix.counter, *self.matrix.highest) + JUMP_MAX:
            text = f"a message is of block {message.block:,}, far ahead of all that was received"
            raise PeerError(text)
        if message.delivered[self.me] > last[self.me] or (sender == self.me and not is_known):
            text = "a message names own ones that were never sent"
            raise PeerError(text)
        if not is_known and (
            message.before < last[sender] or self.buffer.next_of(sender, message.before)
        ):
            text = f"two messages of member {sender} follow its block {message.before}"
            raise PeerError(text)

    def _count_unreported(self, byte_count: int, now_us: int) -> None:
        """After so many messages, or bytes, report at once how far this process is."""
        self._unreported += 1
        self._unreported_bytes += byte_count
        is_due = self._unreported_bytes >= self._report_bytes
        if is_due or self._unreported >= self._report_every:
            self._null_us = min(self._null_us, now_us)

    def _stamped(self, now_us: int) -> tuple[int, int, tuple[int, ...]]:
        """Return the stamp of the next own message, which ends the silence."""
        self._null_us = now_us + self.settings.null_us
        self._unreported = self._unreported_bytes = 0
        self._owes = False
        self._said_behind = self._is_behind
        return self.matrix.stamp()

    def _end_rest(self, due_us: int) -> None:
        """Speak at a time, if this process is silent."""
        if self._null_us == NEVER:
            self._null_us = due_us

    def _speak(self, now_us: int) -> list[BlockEffect]:
        """Send a null message, unless there is nothing to say, or no number for it."""
        is_clear = self.buffer.is_clear and self.window.is_open
        if self._rests and is_clear and not self._owes and not self._unreported:
            self._null_us = NEVER
            return []
        if self.matrix.counter >= BLOCK_MAX:
            self._null_us = now_us + self.settings.null_us
            return []
        kind = BlockKind.NULL if is_clear else BlockKind.ASK
        null = BlockMessage(
            self.me, kind, *self._stamped(now_us), label=self._reads, is_behind=self._is_behind
        )
        self.counts["nulls"] += 1
        self._look(None, now_us)
        return [TransmitBlock(null)]

    def _take_copy(self, message: BlockMessage, now_us: int) -> bool:
        """Whether a message is known already; whoever was about to send it again waits."""
        if message.is_null:
            return True
        held = self.buffer.get(message.sender, message.block)
        if held is not None:
            self.recovery.hear_again(held, now_us)
        elif message.block > self.matrix.last[message.sender]:
            return False
        self.counts["duplicates"] += 1
        return True

    def _deliver_all(self, sender: int, now_us: int) -> list[BlockEffect]:
        """Deliver what can be, now that something of a sender has come."""
        effects: list[BlockEffect] = []
        senders = [sender]
        while senders:
            sender = senders.pop()
            held = self.buffer.next_of(sender, self.matrix.last[sender])
            if held is None:
                continue
            lack = self.matrix.lack(held.message)
            if lack is not None:
                self._waiters[lack][sender] = None
                continue
            self._expire(held, now_us)
            self.matrix.deliver(held.message)
            self.buffer.deliver(held)
            effects.append(DeliverBlock(held.message))
            senders += [*self._waiters[sender], sender]
            self._waiters[sender].clear()
        return effects

    def _relieve(self) -> None:
        """Drop what there is no room for."""
        if self.buffer.relieve() is not None:
            self.counts["dropped"] += 1

    def _expire(self, held: HeldBlock, now_us: int) -> None:
        if held.expire(now_us):
            self.counts["expired"] += 1

    def _as_of(self, held: HeldBlock, now_us: int) -> BlockMessage:
        """Return a message as it is sent now: only what is left of its lifetime changes."""
        if held.expires_us is None:
            return held.message
        return replace(held.message, lifetime_us=held.expires_us - now_us)

    def _look(self, reporter: int | None, now_us: int) -> None:
        """Forget what all have delivered, and see what somebody lacks."""
        self.buffer.collect(self.matrix.least)
        self.recovery.look(reporter, now_us)
