"""The views that a trace's processes installed, on the driver.

Law: view rows are few, so all of them fit where the reports do; what is wrong with views follows
from them alone, and whether a message stayed in its view from a comparison of positions: a
strand between two view rows is settled without a look at its rows. Definitions in
docs/properties.md.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import msgspec

from antiphon.core.views import lineage_of
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.ingest.reading import Report, ScopeKey, Strand, ViewRow

Owner = tuple[str, str, str]
"""Run, group, process."""

Stay = tuple[int, int]
"""The positions between which a view is a process's current one: from, and up to before."""


class Views:
    """All view rows of a trace."""

    def __init__(self, reports: Iterable[Report], late: Container[tuple[str, str]] = ()) -> None:
        """Sort the rows out; those of a process by position.

        ``late``: by run and process, whose record begins late.
        """
        self._late = late
        found = [(row, report.number) for report in reports for row in report.views]
        found.sort(key=lambda pair: (pair[0].run, pair[0].process, pair[0].position))
        self.rows: dict[Owner, list[ViewRow]] = {}
        self.installed: dict[ScopeKey, dict[str, ViewRow]] = {}
        """The first view row of each process, by name in order."""
        self._segments = {(row.run, row.process, row.position): file for row, file in found}
        self._rosters: dict[str, tuple[str, ...]] = {}
        self._stays: dict[Owner, dict[int, list[Stay]]] = {}
        for row, _ in found:
            self.rows.setdefault((row.run, row.group, row.process), []).append(row)
            self.installed.setdefault(row.scope, {}).setdefault(row.process, row)

    def members(self, row: ViewRow) -> tuple[str, ...]:
        """Return whom a row lists; equal lists are taken apart once."""
        if row.members not in self._rosters:
            self._rosters[row.members] = msgspec.json.decode(row.members, type=tuple[str, ...])
        return self._rosters[row.members]

    @cached_property
    def rosters(self) -> dict[ScopeKey, list[tuple[str, ...]]]:
        """Return the different lists of members of each view."""
        found: dict[ScopeKey, dict[str, tuple[str, ...]]] = {}
        for rows in self.rows.values():
            for row in rows:
                found.setdefault(row.scope, {})[row.members] = self.members(row)
        return {key: list(lists.values()) for key, lists in found.items()}

    @cached_property
    def group_counts(self) -> Counter[tuple[str, str]]:
        """Return, by run and process, of how many groups it installed views."""
        return Counter((run, process) for run, _, process in self.rows)

    @cached_property
    def takeovers(self) -> dict[Owner, list[tuple[ViewRow, ViewRow]]]:
        """Return who took over, with the rows of the view that it left and of its own."""
        found: dict[Owner, list[tuple[ViewRow, ViewRow]]] = {}
        for owner, rows in self.rows.items():
            for before, row in pairwise(rows):
                if self.is_takeover(before, row):
                    found.setdefault(owner, []).append((before, row))
        return found

    def is_takeover(self, before: ViewRow, row: ViewRow) -> bool:
        """Whether a view row begins a new lineage: its process goes on, alone."""
        is_later = lineage_of(row.view) > lineage_of(before.view)
        return is_later and self.members(row) == (row.process,)

    def segment(self, row: ViewRow) -> int:
        """Return the number of the file in which a row is."""
        return self._segments[row.run, row.process, row.position]

    def stays(self, owner: Owner, view: int) -> list[Stay]:
        """Return when a view was a process's current one."""
        if owner not in self._stays:
            borders = [*(row.position for row in self.rows[owner]), NEVER]
            self._stays[owner] = {}
            for row, stay in zip(self.rows[owner], pairwise(borders), strict=True):
                self._stays[owner].setdefault(row.view, []).append(stay)
        stays = self._stays[owner].get(view, [])
        if self.begins_late(owner):  # before the first it may have been in any view
            stays = [(-1, self.rows[owner][0].position), *stays]
        return stays

    def begins_late(self, owner: Owner) -> bool:
        """Whether a process installed views, but its record lacks the beginning."""
        run, _, process = owner
        return (run, process) in self._late and owner in self.rows

    def current(self, owner: Owner, position: int) -> ViewRow | None:
        """Return the view in which a process was at a position, or None before the first."""
        rows = self.rows[owner]
        place = bisect_right(rows, position, key=lambda row: row.position)
        return rows[place - 1] if place else None

    def reference(self, row: ViewRow) -> ViewRow:
        """Return the row that the others of its view must be like."""
        return next(iter(self.installed[row.scope].values()))

    def before(self, row: ViewRow) -> ViewRow | None:
        """Return the row of the view that a process was in when it installed this one."""
        return self.current((row.run, row.group, row.process), row.position - 1)


def is_settled(strand: Strand, stays: list[Stay]) -> bool:
    """Whether all rows of a strand are in its view, as their first and last position show."""
    return any(begin < strand.first_position and strand.last_position < end for begin, end in stays)


def owner_of(strand: Strand) -> Owner:
    """Return whose views a strand must keep to."""
    return strand.run, strand.group, strand.process


def unsettled(views: Views, strands: Iterable[Strand]) -> Iterator[tuple[Strand, list[Stay]]]:
    """Yield the strands that have, or may have, rows outside their view."""
    for strand in strands:
        owner = owner_of(strand)
        if owner in views.rows:
            stays = views.stays(owner, strand.view)
            if not is_settled(strand, stays):
                yield strand, stays
