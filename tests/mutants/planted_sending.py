"""Planted bugs of what becomes of what is sent when a life ends."""

from tests.mutants.registry import plant

from antiphon.core.runs import PORT_APPLICATION
from antiphon.stack.send_queue import Item, Outgoing, WaitingRun

_RIGHT_END_LIFE = Outgoing.end_life


@plant(Outgoing, "end_life", "response without its call")
def what_waits_is_sent_in_the_next_life(self: Outgoing) -> list[Item]:
    """Only what tools had to say ends with the life; the application's goes out in the next."""
    waiting = list(self.waiting)
    _RIGHT_END_LIFE(self)
    self.tell()
    self.life -= 1
    dropped = []
    for item in waiting:
        port = item.how.port if isinstance(item, WaitingRun) else item.port
        if port == PORT_APPLICATION:
            self.put(item)
        else:
            dropped.append(item)
    self.life += 1
    return dropped


@plant(Outgoing, "end_life", "response without its call")
def late_reader_answers_in_the_next_life(self: Outgoing) -> list[Item]:
    """What is sent goes out in the life that is, wherever its reader has come to."""
    dropped = _RIGHT_END_LIFE(self)
    self.come_to(self.life)
    return dropped
