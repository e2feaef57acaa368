"""Which groups are one causality domain: what the rows say, and what the terms say where none does.

Law: a group is in one domain, the same in all its rows; the first that says another is refused by
file and line. Rows come in the order in which files are read. Of a group of which neither rows nor
terms say anything, nothing is known. Cost: one line per group, domain and file.
"""

from collections.abc import Iterable
from typing import NamedTuple

from antiphon.core.errors import TraceError
from antiphon.trace.verdict import Terms

OF_A_GROUP = frozenset({"view", "multicast", "deliver"})
"""The kinds of rows that show that a process takes part in a group, and may name its domain."""

GroupKey = tuple[str, str]
"""Run, group."""

DomainKey = tuple[str, str, str]
"""Run, how it is known, name: equal for groups of one domain."""


class Naming(NamedTuple):
    """A row that names the domain of a group."""

    run: str
    group: str
    domain: str
    file: str
    line: int


def named_domains(namings: Iterable[Naming]) -> dict[GroupKey, str]:
    """Return what rows say, given in the order in which they are read."""
    first: dict[GroupKey, Naming] = {}
    for naming in namings:
        known = first.setdefault((naming.run, naming.group), naming)
        if known.domain != naming.domain:
            message = (
                f"{naming.file}:{naming.line}: group {naming.group!r} is in domain "
                f"{naming.domain!r} here, and in {known.domain!r} in {known.file}:{known.line}: a "
                "group has one domain, the same in all its rows (a column `domain` that says "
                "something else has to be renamed)"
            )
            raise TraceError(message)
    return {key: naming.domain for key, naming in first.items()}


def domain_of(group: GroupKey, named: dict[GroupKey, str], terms: Terms) -> DomainKey | None:
    """Return the domain of a group, or None if nothing says."""
    run, name = group
    if group in named:
        return run, "named", named[group]
    match terms.domains:
        case "one":
            return run, "one", ""
        case "each":
            return run, "each", name
        case _:
            return None
