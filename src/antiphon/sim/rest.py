"""Whether a world has come to rest: what must be true once failures have stopped.

Law: the living are the members of one and the same view, nobody waits for anything, everything
multicast has been received by all, and all applications are in the same state. The first thing
that is not so is said in a few words.
"""

from collections.abc import Sequence

from antiphon.core.views import View
from antiphon.sim.life import Life

STATES_DIFFER = "states differ"


def unrest(lives: list[Life], outside: list[str]) -> str:
    """Say what is not as it must be in the end; empty if all is well.

    ``outside`` are processes that look for the way in, and know a place that leads to a member.
    A state that is lost is asked of nobody.
    """
    living = [life for life in lives if life.is_up and not is_castaway(life, lives)]
    numbers = sorted({life.view.number if life.view is not None else 0 for life in living})
    if len(numbers) > 1:
        return f"views {numbers} at the same time"
    if outside:
        return f"{outside[0]} has not found its way in"
    has_state = not _is_state_lost(living, lives)
    for life in living:
        if said := _restless(life, has_state=has_state):
            return f"{life.machine.me} {said}"
    compared: dict[str, list[object]] = {
        "there are different views": [life.view for life in living],
        "messages are under way": [life.machine.received() for life in living],
        STATES_DIFFER: [life.replica.state for life in living] if has_state else [],
    }
    for what, values in compared.items():
        if any(value != values[0] for value in values):
            return what
    members = living[0].view.members if living and living[0].view is not None else ()
    here = [life.machine.me for life in living]
    return "" if sorted(members) == sorted(here) else "the members are not the living"


def _is_state_lost(living: list[Life], lives: list[Life]) -> bool:
    """Whether nobody is left who has the state, and not because all who had it left: they wait."""
    had = [life for life in lives if life.has_state and life not in living]
    is_taken = any(life.has_crashed or not life.is_leaving for life in had)
    return is_taken and not any(life.has_state for life in living)


def _restless(life: Life, *, has_state: bool) -> str:
    """Say what one process still waits for."""
    checks = (
        (life.view is None or life.machine.membership.transition.pending, "waits for a view"),
        (life.machine.ordering.queue_depth, "holds messages back"),
        (life.is_sending or not life.machine.may_multicast, "cannot multicast"),
        (not life.admits, "admits no senders"),
        (life.machine.kept_bytes, "keeps copies of what has reached everybody"),
        (life.application.has_unread, "has not read everything"),
        (has_state and not life.has_state, "has not got the state"),
        (life.transactions.open_count, "has not decided a transaction"),
        (life.calls.open_count, "waits for a call to end"),
    )
    return next((said for is_so, said in checks if is_so), "")


def is_castaway(life: Life, lives: list[Life]) -> bool:
    """Whether no place that a blocked process knows leads to a member, who could tell it more."""
    membership = life.machine.membership
    if not membership.is_blocked or membership.latest is None:
        return False
    places = [who.place for who in membership.latest.members]
    return not leads_in(places, [other for other in lives if other is not life])


def leads_in(places: Sequence[str], lives: list[Life]) -> bool:
    """Whether a member of the newest view is at one of these places, or can be heard of there.

    Whoever is in a view, be it an old one, names its members to who asks.
    """
    newest = _newest(lives)
    if newest is None:
        return False
    here = {life.machine.me.place: life.machine for life in lives if life.is_up}
    asked = dict.fromkeys(place for place in places if place in here)
    waiting = list(asked)
    while waiting:
        machine = here[waiting.pop()]
        if machine.me in newest.members:
            return True
        known = machine.membership.latest
        for who in known.members if known is not None else ():
            if who.place in here and who.place not in asked:
                asked[who.place] = None
                waiting.append(who.place)
    return False


def is_hopeless(lives: list[Life]) -> bool:
    """Whether too few live for anybody to decide anything."""
    here = {life.machine.me for life in lives if life.is_up}
    newest = _newest(lives)
    return newest is None or not newest.has_quorum([who for who in newest.members if who in here])


def _newest(lives: list[Life]) -> View | None:
    """Return the last view that anybody knows who has not crashed.

    What a process knew that was excluded, or left, the others have to know: it could tell them.
    """
    latest = [life.machine.membership.latest for life in lives if not life.has_crashed]
    known: list[View] = [view for view in latest if view is not None]
    return max(known, key=lambda view: view.number, default=None)
