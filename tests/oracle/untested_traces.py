"""Traces in which a property holds for want of anything that could break it, case by case."""

from typing import NamedTuple

from tests.trace.hand_written import crash, decide, deliver, multicast, start, stop, view, vote

from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property


class Case(NamedTuple):
    """A trace that does not put a property to the test, and what puts it there."""

    property: Property
    rows: list[Event]
    reason: str
    """What the verdict says."""
    cure: list[Event]
    """Rows that, added, let the property hold."""


UNSEEN = [deliver("B", "alice", 1), deliver("C", "alice", 1), deliver("C", "alice", 2)]
FROM_ALICE = [multicast("alice", 1, 2), deliver("B", "alice", 2)]
HINT = (
    "alice is a sender but never a process: add its multicasts, as rows whose `process` is alice, "
    "or give it one name throughout"
)
IN_FIFO = [multicast("A", order="fifo"), deliver("B", "A")]
DEAD = [start("A"), start("B"), multicast("A"), deliver("B", "A"), crash("A"), crash("B")]
ALONE = [multicast("A"), deliver("A", "A")]
TOTAL = [multicast("A", order="total"), deliver("A", "A", order="total")]
UNIFORM = [multicast("A", uniform=True), deliver("A", "A", uniform=True)]

CASES = {
    "fifo, no multicast known": Case(
        Property.FIFO,
        UNSEEN,
        "no delivery is left to judge; 3 deliveries of messages without a recorded multicast left "
        f"out; {HINT}",
        FROM_ALICE,
    ),
    "causal, no multicast known": Case(
        Property.CAUSAL,
        UNSEEN,
        "no delivery is left to judge; 3 deliveries of messages without a recorded multicast left "
        f"out; {HINT}",
        FROM_ALICE,
    ),
    "no-orphan, no multicast known": Case(
        Property.NO_ORPHAN,
        UNSEEN,
        "no delivery is left to judge; 3 deliveries of messages without a recorded multicast left "
        f"out; {HINT}",
        FROM_ALICE,
    ),
    "causal, all in fifo order": Case(
        Property.CAUSAL,
        IN_FIFO,
        "every message is in fifo order; messages in fifo order are not held to it",
        [multicast("A", 2), deliver("B", "A", 2)],
    ),
    "no-orphan, all in fifo order": Case(
        Property.NO_ORPHAN,
        IN_FIFO,
        "every message is in fifo order; messages in fifo order are not held to it",
        [multicast("A", 2), deliver("B", "A", 2)],
    ),
    "no-creation, sender without rows": Case(
        Property.NO_CREATION,
        UNSEEN,
        "3 deliveries are of messages whose multicast may be in the part of a record that is "
        f"missing: alice; {HINT}",
        FROM_ALICE,
    ),
    "agreement, nobody whole": Case(
        Property.AGREEMENT,
        DEAD,
        "no two processes have to agree on anything that was delivered; 2 processes are not held "
        "to it, as the record ends early or is missing: A, B",
        [deliver("C", "A"), deliver("D", "A")],
    ),
    "agreement, one process": Case(
        Property.AGREEMENT,
        ALONE,
        "no two processes have to agree on anything that was delivered; A is the only process with "
        "rows: add those of the others",
        [deliver("B", "A")],
    ),
    "liveness, no multicast known": Case(
        Property.LIVENESS,
        UNSEEN,
        f"no message of a process that is held to it had to reach another such process; {HINT}",
        FROM_ALICE,
    ),
    "liveness, nobody whole": Case(
        Property.LIVENESS,
        DEAD,
        "no message of a process that is held to it had to reach another such process; 2 processes "
        "are not held to it, as the record ends early or is missing: A, B",
        [multicast("C"), deliver("D", "C")],
    ),
    "self-delivery, none recorded": Case(
        Property.SELF_DELIVERY,
        [multicast("A"), deliver("B", "A")],
        "nobody who is held to it records deliveries of its own messages, so multicasting counts "
        "as delivering",
        [deliver("A", "A")],
    ),
    "self-delivery, no multicast known": Case(
        Property.SELF_DELIVERY,
        UNSEEN,
        f"nobody who is held to it multicast anything; {HINT}",
        [*FROM_ALICE, deliver("alice", "alice", 1, 2)],
    ),
    "sending-view, no view where messages are": Case(
        Property.SENDING_VIEW,
        [view("C", "A", "B"), multicast("A"), deliver("B", "A")],
        "nobody who installed views multicast or delivered anything; 2 processes are not held to "
        "it in a group of which there is no view row: A, B",
        [deliver("C", "A")],
    ),
    "view-atomic, one view": Case(
        Property.VIEW_ATOMIC,
        [view("A", "A", "B"), view("B", "A", "B"), multicast("A"), deliver("B", "A")],
        "no two processes went on together from a view in which they delivered anything",
        [view("A", "A", "B", view=2), view("B", "A", "B", view=2)],
    ),
    "total, one process": Case(
        Property.TOTAL,
        TOTAL,
        "no two processes that are held to it delivered anything in total order; A is the only "
        "process with rows: add those of the others",
        [deliver("B", "A", order="total")],
    ),
    "total-causal, no multicast known": Case(
        Property.TOTAL_CAUSAL,
        [deliver("B", "alice", order="total"), deliver("C", "alice", order="total")],
        "no delivery is left to judge; 2 deliveries of messages without a recorded multicast left "
        f"out; {HINT}",
        [multicast("alice", order="total")],
    ),
    "uniform, one process": Case(
        Property.UNIFORM,
        UNIFORM,
        "nobody has to deliver what another process delivered; A is the only process with rows: "
        "add those of the others",
        [deliver("B", "A", uniform=True)],
    ),
    "commit, one decision": Case(
        Property.COMMIT,
        [decide("A", "commit", "A"), stop("B", "quiescent")],
        "no decision has another one, or a vote, to be compared with",
        [vote("B", "yes", "A")],
    ),
}
