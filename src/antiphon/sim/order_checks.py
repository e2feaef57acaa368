"""What is asked of what one application sends: program order, and the order that was chosen.

Law: whatever one incarnation of a process delivers of one incarnation of another, messages and
letters alike, it delivers in the order in which the other's application handed it over, each
once, and in the way in which that wanted it multicast. Judged by the numbers that applications
write into what they send, and by nothing that the protocols know.
"""

from collections.abc import Iterable

from antiphon.sim.application import Application, Heard, read_word
from antiphon.sim.driver import Driver
from antiphon.stack.send_queue import How


def find_disorder(drivers: Iterable[Driver]) -> str:
    """Say who delivered what in another order, or way, than it was sent; empty if nobody did."""
    everybody = list(drivers)
    applications = {str(driver.me): driver.application for driver in everybody}
    for driver in everybody:
        if said := _find(str(driver.me), driver.speaker.heard, applications):
            return said
    return ""


def _find(process: str, heard: list[Heard], applications: dict[str, Application]) -> str:
    last: dict[str, int] = {}
    for item in heard:
        for _, number in map(read_word, item.payloads):
            sender = item.sender
            before = last.get(sender, 0)
            if number <= before:
                return f"{process} delivers word {number} of {sender} after its word {before}"
            last[sender] = number
            wanted = applications[sender].handed[number].how
            if not _is_alike(item.how, wanted):
                return (
                    f"{process} delivers word {number} of {sender} {_told(item.how)}, which was "
                    f"to be {_told(wanted)}"
                )
    return ""


def _is_alike(one: How | None, other: How | None) -> bool:
    """Whether two are in the same order, and uniform or not."""
    return (one and one[:2]) == (other and other[:2])


def _told(how: How | None) -> str:
    if how is None:
        return "as a letter"
    return f"in {how.order.name.lower()} order" + (" and uniform" if how.uniform else "")
