"""Whether a world is quiescent: what must be true once failures have stopped.

Law: the living are the members of one and the same view, nobody waits for anything, everything
multicast has been received by all, everybody knows what all have delivered, and all applications
are in the same state. The first thing that is not so is said in a few words.
"""

from collections.abc import Sequence

from antiphon.core.views import View, lineage_of
from antiphon.sim.driver import Driver

STATES_DIFFER = "states differ"


def why_not_quiescent(drivers: list[Driver], outside: list[str]) -> str:
    """Say what is not as it must be in the end; empty if all is well.

    ``outside`` are processes that look for the way in, and know a place that leads to a member.
    A state that is lost is asked of nobody.
    """
    living = [driver for driver in drivers if driver.is_up and not is_castaway(driver, drivers)]
    numbers = sorted({driver.view.number if driver.view is not None else 0 for driver in living})
    if len(numbers) > 1:
        return f"views {numbers} at the same time"
    if outside:
        return f"{outside[0]} has not found its way in"
    has_state = not _is_state_lost(living, drivers)
    for driver in living:
        if said := _waits_for(driver, has_state=has_state):
            return f"{driver.machine.me} {said}"
    compared: dict[str, list[object]] = {
        "there are different views": [driver.view for driver in living],
        "messages are under way": [driver.machine.receiver.received() for driver in living],
        STATES_DIFFER: [driver.replica.state for driver in living] if has_state else [],
    }
    for what, values in compared.items():
        if any(value != values[0] for value in values):
            return what
    members = living[0].view.members if living and living[0].view is not None else ()
    here = [driver.machine.me for driver in living]
    if sorted(members) != sorted(here):
        return "the members are not the living"
    unknown = (driver.deliveries.find_unknown(driver.machine) for driver in living)
    return next(filter(None, unknown), "")


def _is_state_lost(living: list[Driver], drivers: list[Driver]) -> bool:
    """Whether nobody is left who has the state, and not because all who had it left: they wait.

    Who is excluded while it wants to leave has not left: it was waiting, and does not come back.
    """
    had = [driver for driver in drivers if driver.state.has_state and driver not in living]
    failed = {process for driver in drivers for process in driver.saw_fail}
    is_taken = any(
        driver.has_crashed or not driver.is_leaving or driver.me in failed for driver in had
    )
    return is_taken and not any(driver.state.has_state for driver in living)


def _waits_for(driver: Driver, *, has_state: bool) -> str:
    """Say what one process still waits for."""
    checks = (
        (driver.view is None or driver.machine.membership.transition.pending, "waits for a view"),
        (driver.machine.ordering.queue_depth, "holds messages back"),
        (driver.is_sending or not driver.machine.may_multicast, "cannot multicast"),
        (not driver.speaker.is_admitted, "admits no senders"),
        (driver.machine.kept_bytes, "keeps copies of what has reached everybody"),
        (not driver.machine.membership.attention.is_quiet, "watches more than its neighbours"),
        (driver.application.has_unread, "has not read everything"),
        (has_state and not driver.state.has_state, "has not got the state"),
        (driver.transactions.open_count, "has not decided a transaction"),
        (driver.calls.open_count, "waits for a call to end"),
    )
    return next((said for is_so, said in checks if is_so), "")


def is_castaway(driver: Driver, drivers: list[Driver]) -> bool:
    """Whether no place that a blocked process knows leads to a member, who could tell it more."""
    membership = driver.machine.membership
    if _is_unmet(driver, drivers):
        return True
    if not membership.is_blocked or membership.latest is None:
        return False
    places = [who.place for who in membership.latest.members]
    return not leads_in(places, [other for other in drivers if other is not driver])


def _is_unmet(driver: Driver, drivers: list[Driver]) -> bool:
    """Whether a process goes on in an old lineage because nobody is left who could tell it.

    All who were in a view with it, or with others that go on so, have crashed, left, or go on so;
    who took over was in none of these views.
    """
    newest = max((lineage_of(number) for other in drivers for number in other.entered), default=0)
    if driver.view is None or driver.view.lineage == newest:
        return False
    unmet, seen = [driver], [driver]
    while unmet:
        one = unmet.pop()
        for other in drivers:
            if other not in seen and other.entered & one.entered:
                seen.append(other)
                if other.is_up and other.view is not None and other.view.lineage < newest:
                    unmet.append(other)
                elif not (other.has_crashed or other.is_leaving):
                    return False
    return True


def leads_in(places: Sequence[str], drivers: list[Driver]) -> bool:
    """Whether a member of the newest view is at one of these places, or can be heard of there.

    Whoever is in a view, be it an old one, names its members to who asks.
    """
    newest = _newest(drivers)
    if newest is None:
        return False
    here = {driver.machine.me.place: driver.machine for driver in drivers if driver.is_up}
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


def is_hopeless(drivers: list[Driver]) -> bool:
    """Whether too few live for anybody to decide anything."""
    here = {driver.machine.me for driver in drivers if driver.is_up}
    newest = _newest(drivers)
    return newest is None or not newest.has_quorum([who for who in newest.members if who in here])


def _newest(drivers: list[Driver]) -> View | None:
    """Return the last view that anybody knows who has not crashed.

    What a process knew that was excluded, or left, the others have to know: it could tell them.
    """
    latest = [driver.machine.membership.latest for driver in drivers if not driver.has_crashed]
    known: list[View] = [view for view in latest if view is not None]
    return max(known, key=lambda view: view.number, default=None)
