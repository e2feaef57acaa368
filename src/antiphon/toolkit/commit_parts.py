"""What joiners are told of transactions, in messages of bearable size.

Rule. A coordinator cuts what it knows as of the beginning of a view into numbered parts, and
multicasts these one after the other. Who is told takes all of them together, or none.

Invariant: what is put together was cut by one process as of one view. Parts of one sender are
delivered in order, so one that does not go on where the last one ended is of something that began
before this process came, or ended with its coordinator: it is for others, or for nobody.

Cost: one message per ``PART_BYTES`` begun. A part holds one thing at least, and the largest (a
transaction with as many participants as a view may have, each of which refused at length) is
below the limit of a message by itself.
"""

from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.toolkit.commit_messages import Decision, Open, State, size_of

PART_BYTES = 1024 * 1024
"""A part of more than one thing is no larger; large enough to be few, and to hold nobody up."""


def cut(state: State) -> list[State]:
    """Return the parts in which to tell a state; one at least, be it empty."""
    parts: list[tuple[list[Open], list[Decision]]] = [([], [])]
    size = 0
    everything: tuple[Open | Decision, ...] = (*state.opened, *state.decided)
    for one in everything:
        one_size = size_of(one)
        if size and size + one_size > PART_BYTES:
            parts.append(([], []))
            size = 0
        size += one_size
        opened, decided = parts[-1]
        if isinstance(one, Open):
            opened.append(one)
        else:
            decided.append(one)
    return [
        State(state.number, tuple(opened), tuple(decided), place, len(parts))
        for place, (opened, decided) in enumerate(parts)
    ]


class Gathering:
    """The parts of a state that have come so far."""

    def __init__(self) -> None:
        """Begin with none."""
        self._parts: list[State] = []
        self._sender: ProcessId | None = None

    def add(self, sender: ProcessId, part: State) -> State | None:
        """Take the next part; return the whole when it is the last one."""
        if part.place >= part.part_count:
            message = f"{sender} tells part {part.place} of {part.part_count} of what was decided"
            raise PeerError(message)
        if part.place == 0:
            self._parts, self._sender = [], sender
        elif not self._goes_on(sender, part):
            self._parts = []
            return None
        self._parts.append(part)
        if len(self._parts) < part.part_count:
            return None
        parts, self._parts = self._parts, []
        opened = tuple(one for each in parts for one in each.opened)
        decided = tuple(one for each in parts for one in each.decided)
        return State(part.number, opened, decided)

    def _goes_on(self, sender: ProcessId, part: State) -> bool:
        """Tell whether a part is the next one of what is being gathered."""
        if not self._parts or sender != self._sender or part.place != len(self._parts):
            return False
        first = self._parts[0]
        return (first.number, first.part_count) == (part.number, part.part_count)
