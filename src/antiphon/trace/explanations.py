"""What is wrong, explained: which events make up an explanation, and in which words.

Law: an explanation names the process where it shows, the messages, and the events that link
them, in causal order, the wrong one last. Nothing is decided here: the oracle and the Spark
verifier judge apart, and hand over what they found, event by event; so what they say is told
once. An event says where it is recorded in the engine's own terms (``Place``), to be turned into
a line of the trace at the end. Where a view is part of the story, so is the row that installed it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from antiphon.trace import words
from antiphon.trace.verdict import (
    ClockProperty,
    Hop,
    Link,
    MessageId,
    Property,
    Violation,
    as_property,
)

Place = TypeVar("Place")
"""How an engine says where an event is recorded."""


class MessageEvent(NamedTuple, Generic[Place]):
    """A process multicast, or delivered, a message."""

    process: str
    message: MessageId
    is_multicast: bool
    place: Place

    def __str__(self) -> str:
        """Say what happened."""
        if self.is_multicast:
            return words.multicast(self.process, str(self.message))
        return words.delivered(self.process, str(self.message))

    @property
    def where(self) -> str:
        """Say in which group and view."""
        return words.where(self.message.group, self.message.view)


class ViewEvent(NamedTuple, Generic[Place]):
    """A process installed a view."""

    process: str
    group: str
    view: int
    members: Sequence[str]
    place: Place


class BallotEvent(NamedTuple, Generic[Place]):
    """A process voted on a transaction, or decided it."""

    process: str
    is_vote: bool
    says: str
    """As in the trace's ``detail``."""
    place: Place


class Ending(NamedTuple, Generic[Place]):
    """How a process came to do without a message: it installed the next view, or just ended."""

    process: str
    successor: ViewEvent[Place] | None
    """The next view; None if the process did not install it."""
    last: Place
    """The last row of its record."""


Steps = list[tuple[Place, str]]


@dataclass(frozen=True, slots=True)
class Explanation(Generic[Place]):
    """A violation whose events have yet to be found in the files."""

    property: Property | ClockProperty
    process: str
    message: MessageId | None
    earlier: MessageId | None
    steps: Steps[Place]
    text: str
    route: tuple[Hop, ...] = ()

    def written(self, run: str, link: Callable[[Place, str], Link]) -> Violation:
        """Return the violation, with the lines that record its events."""
        return Violation(
            property=as_property(self.property),
            process=self.process,
            message=self.message,
            earlier=self.earlier,
            chain=tuple(link(place, text) for place, text in self.steps),
            text=self.text,
            run=run,
            route=self.route,
        )


# Orders and pasts.


def explain_order(
    which: Property,
    wrong: MessageEvent[Place],
    multicast: MessageEvent[Place],
    earlier: MessageEvent[Place],
    known: MessageEvent[Place] | None,
    *,
    is_never: bool,
    is_open: bool = False,
) -> Explanation[Place]:
    """Explain a delivery that came before, or without, an earlier message.

    ``multicast`` is that of the wrong one, ``earlier`` that of the other. The sender delivered
    the other before (``known``), or multicast it itself (None). ``is_never``: the process where it
    shows delivered the other not only later, but never; or not yet, if its record ``is_open``.
    """
    other, sender = str(earlier.message), multicast.process
    steps = [_step(earlier), *_optional(known), _step(multicast)]
    said = words.but_other(str(wrong), other, is_never=is_never, is_open=is_open)
    steps.append((wrong.place, said))
    how = words.known_by_multicast(sender) if known is None else words.known_by_delivery(sender)
    text = words.before_other(str(wrong), other, how, is_never=is_never, is_open=is_open)
    text += wrong.where
    return _of_message(which, wrong, steps, text, earlier.message)


def explain_across(
    which: Property,
    wrong: MessageEvent[Place],
    earlier: MessageEvent[Place],
    links: Sequence[tuple[MessageEvent[Place] | None, MessageEvent[Place]]],
    *,
    is_never: bool,
) -> Explanation[Place]:
    """Explain a delivery before, or without, what comes before it by way of several groups.

    ``earlier`` is the multicast of that, and each link leads on: who delivered the message before
    (None: had multicast it itself) then multicast the next one. The last is the wrong one's.
    """
    other = f"{earlier.message}{earlier.where}"
    steps = [_placed(earlier)]
    for known, multicast in links:
        steps += [*([] if known is None else [_placed(known)]), _placed(multicast)]
    said = f"{wrong}{wrong.where}"
    steps.append((wrong.place, words.but_other(said, other, is_never=is_never)))
    if len(links) == 1:
        [(known, multicast)] = links
        sender = multicast.process
        how = words.known_by_multicast(sender) if known is None else words.known_by_delivery(sender)
    else:
        how = words.known_through(
            [
                (multicast.process, known is not None, f"{multicast.message}{multicast.where}")
                for known, multicast in links
            ]
        )
    text = words.before_other(said, other, how, is_never=is_never)
    found = _of_message(which, wrong, steps, text, earlier.message)
    return replace(found, route=_route([earlier, *(each for _, each in links)], wrong.process))


def _route(multicasts: Sequence[MessageEvent[Place]], last: str) -> tuple[Hop, ...]:
    """Return who took each message on, up to who delivered the last one wrongly."""
    takers = [*(each.process for each in multicasts[1:]), last]
    return tuple(
        Hop(each.process, each.message.group, taker)
        for each, taker in zip(multicasts, takers, strict=True)
    )


def explain_two_orders(
    here: tuple[MessageEvent[Place], MessageEvent[Place]],
    there: tuple[MessageEvent[Place], MessageEvent[Place]],
) -> Explanation[Place]:
    """Explain that one process delivered two messages in one order, another in the other."""
    wrong, late = here
    message, earlier = str(wrong.message), str(late.message)
    after = words.only_after(late.process, earlier, message)
    steps = [*map(_step, there), _step(wrong), (late.place, after)]
    text = words.in_two_orders(wrong.process, message, earlier, there[0].process) + wrong.where
    return _of_message(Property.TOTAL, wrong, steps, text, late.message)


# Too much.


def explain_duplicate(first: MessageEvent[Place], again: MessageEvent[Place]) -> Explanation[Place]:
    """Explain a second multicast, or delivery, of a message."""
    steps = [_step(first), (again.place, words.again(str(again)))]
    text = words.second_time(str(again)) + again.where
    return _of_message(Property.NO_DUPLICATE, again, steps, text)


def explain_creation(
    wrong: MessageEvent[Place], multicast: MessageEvent[Place] | None
) -> Explanation[Place]:
    """Explain the delivery of what nobody multicast, or of what was multicast only later."""
    if multicast is None:
        text = words.never_multicast(str(wrong), wrong.message.sender)
    else:
        text = words.before_multicast(str(wrong))
    steps = [*_optional(multicast), (wrong.place, text)]
    return _of_message(Property.NO_CREATION, wrong, steps, text + wrong.where)


# Too little. ``multicast`` is None where it is not recorded, or is the delivery itself: some
# processes record no deliveries of their own messages.


def explain_not_addressed(
    wrong: MessageEvent[Place], multicast: MessageEvent[Place]
) -> Explanation[Place]:
    """Explain the delivery of what was for others."""
    text = words.not_addressed(str(wrong))
    steps = [_step(multicast), (wrong.place, text)]
    return _of_message(Property.NO_CREATION, wrong, steps, text + wrong.where)


def explain_disagreement(
    delivered: MessageEvent[Place], multicast: MessageEvent[Place] | None, end: Ending[Place]
) -> Explanation[Place]:
    """Explain that a process never delivered what another did."""
    steps = [*_optional(multicast), _step(delivered), _ended(delivered.message, end)]
    never = words.never(end.process, str(delivered.message))
    text = words.delivered_by(never, delivered.process) + delivered.where
    return _of_missing(Property.AGREEMENT, delivered, end, steps, text)


def explain_stall(multicast: MessageEvent[Place], end: Ending[Place]) -> Explanation[Place]:
    """Explain that a process never delivered a message of one that went on to the end, too."""
    steps = [_step(multicast), _ended(multicast.message, end)]
    never = words.never(end.process, str(multicast.message))
    text = words.multicast_by(never, multicast.process) + multicast.where
    return _of_missing(Property.LIVENESS, multicast, end, steps, text)


def explain_own_missing(multicast: MessageEvent[Place], end: Ending[Place]) -> Explanation[Place]:
    """Explain that a process never delivered what it had multicast itself."""
    steps = [_step(multicast), _went_on_or_ended(multicast.message, end)]
    never = words.never(end.process, str(multicast.message))
    text = words.multicast_by_itself(never) + multicast.where
    return _of_missing(Property.SELF_DELIVERY, multicast, end, steps, text)


def explain_not_uniform(
    delivered: MessageEvent[Place], multicast: MessageEvent[Place] | None, end: Ending[Place]
) -> Explanation[Place]:
    """Explain that a process went on, or ended, without a uniform message somebody delivered."""
    message, successor = delivered.message, end.successor
    steps = [*_optional(multicast), _step(delivered), _went_on_or_ended(message, end)]
    view = None if successor is None else successor.view
    text = words.not_uniform(end.process, str(message), delivered.process, view) + delivered.where
    return _of_missing(Property.UNIFORM, delivered, end, steps, text)


def explain_not_atomic(
    delivered: MessageEvent[Place],
    multicast: MessageEvent[Place] | None,
    there: ViewEvent[Place],
    end: Ending[Place],
) -> Explanation[Place]:
    """Explain that two processes left a view: one with a message, ``there``, and one without."""
    message = delivered.message
    steps = [*_optional(multicast), _step(delivered), _installation(there)]
    steps.append(_went_on_or_ended(message, end))
    never = words.never(end.process, str(message))
    text = words.both_went_on(never, delivered.process, there.view) + delivered.where
    return _of_missing(Property.VIEW_ATOMIC, delivered, end, steps, text)


# Views.


def explain_other_members(
    reference: ViewEvent[Place], wrong: ViewEvent[Place]
) -> Explanation[Place]:
    """Explain that a view has other members here than at the first process that installed it."""
    text = words.other_members(
        wrong.process,
        wrong.group,
        wrong.view,
        wrong.members,
        (reference.process, reference.members),
    )
    return _of_view(wrong, [_roster(reference), _roster(wrong)], text)


def explain_wrong_number(before: ViewEvent[Place], wrong: ViewEvent[Place]) -> Explanation[Place]:
    """Explain that a view does not follow the one before it."""
    text = words.wrong_number(wrong.process, wrong.group, wrong.view, before.view)
    return _of_view(wrong, [_installation(before), _installation(wrong)], text)


def explain_not_listed(wrong: ViewEvent[Place]) -> Explanation[Place]:
    """Explain that a process installed a view without being in it."""
    text = words.not_listed(wrong.process, wrong.group, wrong.view)
    return _of_view(wrong, [_roster(wrong)], text)


def explain_wrong_view(
    wrong: MessageEvent[Place],
    multicast: MessageEvent[Place] | None,
    current: ViewEvent[Place] | None,
) -> Explanation[Place]:
    """Explain that a message of one view was multicast, or delivered, in another.

    ``multicast`` is None where it is not recorded, or wrong itself.
    """
    message = wrong.message
    view = None if current is None else current.view
    text = words.in_wrong_view(str(wrong), message.group, message.view, view)
    steps = [*_optional(multicast), *([] if current is None else [_installation(current)])]
    return _of_message(Property.SENDING_VIEW, wrong, [*steps, (wrong.place, text)], text)


# Transactions.


def explain_decision(
    transaction: str, group: str, decision: BallotEvent[Place], reason: BallotEvent[Place]
) -> Explanation[Place]:
    """Explain that a decision contradicts a vote, or another decision."""
    said = words.decided(decision.process, decision.says, transaction)
    if reason.is_vote:
        first = words.voted(reason.process, reason.says, transaction)
        text = words.decided_against(said, reason.process)
    else:
        first = words.decided(reason.process, reason.says, transaction)
        text = words.decided_otherwise(decision.process, said, reason.process, reason.says)
    return Explanation(
        property=Property.COMMIT,
        process=decision.process,
        message=None,
        earlier=None,
        steps=[(reason.place, first), (decision.place, text)],
        text=text + words.in_group(group),
    )


def _of_message(
    which: Property,
    wrong: MessageEvent[Place],
    steps: Steps[Place],
    text: str,
    earlier: MessageId | None = None,
) -> Explanation[Place]:
    return Explanation(which, wrong.process, wrong.message, earlier, steps, text)


def _of_missing(
    which: Property,
    event: MessageEvent[Place],
    end: Ending[Place],
    steps: Steps[Place],
    text: str,
) -> Explanation[Place]:
    return Explanation(which, end.process, event.message, None, steps, text)


def _of_view(wrong: ViewEvent[Place], steps: Steps[Place], text: str) -> Explanation[Place]:
    return Explanation(Property.VIEWS, wrong.process, None, None, steps, text)


def _step(event: MessageEvent[Place]) -> tuple[Place, str]:
    return event.place, str(event)


def _placed(event: MessageEvent[Place]) -> tuple[Place, str]:
    return event.place, f"{event}{event.where}"


def _optional(event: MessageEvent[Place] | None) -> Steps[Place]:
    return [] if event is None else [_step(event)]


def _installation(event: ViewEvent[Place]) -> tuple[Place, str]:
    return event.place, words.installed(event.process, event.view)


def _roster(event: ViewEvent[Place]) -> tuple[Place, str]:
    return event.place, words.installed(event.process, event.view, event.members)


def _ended(message: MessageId, end: Ending[Place]) -> tuple[Place, str]:
    return end.last, words.at_end(words.never(end.process, str(message)))


def _went_on_or_ended(message: MessageId, end: Ending[Place]) -> tuple[Place, str]:
    successor = end.successor
    if successor is None:
        return _ended(message, end)
    return successor.place, words.went_on(end.process, successor.view, str(message))
