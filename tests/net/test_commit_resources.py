"""Distributed commit with resources that raise what they should not: everything still ends."""

import asyncio
from typing import Any

import pytest
from tests.net.harness import TRIO, LoopFactory, free_addresses, make_choir, play, until
from tests.net.test_committing import Diary, House, enter, house, leave

from antiphon.net.application.exceptions import say
from antiphon.toolkit.commit import Outcome

pytestmark = pytest.mark.net


class UnspeakableError(Exception):
    """What cannot be turned into text."""

    def __str__(self) -> str:
        """Fail at that, with something that not everybody catches."""
        raise asyncio.CancelledError


class OddError(BaseException):
    """What not everybody catches."""


class Raising(Diary):
    """A resource that raises something at one of its steps."""

    def __init__(self, error: type[BaseException], step: str) -> None:
        """Raise an ``error`` in the method that is named."""
        super().__init__()
        self.error = error
        setattr(self, step, self.fail)

    async def fail(self, *_: object) -> Any:
        """Raise it."""
        raise self.error


def raising(error: type[BaseException], step: str) -> tuple[House, Raising]:
    """Return a house in which bob's resource raises something."""
    found = House(make_choir(free_addresses(TRIO[:2])))
    resource = Raising(error, step)
    found.committers["bob"]._resource = resource
    return found, resource


ERRORS = [asyncio.CancelledError, UnspeakableError, OddError, OSError]


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("outcome", Outcome)
def test_whatever_a_resource_raises_at_the_end_begin_returns(
    error: type[BaseException],
    outcome: Outcome,
    loop_factory: LoopFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The decision stands, the failure is logged, and the next transaction is decided too."""

    async def scene() -> None:
        found, _ = raising(error, str(outcome))
        found.diaries["alice"].answer = outcome is Outcome.COMMIT
        await enter(found)
        for _ in range(2):
            async with asyncio.timeout(5):
                ending = await found.committers["bob"].begin(b"x")
            assert ending.is_committed == (outcome is Outcome.COMMIT)
        await found.settled()
        await leave(found)

    play(loop_factory, scene())
    assert caplog.text.count(f"the resource is unable to {outcome} bob/") == 2
    assert error.__name__ in caplog.text


def test_resource_that_cancels_whoever_calls_it_does_not_keep_begin(
    loop_factory: LoopFactory,
) -> None:
    """The outcome is known, so it is told, whatever becomes of the task that tells it."""

    class Deadly(Diary):
        async def commit(self, transaction: str) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

    async def scene() -> None:
        found = House(make_choir(free_addresses(TRIO[:2])))
        found.committers["bob"]._resource = Deadly()
        await enter(found)
        async with asyncio.timeout(5):
            assert (await found.committers["bob"].begin(b"x")).is_committed
        await leave(found)

    play(loop_factory, scene())


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_whatever_a_resource_raises_when_asked_is_its_refusal(
    error: type[BaseException], loop_factory: LoopFactory
) -> None:
    """All hear at once what it was, as far as it can be said."""

    async def scene() -> str:
        found, _ = raising(error, "prepare")
        await enter(found)
        async with asyncio.timeout(3):
            ending = await found.committers["bob"].begin(b"x")
        assert not ending.is_committed
        await found.settled()
        await leave(found)
        return ending.why

    assert play(loop_factory, scene()) == f"bob refused: {say(error())}"


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_whatever_a_resource_raises_about_its_doubts_is_logged(
    error: type[BaseException], loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes part in what is new all the same."""

    async def scene() -> None:
        found, resource = raising(error, "in_doubt")
        await enter(found)
        assert (await found.committers["alice"].begin(b"x")).is_committed
        await until(lambda: resource.entries[1:] == ["commit alice"], "bob did")
        await leave(found)

    play(loop_factory, scene())
    assert "the resource does not say what is in doubt" in caplog.text


def test_resource_that_is_none_refuses(loop_factory: LoopFactory) -> None:
    """What has no methods cannot prepare; the sentence says so, and the group goes on."""

    async def scene() -> None:
        found = House(make_choir(free_addresses(TRIO[:2])))
        found.committers["bob"]._resource = 5  # type: ignore[assignment]
        await enter(found)
        ending = await found.committers["bob"].begin(b"x")
        assert ending.why.startswith("bob refused: AttributeError: 'int' object has no")
        await leave(found)

    play(loop_factory, scene())


def test_interrupted_vote_of_a_process_that_leaves_is_no_refusal(
    loop_factory: LoopFactory,
) -> None:
    """A cancellation that is our own ends the question: the others hear that it is gone."""

    async def scene() -> None:
        found = house()
        found.diaries["carol"].gate.clear()
        await enter(found)
        begun = asyncio.ensure_future(found.committers["alice"].begin(b"x"))
        await until(lambda: found.diaries["bob"].entries, "it has begun")
        await found.nodes["carol"].stop()
        assert (await begun).why == "carol was gone before it voted"
        await found.settled()
        await leave(found)

    play(loop_factory, scene())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("disk full"), "OSError: disk full"),
        (ValueError(), "ValueError"),
        (UnspeakableError(), "UnspeakableError"),
        (ValueError("\udc80"), "ValueError: \\udc80"),
    ],
    ids=["text", "no text", "no way", "no letters"],
)
def test_what_an_exception_was_is_said_without_another(error: BaseException, said: str) -> None:
    """What is said can be encoded, whatever the exception makes of it."""
    assert say(error) == said
    assert say(error).encode()
