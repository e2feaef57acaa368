"""Findings about messages and views, explained with the lines of the trace.

Law: which events belong to an explanation is looked up here; what is said of them is in
``antiphon.trace.explanations``. Explaining decides nothing. Cost: three passes over what is in
memory or on disk already (``evidence``), and only if something is wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from antiphon.pipeline.checks.across.chains import Known, chains_of
from antiphon.pipeline.checks.findings import PROPERTY_OF, Finding, What
from antiphon.pipeline.explanations.evidence import (
    Act,
    Message,
    messages_of,
    places_of,
    predecessors_of,
)
from antiphon.pipeline.explanations.facts import Facts, Ids, Lines, Where, installation
from antiphon.pipeline.explanations.names import Naming, ids_of
from antiphon.pipeline.explanations.rivals import Rival, rivals_of
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.domains import Seating
from antiphon.pipeline.survey.layout import Layout, Numbers
from antiphon.pipeline.survey.scopes import Survey
from antiphon.pipeline.tables.table import Table
from antiphon.trace import explanations
from antiphon.trace.explanations import Explanation
from antiphon.trace.verdict import Property, Violation

_ORDERS = (What.NOT_FIFO, What.NOT_CAUSAL, What.ORPHAN, What.NOT_TOTAL_CAUSAL)
_ACROSS = (What.LATE_ACROSS, What.ORPHAN_ACROSS, What.TOTAL_LATE_ACROSS)


def explain(
    trace: Trace,
    survey: Survey,
    seatings: Mapping[int, Seating],
    strands: dict[int, Numbers],
    layouts: dict[int, Layout],
    matrix: Table,
    findings: Iterable[Finding],
) -> dict[Finding, Violation]:
    """Explain each of a few findings."""
    findings = list(findings)
    is_of_view = {item: PROPERTY_OF[item.what] is Property.VIEWS for item in findings}
    explained = {item: _of_view(survey, item) for item in findings if is_of_view[item]}
    of_messages = [item for item in findings if not is_of_view[item]]
    evidence = _gathered(matrix, layouts, seatings, of_messages)
    explained |= _told(survey, evidence, {})
    acts = [where for item in explained.values() for where, _ in item.steps]
    naming = _naming(survey, evidence) if trace.has_ids else {}
    acts += [act for candidates in naming.values() for act in candidates]
    wanted = [act for act in acts if isinstance(act, Act)]
    places = places_of(trace.packs, strands, wanted) if wanted else {}
    if naming:
        explained |= _told(survey, evidence, ids_of(trace, naming, places))
    link = Lines(survey, trace.files, places).link
    return {
        finding: explanation.written(survey.scopes[finding.scope].key[0], link)
        for finding, explanation in explained.items()
    }


def _of_view(survey: Survey, finding: Finding) -> Explanation[Where]:
    """Explain what is wrong with a view row: all of it is known on the driver."""
    scope, views = survey.scopes[finding.scope], survey.views
    run, group, _ = scope.key
    row = views.current((run, group, scope.names[finding.process]), finding.position)
    assert row is not None, "the row itself is there"
    wrong = installation(survey, row)
    if finding.what is What.OTHER_MEMBERS:
        reference = installation(survey, views.reference(row))
        return explanations.explain_other_members(reference, wrong)
    if finding.what is What.OUT_OF_TURN:
        before = views.before(row)
        assert before is not None, "the first view may have any number"
        return explanations.explain_wrong_number(installation(survey, before), wrong)
    return explanations.explain_not_listed(wrong)


class _Evidence(NamedTuple):
    """What was looked up for findings about messages."""

    messages: dict[Finding, Message]
    predecessors: dict[Finding, Message]
    """Of what is out of order: the message that had to come first."""
    rivals: dict[Finding, Rival]
    """Of what is in two orders: who has the other."""
    chains: dict[Finding, list[Known]]
    """Of what is out of order across groups: what had to come first, and what leads on from it."""


def _gathered(
    matrix: Table,
    layouts: dict[int, Layout],
    seatings: Mapping[int, Seating],
    findings: list[Finding],
) -> _Evidence:
    if not findings:
        return _Evidence({}, {}, {}, {})
    messages = messages_of(matrix, findings)
    out_of_order = {finding: messages[finding] for finding in messages if finding.what in _ORDERS}
    in_two_orders = {
        finding: messages[finding] for finding in messages if finding.what is What.NOT_TOTAL
    }
    across = {item: messages[item].multicast for item in messages if item.what in _ACROSS}
    return _Evidence(
        messages,
        predecessors_of(matrix, out_of_order) if out_of_order else {},
        rivals_of(matrix, layouts, in_two_orders) if in_two_orders else {},
        chains_of(matrix, seatings, across) if across else {},
    )


def _told(survey: Survey, evidence: _Evidence, ids: Ids) -> dict[Finding, Explanation[Where]]:
    explained: dict[Finding, Explanation[Where]] = {}
    for finding, message in evidence.messages.items():
        facts = Facts(survey, finding, message, ids)
        if finding in evidence.predecessors:
            explained[finding] = _order(facts, evidence.predecessors[finding])
        elif finding in evidence.rivals:
            explained[finding] = _two_orders(facts, evidence.rivals[finding])
        elif finding in evidence.chains:
            explained[finding] = _across(facts, evidence.chains[finding])
        else:
            explained[finding] = _EXPLAIN[finding.what](facts)
    return explained


def _naming(survey: Survey, evidence: _Evidence) -> Naming:
    """Return where the users' own names for all these messages may be."""
    found: Naming = {}
    for finding, message in evidence.messages.items():
        facts = Facts(survey, finding, message, {})
        earlier = [evidence.predecessors[finding]] if finding in evidence.predecessors else []
        earlier += [evidence.rivals[finding].earlier] if finding in evidence.rivals else []
        for each in (message, *earlier):
            found[finding.scope, each.sender, each.number] = facts.naming(each)
        for known in evidence.chains.get(finding, ())[:-1]:
            found[known.scope, known.sender, known.number] = facts.naming_across(known)
    return found


def _order(facts: Facts, earlier: Message) -> Explanation[Where]:
    message = facts.message
    is_own = earlier.sender == message.sender and earlier.multicast < message.multicast
    return explanations.explain_order(
        PROPERTY_OF[facts.finding.what],
        facts.wrong(),
        facts.multicast(message),
        facts.multicast(earlier),
        None if is_own else facts.delivery(message.sender, earlier),
        is_never=earlier.positions[facts.finding.process] == NEVER,
    )


def _across(facts: Facts, chain: list[Known]) -> Explanation[Where]:
    events = [facts.multicast_across(known) for known in chain]
    heard = [facts.delivery_across(known) for known in chain[:-1]]
    return explanations.explain_across(
        PROPERTY_OF[facts.finding.what],
        facts.wrong(),
        events[0],
        list(zip(heard, events[1:], strict=True)),
        is_never=facts.finding.what is What.ORPHAN_ACROSS,
    )


def _two_orders(facts: Facts, rival: Rival) -> Explanation[Where]:
    message, earlier, rank = facts.message, rival.earlier, facts.finding.process
    return explanations.explain_two_orders(
        (facts.delivery(rank, message), facts.delivery(rank, earlier)),
        (facts.delivery(rival.process, earlier), facts.delivery(rival.process, message)),
    )


def _again(facts: Facts) -> Explanation[Where]:
    is_multicast = facts.finding.what is What.MULTICAST_AGAIN
    first = (
        facts.multicast(facts.message)
        if is_multicast
        else facts.delivery(facts.finding.process, facts.message)
    )
    return explanations.explain_duplicate(first, facts.wrong())


def _creation(facts: Facts) -> Explanation[Where]:
    return explanations.explain_creation(facts.wrong(), facts.multicast_if_any(facts.message))


def _not_addressed(facts: Facts) -> Explanation[Where]:
    return explanations.explain_not_addressed(facts.wrong(), facts.multicast(facts.message))


def _disagreement(facts: Facts) -> Explanation[Where]:
    has_it = _first_with(facts.message, facts.scope.layout().held)
    delivered = facts.delivery(has_it, facts.message)
    return explanations.explain_disagreement(delivered, facts.origin(has_it), facts.ending())


def _astray(facts: Facts) -> Explanation[Where]:
    wrong, current = facts.wrong(), facts.current()
    return explanations.explain_wrong_view(
        wrong,
        None if wrong.is_multicast else facts.multicast_if_any(facts.message),
        None if current is None else facts.installation(current),
    )


def _not_atomic(facts: Facts) -> Explanation[Where]:
    has_it = _first_with(facts.message, facts.scope.layout().movers)
    there, here = facts.successor(has_it), facts.successor(facts.finding.process)
    assert there is not None, "it went on to the next view"
    assert here is not None, "so did this one"
    return explanations.explain_not_atomic(
        facts.delivery(has_it, facts.message),
        facts.origin(has_it),
        facts.installation(there),
        facts.ending(here),
    )


def _own_missing(facts: Facts) -> Explanation[Where]:
    ending = facts.ending(facts.successor(facts.finding.process))
    return explanations.explain_own_missing(facts.multicast(facts.message), ending)


def _stalled(facts: Facts) -> Explanation[Where]:
    return explanations.explain_stall(facts.multicast(facts.message), facts.ending())


def _not_uniform(facts: Facts) -> Explanation[Where]:
    rank, layout = facts.finding.process, facts.scope.layout()
    has_it = _first_with(facts.message, list(range(layout.column_count)))
    successor = facts.successor(rank) if rank in layout.movers else None
    return explanations.explain_not_uniform(
        facts.delivery(has_it, facts.message), facts.origin(has_it), facts.ending(successor)
    )


def _first_with(message: Message, ranks: list[int]) -> int:
    """Return the first of these processes that delivered a message."""
    return next(rank for rank in ranks if message.positions[rank] not in {NEVER, EXCUSED})


_EXPLAIN: dict[What, Callable[[Facts], Explanation[Where]]] = {
    What.MULTICAST_AGAIN: _again,
    What.DELIVERED_AGAIN: _again,
    What.NOT_MULTICAST: _creation,
    What.IN_DOUBT: _creation,
    What.TOO_EARLY: _creation,
    What.NOT_DELIVERED: _disagreement,
    What.MULTICAST_ASTRAY: _astray,
    What.DELIVERED_ASTRAY: _astray,
    What.NOT_ATOMIC: _not_atomic,
    What.OWN_MISSING: _own_missing,
    What.STALLED: _stalled,
    What.NOT_UNIFORM: _not_uniform,
    What.NOT_ADDRESSED: _not_addressed,
}
