"""Reading: everything delivered is read once, in order, however readers come and go."""

import asyncio
import pickle
from random import Random

import pytest
from tests.net.harness import DEADLINE_S, LoopFactory, choir, play, read, read_payloads, until
from tests.net.raw_peer import CAROL, founders, infiltrated, run, runs

from antiphon import Batch, Group, Message, Order, UsageError, View
from antiphon.core.frames import decode_frame
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.core.runs import Run, Stamp
from antiphon.net.stream.stream import Stream
from antiphon.stack.send_queue import RUN_BYTES_MAX, RUN_MESSAGES_MAX

pytestmark = pytest.mark.net

DUET = ("alice", "bob")


def _words(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(1, count + 1)]


async def _next_batch(group: Group) -> Batch:
    async with asyncio.timeout(DEADLINE_S / 2):
        async for batch in group.batches():
            if isinstance(batch, Batch):
                return batch
    message = "the stream ended"
    raise AssertionError(message)


def test_reader_that_breaks_off_and_resumes_misses_nothing(loop_factory: LoopFactory) -> None:
    """Breaking out in the middle of a run, at its end, and after each message changes nothing."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            await alice.cbcast_many(_words(100))
            got: list[Message] = []
            for count in (1, 1, 0, 30, 1, 67):
                got += await read(bob, count)
            assert [message.payload for message in got] == _words(100)
            assert [message.number for message in got] == list(range(1, 101))
            assert {message.sender for message in got} == {"alice"}

    play(loop_factory, scene())


def test_reader_in_the_middle_of_a_run_does_not_go_on_when_it_is_held(
    loop_factory: LoopFactory,
) -> None:
    """What comes before the view whose state it gets is not read any more."""

    async def scene() -> None:
        stream = Stream()
        stream.append_event(View(1, ("alice",)))
        words = _words(100)
        stream.append(Run(GroupNumber(0), ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), words))
        events = stream.events()
        assert await anext(events) == View(1, ("alice",))
        for number, word in enumerate(words[:50], 1):
            assert await anext(events) == Message("alice", number, word)
        stream.hold(2)
        stream.append_event(View(2, ("alice",)))
        stream.release()
        assert await anext(events) == View(2, ("alice",))

    play(loop_factory, scene())


def test_message_is_like_a_tuple_of_its_fields() -> None:
    """Taken apart, compared, sorted, hashed, matched and pickled; it cannot be changed."""
    message = Message("alice", 1, b"x")
    sender, number, payload = message
    assert (sender, number, payload) == message == ("alice", 1, b"x")
    assert message != ("alice", 1, b"y") != Message("alice", 2, b"x")
    assert message[0] == "alice"
    assert message[1:] == (1, b"x")
    assert message[-1] == message.payload
    assert len(message) == 3
    assert hash(message) == hash(("alice", 1, b"x"))
    later = [Message("alice", 2, b""), Message("bob", 1, b""), message]
    assert [one.number for one in sorted(later)] == [1, 2, 1]
    assert repr(message) == "Message(sender='alice', number=1, payload=b'x')"
    assert pickle.loads(pickle.dumps(message)) == message
    match message:
        case Message(who, _, what):
            assert (who, what) == ("alice", b"x")
    with pytest.raises(AttributeError):
        message.number = 2  # type: ignore[misc]


def _payloads_of(batch: object, first: int) -> list[bytes]:
    if not isinstance(batch, Batch):
        return []
    assert batch.payloads
    assert batch.first == first
    return batch.payloads


@pytest.mark.parametrize("seed", range(5))
def test_messages_and_batches_mix(seed: int, loop_factory: LoopFactory) -> None:
    """Whatever is read in either form, from old readers or new ones, adds up to everything."""
    random = Random(seed)

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            got: list[bytes] = []
            expected: list[bytes] = []
            messages, batches = bob.messages(), bob.batches()
            while len(expected) < 300 or got != expected:
                assert got == expected[: len(got)]
                if len(expected) < 300:
                    words = [b"%d" % random.randrange(1000) for _ in range(random.randrange(1, 9))]
                    await alice.cbcast_many(words)
                    expected += words
                    await until(
                        lambda: bob._local.stream._unread or bob._local.stream._head,
                        "it has arrived",
                    )
                if len(got) == len(expected):
                    continue
                match random.randrange(4):
                    case 0:
                        got.append((await anext(messages)).payload)
                    case 1:
                        got += _payloads_of(await anext(batches), len(got) + 1)
                    case 2:
                        got += await read_payloads(bob, 1)
                    case _:
                        got += (await _next_batch(bob)).payloads

    play(loop_factory, scene())


def test_reader_that_was_overtaken_while_waiting_gets_the_next(loop_factory: LoopFactory) -> None:
    """What another reader took before this one woke up is not read again, nor as nothing."""

    async def scene() -> None:
        async with choir(["alice"]) as nodes:
            group = nodes["alice"].group
            waiting = asyncio.ensure_future(_next_batch(group))
            await until(lambda: group._local.stream._waiter is not None, "a reader waits")
            await group.cbcast(b"taken")
            assert await read_payloads(group, 1) == [b"taken"]
            await asyncio.sleep(0)
            await group.cbcast(b"left")
            assert (await waiting).payloads == [b"left"]

    play(loop_factory, scene())


def test_batch_is_a_run_of_one_sender(loop_factory: LoopFactory) -> None:
    """What was multicast together arrives together, and a long series in several full runs."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            await alice.cbcast_many(_words(2 * RUN_MESSAGES_MAX + 1))
            sizes = [len((await _next_batch(bob)).payloads) for _ in range(3)]
            assert sizes == [RUN_MESSAGES_MAX, RUN_MESSAGES_MAX, 1]
            await bob.cbcast(b"mine")
            assert await _next_batch(bob) == Batch("bob", 1, [b"mine"])

    play(loop_factory, scene())


def test_two_waiting_tasks_are_told_to_share(loop_factory: LoopFactory) -> None:
    """The second one gets a UsageError that says what to do; the first goes on waiting."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            first = asyncio.ensure_future(read_payloads(bob, 1))
            await until(lambda: bob._local.stream._waiter is not None, "a reader waits")
            with pytest.raises(UsageError, match="read it in one"):
                await read(bob, 1)
            with pytest.raises(UsageError, match="read it in one"):
                await _next_batch(bob)
            await alice.cbcast(b"la")
            assert await first == [b"la"]

    play(loop_factory, scene())


@pytest.mark.parametrize("moment", ["before", "after"])
def test_cancelled_reader_takes_nothing_with_it(moment: str, loop_factory: LoopFactory) -> None:
    """A reader cancelled while it waits, or just as something has come, leaves it to the next."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            group = nodes["alice"].group
            reader = asyncio.ensure_future(read(group, 1))
            await until(lambda: group._local.stream._waiter is not None, "a reader waits")
            if moment == "before":
                reader.cancel()
            await group.cbcast(b"la")
            nodes["alice"].local_group.flush()
            reader.cancel()
            await asyncio.wait([reader])
            assert reader.cancelled()
            assert await read_payloads(group, 1) == [b"la"]

    play(loop_factory, scene())


def test_own_message_is_there_at_once(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `await cbcast` the next read gives the own message, without the network's doing.

    Unless the event loop has had no turn for long: then that comes first.
    """
    monkeypatch.setattr("antiphon.net.stream.reading._TURN_S", 60.0)

    async def scene() -> None:
        async with choir() as nodes:
            group = nodes["alice"].group
            messages = group.messages()
            for number in range(1, 51):
                await group.cbcast(b"echo")
                step = anext(messages)
                with pytest.raises(StopIteration) as stopped:
                    step.__await__().send(None)  # anything but a message would be a wait
                assert stopped.value.value == Message("alice", number, b"echo")

    play(loop_factory, scene())


def test_question_comes_before_its_answer_everywhere(loop_factory: LoopFactory) -> None:
    """A chain of questions and answers through all members is read in order by each."""

    async def scene() -> None:
        async with choir(delay_s_max=0.01) as nodes:

            async def sing(me: int, group: Group) -> list[int]:
                if me == 0:
                    await group.cbcast(b"0")
                heard: list[int] = []
                async for message in group.messages():
                    number = int(message.payload)
                    heard.append(number)
                    if number == 29:
                        break
                    if (number + 1) % 3 == me:
                        await group.cbcast(b"%d" % (number + 1))
                return heard

            groups = [node.group for node in nodes.values()]
            everywhere = await asyncio.gather(*(sing(i, group) for i, group in enumerate(groups)))
            assert everywhere == [list(range(30))] * 3

    play(loop_factory, scene())


def test_message_does_not_depend_on_what_arrives_after_it(loop_factory: LoopFactory) -> None:
    """What waits to be sent when something arrives goes out first, with no stamp of it."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice = group.nodes["alice"]
            carols = alice.driver.mesh.peers[founders(group.addresses)[CAROL].bare()]
            await alice.group.cbcast(b"before")
            alice.incarnation.on_frame(
                carols, decode_frame(runs(run()))
            )  # in the same turn of the loop
            await alice.group.cbcast(b"after")
            stamps: dict[bytes, Stamp] = {}
            while len(stamps) < 2:
                frame = await group.to["alice"].hear_runs()
                stamps |= {each.payloads[0]: each.stamp for each in frame.runs}
            assert stamps == {b"before": (), b"after": ((CAROL, 1),)}

    play(loop_factory, scene())


def test_orders_mix_and_each_sender_keeps_its_own(loop_factory: LoopFactory) -> None:
    """FIFO and causal messages of one sender come in the order in which they were multicast."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            orders = [Order.FIFO, Order.CAUSAL]
            for at, word in enumerate(_words(60)):
                await alice.multicast(word, orders[at // 3 % 2])
            await alice.multicast_many(_words(10), Order.FIFO)
            expected = _words(60) + _words(10)
            assert await read_payloads(bob, 70) == expected
            assert await read_payloads(alice, 70) == expected

    play(loop_factory, scene())


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
def test_uniform_is_refused_where_it_cannot_be_had(flush: str, loop_factory: LoopFactory) -> None:
    """What cannot be given is refused, never given as something weaker; the group is unharmed."""

    async def scene() -> None:
        async with choir(DUET, flush=flush) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            with pytest.raises(UsageError, match="uniform delivery needs the view-atomic flush"):
                await alice.multicast(b"la", uniform=True)
            with pytest.raises(UsageError, match="uniform delivery needs the view-atomic flush"):
                await alice.multicast_many([b"la"], Order.TOTAL, uniform=True)
            await alice.abcast(b"total")
            assert await read_payloads(bob, 1) == [b"total"]

    play(loop_factory, scene())


def test_order_that_does_not_exist_is_refused(loop_factory: LoopFactory) -> None:
    """A number or a name is no order: the error lists those there are."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice = nodes[DUET[0]].group
            for wrong in ("total", 2, None):
                with pytest.raises(UsageError, match=r"choose one of Order.FIFO, Order.CAUSAL"):
                    await alice.multicast(b"la", wrong)  # type: ignore[arg-type]

    play(loop_factory, scene())


@pytest.mark.parametrize(
    ("payload", "advice"),
    [
        ("text", "a message is bytes, not str: encode it first"),
        (7, "a message is bytes, not int: encode it first"),
        (None, "a message is bytes, not NoneType: encode it first"),
        (bytes(PAYLOAD_BYTES_MAX + 1), "cut it up, or multicast a reference to it"),
    ],
    ids=["str", "int", "None", "too large"],
)
def test_unfit_payload_is_refused_and_the_group_is_unharmed(
    payload: bytes, advice: str, loop_factory: LoopFactory
) -> None:
    """The sentence says what to do; nothing of it is multicast, and the next message is."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            with pytest.raises(UsageError, match=advice):
                await alice.cbcast(payload)
            with pytest.raises(UsageError, match=advice):
                await alice.cbcast_many([b"before", payload, b"after"])
            await alice.cbcast(b"fit")
            assert await read(bob, 1) == [Message("alice", 1, b"fit")]

    play(loop_factory, scene())


def test_empty_messages_are_messages(loop_factory: LoopFactory) -> None:
    """They are numbered and delivered like any other; no message at all is no message."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            await alice.cbcast_many([])
            await alice.cbcast(b"")
            await alice.cbcast_many([b"", b"x", b""])
            assert await read_payloads(bob, 4) == [b"", b"", b"x", b""]

    play(loop_factory, scene())


def test_largest_message_works(loop_factory: LoopFactory) -> None:
    """Sixteen mebibytes arrive whole, also when something smaller waits in front of them."""
    small, large = bytes(RUN_BYTES_MAX - 1), b"\x5a" * PAYLOAD_BYTES_MAX

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            reader = asyncio.ensure_future(read_payloads(bob, 4))
            own = asyncio.ensure_future(read_payloads(alice, 4))
            await until(lambda: alice._local.stream._waiter is not None, "alice reads")
            await alice.cbcast(small)
            await alice.cbcast(large)
            await alice.cbcast_many([small, large])
            assert await reader == [small, large] * 2
            assert await own == [small, large] * 2
            assert bob.view.number == 1

    play(loop_factory, scene())


def test_reading_goes_on_to_the_end_after_stop(loop_factory: LoopFactory) -> None:
    """What was delivered before the stop can still be read; then the stream ends, for good."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            await alice.cbcast_many(_words(10))
        assert [message.payload async for message in bob.messages()] == _words(10)
        assert [message.payload async for message in bob.messages()] == []
        batches = [batch async for batch in alice.batches() if isinstance(batch, Batch)]
        assert [batch.payloads for batch in batches] == [_words(10)]

    play(loop_factory, scene())


def test_multicast_outside_of_its_incarnation_is_refused(loop_factory: LoopFactory) -> None:
    """Before the start and after the stop a UsageError says where multicasts belong."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            group = nodes["alice"].group
        for multicast in (group.cbcast(b"la"), group.cbcast_many([b"la"] * 3)):
            with pytest.raises(UsageError, match="do that inside `async with`"):
                await multicast
        assert [message async for message in group.messages()] == []

    play(loop_factory, scene())
