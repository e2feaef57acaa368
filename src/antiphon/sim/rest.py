"""Whether a world has come to rest: what must be true once failures have stopped.

Law: the living are the members of one and the same view, nobody waits for anything, everything
multicast has been received by all, and all applications are in the same state. The first thing
that is not so is said in a few words.
"""

from antiphon.core.views import View, lineage_of
from antiphon.sim.life import Life

STATES_DIFFER = "states differ"


def unrest(lives: list[Life], outside: list[str]) -> str:
    """Say what is not as it must be in the end; empty if all is well.

    ``outside`` are processes that look for the way in, and know where a member is.
    """
    living = [life for life in lives if life.is_up and not is_castaway(life, lives)]
    numbers = sorted({life.view.number if life.view is not None else 0 for life in living})
    if len(numbers) > 1:
        return f"views {numbers} at the same time"
    if outside:
        return f"{outside[0]} has not found its way in"
    for life in living:
        if said := _restless(life):
            return f"{life.machine.me} {said}"
    compared: dict[str, list[object]] = {
        "there are different views": [life.view for life in living],
        "messages are under way": [life.machine.received() for life in living],
        STATES_DIFFER: [life.replica.state for life in living],
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
        (life.is_sending or not life.machine.may_multicast, "cannot multicast"),
        (life.application.has_unread, "has not read everything"),
        (not life.has_state, "has not got the state"),
        (life.transactions.open_count, "has not decided a transaction"),
    )
    return next((said for is_so, said in checks if is_so), "")


def is_castaway(life: Life, lives: list[Life]) -> bool:
    """Whether nobody is where members were that a blocked process knows, to tell it more."""
    membership = life.machine.membership
    if _is_unmet(life, lives):
        return True
    if not membership.is_blocked or membership.latest is None:
        return False
    places = {who.place for who in membership.latest.members}
    others = [other for other in lives if other is not life and other.is_up and other.view]
    return not any(other.machine.me.place in places for other in others)


def _is_unmet(life: Life, lives: list[Life]) -> bool:
    """Whether a process goes on in an old lineage because nobody is left who could tell it.

    All who were in a view with it, or with others that go on so, have crashed, left, or go on so;
    who took over was in none of these views.
    """
    newest = max((lineage_of(number) for other in lives for number in other.entered), default=0)
    if life.view is None or life.view.lineage == newest:
        return False
    unmet, seen = [life], [life]
    while unmet:
        one = unmet.pop()
        for other in lives:
            if other not in seen and other.entered & one.entered:
                seen.append(other)
                if other.is_up and other.view is not None and other.view.lineage < newest:
                    unmet.append(other)
                elif not (other.has_crashed or other.is_leaving):
                    return False
    return True


def is_hopeless(lives: list[Life]) -> bool:
    """Whether too few live for anybody to decide anything, or nobody has what the group had."""
    here = {life.machine.me for life in lives if life.is_up}
    if not any(life.is_up and life.has_state and life.view is not None for life in lives):
        return True
    # What a process knew that was excluded, or left, the others have to know: it could tell them.
    latest = [life.machine.membership.latest for life in lives if not life.has_crashed]
    known: list[View] = [view for view in latest if view is not None]
    if not known:
        return True
    newest = max(known, key=lambda view: view.number)
    return not newest.has_quorum([member for member in newest.members if member in here])
