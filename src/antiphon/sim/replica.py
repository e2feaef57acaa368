"""A simulated application: its state is everything delivered, and the order of the total messages.

Law: two replicas that delivered the same messages, those in total order in the same order, are in
the same state, and no others. So in a world
that is quiescent all replicas must be equal, those of joiners included: a message missing in, or
counted twice by, a transferred state shows.
"""

from zlib import crc32

from antiphon.core.runs import Order, Run

_MASK = (1 << 64) - 1
_FACTOR = 6364136223846793005
_PIECE = 2


class Replica:
    """The state of one process, and what waits until it has been transferred."""

    __slots__ = ("_loaded", "_since", "_waiting", "has_state", "state")

    def __init__(self, *, has_state: bool) -> None:
        """Start empty; without the state, wait for it."""
        self.has_state = has_state
        self.state = 0, 0
        self._waiting: list[tuple[int, Run]] = []
        self._since = 0
        self._loaded = b""

    def enter(self, number: int) -> None:
        """View ``number`` begins; while waiting, it is only remembered."""
        if not self.has_state and not self._since:
            self._since = number

    def deliver(self, run: Run) -> None:
        """Change the state; or keep the run until there is one."""
        if not self.has_state:
            self._waiting.append((run.view, run))
            return
        order, total = self.state
        for number in range(run.first, run.last + 1):
            value = crc32(f"{run.view}/{run.sender}/{number}".encode())
            total = (total + value) & _MASK
            if run.order is Order.TOTAL:
                order = (order * _FACTOR + value) & _MASK
        self.state = order, total

    def save(self) -> list[bytes]:
        """Return the state in a few pieces."""
        data = b"".join(part.to_bytes(8, "little") for part in self.state)
        return [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]

    def expect(self, number: int) -> None:
        """The state will be as of view ``number``: forget what it will contain."""
        self._since = number
        self._loaded = b""

    def load(self, number: int, piece: bytes) -> None:
        """Take a piece of the state as of view ``number``, if that is still wanted."""
        if number == self._since:
            self._loaded += piece

    def finish(self) -> None:
        """The state is complete: apply what was delivered since."""
        order, total = self._loaded[:8], self._loaded[8:]
        self.state = int.from_bytes(order, "little"), int.from_bytes(total, "little")
        self.has_state = True
        waiting, self._waiting = self._waiting, []
        for view, run in waiting:
            if view >= self._since:
                self.deliver(run)
