"""On which terms a trace is judged, as the command line says it.

Law: what is not understood is refused in a sentence that lists what would be, before anything is
read.
"""

from antiphon.core.errors import UsageError
from antiphon.trace.verdict import Property, Terms


def read_terms(*, only: str = "") -> Terms:
    """Return the terms that these options stand for."""
    return Terms(only=_properties(only))


def _properties(text: str) -> tuple[Property, ...]:
    """Return the properties that a list names, each once."""
    names = _names(text)
    known = {which.value: which for which in Property}
    for name in names:
        if name not in known:
            message = f"--only: {name!r} is no property: choose from {', '.join(known)}"
            raise UsageError(message)
    if text and not names:
        message = f"--only: no property is named: choose from {', '.join(known)}"
        raise UsageError(message)
    return tuple(which for which in Property if which.value in names)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
