"""The oracle: judges a trace by its explicit event graph, slowly and plainly.

Law: the definitions of docs/properties.md, read off message by message, sharing no idea with
the Spark verifier or the protocols: it exists to disagree with them. Causal order is judged by
the whole "happened before" relation; its count is of deliveries that break it directly, and the
two are never at odds (a chain breaks at some link first). Cost: 2,000 messages at 5 processes
take about a tenth of a second; it grows with the square of the messages.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import nsmallest

from antiphon.sim.event_graph import (
    Act,
    History,
    Message,
    Scope,
    causal_pasts,
    direct_predecessors,
    fifo_predecessors,
    history_of,
    out_of_order,
)
from antiphon.sim.explain import (
    explain_creation,
    explain_disagreement,
    explain_duplicate,
    explain_order,
)
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, PropertyVerdict, Status, Verdict, Violation

EXAMPLES_MAX = 3
NAMES_MAX = 10

Finding = tuple[tuple[str, tuple[int | str, ...]], Callable[[], Violation]]
"""Where a violation stands among the others (process, position), and how to explain it."""


def judge(rows: Iterable[Event | tuple[Event, str, int]], run: str = "") -> Verdict:
    """Return the verdict on a trace, given as rows, with or without their files and lines.

    Rows are as the reader gives them: checked, those of a process numbered or in local order.
    Those of several runs are told apart, but share the verdict.
    """
    history = history_of(rows, run)
    checks = (_fifo, _causal, _no_duplicate, _no_creation, _agreement)
    return Verdict(
        run=run,
        engine="oracle",
        process_count=len(history.records),
        event_count=sum(map(len, history.records.values())),
        message_count=sum(len(scope.multicasts) for scope in history.scopes),
        delivery_count=history.delivery_count,
        properties=tuple(check(history) for check in checks)
        if history.delivery_count
        else tuple(_nothing_to_judge(which) for which in Property),
    )


def _fifo(history: History) -> PropertyVerdict:
    findings = [
        ((act.process, act.position), partial(explain_order, Property.FIFO, scope, act, missing))
        for scope in history.scopes
        for act, missing in out_of_order(scope, fifo_predecessors(scope))
    ]
    return _conclude(Property.FIFO, findings, _left_out_of_orders(history))


def _causal(history: History) -> PropertyVerdict:
    findings: list[Finding] = []
    for scope in history.scopes:
        broken = list(out_of_order(scope, direct_predecessors(scope)))
        is_violated = any(True for _ in out_of_order(scope, causal_pasts(scope)))
        assert is_violated == bool(broken), "a chain of causes breaks at some link first"
        findings += [
            (
                (act.process, act.position),
                partial(explain_order, Property.CAUSAL, scope, act, missing),
            )
            for act, missing in broken
        ]
    reasons = [_left_out_of_orders(history), _in_fifo_order(history)]
    left_out = "; ".join(reason for reason in reasons if reason)
    return _conclude(Property.CAUSAL, findings, left_out)


def _no_duplicate(history: History) -> PropertyVerdict:
    findings = [
        ((again.process, again.position), partial(explain_duplicate, scope, first, again))
        for scope in history.scopes
        for first, again in scope.surplus
    ]
    return _conclude(Property.NO_DUPLICATE, findings)


def _no_creation(history: History) -> PropertyVerdict:
    created = [(scope, act) for scope in history.scopes for act in _created(scope)]
    in_doubt = [act for scope, act in created if _may_be_lost(history, scope, act)]
    if created and len(in_doubt) == len(created):
        senders = _listed({act.message[0] for act in in_doubt})
        reason = (
            f"{_counted(len(in_doubt), 'delivery is', 'deliveries are')} of messages whose "
            f"multicast may be in the part of a record that is missing: {senders}"
        )
        return PropertyVerdict(Property.NO_CREATION, Status.UNKNOWN, reason=reason)
    findings = [
        ((act.process, act.position), partial(explain_creation, scope, act))
        for scope, act in created
    ]
    return _conclude(Property.NO_CREATION, findings)


def _agreement(history: History) -> PropertyVerdict:
    findings: list[Finding] = []
    excused: set[str] = set()
    for scope in history.scopes:
        whole = [member for member in scope.members if (scope.run, member) in history.whole]
        excused.update(member for member in scope.members if member not in whole)
        delivered: dict[Message, Act] = {}
        for member in whole:
            delivered = scope.deliveries.get(member, {}) | delivered
        findings += [
            (
                (member, (scope.group, scope.view, *message)),
                partial(explain_disagreement, scope, member, act, history.end_of(scope, member)),
            )
            for member in whole
            for message, act in delivered.items()
            if message not in scope.deliveries.get(member, {})
        ]
    reason = ""
    if excused:
        reason = (
            f"{_counted(len(excused), 'process is', 'processes are')} not held to it, as the "
            f"record ends early or is missing: {_listed(excused)}"
        )
    return _conclude(Property.AGREEMENT, findings, reason)


def _created(scope: Scope) -> Iterator[Act]:
    """Yield deliveries of what was not multicast, or by its own sender not yet."""
    for process in sorted(scope.deliveries):
        for message, act in scope.deliveries[process].items():
            multicast = scope.multicasts.get(message)
            if multicast is None or (
                process == multicast.process and act.position < multicast.position
            ):
                yield act


def _may_be_lost(history: History, scope: Scope, act: Act) -> bool:
    """Whether the multicast of a message may have been in the lost end of its sender's record."""
    sender, number = act.message
    return (scope.run, sender) not in history.whole and number > scope.highest.get(sender, 0)


def _left_out_of_orders(history: History) -> str:
    """Say what the orders do not judge: messages whose multicast is not in the trace."""
    count = sum(
        message not in scope.multicasts
        for scope in history.scopes
        for deliveries in scope.deliveries.values()
        for message in deliveries
    )
    left_out = _counted(count, "delivery of a message", "deliveries of messages")
    return f"{left_out} without a recorded multicast left out" if count else ""


def _in_fifo_order(history: History) -> str:
    is_fifo = (
        entry.event.kind == "multicast" and entry.event.order == "fifo"
        for record in history.records.values()
        for entry in record
    )
    return "messages in fifo order are not held to it" if any(is_fifo) else ""


def _conclude(which: Property, findings: Sequence[Finding], left_out: str = "") -> PropertyVerdict:
    """Return a verdict, with the first few violations explained."""
    examples = nsmallest(EXAMPLES_MAX, findings, key=lambda finding: finding[0])
    return PropertyVerdict(
        property=which,
        status=Status.VIOLATED if findings else Status.HOLDS,
        violation_count=len(findings),
        reason=left_out,
        violations=tuple(explain() for _, explain in examples),
    )


def _nothing_to_judge(which: Property) -> PropertyVerdict:
    reason = "the trace has no delivery, so there is nothing to judge"
    return PropertyVerdict(which, Status.UNKNOWN, reason=reason)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(names: set[str]) -> str:
    """Return names in order, the first few of them."""
    shown = sorted(names)[:NAMES_MAX]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")
