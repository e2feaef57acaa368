"""The queue of what a process has yet to send, life after life."""

from collections.abc import Sequence

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Order
from antiphon.stack.send_queue import (
    OUTGOING_BYTES_MAX,
    How,
    Item,
    Outgoing,
    WaitingLetter,
    WaitingRun,
)

B, C = ProcessId("b"), ProcessId("c")


class Life:
    """Lets out what a test allows."""

    def __init__(self, *, may_multicast: bool = True) -> None:
        """Be in a view with b."""
        self.may_multicast = may_multicast
        self.sent: list[bytes] = []

    def may_send(self, to: ProcessId, port: int) -> bool:
        """Whether anything may go out."""
        return self.may_multicast

    def has_member(self, process: ProcessId) -> bool:
        """Whether it is b."""
        return process == B

    def multicast(self, payloads: Sequence[bytes], how: How, byte_count: int) -> None:
        """Note it."""
        self.sent += payloads

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Note it."""
        self.sent.append(payload)


def run(*payloads: bytes, port: int = PORT_APPLICATION) -> WaitingRun:
    """Return a causal run."""
    how = How(Order.CAUSAL, uniform=False, port=port)
    return WaitingRun(how, list(payloads), sum(map(len, payloads)))


def letter(payload: bytes, to: ProcessId = B, port: int = PORT_APPLICATION) -> WaitingLetter:
    """Return a letter."""
    return WaitingLetter(to, payload, port)


def payloads_of(items: Sequence[Item]) -> list[bytes]:
    """Return what items say."""
    return [
        payload
        for item in items
        for payload in (item.payloads if isinstance(item, WaitingRun) else [item.payload])
    ]


def test_everything_leaves_in_the_order_in_which_it_was_handed_over() -> None:
    """Runs, letters and replies keep their order; a letter to who is gone is dropped."""
    outgoing = Outgoing()
    for item in (run(b"1"), letter(b"2"), letter(b"lost", C), letter(b"3", port=PORT_CALLS)):
        outgoing.put(item)
    closed = Life(may_multicast=False)
    assert not outgoing.send(closed)
    assert not closed.sent
    life = Life()
    assert outgoing.send(life)
    assert life.sent == [b"1", b"2", b"3"]


def test_letter_to_nobody_waits_until_a_view_says_so() -> None:
    """Between two views it cannot be said who is gone."""
    outgoing = Outgoing()
    outgoing.put(letter(b"x", C))
    assert not outgoing.send(Life(may_multicast=False))
    assert outgoing.waiting
    assert outgoing.send(Life())


def test_only_so_much_and_few_letters_may_wait() -> None:
    """A second letter of the application has to wait outside; replies are bounded by who asks."""
    outgoing = Outgoing()
    assert outgoing.takes_letters
    outgoing.put(letter(b"reply", port=PORT_CALLS))
    assert outgoing.takes_letters
    outgoing.put(letter(b"x"))
    assert not outgoing.takes_letters
    outgoing.put(run(bytes(OUTGOING_BYTES_MAX)))
    assert outgoing.is_full
    assert outgoing.send(Life())
    assert outgoing.takes_letters
    assert not outgoing.is_full


def test_message_of_a_tool_is_taken_back_while_it_waits() -> None:
    """Once, and only the very message."""
    outgoing = Outgoing()
    request = b"request"
    outgoing.put(run(request))
    outgoing.put(run(request, port=PORT_CALLS))
    assert outgoing.withdraw(request)
    assert not outgoing.withdraw(request)
    assert payloads_of(list(outgoing.waiting)) == [request]


def test_what_waits_when_a_life_ends_ends_with_it() -> None:
    """All of it is dropped; what the application sent is told, once, and in order."""
    outgoing = Outgoing()
    for item in (run(b"1", b"2"), run(b"tool", port=PORT_CALLS), letter(b"3")):
        outgoing.put(item)
    assert payloads_of(outgoing.end_life()) == [b"1", b"2", b"tool", b"3"]
    assert not outgoing.waiting
    assert outgoing.takes_letters
    assert outgoing.unsent_bytes
    assert payloads_of(outgoing.tell()) == [b"1", b"2", b"3"]
    assert not outgoing.tell()
    assert not outgoing.unsent_bytes


def test_what_is_sent_before_the_next_life_is_read_belongs_to_the_last() -> None:
    """Also when the next life has begun already, or the one after that; tools go by the life."""
    outgoing = Outgoing()
    outgoing.end_life()
    outgoing.end_life()
    assert outgoing.is_void
    outgoing.put(run(b"of the first"))
    outgoing.put(run(b"tool", port=PORT_CALLS))
    outgoing.come_to(2)
    outgoing.put(letter(b"of the second"))
    life = Life()
    outgoing.send(life)
    assert life.sent == [b"tool"]
    outgoing.come_to(3)
    assert not outgoing.is_void
    outgoing.put(run(b"of the third"))
    outgoing.send(life)
    assert life.sent == [b"tool", b"of the third"]
    outgoing.drop(run(b"too late"))
    assert payloads_of(outgoing.tell()) == [b"of the first", b"of the second", b"too late"]
