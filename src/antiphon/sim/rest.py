"""Whether a world has come to rest: what must be true once failures have stopped.

Law: the living are the members of one and the same view, nobody waits for anything, everything
multicast has been received by all, and all applications are in the same state. The first thing
that is not so is said in a few words.
"""

from antiphon.core.views import View
from antiphon.sim.life import Life


def unrest(lives: list[Life]) -> str:
    """Say what is not as it must be in the end; empty if all is well."""
    living = [life for life in lives if life.is_up]
    numbers = sorted({life.view.number if life.view is not None else 0 for life in living})
    if len(numbers) > 1:
        return f"views {numbers} at the same time"
    for life in living:
        if said := _restless(life):
            return f"{life.machine.me} {said}"
    compared: dict[str, list[object]] = {
        "there are different views": [life.view for life in living],
        "messages are under way": [life.machine.received() for life in living],
        "states differ": [life.replica.state for life in living],
    }
    for what, values in compared.items():
        if any(value != values[0] for value in values):
            return what
    members = living[0].view.members if living and living[0].view is not None else ()
    here = [life.machine.me for life in living]
    return "" if sorted(members) == sorted(here) else "the members are not the living"


def _restless(life: Life) -> str:
    """Say what one process still waits for."""
    checks = (
        (life.view is None or life.machine.membership.transition.pending, "waits for a view"),
        (life.machine.ordering.queue_depth, "holds messages back"),
        (life.pending or not life.machine.may_multicast, "cannot multicast"),
        (not life.transfer.has_state, "has not got the state"),
    )
    return next((said for is_so, said in checks if is_so), "")


def is_hopeless(lives: list[Life]) -> bool:
    """Whether too few members live for anybody to decide anything."""
    here = {life.machine.me for life in lives if life.is_up}
    latest = [life.machine.membership.latest for life in lives if life.is_up]
    known: list[View] = [view for view in latest if view is not None]
    if not known:
        return True
    newest = max(known, key=lambda view: view.number)
    return not newest.has_quorum([member for member in newest.members if member in here])
