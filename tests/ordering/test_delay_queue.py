"""The delay queue against a plain list, under any sequence of uses."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.ordering.delay_queue import DelayQueue, Lack


def _run(first: int) -> Run:
    return Run(GroupNumber(1), ViewNumber(1), Rank(0), first, Order.CAUSAL, (), [b""])


_LACKS = st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(1, 5))


class QueueAndList(RuleBasedStateMachine):
    """Runs are told apart by ``first``, which is also their order of receipt."""

    def __init__(self) -> None:
        """Start with both empty."""
        super().__init__()
        self.queue = DelayQueue()
        self.received = 0
        self.waiting: dict[int, Lack] = {}
        self.ready: list[int] = []

    @rule(lack=_LACKS)
    def hold(self, lack: Lack) -> None:
        """A run is received and lacks something."""
        self.received += 1
        self.waiting[self.received] = lack
        self.queue.hold(_run(self.received), lack)

    @rule(delivered=_LACKS, still=st.lists(st.none() | _LACKS, min_size=1))
    def wake(self, delivered: Lack, still: list[Lack | None]) -> None:
        """A delivery wakes exactly those who waited for it or for less; some still lack."""
        group, rank, number = delivered
        expected = [
            first
            for first, lack in self.waiting.items()
            if lack[:2] == (group, rank) and lack[2] <= number
        ]
        woken = sorted(self.queue.wake(group, rank, number), key=lambda item: item[0])
        assert [run.first for _, run in woken] == expected
        for place, (arrival, run) in enumerate(woken):
            del self.waiting[run.first]
            lack = still[place % len(still)]
            if lack is None:
                self.ready.append(run.first)
                self.queue.put_ready(arrival, run)
            else:
                self.waiting[run.first] = lack
                self.queue.hold_again(arrival, run, lack)
        self.waiting = dict(sorted(self.waiting.items()))

    @rule()
    def take(self) -> None:
        """The ready run that was received first leaves first."""
        taken = self.queue.take_ready()
        if not self.ready:
            assert taken is None
            return
        assert taken is not None
        assert taken.first == min(self.ready)
        self.ready.remove(taken.first)

    @invariant()
    def depth_counts_all(self) -> None:
        """Waiting and ready runs are held, and nothing else is."""
        assert self.queue.depth == len(self.waiting) + len(self.ready)

    @invariant()
    def waiting_is_listed_in_order_of_receipt(self) -> None:
        """Each with what it waits for."""
        listed = [(run.first, lack) for run, lack in self.queue.waiting()]
        assert listed == list(self.waiting.items())


TestQueueAndList = QueueAndList.TestCase


def test_queue_without_waiting_runs_keeps_no_index() -> None:
    """A rank that nobody waits for any more leaves nothing behind, however many there were."""
    queue = DelayQueue()
    for number in range(1, 100):
        queue.hold(_run(number), (1, number, 1))
        queue.wake(1, number, 1)
    assert not queue.waiting_for
    assert queue.depth == 0
