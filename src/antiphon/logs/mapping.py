"""How somebody else's columns are ours, as a user says it: `sender=from,kind:multicast=SEND`.

Law: ours is on the left, theirs on the right, everywhere. `column=theirs` names a column, with dots
into objects; `column:value=theirs` a value. `kind:skip=theirs` leaves rows out; `time_s` and
`time_ms` are `time_us` in other units. A word that says nothing is refused, with those that would.
"""

from collections.abc import Iterable
from typing import get_args

from antiphon.core.errors import UsageError
from antiphon.logs.making import FIELDS, SKIP, TIMES_US
from antiphon.trace.log import ColumnMap
from antiphon.trace.schema import Kind, Order

_VALUES = {"kind": (*get_args(Kind), SKIP), "order": get_args(Order)[1:], "uniform": ("true",)}
_COLUMNS = dict.fromkeys((*FIELDS, *TIMES_US))


def column_map(said: Iterable[str]) -> ColumnMap | None:
    """Return what these words say; None if there are none."""
    found = ColumnMap()
    words = [word.strip() for each in said for word in each.split(",") if word.strip()]
    for word in words:
        ours, is_there, theirs = word.partition("=")
        name, has_value, value = ours.strip().partition(":")
        theirs = theirs.strip()
        if not is_there or not theirs:
            message = f"--map {word}: say ours=theirs, as in sender=from or kind:multicast=SEND"
            raise UsageError(message)
        if name not in _COLUMNS:
            message = f"--map {word}: a trace has no column {name!r}: it has {', '.join(_COLUMNS)}"
            raise UsageError(message)
        if not has_value:
            found.columns[name] = theirs
            continue
        if name in _VALUES and value not in _VALUES[name]:
            known = ", ".join(_VALUES[name])
            message = f"--map {word}: `{name}` is never {value!r}: it is one of {known}"
            raise UsageError(message)
        found.values.setdefault(name, {})[theirs] = value
    return found if words else None
