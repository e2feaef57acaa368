"""The trace's one table: what a row says, and nothing else.

Law: a row is something that happened at one process. ``index`` numbers the rows of a process
without gaps and is the only order a verdict rests on; ``time_us`` is for people and plots.
Drivers write this schema, the oracle and the pipeline read it, users' logs are brought
into it (docs/trace-format.md, whose table is generated from this file).
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Kind = Literal[
    "start", "view", "multicast", "receive", "deliver", "send_frame",
    "suspect", "block", "resume", "vote", "decide", "send", "take", "crash", "stop",
]  # fmt: skip
Order = Literal["", "fifo", "causal", "total"]

QUIESCENT = "quiescent"
"""``detail`` of a ``stop`` row: every member had finished and everything had arrived."""

LEFT = "left"
"""``detail`` of a ``stop`` row: the process left its group and took part until the end."""

LATE = "late"
"""``detail`` of a ``start`` row: what the process did before is not in the record."""

EARLY = "early"
"""``detail`` of a ``stop`` row: what the process did later is not in the record."""

YES, NO = "yes", "no"
"""``detail`` of a ``vote`` row."""

COMMIT, ABORT = "commit", "abort"
"""``detail`` of a ``decide`` row."""

SETS_ORDER = "sets-order"
"""``detail`` of rows about a message that only tells the total order of others."""

EXPIRED = "expired"
"""``detail`` of a ``deliver`` row: the lifetime of these messages was over, and the application was
told so, in their place."""

RUN_COUNT_MAX = 1_000_000
"""Messages in one row: keeps (index, place in the row) inside one 64-bit position."""

INT64_MAX = 2**63 - 1
INDEX_MAX = INT64_MAX // RUN_COUNT_MAX - 1

# Bounds are checked while decoding; ``rules`` adds what depends on the kind of the row.
Index = Annotated[int, Meta(ge=-1, le=INDEX_MAX)]
Time = Annotated[int, Meta(ge=-INT64_MAX, le=INT64_MAX)]
Number = Annotated[int, Meta(ge=0, le=INT64_MAX - RUN_COUNT_MAX)]
Count = Annotated[int, Meta(ge=1, le=RUN_COUNT_MAX)]
Size = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Name = Annotated[str, Meta(min_length=1)]


class Event(Struct, kw_only=True, omit_defaults=True):
    """One row of a trace. Defaults are left out of the file."""

    run: str = ""
    """The run the row belongs to; in a run folder it is the folder's and left out."""
    process: Name
    """The process at which it happened."""
    recorded_as: str = ""
    """The process in whose record the row is, if it is not `process`: another name of the same one,
    in other groups. Rows of a record are numbered together, whatever the name."""
    index: Index = -1
    """Number of the row in its record, from 0, without gaps; -1: take the order of the lines."""
    time_us: Time = 0
    """Microseconds: simulated, or of the process's own clock. Never used for a verdict."""
    kind: Kind
    """What happened."""
    group: str = ""
    """The group concerned."""
    view: Number = 1
    """The view of the group in which it happened."""
    sender: str = ""
    """Who multicast the messages, sent the letter, or began the transaction; may be left out in
    `multicast` and `send` rows, where it is `process`."""
    first: Number = 0
    """Number of the first message of the row; per sender, group and view, from 1. Transactions
    are numbered per sender and group, letters per sender, addressee and group."""
    count: Count = 1
    """How many messages of that sender the row stands for: first, first + 1, ..."""
    order: Order = ""
    """The order asked for on the send call."""
    uniform: bool = False
    """Whether uniform delivery was asked for."""
    clock: dict[str, Size] | None = None
    """The protocol's own timestamp, if it cares to show it. Never trusted."""
    bytes: Size = 0
    """Payload bytes of the row's messages."""
    overhead_bytes: Size = 0
    """Bytes on the wire beyond the payloads, for one copy."""
    queue_depth: Size = 0
    """Runs held in the delay queue after this event."""
    members: list[Name] | None = None
    """In `view` rows: the members, in order of seniority."""
    to: list[Name] | None = None
    """In `multicast` rows: who is to receive these messages, if not all members."""
    domain: str = ""
    """The causality domain of the row's group, if anything says it: in `view`, `multicast` or
    `deliver` rows, in one of them or in all."""
    resilience: Size = 0
    """In `view` rows: how many members may fail and still leave no hole across groups."""
    id: str = ""
    """Your own name of the row's message, if it has one: explanations say it. Never used for a
    verdict; a row with it is about one message."""
    detail: str = ""
    """Anything a person may want to know; in `start` rows, `late` has a meaning, in `stop` rows,
    `quiescent`, `left` and `early` have; a `vote` is `yes` or `no`, a `decide` is
    `commit` or `abort`, a `send` names the addressee, a `deliver` may be of messages that are
    `expired`."""

    @property
    def record(self) -> str:
        """The process in whose record the row is."""
        return self.recorded_as or self.process
