"""An endpoint in a group that never changes: inputs in, effects out, in order."""

import pytest

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.stack.effects import DeliverRuns, Effect, SendRun
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import MulticastRequested, PeerHeard, RunsReceived
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

P, Q, R = ProcessId("p"), ProcessId("q"), ProcessId("r")
CAUSAL = How(Order.CAUSAL)
VIEW = View(GroupName("chat"), ViewNumber(1), (P, Q, R))


def _process(me: ProcessId, flush: str = "view-atomic") -> Endpoint:
    endpoint = Endpoint(me, VIEW, Settings(flush=flush), 0)
    endpoint.start()
    return endpoint


def _say(endpoint: Endpoint, *payloads: bytes, how: How = CAUSAL) -> list[Effect]:
    asked = MulticastRequested(list(payloads), how, sum(map(len, payloads)))
    return endpoint.step(asked, 0)


def _sent(endpoint: Endpoint, *payloads: bytes) -> Run:
    (send,) = (effect for effect in _say(endpoint, *payloads) if isinstance(effect, SendRun))
    return send.run


def test_multicast_is_sent_before_it_is_delivered() -> None:
    """Nothing the application does on delivery can overtake the message."""
    run = Run(GroupNumber(0), VIEW.number, VIEW.rank_of(P), 1, Order.CAUSAL, (), [b"a", b"b"])
    assert _say(_process(P), b"a", b"b") == [SendRun(run, None), DeliverRuns([run])]


def test_ready_run_is_delivered_with_what_it_releases() -> None:
    """One arrival gives one effect, its runs in the order of delivery."""
    p, q, r = _process(P), _process(Q), _process(R)
    question = _sent(p, b"question")
    q.step(RunsReceived(P, [question]), 0)
    answer = _sent(q, b"answer")
    assert r.step(RunsReceived(Q, [answer]), 0) == []
    assert r.step(RunsReceived(P, [question]), 0) == [DeliverRuns([question, answer])]


def test_short_way_is_refused_where_something_waits() -> None:
    """A run that lacks something, or for which something waits, has to go the long way."""
    p, q, r = _process(P), _process(Q), _process(R)
    question = _sent(p, b"question")
    assert q.receive(P, question)
    assert q.step(PeerHeard(P), 0) == []
    answer = _sent(q, b"answer")
    assert not r.receive(Q, answer)
    assert r.queue_depth == 0
    r.step(RunsReceived(Q, [answer]), 0)
    assert not r.receive(P, question)
    assert r.step(RunsReceived(P, [question]), 0) == [DeliverRuns([question, answer])]


def test_run_that_comes_twice_is_delivered_once() -> None:
    """The second copy changes nothing, whichever way it comes."""
    p, q = _process(P), _process(Q)
    run = _sent(p, b"a")
    assert q.receive(P, run)
    assert not q.receive(P, run)
    assert q.step(RunsReceived(P, [run]), 0) == []


@pytest.mark.parametrize("me", [ProcessId("stranger"), ProcessId("p", 2)], ids=str)
def test_stranger_cannot_begin_in_a_view(me: ProcessId) -> None:
    """Who is not in the view cannot begin there; a later incarnation is another process."""
    with pytest.raises(UsageError, match=f"{me} is no member of group chat"):
        Endpoint(me, VIEW, Settings(), 0)


def test_view_of_a_group_is_known() -> None:
    """The process says in which view it is."""
    assert _process(P).view == VIEW


def test_what_cannot_be_given_is_refused() -> None:
    """Uniform delivery without its flush is refused, never downgraded, and nothing is sent."""
    process = _process(P, "coordinator")
    with pytest.raises(UsageError, match="uniform delivery needs"):
        _say(process, b"a", how=How(Order.CAUSAL, uniform=True))
    assert _sent(process, b"b").first == 1
