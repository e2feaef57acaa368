"""What a row must say to be a row of a trace, beyond the types and bounds of its fields.

Law: a row that passes here names its messages without doubt and can be judged; a row that does
not is refused with a sentence that says what was expected. Nothing here looks at more than one
row (``continuity`` does). Cost: a fraction of a microsecond, on every row.
"""

from antiphon.trace.schema import ABORT, COMMIT, NO, YES, Event

LINE_BYTES_MAX = 1 << 20
"""A longer line is no row: the journal refuses to write it, the reader to read it."""


_SAYS = {"vote": (YES, NO), "decide": (COMMIT, ABORT)}
"""What `detail` must be."""

_OTHERS = frozenset({"view", "vote", "decide", "send", "take"})
"""Kinds of rows that need something, besides those that there are many of."""


def problem_of(event: Event) -> str | None:
    """Return what is wrong with a row, or None."""
    kind = event.kind
    if kind == "deliver":
        if event.first and event.sender:
            return None
    elif kind == "multicast":
        if event.first and event.sender in ("", event.process):
            return None
    elif kind not in _OTHERS or _is_complete(event):
        return None
    return _explained(event)


def _is_complete(event: Event) -> bool:
    if event.kind == "view":
        members = event.members or ()
        return bool(members) and len(set(members)) == len(members)
    if event.kind == "send":
        return bool(event.first and event.detail and event.sender in {"", event.process})
    is_named = bool(event.first and event.sender)
    return is_named and (event.kind == "take" or event.detail in _SAYS[event.kind])


def _explained(event: Event) -> str:
    """Name what is missing or wrong."""
    kind = event.kind
    if kind == "view":
        return "a view row needs `members`, a list of different process names"
    if not event.first:
        hint = _NUMBERED if event.id and kind not in _NUMBERS else ""
        return f"a {kind} row needs `first`, {_NUMBERS.get(kind, _FIRST)}, from 1{hint}"
    if kind in _SENDERS and not event.sender:
        return f"a {kind} row needs `sender`, {_SENDERS[kind]}"
    if kind in _SAYS:
        one, other = _SAYS[kind]
        return f"a {kind} row needs `detail`, {one!r} or {other!r}"
    if kind == "send" and not event.detail:
        return "a send row needs `detail`, the process that the letter is for"
    return f"a {kind} row happens at its sender: leave `sender` out or repeat `process`"


_FIRST = "the number of its first message"
_NUMBERED = "; to have messages numbered by their `id`, say --map id=id"
_NUMBERS = {
    "vote": "the number of the transaction",
    "decide": "the number of the transaction",
    "send": "the number of the letter",
    "take": "the number of the letter",
}
_SENDERS = {
    "deliver": "the process that multicast the messages",
    "vote": "the process that began the transaction",
    "decide": "the process that began the transaction",
    "take": "the process that sent the letter",
}
