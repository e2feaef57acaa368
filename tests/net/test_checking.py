"""Options, states, resources and handlers of the wrong kind: one sentence each, at the call."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from antiphon import Committer, Group, Timing, UsageError, join

AT = "127.0.0.1:7001"


def group() -> Group:
    """Return a handle on a group that nobody enters."""
    return join("choir", me="a", at=AT)


class Plain:
    """A state that is fine."""

    def save(self) -> bytes:
        """Return nothing."""
        return b""

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Take nothing."""


class AsyncSave(Plain):
    """Saves while others go on."""

    async def save(self) -> bytes:  # type: ignore[override]
        """Return nothing, later."""
        return b""


class GeneratingSave(Plain):
    """Saves while others go on, in pieces."""

    async def save(self) -> AsyncIterator[bytes]:  # type: ignore[override]
        """Return nothing, later."""
        yield b""


class PlainLoad(Plain):
    """Loads without waiting."""

    def load(self, pieces: AsyncIterator[bytes]) -> None:  # type: ignore[override]
        """Take nothing."""


class NoLoad:
    """Only saves."""

    def save(self) -> bytes:
        """Return nothing."""
        return b""


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no group": ({"group": None}, "group is a name, as text, not None"),
    "a number for a name": ({"me": 7}, "me is a name, as text, not 7"),
    "a list of members": ({"members": ["a"], "at": None}, "members is a dict of names"),
    "members with numbers": ({"members": {"a": 7001}, "at": None}, "address of a in members is"),
    "members without names": ({"members": {1: AT}, "at": None}, "a key of members is a name"),
    "a number for a place": ({"at": 7001}, "at is an address, as text, such as '127.0.0.1:7001'"),
    "seeds as text": ({"seeds": AT}, "seeds is a list of addresses"),
    "seeds as bytes": ({"seeds": b"x"}, "seeds is a list of addresses"),
    "seeds as a dict": ({"seeds": {"b": AT}}, "seeds is a list of addresses"),
    "no seeds": ({"seeds": None}, "seeds is a list of addresses"),
    "a number for a seed": ({"seeds": [7001]}, "each of seeds is an address"),
    "seconds as text": ({"connect_s": "10"}, "connect_s is a number of seconds, above 0, not '10'"),
    "no time at all": ({"connect_s": 0}, "connect_s is a number of seconds, above 0, not 0"),
    "no number": ({"connect_s": float("nan")}, "connect_s is a number of seconds"),
    "no end": ({"connect_s": float("inf")}, "connect_s is a number of seconds"),
    "truth for seconds": ({"connect_s": True}, "connect_s is a number of seconds"),
    "less than no time": ({"drain_s": -1}, "drain_s is a number of seconds, from 0, not -1"),
    "no seconds": ({"drain_s": None}, "drain_s is a number of seconds"),
    "a number for a timing": ({"timing": 3}, "timing is an antiphon.Timing"),
    "a word for a flag": ({"rejoin": "yes"}, "rejoin is True or False, not 'yes'"),
    "a number for a flag": ({"insecure": 1}, "insecure is True or False, not 1"),
    "a number for a folder": ({"trace": 5}, "trace is the name of a folder"),
    "a number for a flush": ({"flush": 1}, "flush is a word, as text, not 1"),
    "a list for a flush": ({"flush": []}, "flush is a word, as text"),
    "an unknown token": ({"token": "x"}, "there is no token policy 'x'"),
    "no token": ({"token": None}, "token is a word, as text"),
    "no state": ({"state": b"state"}, "bytes has no save"),
    "a state that cannot load": ({"state": NoLoad()}, "NoLoad has no load"),
    "a class for a state": ({"state": Plain}, r"Plain is a class: write Plain\(\)"),
    "a state that saves later": ({"state": AsyncSave()}, "write `def save"),
    "a state that saves in a while": ({"state": GeneratingSave()}, "write `def save"),
    "a state that loads at once": ({"state": PlainLoad()}, "write `async def load"),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_option_of_the_wrong_kind_is_refused_at_the_call(what: str) -> None:
    """Nothing is opened, and one sentence says which option, what it is to be, and what came."""
    options, sentence = OPTIONS[what]
    with pytest.raises(UsageError, match=sentence) as refusal:
        join(**({"group": "choir", "me": "a", "at": AT} | options))
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200


def test_options_that_are_fine_are_taken() -> None:
    """Paths, tuples, whole seconds, and objects that cannot be looked into."""
    join(
        "choir", me="a", at=AT, seeds=(AT, AT), state=Plain(), trace=Path("run"), connect_s=1,
        drain_s=0, timing=Timing(heartbeat_us=1, timeout_us=1, timeout_us_max=1), rejoin=True,
    )  # fmt: skip
    join("choir", me="a", at=AT, state=Mock(load=AsyncMock()))


def test_ceiling_of_the_timeout_below_its_floor_is_refused() -> None:
    """The sentence names both; a ceiling that is not given is no lower than the floor."""
    said = "timeout_us_max, the ceiling, is at least timeout_us, the floor: 10 is below 100"
    with pytest.raises(UsageError, match=said):
        Timing(timeout_us=100, timeout_us_max=10)
    assert Timing(timeout_us=60_000_000).timeout_us_max == 60_000_000
    assert Timing(timeout_us=100, timeout_us_max=100).timeout_us_max == 100


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1", None, True])
@pytest.mark.parametrize("name", ["heartbeat_us", "timeout_us", "timeout_us_max"])
def test_timing_of_no_time_is_refused(name: str, wrong: Any) -> None:
    """Each field says its unit."""
    with pytest.raises(UsageError, match=f"{name} is a whole number of microseconds, above 0"):
        Timing(**{name: wrong})


class Resource:
    """A resource that is fine."""

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Agree."""
        return True

    async def commit(self, transaction: str) -> None:
        """Do it."""

    async def abort(self, transaction: str) -> None:
        """Do not."""

    async def in_doubt(self) -> list[str]:
        """Have no doubts."""
        return []


@pytest.mark.parametrize("name", ["prepare", "commit", "abort", "in_doubt"])
def test_resource_without_its_methods_is_refused(name: str) -> None:
    """Missing, or not async: at the call, and the group can still have another committer."""
    mine = group()
    for wrong in (None, lambda *_: None):
        resource: Any = Resource()
        setattr(resource, name, wrong)
        with pytest.raises(UsageError, match=rf"has no {name}|write `async def {name}\(self"):
            Committer(mine, resource)
    Committer(mine, Resource())


def test_committer_of_something_else_is_refused() -> None:
    """A class for an object, and a name for a group."""
    wrong: Any = Resource
    with pytest.raises(UsageError, match=r"Resource is a class: write Resource\(\)"):
        Committer(group(), wrong)
    wrong = "bank"
    with pytest.raises(UsageError, match=r"is what antiphon\.join returns, not 'bank'"):
        Committer(wrong)


def _yields(sender: str, question: bytes) -> Any:
    yield b""


async def _yields_later(sender: str, question: bytes) -> Any:
    yield b""


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [
        (b"answer", "a handler is a function of who calls and what, not b'answer'"),
        (lambda question: question, r"who calls and what, and this one takes \(question\)"),
        (lambda: b"", r"and this one takes \(\)"),
        (_yields, "this one yields: write `return`"),
        (_yields_later, "this one yields: write `return`"),
    ],
)
def test_handler_that_cannot_answer_is_refused(handler: Any, sentence: str) -> None:
    """Where it is given, not where the first call comes."""
    with pytest.raises(UsageError, match=sentence):
        group().answer_calls(handler)


def test_handlers_that_may_answer_are_taken() -> None:
    """Functions with defaults, methods, and what cannot be looked into."""
    handlers: list[Any] = [lambda _who, _what, _more=1: b"", Mock(), max, lambda *all_: all_[1]]
    for handler in handlers:
        group().answer_calls(handler)
