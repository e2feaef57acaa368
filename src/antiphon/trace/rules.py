"""What a row must say to be a row of a trace, beyond the types and bounds of its fields.

Law: a row that passes here names its messages without doubt and can be judged; a row that does
not is refused with a sentence that says what was expected. Nothing here looks at more than one
row (``continuity`` does). Cost: a fraction of a microsecond, on every row.
"""

from antiphon.trace.schema import Event

LINE_BYTES_MAX = 1 << 20
"""A longer line is no row: the journal refuses to write it, the reader to read it."""


def problem_of(event: Event) -> str | None:
    """Return what is wrong with a row, or None."""
    kind = event.kind
    if kind == "deliver":
        if event.first and event.sender:
            return None
    elif kind == "multicast":
        if event.first and event.sender in ("", event.process):
            return None
    elif kind != "view" or _is_view(event.members):
        return None
    return _explained(event)


def _is_view(members: list[str] | None) -> bool:
    return bool(members) and len(set(members or ())) == len(members or ())


def _explained(event: Event) -> str:
    """Name what is missing or wrong."""
    if event.kind == "view":
        return "a view row needs `members`, a list of different process names"
    if not event.first:
        return f"a {event.kind} row needs `first`, the number of its first message, from 1"
    if event.kind == "deliver":
        return "a deliver row needs `sender`, the process that multicast the messages"
    return "a multicast row happens at its sender: leave `sender` out or repeat `process`"
