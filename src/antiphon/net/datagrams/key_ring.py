"""The keys of one group: which packets are its members', and new.

Law. A key is of one view: its number is the view's, its members are the view's, by rank. A ring
holds the key that this process seals with (``enter``), those of later views that it was told of
already, and up to ``KEYS_KEPT`` earlier ones for ``KEPT_US`` after the next view was entered: so
what was on its way is still read. A number is learnt once; what is below the oldest key kept never
comes back. So no key is used by two incarnations of a ring, and its nonces do not repeat.

What comes under a later key than any that is known is kept, up to ``EARLY_MAX`` packets and
``EARLY_BYTES_MAX``, until that key is learnt; what is older goes first. Whoever can send at all can
fill that with noise: then what is early is lost, and recovered.

Invariant: a packet is opened at most once, and only if a member sealed it. Time is an argument.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from antiphon.core.errors import UsageError
from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.packets import BadSealError, PacketCipher, PacketHeader
from antiphon.net.datagrams.replay import ReplayWindow

KEYS_KEPT = 4
KEPT_US = 5_000_000
KEYS_AHEAD_MAX = 16
EARLY_MAX = 64
EARLY_BYTES_MAX = 256 * 1024


@dataclass(slots=True)
class ViewKey:
    """What a view seals with."""

    number: int
    """Of the view."""
    me: int
    """This process's rank in it."""
    size: int
    """How many members it has."""
    cipher: PacketCipher
    windows: dict[int, ReplayWindow] = field(default_factory=dict)
    """By rank, of those who have sent something."""
    dropped_us: int | None = None
    """When it is forgotten."""


class KeyRing:
    """One process in one group."""

    __slots__ = ("_counts", "_early", "_early_bytes", "_group", "_keys", "current", "oldest")

    def __init__(self, group: int, counts: DatagramCounts) -> None:
        """Have no key."""
        self._group, self._counts = group, counts
        self._keys: dict[int, ViewKey] = {}
        self.current: ViewKey | None = None
        """What this process seals with."""
        self.oldest = 0
        """Keys below this number are unknown for good."""
        self._early: deque[tuple[PacketHeader, bytes]] = deque()
        self._early_bytes = 0

    @property
    def numbers(self) -> list[int]:
        """The keys that are known."""
        return sorted(self._keys)

    def learn(self, number: int, secret: bytes, me: int, size: int) -> None:
        """Learn the key of a view, in which this process has rank ``me`` of ``size``."""
        if number < self.oldest or number in self._keys:
            message = f"the key of view {number} was known before: a key is learnt once"
            raise UsageError(message)
        if not 0 <= me < size:
            message = f"there is no member {me} of {size}"
            raise UsageError(message)
        ahead = [known for known in self._keys if self.current and known > self.current.number]
        if len(ahead) >= KEYS_AHEAD_MAX:
            message = f"{KEYS_AHEAD_MAX} keys of later views are known: enter one of these first"
            raise UsageError(message)
        cipher = PacketCipher(secret, self._group, number, me)
        self._keys[number] = ViewKey(number, me, size, cipher)

    def enter(self, number: int, now_us: int) -> None:
        """Seal with this key from now on; forget earlier ones in a while."""
        key = self._keys.get(number)
        if key is None:
            message = f"the key of view {number} is not known: learn it first"
            raise UsageError(message)
        if self.current is not None and number < self.current.number:
            message = f"view {number} was before view {self.current.number}"
            raise UsageError(message)
        self.current = key
        self.sweep(now_us)

    def sweep(self, now_us: int) -> None:
        """Forget what has had its time."""
        if self.current is None:
            return
        past = [number for number in self.numbers if number < self.current.number]
        excess = max(0, len(past) - KEYS_KEPT)
        for place, number in enumerate(past):
            key = self._keys[number]
            if key.dropped_us is None:
                key.dropped_us = now_us + KEPT_US
            if place < excess or key.dropped_us <= now_us:
                del self._keys[number]
                self.oldest = number + 1
        self._counts.unknown_key += self._forget_early(lambda key: key < self.oldest)

    def open(self, header: PacketHeader, packet: bytes | memoryview) -> bytes | None:
        """Return the body of a packet, if it is a member's and new; count why not."""
        counts = self._counts
        key = self._keys.get(header.key)
        if key is None:
            self._keep(header, packet)
            return None
        sender, counter = header.sender, header.counter
        if sender == key.me:
            counts.own += 1
            return None
        window = key.windows.get(sender)
        if window is None:
            if sender >= key.size:
                counts.not_a_member += 1
                return None
            window = ReplayWindow()
        if not window.is_new(counter):
            counts.replayed += 1
            return None
        try:
            body = key.cipher.open(header, packet)
        except BadSealError:
            counts.forged += 1
            return None
        window.take(counter)
        key.windows[sender] = window
        return body

    def size_of(self, number: int) -> int:
        """Return how many members the view of a key has."""
        return self._keys[number].size

    def early(self, number: int) -> list[tuple[PacketHeader, bytes]]:
        """Take out what came for a key that has been learnt now."""
        taken = [each for each in self._early if each[0].key == number]
        self._forget_early(lambda key: key == number)
        return taken

    def _forget_early(self, is_over: Callable[[int], bool]) -> int:
        before = len(self._early)
        self._early = deque(each for each in self._early if not is_over(each[0].key))
        self._early_bytes = sum(len(packet) for _, packet in self._early)
        return before - len(self._early)

    def _keep(self, header: PacketHeader, packet: bytes | memoryview) -> None:
        newest = max(self._keys, default=self.oldest - 1)
        if header.key <= newest or len(packet) > EARLY_BYTES_MAX:
            self._counts.unknown_key += 1
            return
        self._counts.early += 1
        self._early.append((header, bytes(packet)))
        self._early_bytes += len(packet)
        while len(self._early) > EARLY_MAX or self._early_bytes > EARLY_BYTES_MAX:
            self._early_bytes -= len(self._early.popleft()[1])
            self._counts.unknown_key += 1
