"""Credit: what is confirmed to senders, and so how much they may have on the way.

Law: a process confirms what it has received (Alive), and senders wait while too much is not
confirmed by everybody. So a process whose application does not read, or which holds back too much,
withholds its confirmations, and the senders stop, without its ever ceasing to read from the
network: heartbeats, views and flushes pass by at any time. What was withheld is said later.
"""

from msgspec.structs import replace

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId


class Credit:
    """Confirmations of one process, given and got, in its current view."""

    __slots__ = ("_number", "_withheld", "confirmed")

    def __init__(self) -> None:
        """Nothing has been confirmed."""
        self._number = 0
        self._withheld: dict[int, int] = {}
        self.confirmed: dict[ProcessId, int] = {}
        """By member, how many of this process's messages it has confirmed."""

    def begin(self, number: int) -> None:
        """A view begins: everything said before is void."""
        self._number = number
        self._withheld.clear()
        self.confirmed.clear()

    def give(self, alive: Alive, *, withhold: bool) -> Alive:
        """Return what to say instead of ``alive``."""
        if alive.number != self._number or not (withhold or self._withheld):
            return alive
        self._withheld.update(alive.received)
        if withhold:
            return replace(alive, received=())
        said = tuple(sorted(self._withheld.items()))
        self._withheld.clear()
        return replace(alive, received=said)

    def get(self, member: ProcessId, rank: int, alive: Alive) -> None:
        """Note what ``member`` says of the messages of ``rank``, which is this process."""
        if alive.number == self._number:
            for sender, count in alive.received:
                if sender == rank:
                    self.confirmed[member] = count
