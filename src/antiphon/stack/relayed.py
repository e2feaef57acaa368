"""Runs of a failed process as they are relayed: with all that they depend on in other groups.

Law. A run may name an earlier one of its sender's, in another group, instead of saying once more
what that one said (``ordering.knowledge``): whoever takes it from its sender has taken that one
before. By a relay it may come to who has not got that one yet, and never will if all who have it
fail, too. So who relays a run adds what the earlier ones said, as far as it may still matter: of
the copies that it keeps, and of what is held back or was lost here. Of an earlier one that is
neither, everybody in its group has received it, and has, or brings, what it depends on there.

Cost: one look at what is kept of the failed process in its groups, when it has failed.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign, Letter, Run
from antiphon.ordering.stability import Stability


class Copied(Protocol):
    """What is asked of a process's part in one of its groups."""

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank."""

    @property
    def stability(self) -> Stability:
        """The copies of the current view."""


def completed(
    runs: list[Run],
    sender: ProcessId,
    parts: Mapping[GroupNumber, Copied],
    held: Iterable[Run],
) -> list[Run]:
    """Return runs of one member with all that they name, however far, in what is kept of it."""
    known = _earlier(sender.bare(), parts, held) if any(run.foreign for run in runs) else {}
    return [_complete(run, known) if run.foreign else run for run in runs]


def _earlier(
    sender: ProcessId, parts: Mapping[GroupNumber, Copied], held: Iterable[Run]
) -> dict[tuple[int, int], list[Run]]:
    """Return what is here of a process, by group and its rank there."""
    known: dict[tuple[int, int], list[Run]] = {}
    for group, part in parts.items():
        for rank, member in enumerate(part.members):
            if member.bare() == sender:
                known[group, rank] = list(part.stability.copies.get(rank, ()))
    for run in held:
        if (run.group, run.sender) in known and type(run) is not Letter:
            known[run.group, run.sender].append(run)
    return known


def _complete(run: Run, known: Mapping[tuple[int, int], list[Run]]) -> Run:
    """Return a run with the stamps of those of its sender's that it names, and they name."""
    found, seen = list(run.foreign), 0
    taken: set[tuple[int, int]] = set()
    while seen < len(found):
        group, view, entries = found[seen]
        seen += 1
        for rank, count in entries:
            for one in known.get((group, rank), ()):
                if one.view == view and one.first <= count and (group, one.first) not in taken:
                    taken.add((group, one.first))
                    found += ((group, view, one.stamp), *one.foreign)
    return run if seen == len(run.foreign) else _with_stamps(run, _merged(found, run.group))


def _merged(stamps: Iterable[tuple[int, int, tuple[tuple[int, int], ...]]], own: int) -> Foreign:
    """Return stamps of other groups, one for each: of the newest view, with the greatest counts."""
    merged: dict[int, tuple[int, dict[int, int]]] = {}
    for group, view, entries in stamps:
        if group == own:
            continue  # of its own group it says everything
        newest, counts = merged.get(group, (0, {}))
        if view > newest:
            counts = {}
            merged[group] = view, counts
        if view >= newest:
            for rank, count in entries:
                counts[rank] = max(count, counts.get(rank, 0))
    return tuple(
        (group, view, tuple(sorted(counts.items()))) for group, (view, counts) in merged.items()
    )


def _with_stamps(run: Run, foreign: Foreign) -> Run:
    return type(run)(
        run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads,
        run.byte_count, run.uniform, run.port, run.sets_order, foreign,
    )  # fmt: skip
