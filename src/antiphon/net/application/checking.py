"""What an application hands over, looked at when it does: one sentence for each mistake.

Law: what can be seen to be of no use is refused where it is given, with a :class:`UsageError` that
names it, says what was expected and what came. What cannot be seen from outside (a callable object
of somebody else's, say) is trusted.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import NoReturn

from antiphon.core.errors import UsageError
from antiphon.membership.failure_detector import Timing


def refuse(name: str, expected: str, value: object) -> NoReturn:
    """Refuse a value that is not as expected."""
    message = f"{name} is {expected}, not {value!r:.100}"
    raise UsageError(message)


def check_names(**names: object) -> None:
    """Refuse what is no text where a name is expected."""
    for name, value in names.items():
        if not isinstance(value, str):
            refuse(name, "a name, as text", value)


def check_place(name: str, value: object) -> None:
    """Refuse what is no text where an address is expected."""
    if not isinstance(value, str):
        refuse(name, "an address, as text, such as '127.0.0.1:7001'", value)


def check_members(members: object) -> None:
    """Refuse what does not map names to addresses."""
    if not isinstance(members, Mapping):
        expected = "a dict of names and addresses, such as {'alice': '127.0.0.1:7001'}"
        refuse("members", expected, members)
    for name, place in members.items():
        if not isinstance(name, str):
            refuse("a key of members", "a name, as text", name)
        check_place(f"the address of {name} in members", place)


def check_seeds(seeds: object) -> None:
    """Refuse what is no list of addresses."""
    if isinstance(seeds, str):
        message = f"seeds is a list of addresses, such as [{seeds!r}]"
        raise UsageError(message)
    if isinstance(seeds, bytes | Mapping) or not isinstance(seeds, Iterable):
        refuse("seeds", "a list of addresses, such as ['127.0.0.1:7001']", seeds)
    for seed in seeds:
        check_place("each of seeds", seed)


def check_flags(**flags: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            refuse(name, "True or False", value)


def check_seconds(name: str, value: object, *, is_zero_fine: bool = False) -> None:
    """Refuse what is no number of seconds."""
    least = "from 0" if is_zero_fine else "above 0"
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(name, f"a number of seconds, {least}", value)
    if not 0 <= value < math.inf or not (value or is_zero_fine):
        refuse(name, f"a number of seconds, {least}", value)


def check_others(k: object) -> None:
    """Refuse what is no number of other members."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        refuse("k", "a number of other members, from 1", k)


def check_words(**words: object) -> None:
    """Refuse what is no text where one of several words is expected; which, others know."""
    for name, value in words.items():
        if not isinstance(value, str):
            refuse(name, "a word, as text", value)


def check_timing(timing: object) -> None:
    """Refuse what is no timing."""
    if timing is not None and not isinstance(timing, Timing):
        refuse("timing", "an antiphon.Timing, such as Timing(timeout_us=3_000_000)", timing)


def check_trace(trace: object) -> None:
    """Refuse what names no folder."""
    if trace is not None and not isinstance(trace, str | PathLike):
        refuse("trace", "the name of a folder, as text or as a path", trace)


def check_state(state: object) -> None:
    """Refuse what cannot save and load a state."""
    if state is None:
        return
    for name in ("save", "load"):
        method = _method(state, name, "state", "with `def save(self)` and `async def load`")
        if name == "load":
            _refuse_plain(method, "load", "async def load(self, pieces)")
        elif inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            message = (
                "save of state is async, and the state must be as of one moment: write "
                "`def save(self)`"
            )
            raise UsageError(message)


def check_resource(resource: object) -> None:
    """Refuse what cannot take part in transactions."""
    if resource is None:
        return
    signatures = {
        "prepare": "async def prepare(self, transaction, body)",
        "commit": "async def commit(self, transaction)",
        "abort": "async def abort(self, transaction)",
        "in_doubt": "async def in_doubt(self)",
    }
    advice = "with async methods prepare, commit, abort and in_doubt"
    for name, signature in signatures.items():
        _refuse_plain(_method(resource, name, "a resource", advice), name, signature)


def check_handler(handler: object) -> None:
    """Refuse what cannot answer calls, as far as can be seen."""
    if not callable(handler):
        message = f"a handler is a function of who calls and what, not {handler!r:.100}"
        raise UsageError(message)
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        message = "a handler returns its answer, and this one yields: write `return`"
        raise UsageError(message)
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return  # of a builtin, say
    try:
        signature.bind("who", b"what")
    except TypeError:
        message = f"a handler is called with who calls and what, and this one takes {signature}"
        raise UsageError(message) from None


def _method(owner: object, name: str, what: str, advice: str) -> Callable[..., object]:
    if inspect.isclass(owner):
        message = f"{what} is an object, and {owner.__name__} is a class: write {owner.__name__}()"
        raise UsageError(message)
    method: object = getattr(owner, name, None)
    if not callable(method):
        message = f"{what} is an object {advice}: {type(owner).__name__} has no {name}"
        raise UsageError(message)
    return method


def _refuse_plain(method: Callable[..., object], name: str, signature: str) -> None:
    """Refuse a plain function where one that is awaited is expected."""
    if inspect.isroutine(method) and not inspect.iscoroutinefunction(method):
        message = f"{name} is awaited, and this one is not async: write `{signature}`"
        raise UsageError(message)
