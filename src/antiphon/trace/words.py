"""The words in which a verdict is given, whoever gives it.

Law: nothing is decided here. The oracle and the pipeline judge apart; what they say is said
here and in ``explanations``, once for both: a test can hold their verdicts equal word for word.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

NAMES_MAX = 10

NO_DELIVERY = "the trace has no delivery, so there is nothing to judge"
NO_VIEW = "the trace has no view row, so nothing is known about views"
NO_VIEW_LEFT = "no two processes went on together from a view in which they delivered anything"
NO_TOTAL = "nothing was multicast in total order"
NO_UNIFORM = "nothing was multicast with uniform delivery"
NO_DECISION = "no transaction was decided"
NOT_ASKED = (NO_TOTAL, NO_UNIFORM, NO_DECISION, NO_VIEW_LEFT)
"""Why something is unknown that nobody wanted to know."""

# Why nothing was put to the test, though nothing is wrong.
NO_DELIVERY_LEFT = "no delivery is left to judge"
ALL_IN_FIFO_ORDER = "every message is in fifo order"
NONE_TO_AGREE = "no two processes have to agree on anything that was delivered"
NO_ACT_IN_VIEWS = "nobody who installed views multicast or delivered anything"
NO_MULTICAST = "nobody who is held to it multicast anything"
NO_OWN_DELIVERY = (
    "nobody who is held to it records deliveries of its own messages, so multicasting counts as "
    "delivering"
)
NONE_TO_REACH = "no message of a process that is held to it had to reach another such process"
NONE_TO_COMPARE = "no two processes that are held to it delivered anything in total order"
NONE_TO_FOLLOW = "nobody has to deliver what another process delivered"
NO_SECOND_BALLOT = "no decision has another one, or a vote, to be compared with"

# Why nothing is known yet of a run that goes on.
WHEN_ENDED = "not yet: judged when processes end"
WHEN_LEFT = "not yet: judged when processes leave the view, or end"

IN_FIFO_ORDER = "messages in fifo order are not held to it"

ADDRESSED = "where `to` says who is to receive a message, nobody else owes it"

ADDRESSED_ACROSS = (
    "causality across groups of one domain is not judged where `to` says who is to receive a "
    "message there"
)

OVERLAPPING = (
    "causality through processes that a message was not `to` is not judged, and lists in `to` "
    "overlap: from each message to the next nothing is violated"
)
"""What is known where a chain of causes may go round a process that is held to its ends."""

GROUPS_APART = "within each group nothing is violated"
"""What is known where causality across groups is not judged."""


def counted(count: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{count} {one if count == 1 else many}"


def extent(events: int, processes: int, messages: int, deliveries: int) -> str:
    """Say how much was looked at."""
    return (
        f"{events:,} {'event' if events == 1 else 'events'} of "
        f"{processes:,} {'process' if processes == 1 else 'processes'}, "
        f"{messages:,} {'message' if messages == 1 else 'messages'}, "
        f"{deliveries:,} {'delivery' if deliveries == 1 else 'deliveries'}"
    )


def listed(names: Iterable[str]) -> str:
    """Return names in order, the first few of them."""
    return _shown(sorted(set(names)))


def together(*reasons: str) -> str:
    """Return several reasons as one."""
    return "; ".join(reason for reason in reasons if reason)


def in_doubt(count: int, senders: Iterable[str]) -> str:
    """Say why it is not known whether something was made up."""
    return (
        f"{counted(count, 'delivery is', 'deliveries are')} of messages whose multicast may be "
        f"in the part of a record that is missing: {listed(senders)}"
    )


def without_multicast(count: int) -> str:
    """Say what the orders do not judge: messages whose multicast is not in the trace."""
    left_out = counted(count, "delivery of a message", "deliveries of messages")
    return f"{left_out} without a recorded multicast left out" if count else ""


def still_running(names: Iterable[str]) -> str:
    """Say who may still come to be held to a promise."""
    names = set(names)
    return f"{counted(len(names), 'process runs', 'processes run')} on" if names else ""


def awaiting_multicast(count: int) -> str:
    """Say what the orders have not judged yet."""
    waiting = counted(count, "delivery waits", "deliveries wait")
    return f"{waiting} for the record of the multicast" if count else ""


def differing(count: int) -> str:
    """Say what breaks total order, unless those concerned die in this view."""
    found = counted(count, "delivery differs", "deliveries differ")
    return f"{found} in order, which counts once those concerned leave the view, or end"


def came_too_late(count: int) -> str:
    """Say what a judge of a running group has not judged."""
    rows = counted(count, "message was", "messages were")
    return (
        f"{rows} recorded too late to be judged, after everybody else had gone on: "
        f"run antiphon verify without --follow"
    )


def never_processes(names: Iterable[str]) -> str:
    """Say which senders have no rows of their own, and what to do about it."""
    names = sorted(set(names))
    if not names:
        return ""
    if len(names) == 1:
        return (
            f"{names[0]} is a sender but never a process: add its multicasts, as rows whose "
            f"`process` is {names[0]}, or give it one name throughout"
        )
    return (
        f"{len(names)} senders are never processes ({listed(names)}): add their multicasts, as "
        f"rows whose `process` they are, or give each of them one name throughout"
    )


def only_process(names: Iterable[str]) -> str:
    """Say that there is nobody to compare a process with, and what to do about it."""
    names = set(names)
    if len(names) != 1:
        return ""
    return f"{listed(names)} is the only process with rows: add those of the others"


def not_held(names: Iterable[str]) -> str:
    """Say who is not held to a promise."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} not held to it, as the record "
        f"ends early or is missing: {listed(names)}"
    )


def held_from_beginning(names: Iterable[str]) -> str:
    """Say who is not held to what may have been before its record."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} not held to what may have come "
        f"before the record, which begins late: {listed(names)}"
    )


def held_from_first_view(names: Iterable[str]) -> str:
    """Say whose view is not known at first."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} not held to it before the first "
        f"view row, as the record begins late: {listed(names)}"
    )


def not_subscribed(names: Iterable[str]) -> str:
    """Say who takes part without being one of those who are to receive."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process has', 'processes have')} nothing to receive in a group "
        f"without a subscription: {listed(names)}"
    )


def held_to_uniform(names: Iterable[str]) -> str:
    """Say who is held to total order in uniform messages only."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} held to it in uniform messages "
        f"only, as the record ends early: {listed(names)}"
    )


NAME_DOMAINS = (
    "(name their causality domains in a column `domain`, or say --domains one, or --domains each)"
)


def in_several_groups(names: Iterable[str], advice: str = NAME_DOMAINS) -> str:
    """Say why causality was not judged as a whole, and what to do about it."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} in more than one group, and "
        f"causality across groups is not judged: {listed(names)} {advice}"
    )


def under_two_names(processes: Iterable[str]) -> str:
    """Say why causality across groups is not judged as a whole: processes have two names."""
    names = set(processes)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process has', 'processes have')} two names in one view, as their "
        f"`recorded_as` says, and causality across their groups is not judged: {listed(names)}"
    )


def in_circles(names: Iterable[str]) -> str:
    """Say why causality across groups cannot be judged: no order of events is possible."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process has', 'processes have')} multicast what comes, in some "
        "steps, after itself, or after such a message, and causality across their groups is not "
        f"judged: {listed(names)}"
    )


def holes_in_doubt(count: int, names: Iterable[str]) -> str:
    """Say that something is missing that may have been lost for good."""
    return (
        f"{counted(count, 'delivery is', 'deliveries are')} without something that comes before "
        "across groups, and that may be lost: more members of its view failed than the domain's "
        f"resilience: {listed(names)}"
    )


def without_views(names: Iterable[str]) -> str:
    """Say whose views are not known."""
    names = set(names)
    if not names:
        return ""
    return (
        f"{counted(len(names), 'process is', 'processes are')} not held to it in a group of "
        f"which there is no view row: {listed(names)}"
    )


def where(group: str, view: int) -> str:
    """Say in which group and view, unless there is but one of each."""
    if not group:
        return f" (view {view})" if view != 1 else ""
    return f" (group {group}, view {view})"


def view_of(group: str, view: int) -> str:
    """Return the name of a view."""
    return f"view {view} of group {group}" if group else f"view {view}"


def installed(process: str, view: int, members: Sequence[str] = ()) -> str:
    """Say that a process installed a view."""
    return f"{process} installed view {view}" + (f" with {_shown(members)}" if members else "")


def other_members(
    process: str,
    group: str,
    view: int,
    members: Sequence[str],
    reference: tuple[str, Sequence[str]],
) -> str:
    """Say that a view has other members at one process than at another."""
    other, expected = reference
    text = (
        f"{process} installed {view_of(group, view)} with {_shown(members)}, "
        f"but {other} with {_shown(expected)}"
    )
    if max(len(members), len(expected)) <= NAMES_MAX:
        return text
    pairs = enumerate(zip_longest(members, expected), start=1)
    place = next(place for place, (one, two) in pairs if one != two)
    return f"{text}: they differ from place {place} on"


def wrong_number(process: str, group: str, view: int, before: int) -> str:
    """Say that a view does not follow the one before."""
    return f"{process} installed {view_of(group, view)} after view {before}, not view {before + 1}"


def not_listed(process: str, group: str, view: int) -> str:
    """Say that a process installed a view that it is not in."""
    return f"{process} installed {view_of(group, view)}, of which it is not a member"


def in_wrong_view(said: str, group: str, view: int, current: int | None) -> str:
    """Say that a message of one view was multicast, or delivered, in another."""
    when = "before it had installed a view" if current is None else f"while in view {current}"
    return f"{said}, of {view_of(group, view)}, {when}"


def multicast(process: str, message: str) -> str:
    """Say that a process multicast a message."""
    return f"{process} multicast {message}"


def delivered(process: str, message: str) -> str:
    """Say that a process delivered a message."""
    return f"{process} delivered {message}"


def again(said: str) -> str:
    """Say that something was done once more."""
    return f"{said} again"


def second_time(said: str) -> str:
    """Say that something was done twice."""
    return f"{said} a second time"


def never_multicast(said: str, sender: str) -> str:
    """Say that something was done to a message that was not multicast."""
    return f"{said}, which {sender} never multicast"


def before_multicast(said: str) -> str:
    """Say that a process delivered its own message too early."""
    return f"{said} before multicasting it"


def not_addressed(said: str) -> str:
    """Say that a process delivered what was for others."""
    return f"{said}, which was not `to` it"


def but_other(said: str, other: str, *, is_never: bool, is_open: bool = False) -> str:
    """Say that a delivery came before, or without, another; ``is_open``: it may come yet."""
    return f"{said}, but {other} {_when(is_never=is_never, is_open=is_open)}"


def before_other(said: str, other: str, how: str, *, is_never: bool, is_open: bool = False) -> str:
    """Say that a delivery came before, or without, another, and why that one had to come first."""
    return f"{said}, but {_when(is_never=is_never, is_open=is_open)} {other}, which {how}"


def known_by_multicast(sender: str) -> str:
    """Say that a sender had multicast something itself before."""
    return f"{sender} had multicast earlier"


def known_by_delivery(sender: str) -> str:
    """Say that a sender had delivered something before."""
    return f"{sender} had delivered before multicasting it"


def known_through(links: Sequence[tuple[str, bool, str]]) -> str:
    """Say how one message comes before another: who sent it on, or what came of it, to whom.

    Of each link: a process, whether it had delivered the message before (or else had multicast
    it), and what it multicast then.
    """
    said = [
        f"{process} had {'delivered' if is_delivered else 'multicast'} {what} before multicasting "
        f"{message}"
        for what, (process, is_delivered, message) in zip(
            ["it", *["that"] * (len(links) - 1)], links, strict=True
        )
    ]
    return f"precedes it: {', '.join(said)}"


def in_two_orders(process: str, message: str, earlier: str, other: str) -> str:
    """Say that two processes delivered two messages in different orders."""
    return (
        f"{process} delivered {message} before {earlier}, "
        f"but {other} delivered {earlier} before {message}"
    )


def only_after(process: str, message: str, earlier: str) -> str:
    """Say that a process delivered a message later than another."""
    return f"{process} delivered {message} only after {earlier}"


def not_uniform(process: str, message: str, other: str, successor: int | None) -> str:
    """Say that a process did without a uniform message that another delivered."""
    how = "" if successor is None else f", and went on to view {successor}"
    return f"{never(process, message)}, which is uniform and which {other} delivered{how}"


def transaction(initiator: str, number: int) -> str:
    """Return what people call a transaction."""
    return f"transaction {number} of {initiator}"


def decided(process: str, decision: str, of: str) -> str:
    """Say what a process decided about a transaction."""
    return f"{process} decided to {decision} {of}"


def voted(process: str, vote: str, of: str) -> str:
    """Say how a process voted on a transaction."""
    return f"{process} voted {vote} on {of}"


def decided_otherwise(process: str, said: str, other: str, decision: str) -> str:
    """Say that another process, or the same one before, decided otherwise."""
    who = "had" if other == process else other
    return f"{said}, but {who} decided to {decision} it"


def decided_against(said: str, voter: str) -> str:
    """Say that a transaction was committed that somebody refused."""
    return f"{said}, on which {voter} voted no"


def in_group(group: str) -> str:
    """Say in which group, if it has a name."""
    return f" (group {group})" if group else ""


def never(process: str, message: str) -> str:
    """Say that a process did not deliver a message."""
    return f"{process} never delivered {message}"


def delivered_by(said: str, process: str) -> str:
    """Say, of a message that somebody never delivered, who did."""
    return f"{said}, which {process} delivered"


def both_went_on(said: str, process: str, view: int) -> str:
    """Say, of a message that one process never delivered, that another did; both went on."""
    return f"{delivered_by(said, process)}, and both went on to view {view}"


def multicast_by(said: str, process: str) -> str:
    """Say, of a message that somebody never delivered, who multicast it."""
    return f"{said}, which {process} multicast"


def multicast_by_itself(said: str) -> str:
    """Say that the message that a process never delivered is its own."""
    return f"{said}, which it had multicast itself"


def at_end(text: str) -> str:
    """Say until when."""
    return f"{text} up to the end of its record"


def went_on(process: str, view: int, message: str) -> str:
    """Say that a process left a view without a message."""
    return f"{process} installed view {view} without having delivered {message}"


def when_missed(*, is_never: bool) -> str:
    """Say when something came that had to come first."""
    return _when(is_never=is_never, is_open=False)


def way(hops: Sequence[tuple[str, str, str]], *, is_ascii: bool = False) -> str:
    """Say who took what on to whom, in which group: ``p1 -A-> p2 -B-> p3``.

    What a process multicast before something else of its own is said as ``p1 in A, then``.
    """
    line, head = ("-", "->") if is_ascii else ("─", "→")
    said = ""
    for sender, group, to in hops:
        begun = said or sender
        if sender == to:
            said = f"{begun} in {group}, then {sender}" if group else f"{begun}, then {sender}"
        else:
            said = f"{begun} {line}{group}{head} {to}"
    return said


def _when(*, is_never: bool, is_open: bool) -> str:
    if not is_never:
        return "only later"
    return "not yet" if is_open else "never"


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMES_MAX]) + (", ..." if len(names) > NAMES_MAX else "")
