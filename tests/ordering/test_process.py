"""The composed process: inputs in, effects out, in the order in which they are to be done."""

import pytest

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.stack import DeliverRuns, MulticastRequested, Process, RunReceived, SendRun

GROUP = GroupNumber(3)
P, Q, R = ProcessId("p"), ProcessId("q"), ProcessId("r")
VIEW = View(GroupName("chat"), ViewNumber(1), (P, Q, R))


def _process(me: ProcessId) -> Process:
    process = Process(me)
    process.join_static(GROUP, VIEW)
    return process


def _sent(process: Process, *payloads: bytes) -> Run:
    effect = process.step(MulticastRequested(GROUP, list(payloads)), 0)[0]
    assert isinstance(effect, SendRun)
    return effect.run


def test_multicast_is_sent_before_it_is_delivered() -> None:
    """Nothing the application does on delivery can overtake the message."""
    effects = _process(P).step(MulticastRequested(GROUP, [b"a", b"b"]), 0)
    run = Run(GROUP, VIEW.number, VIEW.rank_of(P), 1, Order.CAUSAL, (), [b"a", b"b"])
    assert effects == [SendRun(run), DeliverRuns([run])]


def test_ready_run_is_delivered_with_what_it_releases() -> None:
    """One arrival gives one effect, its runs in the order of delivery."""
    p, q, r = _process(P), _process(Q), _process(R)
    question = _sent(p, b"question")
    q.step(RunReceived(question), 0)
    answer = _sent(q, b"answer")
    assert r.step(RunReceived(answer), 0) == []
    assert r.step(RunReceived(question), 0) == [DeliverRuns([question, answer])]


def test_stranger_cannot_join() -> None:
    """A process that is not in the view is told so, and is in no group."""
    process = Process(ProcessId("stranger"))
    with pytest.raises(UsageError, match="stranger is no member of group chat"):
        process.join_static(GROUP, VIEW)


def test_later_life_is_a_stranger() -> None:
    """A process that came back is another one: the view that had its first life has not this."""
    with pytest.raises(UsageError, match="p~2 is no member of group chat"):
        Process(ProcessId("p", 2)).join_static(GROUP, VIEW)


def test_view_of_a_group_is_known() -> None:
    """The process says in which view it is."""
    assert _process(P).view(GROUP) == VIEW


def test_failed_join_leaves_the_process_as_it_was() -> None:
    """A second group is refused, and the first one goes on."""
    process = _process(P)
    with pytest.raises(UsageError, match="would be the second"):
        process.join_static(GroupNumber(4), VIEW)
    assert _sent(process, b"a").first == 1


def test_order_that_cannot_be_given_is_refused() -> None:
    """A multicast in total order is refused while there is none, never downgraded."""
    with pytest.raises(UsageError):
        _process(P).step(MulticastRequested(GROUP, [b"a"], Order.TOTAL), 0)
