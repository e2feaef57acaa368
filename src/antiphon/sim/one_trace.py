"""One trace of a world of several groups: all that a process does, in one record.

Law: what causality across groups is judged by is the order of the rows of a process, over all its
groups; so each process has one record, with one ``index``. In it, a process is what its groups call
it: who has left a group and joined it again goes by its next number there. Each of its names ends
once, when all is over: with the crash, with why its process was excluded, or with ``left`` if it
left the last of its groups of that name; to leave one of several is no end.
"""

from collections.abc import Collection

from antiphon.core.ids import GroupName, ProcessId
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event

BLOCKED = "blocked: too few members are left"


class OneTrace:
    """The records of all processes."""

    def __init__(self, domain: str, resilience: int) -> None:
        """Begin without a row; all groups are of one causality domain."""
        self._domain, self._resilience = domain, resilience
        self._records: dict[str, list[Event]] = {}
        """By process, whatever it is called."""
        self._record_of: dict[str, list[Event]] = {}
        """By name."""
        self._rows: dict[str, dict[GroupName, Rows]] = {}
        self._ends: dict[str, dict[GroupName, str]] = {}
        self._crashed: set[str] = set()
        self._is_finished = False

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return sum(map(len, self._records.values()))

    def open(self, member: ProcessId, group: GroupName, time_us: int) -> Rows:
        """Return what takes the rows of a process in one of its groups."""
        process = str(member)
        is_new = process not in self._rows
        record = self._records.setdefault(member.name, [])
        self._record_of[process] = record

        def take(event: Event) -> None:
            event.recorded_as = member.name if process != member.name else ""
            record.append(event)

        rows = Rows(process, group, take, self._domain, self._resilience)
        self._rows.setdefault(process, {})[group] = rows
        self._ends.setdefault(process, {})
        if is_new:
            rows.start(time_us)
        return rows

    def leave(self, process: str, group: GroupName, why: str) -> None:
        """A process is out of a group; ``why`` is empty if it left."""
        self._ends[process].setdefault(group, why)

    def crash(self, process: str, time_us: int) -> None:
        """A process crashes; one that is out of all its groups has ended before."""
        groups = self._rows.get(process, {})
        if process not in self._crashed and any(name not in self._ends[process] for name in groups):
            self._crashed.add(process)
            next(iter(groups.values())).crash(time_us)

    def finish(self, time_us: int, blocked: Collection[str] = ()) -> list[Event]:
        """End all records; return the rows, numbered, process by process."""
        for process, groups in self._rows.items():
            if not self._is_finished and process not in self._crashed:
                how = self._ending(process, is_blocked=process in blocked)
                next(iter(groups.values())).stop(time_us, how)
        self._is_finished = True
        for record in self._records.values():
            for index, event in enumerate(record):
                event.index = index
        return [event for record in self._records.values() for event in record]

    def _ending(self, process: str, *, is_blocked: bool) -> str:
        ends = self._ends[process]
        entered = {
            row.group
            for row in self._record_of[process]
            if row.kind == "view" and row.process == process
        }
        # In others it has never been: how that ended says nothing.
        excluded = next((why for name, why in ends.items() if why and name in entered), "")
        if excluded:
            return excluded
        if entered and entered <= ends.keys():
            return LEFT
        # Who is blocked for good may hold back what it will never deliver.
        return BLOCKED if is_blocked else QUIESCENT
