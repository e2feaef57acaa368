"""A cluster in one process: the real driver, virtual time, faults, and the same run every time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
import pytest

import antiphon
from antiphon.net.transport.environment import current_environment
from antiphon.testing import Cluster
from antiphon.trace.verdict import Property, Status

TRIO = ("alice", "bob", "carol")


def payloads(read: Sequence[object]) -> list[bytes]:
    """Return what was multicast, of everything read."""
    return [event.payload for event in read if isinstance(event, antiphon.Message)]


def story(seed: int) -> bytes:
    """Play a small drama; return its trace, as bytes."""
    with Cluster(seed) as cluster:
        groups = cluster.found("room", *TRIO, rejoin=True)
        for name in TRIO:
            cluster[name].collect(groups[name])
            cluster[name].run(groups[name].cbcast_many([name.encode()] * 10))
        cluster.advance(0.2)
        cluster.cut("alice", "bob")
        cluster["bob"].run(groups["bob"].abcast(b"first"))
        cluster.partition({"alice"}, {"bob", "carol"})
        cluster.advance(5)
        cluster.heal()
        cluster.advance(5)
        cluster.kill("carol", silently=True)
        cluster.advance(5)
        cluster.check(at_rest=True)
        return b"\n".join(map(msgspec.json.encode, cluster.events()))


def test_same_seed_gives_the_same_run_byte_by_byte() -> None:
    """A run is a function of the seed and of what the test does."""
    assert story(3) == story(3)
    assert story(3) != story(4)


def test_dice_and_clocks_follow_from_the_seed() -> None:
    """What a process draws is the same in every run; at another start, or process, it differs."""

    def drawn(name: str, seed: int, *, is_again: bool = False) -> tuple[bytes, int, int]:
        with Cluster(seed) as cluster:
            process = cluster.process(name)
            if is_again:
                cluster.kill(name)
                process = cluster.restart(name)
            environment = process.context.run(current_environment)
            return environment.draw(16), environment.draw_start(), environment.now_us()

    assert drawn("alice", 1) == drawn("alice", 1)
    others = [drawn("alice", 2), drawn("bob", 1), drawn("alice", 1, is_again=True)]
    assert all(drawn("alice", 1) != other for other in others)


def test_connection_that_is_cut_loses_nothing() -> None:
    """Cut again and again while everybody talks, and all is delivered once, in order."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("room", *TRIO)
        heard = {name: cluster[name].collect(groups[name]) for name in TRIO}
        said = [b"%d" % number for number in range(100)]
        for payload in said:
            cluster["alice"].run(groups["alice"].cbcast(payload))
            cluster.cut("alice", "bob")
            cluster.advance(0.01)
        cluster.advance(2)
        assert all(payloads(read) == said for read in heard.values())
        assert groups["alice"].view.number == 1
        cluster.check(at_rest=True)


def test_minority_is_blocked_and_comes_back() -> None:
    """Whom a partition leaves alone stops, and with ``rejoin`` is taken in again afterwards."""
    with Cluster(seed=2) as cluster:
        groups = cluster.found("room", *TRIO, rejoin=True)
        for name in TRIO:
            cluster[name].collect(groups[name])
        cluster.partition({"carol"}, {"alice", "bob"})
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob"))
        cluster.wait_until(lambda: not groups["carol"].view.primary)
        cluster.heal()
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob", "carol~2"))
        cluster.check()


@pytest.mark.parametrize("silently", [False, True])
def test_process_that_was_killed_can_be_started_again(silently: bool) -> None:
    """It is noticed at once or after the timeout; started again, it is a later incarnation."""
    with Cluster(seed=3) as cluster:
        groups = cluster.found("room", *TRIO)
        for name in TRIO:
            cluster[name].collect(groups[name])
        begin_s = cluster.time_s
        cluster.kill("carol", silently=silently)
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob"))
        took_s = cluster.time_s - begin_s
        assert (1 < took_s < 2.5) if silently else took_s < 0.1
        carol = cluster.restart("carol")
        again = carol.join("room", seeds=[cluster["alice"].address])
        assert again.members == ("alice", "bob", "carol~2")
        cluster.check()


def test_process_that_is_paused_is_excluded_and_told() -> None:
    """Its connections stay; it is suspected for its silence, and finds out when it goes on."""
    with Cluster(seed=4) as cluster:
        groups = cluster.found("room", *TRIO)
        for name in ("alice", "bob"):
            cluster[name].collect(groups[name])
        carol = cluster["carol"]

        async def read() -> None:
            async for _ in groups["carol"]:
                pass

        reading = carol.start(read())
        cluster.pause("carol")
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob"))
        assert not reading.done()
        cluster.resume("carol")
        with pytest.raises(antiphon.ExcludedError):
            cluster.wait_for(reading)
        cluster.check()


def test_exclusion_ends_what_is_collected_and_is_no_failure() -> None:
    """The list keeps the error that ended it; the cluster can be checked all the same."""
    with Cluster(seed=4) as cluster:
        groups = cluster.found("room", *TRIO)
        heard = {name: cluster[name].collect(groups[name]) for name in TRIO}
        cluster.pause("carol")
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob"))
        cluster.resume("carol")
        cluster.wait_until(lambda: heard["carol"].error is not None)
        assert isinstance(heard["carol"].error, antiphon.ExcludedError)
        assert (heard["alice"].error, heard["bob"].error) == (None, None)
        cluster.check()


def test_collecting_what_another_reads_is_a_failure() -> None:
    """Only an exclusion ends a list quietly."""
    with Cluster() as cluster:
        alice = cluster.process("alice")
        group = alice.join("room")
        for _ in range(2):
            alice.collect(group)
        cluster.advance(1)
        with pytest.raises(AssertionError, match="in the background"):
            cluster.check()
        cluster.loop.failures.clear()


def test_half_open_connection_is_taken_up_again() -> None:
    """One side has lost the connection and the other does not know: nobody is excluded."""
    for silently in (False, True):
        with Cluster(seed=5) as cluster:
            groups = cluster.found("room", *TRIO)
            heard = {name: cluster[name].collect(groups[name]) for name in TRIO}
            cluster.half_open("bob", "alice", silently=silently)
            cluster["alice"].run(groups["alice"].cbcast(b"still there?"))
            cluster.advance(3)
            assert all(payloads(read) == [b"still there?"] for read in heard.values())
            cluster.check(at_rest=True)


def test_calls_states_and_leavers_run_on_virtual_time() -> None:
    """What an application uses is all there, and a minute of it takes a moment."""

    class Tally:
        def __init__(self) -> None:
            self.count = 0

        def save(self) -> list[bytes]:
            return [b"%d" % self.count]

        async def load(self, pieces: AsyncIterator[bytes]) -> None:
            self.count = int(b"".join([piece async for piece in pieces]))

    with Cluster(seed=6) as cluster:
        tallies = {name: Tally() for name in (*TRIO, "dave")}
        alice = cluster.process("alice")
        groups = {"alice": alice.join("room", state=tallies["alice"])}
        tallies["alice"].count = 41
        alice.collect(groups["alice"])
        for name in ("bob", "dave"):
            groups[name] = cluster.process(name).join(
                "room", seeds=[alice.address], state=tallies[name]
            )
            groups[name].answer_calls(lambda _, payload: payload.upper())
            cluster[name].collect(groups[name])
        assert tallies["dave"].count == 41
        replies = alice.run(groups["alice"].call(b"who?"))
        assert replies.answers == {"bob": b"WHO?", "dave": b"WHO?"}
        cluster.advance(60)
        cluster["dave"].leave(groups["dave"])
        cluster.wait_until(lambda: len(groups["alice"].members) == 2)
        cluster.check(at_rest=True)


def test_leaver_does_not_wait_for_who_reads_nothing() -> None:
    """What a paused member has not read keeps nobody from leaving: it is given up in time."""
    with Cluster(seed=8) as cluster:
        groups = cluster.found("room", *TRIO, drain_s=3.0)
        for name in TRIO:
            cluster[name].collect(groups[name])
        cluster.pause("carol")
        cluster["alice"].run(groups["alice"].cbcast_many([bytes(1 << 20)] * 4))
        begin_s = cluster.time_s
        cluster["alice"].leave(groups["alice"])
        assert cluster.time_s - begin_s < 4.5


def test_promise_that_is_broken_is_found() -> None:
    """The oracle judges what the processes recorded: here, with one row forged."""
    with Cluster(seed=7) as cluster:
        groups = cluster.found("room", *TRIO)
        for name in TRIO:
            cluster[name].collect(groups[name])
        cluster["alice"].run(groups["alice"].cbcast(b"once"))
        cluster.advance(1)
        cluster.check(at_rest=True)
        (delivered,) = [
            event
            for event in cluster.events()
            if event.kind == "deliver" and event.process == "bob"
        ]
        delivered.first += 1
        with pytest.raises(AssertionError, match="no-creation"):
            cluster.check(at_rest=True)
        broken = [
            item.property
            for item in cluster.verdict(at_rest=True).properties
            if item.status is Status.VIOLATED
        ]
        assert Property.NO_CREATION in broken


def test_what_fails_in_the_background_fails_the_test() -> None:
    """An exception in a callback is raised when the cluster ends."""

    async def scene() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)

    cluster = Cluster()
    cluster.process("alice").run(scene())
    cluster.advance(1)
    with pytest.raises(AssertionError, match="ZeroDivisionError"), cluster:
        pass


def test_task_that_fails_unseen_fails_the_test() -> None:
    """A task whose exception nobody has looked at is told when the cluster ends; others are not."""

    async def fail() -> None:
        message = "on purpose"
        raise ValueError(message)

    cluster = Cluster()
    seen, unseen = (cluster.process("alice").start(fail()) for _ in range(2))
    cluster.advance(1)
    with pytest.raises(ValueError, match="on purpose"):
        cluster.wait_for(seen)
    with pytest.raises(AssertionError, match="has failed: ValueError"):
        cluster.check()
    assert unseen.exception()
    cluster.close()


def test_what_never_comes_is_a_timeout_in_virtual_time() -> None:
    """A condition that does not come true is given up, by the cluster's clock."""
    with Cluster() as cluster:
        cluster.process("alice").join("room")
        with pytest.raises(TimeoutError, match="5 s have passed"):
            cluster.wait_until(lambda: False, within_s=5)
        assert 5 <= cluster.time_s < 5.1


def test_misuse_is_said_in_one_sentence() -> None:
    """A name that is not there, a restart of who runs, delays that make no sense."""
    with Cluster() as cluster:
        cluster.process("alice")
        with pytest.raises(
            antiphon.UsageError, match="no process bob in this cluster: there is alice"
        ):
            cluster.kill("bob")
        with pytest.raises(antiphon.UsageError, match="alice is running"):
            cluster.restart("alice")
    with pytest.raises(antiphon.UsageError, match="at least"):
        Cluster(delay_s=(1, 0))


def test_wrong_arguments_are_refused_at_once() -> None:
    """Each is named, with what to write; no virtual time passes."""
    with Cluster() as cluster:
        alice: Any = cluster.process("alice")
        cluster.process("bob")
        anything: Any = cluster
        cases: list[tuple[Callable[[], object], str]] = [
            (lambda: anything.advance(-1), "seconds is a number of seconds, from 0, not -1"),
            (lambda: anything.wait_until(lambda: False, -1), "within_s is a number of seconds"),
            (lambda: anything.wait_until(True), "a condition is a function"),
            (lambda: anything.wait_for(5), "wait_for takes a task, as start returns it, not 5"),
            (lambda: anything.partition("alice", "bob"), "a side is a set of names, such as"),
            (lambda: alice.collect("room"), "collect takes a handle on a group, as join"),
            (lambda: alice.leave("room"), "leave takes a handle on a group, as join"),
        ]
        for use, said in cases:
            with pytest.raises(antiphon.UsageError, match=said):
                use()
        assert cluster.time_s == 0


def test_killed_process_runs_nothing_and_says_so() -> None:
    """Not a coroutine that is handed to it afterwards, nor a task that it had begun."""
    with Cluster() as cluster:
        alice = cluster.process("alice")
        sleeping = alice.start(asyncio.sleep(1))
        cluster.kill("alice")
        said = "alice was killed: nothing runs in it any more, and restart makes another"
        with pytest.raises(antiphon.UsageError, match=said):
            alice.run(asyncio.sleep(1))
        with pytest.raises(antiphon.UsageError, match=said):
            cluster.wait_for(sleeping)
        assert cluster.time_s == 0
