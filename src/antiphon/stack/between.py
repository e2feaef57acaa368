"""Between two incarnations: what the application hands over while no machine takes it.

The machine of the one incarnation has been closed, that of the next has yet to begin; the send
queue outlives both. Law: nothing that was accepted vanishes. What belongs to the ended incarnation
is told (``send_queue``); what was sent by an application that has read all of it goes out in the
next one. That the application has read so far is taken in the same way by a machine that runs.
"""

from antiphon.core.runs import PORT_APPLICATION
from antiphon.stack.effects import ReturnUnsent
from antiphon.stack.inputs import Input, LetterRequested, MulticastRequested, ReaderAdvanced
from antiphon.stack.send_queue import Item, SendQueue, WaitingLetter, WaitingRun


def step_between(queue: SendQueue, happened: Input, now_us: int) -> list[ReturnUnsent]:
    """Take one input of an application; return what it is to be told."""
    match happened:
        case MulticastRequested(payloads, how, byte_count, incarnation):
            lifetime_us = how.lifetime_us
            expires_us = None if lifetime_us is None else now_us + lifetime_us
            let_wait(queue, WaitingRun(how, payloads, byte_count, expires_us), incarnation)
        case LetterRequested(to, payload, incarnation):
            let_wait(queue, WaitingLetter(to, payload, PORT_APPLICATION), incarnation)
        case ReaderAdvanced(incarnation):
            queue.come_to(incarnation)
            if unsent := queue.tell():
                return [ReturnUnsent(unsent)]
        case _:
            pass  # of what has ended, or said again to the machine that begins
    return []


def let_wait(queue: SendQueue, item: Item, incarnation: int) -> None:
    """Let something wait for its turn, unless it was begun in an incarnation that has ended.

    ``incarnation`` is the one whose events the application had read then; 0: the last it came to.
    """
    if incarnation not in {0, queue.incarnation}:
        queue.drop(item)
    else:
        queue.put(item)
