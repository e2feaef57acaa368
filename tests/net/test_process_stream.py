"""The stream of a process, by itself: whose turn it is to be read."""

import asyncio
from contextlib import suppress

import pytest

from antiphon import ExcludedError, StateError, View
from antiphon.net.stream.process_stream import ProcessStream
from antiphon.net.stream.stream import Stream


def streams(*domains: str | None) -> tuple[ProcessStream, list[Stream]]:
    """Return a process's stream, and those of groups g0, g1, ... in these domains."""
    together = ProcessStream("alice", lambda: None, lambda: 0.0)
    made = []
    for number, domain in enumerate(domains):
        stream = Stream()
        stream.name, stream.domain = f"g{number}", domain
        together.add(stream)
        made.append(stream)
    return together, made


def view(number: int) -> View:
    """Return a view of one."""
    return View(number, ("alice",))


def read(together: ProcessStream) -> list[tuple[str, int]]:
    """Read what can be read now: groups, and the numbers of their views."""

    async def reader() -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []

        async def go_through() -> None:
            async for event in together.events():
                assert isinstance(event, View)
                found.append((event.group, event.number))

        with suppress(TimeoutError):
            await asyncio.wait_for(go_through(), 0.01)
        return found

    return asyncio.run(reader())


def test_entries_are_read_in_the_order_of_delivery() -> None:
    """Whatever their groups."""
    together, (one, two) = streams("d", "d")
    for number, stream in enumerate([one, two, two, one], 1):
        stream.append_event(view(number))
    assert read(together) == [("g0", 1), ("g1", 2), ("g1", 3), ("g0", 4)]


def test_a_group_that_loads_its_state_holds_up_its_domain_and_no_other() -> None:
    """What is before it is read; what it drops has no turn any more."""
    together, (one, two, other) = streams("d", "d", "e")
    two.append_event(view(1))
    one.append_event(view(1))
    one.append_event(view(2))
    one.hold(2)
    two.append_event(view(2))
    other.append_event(view(1))
    assert read(together) == [("g1", 1), ("g2", 1)]
    one.release()
    assert read(together) == [("g0", 2), ("g1", 2)]


def test_a_state_that_others_wait_for_is_come_to_all_the_same() -> None:
    """Else two that load each other's state could wait for each other for ever."""
    together, (one, two) = streams("d", "d")
    one.append_event(view(1))
    one.hold(1)
    two.append_event(view(2))
    assert read(together) == []
    two.is_awaited = lambda: True
    assert read(together) == [("g1", 2)]
    one.release()
    assert read(together) == [("g0", 1)]


def test_a_state_that_is_waited_for_in_another_domain_lets_nothing_by() -> None:
    """It can be given: that domain is read on anyway."""
    together, (one, two, other) = streams("d", "d", "e")
    one.append_event(view(1))
    one.hold(1)
    two.append_event(view(2))
    other.append_event(view(3))
    other.is_awaited = lambda: True
    assert read(together) == [("g2", 3)]
    one.release()
    assert read(together) == [("g0", 1), ("g1", 2)]


def test_errors_come_after_everything_else_and_exclusion_once() -> None:
    """Failure is of a process; a state that cannot be had is of a group."""
    together, (one, two, three) = streams("d", "d", "d")
    one.append_event(view(1))
    one.end(ExcludedError("one"))
    three.end(StateError("three"))
    two.append_event(view(2))
    two.end(ExcludedError("two"))
    found: list[object] = []

    async def go_through() -> None:
        async for event in together.events():
            found.append(event)  # noqa: PERF401 - what is read before an error counts

    with pytest.raises(ExcludedError, match="one"):
        asyncio.run(go_through())
    assert found == [view(1), view(2)]
    with pytest.raises(StateError):
        asyncio.run(go_through())
    together.close()
    asyncio.run(go_through())
