"""A simulated application: its state is everything delivered, whatever the order.

Law: two replicas that delivered the same messages are in the same state. So after a world has
come to rest all replicas must be equal, those of joiners included: a message missing in, or
counted twice by, a transferred state shows.
"""

from zlib import crc32

from antiphon.core.runs import Run

_MASK = (1 << 64) - 1
_PIECE = 2


class Replica:
    """The state of one process, and what waits until it has been transferred."""

    __slots__ = ("_loaded", "_since", "_waiting", "has_state", "state")

    def __init__(self, *, has_state: bool) -> None:
        """Start empty; without the state, wait for it."""
        self.has_state = has_state
        self.state = 0
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
        for number in range(run.first, run.last + 1):
            self.state = (self.state + crc32(f"{run.view}/{run.sender}/{number}".encode())) & _MASK

    def save(self) -> list[bytes]:
        """Return the state in a few pieces."""
        data = self.state.to_bytes(8, "little")
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
        self.state = int.from_bytes(self._loaded, "little")
        self.has_state = True
        waiting, self._waiting = self._waiting, []
        for view, run in waiting:
            if view >= self._since:
                self.deliver(run)
