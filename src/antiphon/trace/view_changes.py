"""How views came about: from the first sign that somebody is gone to the last installation.

Law: a view that follows another of its group took from the first crash or suspicion, since the
view before, of somebody who is not in it any more; where there was none (somebody joined or
left), from its first installation. It ends with its last installation. Times are as recorded:
whether those of different processes can be compared is for the caller to know.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antiphon.core.views import say_number


@dataclass(slots=True)
class Installation:
    """One ``view`` row."""

    run: str
    group: str
    view: int
    time_us: int
    members: Sequence[str]


@dataclass(slots=True)
class AbsenceSign:
    """A ``crash`` or ``suspect`` row: when, and who is or seems to be gone."""

    run: str
    who: str
    time_us: int


@dataclass(slots=True)
class ViewChange:
    """How a view came about, in microseconds from the beginning of the run."""

    name: str
    sign_us: int | None
    """The first crash or suspicion of somebody who is not in it any more; None: there was none."""
    first_us: int
    """When the first process installed it, and the last."""
    last_us: int
    installed: int
    """How many processes recorded that they installed it."""
    run: str = ""
    group: str = ""
    view: int = 0
    member_count: int = 0

    @property
    def duration_us(self) -> int:
        """Return how long it took, from its first sign to its last installation."""
        return self.last_us - (self.first_us if self.sign_us is None else self.sign_us)


def view_changes(
    installations: Iterable[Installation], signs: Iterable[AbsenceSign], begin_us: int
) -> list[ViewChange]:
    """Return how each view came about that follows another of its group."""
    installed: dict[tuple[str, str, int], list[Installation]] = {}
    for each in installations:
        installed.setdefault((each.run, each.group, each.view), []).append(each)
    seen = list(signs)
    names = {key[:2] for key in installed}
    before: dict[tuple[str, str], tuple[int, set[str]]] = {}
    changes: list[ViewChange] = []
    for (run, group, view), entries in sorted(installed.items()):
        members, times = set(entries[0].members), [entry.time_us for entry in entries]
        first_us, last_us = min(times), max(times)
        if (run, group) in before:
            since_us, others = before[run, group]
            gone = {(run, name) for name in others - members}
            sign_us = min(
                (
                    sign.time_us - begin_us
                    for sign in seen
                    if (sign.run, sign.who) in gone and since_us <= sign.time_us <= last_us
                ),
                default=None,
            )
            name = say_number(view) + (f" of {group}" if len(names) > 1 else "")
            change = ViewChange(
                name, sign_us, first_us - begin_us, last_us - begin_us, len(entries),
                run, group, view, len(members),
            )  # fmt: skip
            changes.append(change)
        before[run, group] = (first_us, members)
    return changes
