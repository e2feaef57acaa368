"""Names of things: processes, groups, views, ranks.

Law: an id never changes its meaning. A process that comes back after a crash is a new process
(a new incarnation), so "p delivered m" can never be said of two different ones (ISIS 4.1).
"""

import re
from typing import Annotated, NewType

from msgspec import Meta, Struct

from antiphon.core.errors import UsageError

GroupName = NewType("GroupName", str)
"""What people call a group."""

GroupNumber = NewType("GroupNumber", int)
"""What the machine of one process calls a group of its: a small number of its own."""

ViewNumber = NewType("ViewNumber", int)
"""Views of a group are numbered from 1; 0 means "no view yet"."""

Rank = NewType("Rank", int)
"""The place of a member in its view, from 0, in order of seniority: the index into vectors."""

# Names become folder names and columns of tables, so they stay short and plain.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def check_name(name: str, what: str) -> str:
    """Return ``name`` if it can name a process, group or domain; complain otherwise."""
    if not _NAME.fullmatch(name):
        message = (
            f"{what} {name!r} is not usable: use 1 to 64 letters, digits, '_', '.' or '-', "
            f"not starting with '.' or '-'"
        )
        raise UsageError(message)
    return name


class ProcessId(Struct, frozen=True, order=True, array_like=True):
    """One incarnation of a named process, and where it can be reached."""

    name: Annotated[str, Meta(pattern=rf"^{_NAME.pattern}\Z")]
    incarnation: Annotated[int, Meta(ge=0, le=2**31)] = 1
    """Of a name in a group, numbered from 1, for people; 0: of no group (``bare``)."""
    boot: Annotated[int, Meta(ge=0, le=2**62)] = 0
    """Drawn anew at every start: nobody takes a restarted process for its former self."""
    address: Annotated[str, Meta(max_length=256)] = ""
    """Where the transport finds it."""

    def __str__(self) -> str:
        """First incarnations go by the bare name; later ones show their number, as ``alice~2``."""
        return self.name if self.incarnation == 1 else f"{self.name}~{self.incarnation}"

    def bare(self) -> "ProcessId":
        """Return the process itself, the same in all its groups, whatever its number in each."""
        return ProcessId(self.name, 0, self.boot, self.address)

    def numbered(self, incarnation: int) -> "ProcessId":
        """Return the process as the group knows it in which this is its number."""
        return ProcessId(self.name, incarnation, self.boot, self.address)

    @property
    def place(self) -> str:
        """Where it is found, as whoever comes after it is; without addresses, its name."""
        return self.address or self.name
