"""What is left of a view when it has ended: enough to say what was put to the test, and by whom.

Law: a view is forgotten if, whoever of those who left it turns out to have been there to the end,
nothing can be missing: all of them have delivered the same, all that they multicast, and all that
is uniform. What is left names processes, not messages; views that are alike leave one.
"""

from collections.abc import Callable, Iterable

from antiphon.core.views import lineage_of
from antiphon.live.checks.shortfalls import Shortfalls
from antiphon.live.memory.number_sets import minus
from antiphon.live.memory.record import Ended, RunMemory
from antiphon.live.memory.scope import Scope

IsDone = Callable[[Scope, int], bool]
"""Whether a process has left a view, or ended."""


def is_clean(memory: RunMemory, scope: Scope, is_done: IsDone) -> bool:
    """Whether nothing can turn out to be missing in a view that has ended."""
    missing = Shortfalls(memory, scope, is_over=False)
    held = [
        process
        for process in {*missing.members, *missing.movers, *scope.who}
        if process in scope.went_on
        or (memory.processes[process].may_be_whole() and is_done(scope, process))
    ]
    expected = missing.of_all(held)
    if any(missing.delivered(process) != expected for process in held):
        return False
    for process in held:
        number = scope.numbers.get(process)
        if number is not None and minus(scope.shelves[number].sent, expected.get(number, 0)):
            return False
    return not any(
        minus(numbers, expected.get(sender, 0))
        for sender, numbers in missing.uniform_deliveries().items()
    )


def summary_of(memory: RunMemory, scope: Scope) -> Ended:
    """Return what is left of a view, or would be if it ended now."""
    missing = Shortfalls(memory, scope, is_over=False)
    senders = {number for number, shelf in enumerate(scope.shelves) if shelf.sent}
    having = scope.delivering | (senders - scope.own)

    def named(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(scope.who[number] for number in numbers))

    return Ended(
        group=scope.group,
        lineage=lineage_of(scope.view),
        members=tuple(sorted(missing.members)),
        acting=named(scope.acting),
        delivering=named(scope.delivering),
        having=named(having),
        senders=named(senders),
        own=named(scope.own),
        went_on=tuple(sorted(scope.went_on)),
        movers=tuple(sorted(missing.movers)),
        asks=tuple(sorted(scope.asks)),
        is_tested=scope.is_tested,
        has_takeover=scope.has_takeover,
        takers=tuple(
            sorted(
                process
                for process in {*missing.members, *scope.who}
                if memory.is_elsewhere(scope.group, scope.view, process)
            )
        ),
    )
