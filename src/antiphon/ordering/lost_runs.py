"""What lost runs had to say of other groups: whatever names them waits for that instead.

Rule. A run may name an earlier one of its sender's, in another group, and leave unsaid what that
one has said (``knowledge``: told by another group). If the earlier one can never be delivered here,
for something of its own group died with its senders, nobody waits for it (``vector``: a closed
view). Then what it said is waited for in its place by all that names it, also by what comes later.

Cost: nothing where nothing is lost. State: stamps of the orphans of the last views that had any.
"""

from collections.abc import Iterable

from antiphon.core.runs import Foreign, Letter, Run

VIEWS_MAX = 64
"""Views whose orphans are remembered: what names them is of views that are left soon after."""


class LostRuns:
    """The stamps of runs that will never be delivered here."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        """Nothing is lost."""
        self._said: dict[tuple[int, int], list[tuple[int, int, Foreign]]] = {}

    def note(self, runs: Iterable[Run]) -> None:
        """These runs will never be delivered."""
        for run in runs:
            if run.foreign and type(run) is not Letter:
                said = self._said.setdefault((run.group, run.view), [])
                said.append((run.sender, run.first, run.foreign))
        while len(self._said) > VIEWS_MAX:
            del self._said[next(iter(self._said))]

    def behind(self, stamps: Foreign) -> Foreign:
        """Return these stamps, and those of the lost runs that they name, however far."""
        found, seen = list(stamps), 0
        taken: set[tuple[int, int, int, int]] = set()
        while seen < len(found):
            group, view, entries = found[seen]
            seen += 1
            for sender, first, said in self._said.get((group, view), ()):
                place = group, view, sender, first
                is_named = any(rank == sender and first <= count for rank, count in entries)
                if is_named and place not in taken:
                    taken.add(place)
                    found += said
        return tuple(found)
