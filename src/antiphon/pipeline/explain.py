"""Examples in words, with the lines of the trace.

Law: an explanation names the process where it shows, the messages, and the events that link
them, in causal order, the wrong one last; every event says where in the trace it is recorded.
Explaining decides nothing. Cost: three passes over what is in memory or on disk already
(``evidence``), and only if something is wrong.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from antiphon.pipeline.cutting import Layout, Numbers
from antiphon.pipeline.evidence import Message, messages_of, places_of, predecessors_of
from antiphon.pipeline.explain_views import explain_view
from antiphon.pipeline.findings import PROPERTY_OF, Finding, What
from antiphon.pipeline.ingest import Trace
from antiphon.pipeline.position import NEVER
from antiphon.pipeline.rivals import Rival, rivals_of
from antiphon.pipeline.scopes import Survey
from antiphon.pipeline.story import Story, written
from antiphon.trace import words
from antiphon.trace.verdict import Property, Violation

_ORDERS = (What.NOT_FIFO, What.NOT_CAUSAL, What.ORPHAN, What.NOT_TOTAL_CAUSAL)


def explain(
    spark: SparkSession,
    trace: Trace,
    survey: Survey,
    strands: dict[int, Numbers],
    layouts: dict[int, Layout],
    matrix: DataFrame,
    findings: Iterable[Finding],
) -> dict[Finding, Violation]:
    """Explain each of a few findings."""
    findings = list(findings)
    of_views = [finding for finding in findings if PROPERTY_OF[finding.what] is Property.VIEWS]
    of_messages = [
        finding for finding in findings if PROPERTY_OF[finding.what] is not Property.VIEWS
    ]
    explained = {finding: explain_view(survey, finding, trace.files) for finding in of_views}
    if not of_messages:
        return explained
    messages = messages_of(spark, matrix, of_messages)
    out_of_order = {finding: messages[finding] for finding in messages if finding.what in _ORDERS}
    predecessors = predecessors_of(spark, matrix, out_of_order) if out_of_order else {}
    in_two_orders = {
        finding: messages[finding] for finding in messages if finding.what is What.NOT_TOTAL
    }
    rivals = rivals_of(matrix, layouts, in_two_orders) if in_two_orders else {}
    stories = [
        _tell(Story(survey, finding, message), predecessors.get(finding) or rivals.get(finding))
        for finding, message in messages.items()
    ]
    places = places_of(trace.packs, strands, (act for story in stories for act in story.acts))
    return explained | {story.finding: written(story, places, trace.files) for story in stories}


def _tell(story: Story, why: Message | Rival | None) -> Story:
    if story.finding.what in _ORDERS:
        assert isinstance(why, Message), "something had to come first"
        _tell_order(story, why)
    elif story.finding.what is What.NOT_TOTAL:
        assert isinstance(why, Rival), "somebody delivered something first"
        _tell_two_orders(story, why)
    else:
        _TELLERS[story.finding.what](story)
    return story


def _tell_order(story: Story, earlier: Message) -> None:
    """Tell of a delivery that came before, or without, an earlier message."""
    message, rank = story.message, story.finding.process
    sender = story.scope.names[message.sender]
    story.earlier = story.name(earlier)
    story.add_multicast(earlier)
    if earlier.sender == message.sender and earlier.multicast < message.multicast:
        how = f"{sender} had multicast earlier"
    else:
        story.add_delivery(message.sender, earlier)
        how = f"{sender} had delivered before multicasting it"
    story.add_multicast(message)
    fault = "never" if earlier.positions[rank] == NEVER else "only later"
    wrong = story.say(rank, "delivered", message)
    story.add_wrong(f"{wrong}, but {story.earlier} {fault}")
    story.text = f"{wrong}, but {fault} {story.earlier}, which {how}{story.where()}"


def _tell_two_orders(story: Story, rival: Rival) -> None:
    """Tell of two messages that two processes delivered in different orders."""
    message, earlier, rank = story.message, rival.earlier, story.finding.process
    story.earlier = story.name(earlier)
    name, other = str(story.name(message)), str(story.earlier)
    story.add_delivery(rival.process, earlier)
    story.add_delivery(rival.process, message)
    story.add_delivery(rank, message)
    story.add_delivery(rank, earlier, words.only_after(story.process, other, name))
    there = story.scope.names[rival.process]
    story.text = words.in_two_orders(story.process, name, other, there) + story.where()


def _tell_again(story: Story) -> None:
    """Tell of a second multicast, or delivery, of a message."""
    message, rank = story.message, story.finding.process
    if story.finding.what is What.MULTICAST_AGAIN:
        story.add_multicast(message)
        again = story.say(rank, "multicast", message)
    else:
        story.add_delivery(rank, message)
        again = story.say(rank, "delivered", message)
    story.add_wrong(f"{again} again")
    story.text = f"{again} a second time{story.where()}"


def _tell_creation(story: Story) -> None:
    """Tell of the delivery of what nobody multicast, or of what was multicast only later."""
    message = story.message
    wrong = story.say(story.finding.process, "delivered", message)
    if message.multicast == NEVER:
        text = f"{wrong}, which {story.scope.names[message.sender]} never multicast"
    else:
        story.add_multicast(message)
        text = f"{wrong} before multicasting it"
    story.add_wrong(text)
    story.text = text + story.where()


def _tell_disagreement(story: Story) -> None:
    """Tell of a message that one process delivered and another, whose record is whole, not."""
    message = story.message
    has_it = _first_with(message, story.scope.layout().held)
    story.add_origin(has_it, message)
    text = words.never(story.process, str(story.name(message)))
    story.add_end(words.at_end(text))
    story.text = f"{text}, which {story.scope.names[has_it]} delivered{story.where()}"


def _tell_astray(story: Story) -> None:
    """Tell of a message of one view that was multicast, or delivered, in another."""
    message, finding = story.message, story.finding
    run, group, view = story.scope.key
    is_multicast = finding.what is What.MULTICAST_ASTRAY
    current = story.survey.views.current((run, group, story.process), finding.position)
    if message.multicast != NEVER and not is_multicast:
        story.add_multicast(message)
    if current is not None:
        story.steps.append((current, words.installed(story.process, current.view)))
    said = story.say(finding.process, "multicast" if is_multicast else "delivered", message)
    story.text = words.in_wrong_view(said, group, view, current.view if current else None)
    story.add_wrong(story.text)


def _tell_not_atomic(story: Story) -> None:
    """Tell of a message with which one process left a view, and another without it."""
    message, rank, view = story.message, story.finding.process, story.scope.key[2]
    has_it = _first_with(message, story.scope.layout().movers)
    there, here = story.successor(has_it), story.successor(rank)
    assert there is not None, "it went on to the next view"
    assert here is not None, "so did this one"
    story.add_origin(has_it, message)
    name = str(story.name(message))
    story.steps += [
        (there, words.installed(there.process, there.view)),
        (here, words.went_on(story.process, view + 1, name)),
    ]
    story.text = (
        f"{words.never(story.process, name)}, which {there.process} delivered, and both "
        f"went on to view {view + 1}{story.where()}"
    )


def _tell_own_missing(story: Story) -> None:
    """Tell of a message that its own sender never delivered."""
    text = words.never(story.process, str(story.name(story.message)))
    story.add_multicast(story.message)
    story.add_fork(story.successor(story.finding.process))
    story.text = f"{text}, which it had multicast itself{story.where()}"


def _tell_stalled(story: Story) -> None:
    """Tell of a message that never came, though its sender was there to the end."""
    message = story.message
    text = words.never(story.process, str(story.name(message)))
    story.add_multicast(message)
    story.add_end(words.at_end(text))
    story.text = f"{text}, which {story.scope.names[message.sender]} multicast{story.where()}"


def _tell_not_uniform(story: Story) -> None:
    """Tell of a uniform message that somebody delivered, and another did without."""
    message, layout = story.message, story.scope.layout()
    has_it = _first_with(message, list(range(layout.column_count)))
    is_mover = story.finding.process in layout.movers
    successor = story.successor(story.finding.process) if is_mover else None
    story.add_origin(has_it, message)
    story.add_fork(successor)
    story.text = (
        words.not_uniform(
            story.process,
            str(story.name(message)),
            story.scope.names[has_it],
            successor.view if successor else None,
        )
        + story.where()
    )


def _first_with(message: Message, ranks: list[int]) -> int:
    """Return the first of these processes that delivered a message."""
    return next(rank for rank in ranks if message.positions[rank] != NEVER)


_TELLERS = {
    What.MULTICAST_AGAIN: _tell_again,
    What.DELIVERED_AGAIN: _tell_again,
    What.NOT_MULTICAST: _tell_creation,
    What.IN_DOUBT: _tell_creation,
    What.TOO_EARLY: _tell_creation,
    What.NOT_DELIVERED: _tell_disagreement,
    What.MULTICAST_ASTRAY: _tell_astray,
    What.DELIVERED_ASTRAY: _tell_astray,
    What.NOT_ATOMIC: _tell_not_atomic,
    What.OWN_MISSING: _tell_own_missing,
    What.STALLED: _tell_stalled,
    What.NOT_UNIFORM: _tell_not_uniform,
}
