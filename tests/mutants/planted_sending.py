"""Planted bugs of what becomes of what is sent when an incarnation ends."""

from tests.mutants.registry import plant

from antiphon.core.runs import PORT_APPLICATION
from antiphon.stack.send_queue import Item, SendQueue, WaitingRun

_RIGHT_END_INCARNATION = SendQueue.end_incarnation


@plant(SendQueue, "end_incarnation", "response without its call")
def what_waits_is_sent_in_the_next_incarnation(self: SendQueue) -> list[Item]:
    """Only the tools' words end with the incarnation; the application's go out in the next."""
    waiting = list(self.waiting)
    _RIGHT_END_INCARNATION(self)
    self.tell()
    self.incarnation -= 1
    dropped = []
    for item in waiting:
        port = item.how.port if isinstance(item, WaitingRun) else item.port
        if port == PORT_APPLICATION:
            self.put(item)
        else:
            dropped.append(item)
    self.incarnation += 1
    return dropped


@plant(SendQueue, "end_incarnation", "response without its call")
def late_reader_answers_in_the_next_incarnation(self: SendQueue) -> list[Item]:
    """What is sent goes out in the incarnation that is, wherever its reader has come to."""
    dropped = _RIGHT_END_INCARNATION(self)
    self.come_to(self.incarnation)
    return dropped
