"""The queue of what a process has yet to send, incarnation after incarnation."""

from collections.abc import Sequence

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Order
from antiphon.stack.between import step_between
from antiphon.stack.effects import ReturnUnsent
from antiphon.stack.inputs import (
    LetterRequested,
    MulticastRequested,
    ReaderAdvanced,
    SendersWaited,
)
from antiphon.stack.send_queue import (
    RUN_BYTES_MAX,
    How,
    Item,
    SendQueue,
    WaitingLetter,
    WaitingRun,
)

B, C = ProcessId("b"), ProcessId("c")


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


def emptied(queue: SendQueue) -> list[bytes]:
    """Take out all that waits; return what it says."""
    return payloads_of([queue.take() for _ in range(len(queue.waiting))])


def test_everything_is_taken_out_in_the_order_in_which_it_was_handed_over() -> None:
    """Runs, letters and replies keep their order (what may go out, the endpoint knows)."""
    queue = SendQueue()
    for item in (run(b"1"), letter(b"2"), letter(b"other", C), letter(b"3", port=PORT_CALLS)):
        queue.put(item)
    assert emptied(queue) == [b"1", b"2", b"other", b"3"]
    assert not queue.waiting


def test_runs_that_follow_each_other_in_the_same_way_leave_as_one() -> None:
    """Not in another way, on another port, with a letter in between, or if it grew too large."""
    queue = SendQueue()
    total = How(Order.TOTAL)
    queue.put(run(b"1"))
    queue.put(run(b"2", b"3"))
    queue.put(WaitingRun(total, [b"4"], 1))
    queue.put(run(b"5"))
    queue.put(letter(b"6"))
    queue.put(run(b"7"))
    queue.put(run(b"8", port=PORT_CALLS))
    queue.put(run(b"9", port=PORT_CALLS))
    queue.put(run(bytes(RUN_BYTES_MAX)))
    queue.put(run(b"10"))
    said = [payloads_of([item]) for item in queue.waiting]
    assert said == [
        [b"1", b"2", b"3"], [b"4"], [b"5"], [b"6"], [b"7"], [b"8"], [b"9"],
        [bytes(RUN_BYTES_MAX)], [b"10"],
    ]  # fmt: skip


def test_only_so_much_and_few_letters_may_wait() -> None:
    """A second letter of the application has to wait outside; replies are bounded by who asks."""
    queue = SendQueue(bytes_max=1_000)
    assert queue.takes_letters
    queue.put(letter(b"reply", port=PORT_CALLS))
    assert queue.takes_letters
    queue.put(letter(b"x"))
    assert not queue.takes_letters
    assert not queue.is_full
    queue.put(run(bytes(1_000)))
    assert queue.is_full
    emptied(queue)
    assert queue.takes_letters
    assert not queue.is_full


def test_message_of_a_tool_is_taken_back_while_it_waits() -> None:
    """Once, and only the very message."""
    queue = SendQueue()
    request = b"request"
    queue.put(run(request))
    queue.put(run(request, port=PORT_CALLS))
    assert queue.withdraw(request)
    assert not queue.withdraw(request)
    assert payloads_of(list(queue.waiting)) == [request]


def test_what_waits_when_an_incarnation_ends_ends_with_it() -> None:
    """All of it is dropped; what the application sent is told, once, and in order."""
    queue = SendQueue()
    for item in (run(b"1", b"2"), run(b"tool", port=PORT_CALLS), letter(b"3")):
        queue.put(item)
    assert payloads_of(queue.end_incarnation()) == [b"1", b"2", b"tool", b"3"]
    assert not queue.waiting
    assert queue.takes_letters
    assert queue.unsent_bytes
    assert payloads_of(queue.tell()) == [b"1", b"2", b"3"]
    assert not queue.tell()
    assert not queue.unsent_bytes


def test_what_is_sent_before_the_next_incarnation_is_read_belongs_to_the_last() -> None:
    """Also when the next one has begun, or the one after that; tools go by the incarnation."""
    queue = SendQueue()
    queue.end_incarnation()
    queue.end_incarnation()
    assert queue.is_void
    queue.put(run(b"of the first"))
    queue.put(run(b"tool", port=PORT_CALLS))
    queue.come_to(2)
    queue.put(letter(b"of the second"))
    assert emptied(queue) == [b"tool"]
    queue.come_to(3)
    assert not queue.is_void
    queue.put(run(b"of the third"))
    assert emptied(queue) == [b"of the third"]
    queue.drop(run(b"too late"))
    assert payloads_of(queue.tell()) == [b"of the first", b"of the second", b"too late"]


def test_incarnation_that_never_was_a_member_ends_with_its_tools_only() -> None:
    """What the application sent waits for the next one: it has read nothing of this one."""
    queue = SendQueue()
    for item in (run(b"1"), run(b"tool", port=PORT_CALLS), letter(b"2")):
        queue.put(item)
    assert payloads_of(queue.end_tools()) == [b"tool"]
    assert not queue.is_void
    assert emptied(queue) == [b"1", b"2"]
    assert not queue.tell()


def test_nothing_vanishes_between_two_incarnations() -> None:
    """While no machine runs, what ends with the one is told, and what is of the next waits."""
    queue, how = SendQueue(), How(Order.CAUSAL, lifetime_us=5)
    queue.end_incarnation()
    assert not step_between(queue, MulticastRequested([b"1", b"2"], how, 2), 0)
    assert not step_between(queue, LetterRequested(B, b"3"), 0)
    assert not step_between(queue, SendersWaited(is_waiting=True), 0), "said again to the next one"
    (told,) = step_between(queue, ReaderAdvanced(2), 0)
    assert isinstance(told, ReturnUnsent)
    assert payloads_of(told.items) == [b"1", b"2", b"3"]
    assert not step_between(queue, ReaderAdvanced(2), 0), "it is told once"
    for asked in (
        MulticastRequested([b"begun before"], how, 12, incarnation=1),
        LetterRequested(B, b"likewise", incarnation=1),
        MulticastRequested([b"new"], how, 3),
        LetterRequested(B, b"also new", incarnation=2),
    ):
        assert not step_between(queue, asked, 100)
    (told,) = step_between(queue, ReaderAdvanced(2), 0)
    assert payloads_of(told.items) == [b"begun before", b"likewise"]
    first = queue.waiting[0]
    assert isinstance(first, WaitingRun)
    assert first.expires_us == 105
    assert emptied(queue) == [b"new", b"also new"]
