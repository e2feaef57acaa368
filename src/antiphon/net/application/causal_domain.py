"""A causality domain, as an application names it.

Law: what all members of a domain's groups must have been given alike is in its description, which
is compared when processes meet; what makes no sense is refused where it is given.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name
from antiphon.net.application.checking import check_flags, check_names, refuse
from antiphon.ordering.structure import Structure
from antiphon.stack.domain import ALL

RESILIENCE_MAX = 1_000
"""The largest resilience that can be asked for by a number; ``all`` is more."""


@dataclass(frozen=True, slots=True)
class CausalDomain:
    """Groups within which causality is kept: nobody reads a response before its call.

    - ``name``: alike at all members of its groups.
    - ``resilience``: how many processes may crash at once without taking something with them that
      a message of another group depends on: 1, 2, ... or ``"all"`` (ISIS 6.5, 6.7). The more, the
      longer a process waits that multicasts in one group and then in another.
    - ``overlaps``: pairs of names of groups, or patterns such as ``room-*``: only these may have
      members in common, and messages carry less (ISIS 6.6). A join that makes another overlap is
      refused. None: nothing is declared, and every overlap is fine.
    - ``excluded``: names or patterns of groups that are left out of what is declared, so that the
      rest has no circle: what passes by them goes by multicast epochs instead (ISIS 6.7).
    - ``acyclic``: whether the declared overlaps are to have no circle; one that has is refused.
    """

    name: str
    resilience: int | Literal["all"] = 1
    overlaps: Iterable[tuple[str, str]] | None = None
    acyclic: bool = False
    excluded: Iterable[str] = ()

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_names(domain=self.name)
        check_name(self.name, "domain name")
        given = self.resilience
        is_number = type(given) is int and 1 <= given <= RESILIENCE_MAX
        if not (is_number or given == "all"):
            refuse("resilience", f"a number from 1 to {RESILIENCE_MAX}, or 'all'", given)
        check_flags(acyclic=self.acyclic)
        if self.overlaps is not None:
            if isinstance(self.overlaps, str) or not isinstance(self.overlaps, Iterable):
                refuse("overlaps", "a list of pairs of names of groups", self.overlaps)
            pairs = tuple(tuple(one) if isinstance(one, list) else one for one in self.overlaps)
            object.__setattr__(self, "overlaps", pairs)
        if isinstance(self.excluded, str) or not isinstance(self.excluded, Iterable):
            refuse("excluded", "a list of names of groups", self.excluded)
        object.__setattr__(self, "excluded", tuple(self.excluded))
        if self.excluded and self.overlaps is None:
            message = "groups are excluded from what is declared: give the overlaps, too"
            raise UsageError(message)
        if self.overlaps is not None:  # refuses what is none
            Structure(self.overlaps, excluded=self.excluded, acyclic=self.acyclic)

    def exclude(self, *groups: str) -> "CausalDomain":
        """Return the same domain with these groups left out of its circles, too (ISIS 7.3)."""
        excluded = dict.fromkeys((*self.excluded, *groups))
        return replace(self, excluded=tuple(sorted(excluded, key=str)))

    @property
    def structure(self) -> Structure | None:
        """What is declared of its overlaps, if anything is."""
        if self.overlaps is None:
            return None
        return _structure(tuple(self.overlaps), tuple(self.excluded), acyclic=self.acyclic)

    @property
    def crashes(self) -> int:
        """How many members must have received what another group's message depends on."""
        return ALL if self.resilience == "all" else self.resilience

    @property
    def description(self) -> str:
        """What all must have been given alike."""
        said = [f"resilience {self.resilience}"] if self.resilience != 1 else []
        if self.overlaps is not None:
            pairs = sorted(tuple(sorted(pair)) for pair in self.overlaps)
            declared = repr((pairs, sorted(self.excluded))).encode()
            said.append(f"overlaps {zlib.crc32(declared):08x}")
            said += ["acyclic"] if self.acyclic else []
        return f"{self.name} ({', '.join(said)})" if said else self.name


@cache
def _structure(
    overlaps: tuple[tuple[str, str], ...], excluded: tuple[str, ...], *, acyclic: bool
) -> Structure:
    return Structure(overlaps, excluded=excluded, acyclic=acyclic)


def as_domain(given: object) -> CausalDomain | None:
    """Return the domain that an application names; None: the group is one of its own."""
    if given is None or isinstance(given, CausalDomain):
        return given
    if not isinstance(given, str):
        refuse("domain", "a name, as text, or an antiphon.CausalDomain", given)
    return CausalDomain(given)
