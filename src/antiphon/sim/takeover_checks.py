"""What exploration asks of a take-over: whatever was delivered uniformly is not lost with the dead.

Law: who takes over from a view after which no other was installed by anybody (so that none was
agreed on without it, as far as the trace tells) has delivered every uniform message that anybody
delivered in that view. And whoever installs a view of a later lineage than one that it was in has
begun that lineage itself: all others come as new incarnations. Judged by the rows alone.

And nobody is told that it is out who is in the newest view that anybody knows: no earlier lineage
can contradict a later one.
"""

from collections.abc import Iterable, Iterator

from antiphon.core.views import lineage_of
from antiphon.sim.driver import Driver
from antiphon.trace.schema import Event


def find_lost_uniform(events: Iterable[Event]) -> str:
    """Say what was lost by a take-over, or who crossed lineages; empty if nothing and nobody."""
    rows = list(events)
    moves = list(_moves(rows))
    for before, row in moves:
        if row.members != [row.process]:
            return f"{row.process} is in view {row.view}, which others began, after view {before}"
    installed = {row.view for row in rows if row.kind == "view"}
    for before, row in moves:
        said = _say_lost(rows, moves, before, row.process) if before + 1 not in installed else ""
        if said:
            return said
    return ""


def _say_lost(rows: list[Event], moves: list[tuple[int, Event]], view: int, taker: str) -> str:
    """Say what ``taker`` lacks of what others delivered uniformly in the view that it left."""
    # What one delivered when it took over itself, it may have had alone.
    takers = {row.process for before, row in moves if before == view}
    here: set[tuple[str, int]] = set()
    elsewhere: dict[tuple[str, int], str] = {}
    for row in rows:
        if row.kind == "deliver" and row.view == view:
            messages = [(row.sender, row.first + at) for at in range(row.count)]
            if row.process == taker:
                here.update(messages)
            elif row.uniform and row.process not in takers:
                elsewhere |= dict.fromkeys(messages, row.process)
    for sender, number in sorted(set(elsewhere) - here):
        who = elsewhere[sender, number]
        return (
            f"{taker} took over without message {number} of {sender}, which {who} delivered "
            f"uniformly in view {view}"
        )
    return ""


def find_wrong_end(drivers: Iterable[Driver]) -> str:
    """Say who was ended by others though it is in the newest view of all; empty if nobody was."""
    known = [(driver, latest) for driver in drivers if (latest := driver.machine.membership.latest)]
    newest = max((latest.number for _, latest in known), default=0)
    for driver, latest in known:
        is_ended = not (driver.is_up or driver.has_crashed or driver.is_leaving)
        if is_ended and latest.number == newest and driver.me in latest.members:
            return f"{driver.me} was told that it is out of view {newest}, the newest of all"
    return ""


def _moves(rows: list[Event]) -> Iterator[tuple[int, Event]]:
    """Yield the view rows that are of another lineage than the view before, with that."""
    last: dict[str, int] = {}
    for row in rows:
        if row.kind == "view":
            before = last.get(row.process, row.view)
            last[row.process] = row.view
            if lineage_of(row.view) != lineage_of(before):
                yield before, row
