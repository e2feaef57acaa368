"""One process in several groups of a causality domain, on sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.net.building import build, causality, read, shut_out
from tests.net.harness import QUICK, LoopFactory, free_addresses, play, until, verdict_on

from antiphon import (
    Batch,
    CausalDomain,
    ExcludedError,
    Message,
    Order,
    Process,
    UsageError,
    View,
)
from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net


@pytest.mark.parametrize("resilience", [1, 2, "all"])
def test_nobody_reads_a_response_before_its_call_whatever_their_groups(
    loop_factory: LoopFactory, tmp_path: Path, resilience: int | str
) -> None:
    """A chain through three groups: call in A, answer in B, comment in C, read by who is in all."""
    rounds = 30

    async def scene() -> list[tuple[str, bytes]]:
        async with AsyncExitStack() as stack:
            built = await build(
                stack, {"A": "abd", "B": "bcd", "C": "cad"}, resilience=resilience, trace=tmp_path
            )

            async def relay(name: str, heard: str, to: str) -> None:
                async for message in built.processes[name].messages():
                    if message.group == heard:
                        await built.rooms[name][to].cbcast(message.payload)
                        if message.payload == str(rounds - 1).encode():
                            return

            relays = [
                asyncio.ensure_future(relay("bob", "A", "B")),
                asyncio.ensure_future(relay("carol", "B", "C")),
            ]
            reading = asyncio.ensure_future(read(built.processes["dave"], 3 * rounds))
            for number in range(rounds):
                await built.rooms["alice"]["A"].cbcast(str(number).encode())
                await asyncio.sleep(0)
            found = await reading
            await asyncio.gather(*relays)
            return found

    found = play(loop_factory, scene())
    for number in range(rounds):
        said = str(number).encode()
        at = [found.index((group, said)) for group in "ABC"]
        assert at == sorted(at)
    assert causality(tmp_path / "d") is Status.HOLDS


def test_what_is_multicast_in_several_groups_leaves_in_program_order(
    loop_factory: LoopFactory,
) -> None:
    """Also without a turn of the event loop in between; in each order, and letters."""

    async def scene() -> list[tuple[str, bytes]]:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "ab", "B": "ab"})
            rooms = built.rooms["alice"]
            for number in range(10):
                await rooms["A"].cbcast(b"%d" % number)
                await rooms["B"].multicast(b"%d" % number, Order.TOTAL)
                await rooms["A"].multicast(b"u%d" % number, uniform=True)
            return await read(built.processes["bob"], 30)

    expected = [
        one
        for number in range(10)
        for one in (("A", b"%d" % number), ("B", b"%d" % number), ("A", b"u%d" % number))
    ]
    assert play(loop_factory, scene()) == expected


def test_batches_views_and_letters_say_their_group(loop_factory: LoopFactory) -> None:
    """All forms of the process's stream do, and each is what it is in a group's own."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "ab", "B": "ab"})
            await built.rooms["alice"]["A"].cbcast_many([b"x", b"y"])
            await built.rooms["alice"]["B"].send("bob", b"dear bob")
            await built.rooms["alice"]["B"].cbcast(b"z")
            seen: list[object] = []
            async for event in built.processes["bob"].batches():
                seen.append(event)
                if isinstance(event, Batch) and event.payloads == [b"z"]:
                    break
            views = {event.group: event for event in seen if isinstance(event, View)}
            assert sorted(views) == ["A", "B"]
            assert sorted(views["A"].members) == ["alice", "bob"]
            sender, first, payloads = next(one for one in seen if isinstance(one, Batch))
            assert (sender, first, payloads) == ("alice", 1, [b"x", b"y"])
            letter = seen[-2]
            assert letter == ("alice", b"dear bob")
            assert getattr(letter, "group", "") == "B"
            await built.rooms["alice"]["A"].cbcast(b"last")
            async for message in built.processes["bob"].messages():
                assert message == Message("alice", 3, b"last", group="A")
                assert repr(message).endswith("group='A')")
                break

    play(loop_factory, scene())


def test_groups_are_read_together_or_each_by_itself(loop_factory: LoopFactory) -> None:
    """Who does both would lose the order: it is told, in either case."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "ab", "B": "ab"})
            alice, bob = built.processes["alice"], built.processes["bob"]
            aiter(alice)
            with pytest.raises(UsageError, match="group A cannot be read by itself"):
                aiter(built.rooms["alice"]["A"])
            aiter(built.rooms["bob"]["B"])
            with pytest.raises(UsageError, match="bob reads group B by itself"):
                aiter(bob)

    play(loop_factory, scene())


def test_domains_are_compared(loop_factory: LoopFactory) -> None:
    """By name, by resilience, in one process and with others."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "ab"})
            alice, dave = built.processes["alice"], built.processes["dave"]
            with pytest.raises(UsageError, match=r"group B is to be in domain d \(resil"):
                alice.join("B", seeds=[], domain=CausalDomain("d", 2))
            for domain, said in (
                (CausalDomain("d", "all"), "resilience all"),
                (None, "of its own"),
            ):
                with pytest.raises(UsageError, match=said):
                    async with dave.join("A", seeds=[alice.address], domain=domain, connect_s=3):
                        pass
            for wrong in (0, -1, True, "some", 1.5):
                with pytest.raises(UsageError, match="resilience is a number"):
                    CausalDomain("d", wrong)  # type: ignore[arg-type]
            with pytest.raises(UsageError, match="domain is a name"):
                alice.join("C", domain=7)  # type: ignore[arg-type]

    play(loop_factory, scene())


def test_process_that_is_shut_out_hears_it_once(loop_factory: LoopFactory) -> None:
    """The stream of all groups ends with one error, after what was delivered before."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc", "B": "abc"})
            carol = built.processes["carol"]
            shut_out(built, "carol", by=("alice", "bob"))
            with pytest.raises(ExcludedError):
                async for _ in carol:
                    pass
            await until(lambda: not carol._stream._turns, "nothing is left to read")

    play(loop_factory, scene())


def test_crash_joins_and_leaving_keep_the_order(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Members come, go and die while all speak in turns; the oracle judges the journals."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc", "B": "bcd", "C": "abd"}, trace=tmp_path)
            is_over = False

            async def speak(name: str) -> None:
                rooms = built.rooms[name]
                number = 0
                while not is_over:
                    for room in list(rooms.values()):
                        number += 1
                        order = (Order.CAUSAL, Order.CAUSAL, Order.TOTAL)[number % 3]
                        with suppress(UsageError):  # it may be leaving the room
                            await room.multicast(f"{name} {number}".encode(), order)
                    await asyncio.sleep(0.002)

            async def listen(name: str) -> None:
                async for _ in built.processes[name]:
                    pass

            names = ("alice", "bob", "dave")
            tasks = [asyncio.ensure_future(speak(name)) for name in names]
            listening = [asyncio.ensure_future(listen(name)) for name in (*names, "carol")]
            await asyncio.sleep(0.1)
            await built.processes["carol"]._local.close()  # without a word
            await until(lambda: "carol" not in built.rooms["alice"]["A"].members, "carol is out")
            left = built.rooms["bob"].pop("C")
            await left.__aexit__()
            joined = built.processes["dave"].join("A", domain="d")
            built.rooms["dave"]["A"] = await stack.enter_async_context(joined)
            await asyncio.sleep(0.2)
            is_over = True
            await asyncio.gather(*tasks)
            await asyncio.sleep(0.2)
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)

    play(loop_factory, scene())
    assert causality(tmp_path / "d") is Status.HOLDS


def test_what_passes_through_a_process_of_two_names_is_judged(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Who leaves a group and comes again is carol~2 there, and carol in the other: one journal."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc", "B": "bcd"}, trace=tmp_path)
            await built.rooms["carol"].pop("A").__aexit__()
            again = built.processes["carol"].join("A", domain="d")
            built.rooms["carol"]["A"] = await stack.enter_async_context(again)
            assert again.me == "carol~2"
            await built.rooms["dave"]["B"].cbcast(b"asked")
            assert await read(built.processes["carol"], 1) == [("B", b"asked")]
            await again.cbcast(b"answered")
            assert await read(built.processes["bob"], 2) == [("B", b"asked"), ("A", b"answered")]

    play(loop_factory, scene())
    for which in (Property.CAUSAL, Property.NO_ORPHAN, Property.SELF_DELIVERY, Property.LIVENESS):
        assert verdict_on(tmp_path / "d").of(which).status is Status.HOLDS
    journal = tmp_path / "d" / "events" / "carol" / "000001.ndjson"
    rows = [msgspec.json.decode(line, type=Event) for line in journal.read_bytes().splitlines()]
    assert {(row.process, row.recorded_as) for row in rows} == {("carol", ""), ("carol~2", "carol")}
    asked = next(row for row in rows if row.kind == "deliver" and row.group == "B")
    answered = next(row for row in rows if row.kind == "multicast" and row.group == "A")
    assert (asked.process, answered.process) == ("carol", "carol~2")
    _swap_deliveries(tmp_path / "d" / "events" / "bob" / "000001.ndjson")
    wrong = judge(read_rows(tmp_path / "d")).of(Property.CAUSAL)
    first = "bob delivered message 1 of carol~2"
    assert [link.text for link in wrong.violations[0].chain] == [
        "dave multicast message 1 of dave (group B, view 1)",
        "carol delivered message 1 of dave (group B, view 1)",
        "carol~2 multicast message 1 of carol~2 (group A, view 3)",
        f"{first} (group A, view 3), but message 1 of dave (group B, view 1) only later",
    ]


def _swap_deliveries(journal: Path) -> None:
    """Let a process have delivered its last two messages the other way round."""
    rows = [msgspec.json.decode(line, type=Event) for line in journal.read_bytes().splitlines()]
    first, second = (number for number, row in enumerate(rows) if row.kind == "deliver")
    rows[first], rows[second] = rows[second], rows[first]
    for number, row in enumerate(rows):
        row.index = number
    journal.write_bytes(msgspec.json.Encoder().encode_lines(rows))


class Words:
    """A state: what was said, in order."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.said: list[bytes] = []

    def save(self) -> list[bytes]:
        """Give all of it."""
        return list(self.said)

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Begin with what others had, slowly."""
        await asyncio.sleep(0.05)
        self.said = [piece async for piece in pieces]


def all_end_with(states: list[Words], last: bytes) -> bool:
    """Whether this was said last everywhere."""
    return all(words.said[-1:] == [last] for words in states)


async def read_on(process: Process, states: dict[str, Words]) -> None:
    """Read all groups of a process for good, into the state of each."""
    async for event in process:
        if isinstance(event, Message):
            states[event.group].said.append(event.payload)


def test_two_that_join_each_other_with_state_do_not_wait_for_each_other(
    loop_factory: LoopFactory,
) -> None:
    """Each has the state that the other waits for, and reads all its groups together."""

    async def scene() -> None:
        addresses = free_addresses(("alice", "bob"))
        async with AsyncExitStack() as stack:
            processes: dict[str, Process] = {}
            states = {name: {"A": Words(), "B": Words()} for name in addresses}
            for name, address in addresses.items():
                process = Process(name, at=address, seeds=list(addresses.values()), timing=QUICK)
                processes[name] = await stack.enter_async_context(process)
            readers = [
                asyncio.ensure_future(read_on(processes[name], states[name])) for name in addresses
            ]
            alice, bob = processes["alice"], processes["bob"]
            for _ in range(5):
                async with (
                    alice.join("A", seeds=[], domain="d", state=states["alice"]["A"]) as mine,
                    bob.join("B", seeds=[], domain="d", state=states["bob"]["B"]) as his,
                ):
                    await mine.cbcast(b"first")
                    await his.cbcast(b"first")
                    async with AsyncExitStack() as joined:
                        handles = (
                            bob.join("A", domain="d", state=states["bob"]["A"]),
                            alice.join("B", domain="d", state=states["alice"]["B"]),
                        )
                        await asyncio.gather(*map(joined.enter_async_context, handles))
                        await mine.cbcast(b"second")
                        await his.cbcast(b"second")
                        said = [words for of in states.values() for words in of.values()]
                        await until(
                            partial(all_end_with, said, b"second"),
                            "all have read what was said last",
                        )
                    for words in said:
                        assert words.said == [b"first", b"second"]
                        words.said.clear()
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)

    play(loop_factory, scene())


def test_who_came_again_and_is_started_anew_has_yet_another_name(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Its later names are taken in the run folder, whatever the groups: nobody has two records."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "ab", "B": "ab"}, trace=tmp_path)
            alice, bob = built.processes["alice"], built.processes["bob"]
            await built.rooms["bob"].pop("A").__aexit__()
            async with bob.join("A", domain="d") as again:
                assert again.me == "bob~2"
            await built.rooms["bob"].pop("B").__aexit__()
            await bob.__aexit__()
            anew = Process("bob", at="127.0.0.1:0", seeds=[alice.address], trace=tmp_path)
            async with anew, anew.join("B", domain="d") as one, anew.join("A", domain="d") as other:
                assert (one.me, other.me) == ("bob~3", "bob~3")
                await one.cbcast(b"here")

    play(loop_factory, scene())
    assert causality(tmp_path / "d") is Status.HOLDS
