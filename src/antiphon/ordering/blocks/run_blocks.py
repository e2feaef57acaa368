"""Causal blocks under the views of a group: runs as blocks, a machine per view.

Rule. A run is a block: its first number and its count are the block's label, its messages the
payload. A view begins with a new machine (``machine``), and everything of the one before is
forgotten. What the machine delivers is a run that needs no stamp of its own: it comes when its
past has. An expired block is delivered as an ``ExpiredRun`` with the same numbers.

A view ends, for this protocol, as soon as a newer one is known (``stop``): from then on nothing is
said, taken or delivered by datagram. What is left is the business of the flush, over reliable
channels: whoever takes part relays, in order of delivery, all it has delivered in the view and not
everybody is known to have. What is held here undelivered is given up. It is nobody's loss: what a
member that goes on has multicast or delivered it relays, with its past ahead of it; so what is not
relayed was delivered by no member that goes on, and by D3 it must then be delivered by none.

Datagrams of an earlier view, or of one that is being left, are dropped; those of a later one are
kept, some of them, until it begins. Nothing depends on that: what is dropped is a loss like any.

A suspect. Who is dead for certain is waited for no longer in the view that it died in (004-8), so
that nobody's window fills until the next view.

Dice. Random delays need only differ from member to member: they come from a generator that is
seeded by the member and the view.

Fault model and cost: those of the machine. A view costs nothing; a datagram has its view in front.
"""

from collections import Counter, deque
from collections.abc import Callable

from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.records import decode_unplaced, encode_unplaced
from antiphon.core.runs import ExpiredRun, Order, Run
from antiphon.core.varint import append_varint, append_varints, read_varint, read_varints
from antiphon.core.views import View
from antiphon.ordering.blocks.codec import BLOCK_MAX, encode_block, read_block
from antiphon.ordering.blocks.counts import OF_NO_OPEN_VIEW, TOO_EARLY, BlockCounts, as_counts
from antiphon.ordering.blocks.machine import NEVER, CausalBlocks
from antiphon.ordering.blocks.messages import BlockEffect, BlockMessage, TransmitBlock
from antiphon.ordering.blocks.settings import BlockSettings

EARLY_MAX = 256
"""Datagrams of views that are still to begin."""

EARLY_BYTES_MAX = 1024 * 1024
"""Their bytes."""

COUNT_MAX = 65_536
"""Messages of one run."""

RESERVED_BLOCKS = 2**24
"""So many numbers of a view are not for what applications begin to multicast."""

_FACTOR, _SUMMAND, _MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1


class RunBlocks:
    """One member's part in a group that orders by causal blocks."""

    def __init__(
        self, group: GroupNumber, settings: BlockSettings, run_bytes_max: int = 16_384
    ) -> None:
        """Be in no view."""
        self.run_bytes_max = run_bytes_max
        """Payload bytes of a run of several messages."""
        self.group = group
        """The group, as runs name it here."""
        self._settings = settings
        self._view = 0
        self._head = b""
        """What datagrams of the view begin with: its number."""
        self._machine: CausalBlocks | None = None
        self._ranks: dict[ProcessId, int] = {}
        self._early: list[tuple[int, ProcessId, bytes]] = []
        self._early_bytes = 0
        self.counts: Counter[str] = Counter()
        """Datagrams dropped, by the reason; and what the machines of past views counted."""
        self._outgoing: list[bytes] = []
        self._behind = (False, 0)  # and how often something was read
        self._places: list[deque[tuple[int, int]]] = []
        """By sender, blocks delivered that may not be everywhere: each with its last number."""

    # What is asked.

    @property
    def machine(self) -> CausalBlocks | None:
        """The machine of the view, while nobody leaves it; to look into."""
        return self._machine

    @property
    def due_us(self) -> int:
        """When :meth:`wake` is to be called next."""
        return self._machine.due_us if self._machine is not None else NEVER

    @property
    def has_room(self) -> bool:
        """Whether a run can be sent now, if the view is open."""
        return self._machine is None or self._machine.has_room

    @property
    def is_open(self) -> bool:
        """Whether the application may send more: all have room for what they have delivered."""
        return self._machine is None or self._machine.window.is_open

    @property
    def is_settled(self) -> bool:
        """Whether all that was delivered here is known to have been delivered everywhere."""
        return self._machine is None or self._machine.buffer.is_clear

    @property
    def is_spent(self) -> bool:
        """Whether the view has no numbers but for what waits, for tools, reports and copies."""
        machine = self._machine
        return machine is not None and machine.matrix.counter > BLOCK_MAX - RESERVED_BLOCKS

    @property
    def is_awaiting(self) -> bool:
        """Whether somebody has still to say that it has delivered all of this member's."""
        if self._machine is None:
            return False
        matrix, me = self._machine.matrix, self._machine.me
        return matrix.least[me] < matrix.last[me]

    def awaited(self) -> dict[ProcessId, int]:
        """Return who has still to deliver something of this member's, and how far each is."""
        if self._machine is None or not self.is_awaiting:
            return {}
        matrix, me = self._machine.matrix, self._machine.me
        return {
            member: matrix.reported[rank][me]
            for member, rank in self._ranks.items()
            if rank != me and matrix.live[rank] and matrix.reported[rank][me] < matrix.last[me]
        }

    def unconfirmed(self) -> dict[ProcessId, int]:
        """Return who holds the application up, if anybody does, and how far each has come."""
        found = self._machine.window.unconfirmed() if self._machine is not None else {}
        return {member: found[rank] for member, rank in self._ranks.items() if rank in found}

    def count(self) -> BlockCounts:
        """Return what became of blocks here, in all views."""
        machine = self._machine
        return as_counts(self.counts if machine is None else self.counts + machine.counts)

    # Views.

    def enter(self, view: View, rank: Rank, now_us: int) -> list[tuple[ProcessId, bytes]]:
        """Begin a view; return what had come too early for it, by whom."""
        assert view.number > self._view, "views are entered in order"
        self.stop()
        self._view = view.number
        head = bytearray()
        append_varint(head, view.number)
        self._head = bytes(head)
        self._ranks = {member: place for place, member in enumerate(view.members)}
        seed = f"{view.members[rank]}/{view.number}"
        self._machine = CausalBlocks(
            len(view.members), rank, self._settings, draw_from(seed), now_us
        )
        self._machine.lag(now_us, self._behind[1], is_behind=self._behind[0])
        self._places = [deque() for _ in view.members]
        early, self._early, self._early_bytes = self._early, [], 0
        for number, source, data in early:
            if number > view.number:
                self._keep(number, source, data)
        return [(source, data) for number, source, data in early if number == view.number]

    def stop(self) -> None:
        """A newer view is known: nothing more comes, or goes, by datagram in this one."""
        if self._machine is not None:
            self.counts += self._machine.counts
            self._machine = None

    def suspect(self, member: ProcessId, now_us: int) -> None:
        """A member is dead for certain: wait no longer for what it reports."""
        if self._machine is not None and member in self._ranks:
            self._machine.suspect(self._ranks[member], now_us)

    def lag(self, now_us: int, reads: int, *, is_behind: bool) -> None:
        """The application has no room for more; or has it again. It has read so often."""
        if self._behind != (is_behind, reads):
            self._behind = is_behind, reads
            if self._machine is not None:
                self._machine.lag(now_us, reads, is_behind=is_behind)

    # Messages.

    def send(
        self, run: Run, now_us: int, *, priority: int = 0, lifetime_us: int | None = None
    ) -> None:
        """Send a run of this member, which it has delivered."""
        assert self._machine is not None, "the view is open"
        assert run.view == self._view, "it is of this view"
        assert not run.is_gated, "there are no turns and marks here"
        run.stamp = ()  # the block says what comes before it
        label = bytearray()
        append_varints(label, (run.first, run.count))
        self._put(
            self._machine.multicast(
                encode_unplaced(run), now_us,
                priority=priority, lifetime_us=lifetime_us, label=bytes(label),
            )
        )  # fmt: skip
        self._places[run.sender].append((self._machine.matrix.last[run.sender], run.last))

    def take(self, source: ProcessId, data: bytes, now_us: int) -> list[Run]:
        """Take a datagram; return what can be delivered, in order."""
        view, offset = read_varint(data, 0)
        if view > self._view:
            self._keep(view, source, data)
            return []
        rank = self._ranks.get(source)
        if view < self._view or self._machine is None or rank is None:
            self.counts[OF_NO_OPEN_VIEW] += 1
            return []
        # What it says is checked when it is taken. The run is made before that: who sends nonsense
        # must not spoil what others did right.
        message = read_block(memoryview(data), offset, self._machine.matrix.size)
        run = None if message.is_null else self._run_of(message)
        return self._put(self._machine.receive(message, rank, now_us), message, run)

    def note_late(self, late_us: int, now_us: int) -> None:
        """Take note that this process was woken so late."""
        if self._machine is not None:
            self._machine.recovery.note_late(late_us, now_us)

    def wake(self, now_us: int) -> None:
        """Do what is due."""
        if self._machine is not None:
            self._put(self._machine.wake(now_us))

    def take_settled(self) -> list[tuple[int, int]]:
        """Return, by sender, up to which message ALL members are known to have delivered; news.

        Nothing more is, once somebody is suspected: others may still count on that one.
        """
        machine, settled = self._machine, []
        if machine is not None and all(machine.matrix.live):
            for sender, least in enumerate(machine.matrix.least):
                places, last = self._places[sender], 0
                while places and places[0][0] <= least:
                    last = places.popleft()[1]
                if last:
                    settled.append((sender, last))
        return settled

    def take_outgoing(self) -> list[bytes]:
        """Hand over datagrams for all other members of the view."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    # Inside.

    def _put(
        self,
        effects: list[BlockEffect],
        message: BlockMessage | None = None,
        run: Run | None = None,
    ) -> list[Run]:
        """Put datagrams out; return the runs that are delivered, but for own ones."""
        assert self._machine is not None, "it has just done something"
        ready: list[Run] = []
        for effect in effects:
            if isinstance(effect, TransmitBlock):
                self._outgoing.append(encode_block(effect.message, self._head))
            elif effect.message.sender != self._machine.me:
                known = run if effect.message is message else None
                made = known if known is not None else self._run_of(effect.message)
                self._places[made.sender].append((effect.message.block, made.last))
                ready.append(made)
        return ready

    def _run_of(self, message: BlockMessage) -> Run:
        (first, count), end = read_varints(message.label, 0, 2)
        if end != len(message.label) or not 0 < count <= COUNT_MAX:
            text = f"a block of member {message.sender} does not say which messages it has"
            raise PeerError(text)
        view, sender = ViewNumber(self._view), Rank(message.sender)
        if message.is_void:
            return ExpiredRun(self.group, view, sender, first, Order.CAUSAL, (), [b""] * count, 0)
        run = decode_unplaced(message.payload, self.group, view, sender, first)
        if run.count != count or run.stamp or run.foreign or run.is_gated:
            text = f"a block of member {sender} has other messages than it says"
            raise PeerError(text)
        return run

    def _keep(self, view: int, source: ProcessId, data: bytes) -> None:
        """Keep a datagram of a later view, if there is room."""
        is_full = len(self._early) >= EARLY_MAX
        if is_full or self._early_bytes + len(data) > EARLY_BYTES_MAX:
            self.counts[TOO_EARLY] += 1
            return
        self._early_bytes += len(data)
        self._early.append((view, source, data))


def draw_from(seed: str) -> Callable[[int], int]:
    """Return what draws numbers from 0 up to its argument, always the same ones for a seed."""
    state = int.from_bytes(seed.encode(), "big") % (_MASK - 58)  # a prime: all of it counts

    def draw(top: int) -> int:
        nonlocal state
        state = (state * _FACTOR + _SUMMAND) & _MASK
        return (state >> 33) % (top + 1)

    return draw
