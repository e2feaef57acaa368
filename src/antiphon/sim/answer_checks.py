"""What the oracle asks of applications: nobody gets an answer without what it answers.

Law: whoever delivers an answer, and was in the view in which the question was multicast, has
delivered the question before; also if the answerer was excluded in between and came back as
another incarnation, for its application remembers what it read. Judged by what the answers say, as
an application would, and by nothing that the protocols know. A fifo message promises no causality,
so an answer in fifo order is not held to it; who was in no view with the question cannot have it.
"""

from collections.abc import Iterable

from antiphon.core.runs import Order
from antiphon.sim.application import Heard, read_word
from antiphon.sim.driver import Driver
from antiphon.sim.speaker import name_of


def find_unasked_answer(drivers: Iterable[Driver]) -> str:
    """Say who got an answer without its question; empty if nobody did."""
    for driver in drivers:
        if said := _find(str(driver.machine.me), driver.entered, driver.speaker.heard):
            return said
    return ""


def _find(process: str, entered: set[int], heard: list[Heard]) -> str:
    seen: set[bytes] = set()
    for item in heard:
        is_fifo = item.how is not None and item.how.order is Order.FIFO
        for question, _ in () if is_fifo else map(read_word, item.payloads):
            if question and question not in seen and _view_of(question) in entered:
                return (
                    f"{process} delivers an answer of {item.sender} to {question.decode()}, which "
                    "it has not delivered"
                )
        if item.view:
            numbers = range(item.first, item.last + 1)
            seen.update(name_of(item.sender, item.view, number) for number in numbers)
    return ""


def _view_of(question: bytes) -> int:
    return int(question.split(b"/")[1])
