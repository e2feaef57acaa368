"""How the groups of a domain are called, where a structure is declared: it speaks of names.

Law: what is not known for certain limits nothing. A group whose name was never said, or was said to
be one and another, is one whose stamps ride along. Own groups go by the names that they were opened
with, whatever anybody says.
"""

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Foreign
from antiphon.ordering.structure import Structure

NAMES_MAX = 4096
"""KnownNames of groups that a process remembers; of the rest, stamps ride along."""


class KnownNames:
    """KnownNames of groups by their numbers, and to whom they have been said."""

    __slots__ = ("_been", "_own", "_rides", "_said", "_told", "structure")

    def __init__(self, structure: Structure | None) -> None:
        """Know none."""
        self.structure = structure
        self._own: dict[int, str] = {}
        self._been: dict[str, None] = {}
        self._told: dict[int, str | None] = {}
        self._rides: dict[int, bool] = {}
        self._said: dict[int, dict[int, None]] = {}

    def open(self, me: str, group: GroupNumber, name: str) -> None:
        """A group of this name is to be the process's own; refuse an overlap not declared.

        What the process has left counts, too: what it multicasts depends on it.
        """
        structure = self.structure
        if structure is not None:
            # With epochs, what is multicast after a group was left goes round by no circle.
            been = {} if structure.excluded else self._been
            for other in {**dict.fromkeys(self._own.values()), **been}:
                if not structure.declares(name, other):
                    message = (
                        f"{me} is or has been in group {other} and cannot be in group {name}: "
                        f"their domain does not declare that {other} and {name} overlap"
                    )
                    raise UsageError(message)
        self._own[group] = name
        self._rides.clear()

    def leave(self, group: GroupNumber) -> None:
        """It is not, any more; its name stays known."""
        name = self._own.pop(group, None)
        if name is not None:
            self._told[group] = name
        self._said.pop(group, None)
        self._rides.clear()

    def enter_view(self, group: GroupNumber) -> None:
        """A view of a group begins: others may be in it."""
        self._said.pop(group, None)
        if group in self._own:
            self._been[self._own[group]] = None

    def hear(self, said: tuple[tuple[int, str], ...]) -> None:
        """A member says how groups are called."""
        for number, name in said:
            known = self._told.get(number, name)
            if number in self._told or len(self._told) < NAMES_MAX:
                self._told[number] = name if known == name else None
                self._rides.pop(number, None)

    def may_ride(self, group: int) -> bool:
        """Whether the stamp of a group that is not the process's own is needed (ISIS 6.6)."""
        rides = self._rides.get(group)
        if rides is None:
            structure, name = self.structure, self._told.get(group)
            rides = self._rides[group] = (
                structure is None
                or name is None
                or any(structure.are_linked(name, own) for own in self._own.values())
            )
        return rides

    def is_excluded(self, group: int) -> bool:
        """Whether epochs lead in and out of an own group."""
        name = self._own.get(group)
        return self.structure is not None and name is not None and self.structure.is_excluded(name)

    def unsaid(self, to: GroupNumber, stamps: Foreign) -> tuple[tuple[int, str], ...]:
        """Return the names of groups in stamps that have not been said in this view of a group."""
        said = self._said.setdefault(to, {})
        unsaid = [group for group, _, _ in stamps if group not in said]
        said.update(dict.fromkeys(unsaid))
        return self.of(unsaid)

    def of(self, groups: list[int]) -> tuple[tuple[int, str], ...]:
        """Return the names of groups, as far as they are known."""
        named = [(group, self._own.get(group) or self._told.get(group)) for group in groups]
        return tuple((group, name) for group, name in named if name is not None)
