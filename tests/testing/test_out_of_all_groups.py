"""A process that is in no group for a while: it stays the same one, if it was in a domain."""

from contextlib import AsyncExitStack, suppress

import pytest

import antiphon
from antiphon import CausalDomain, Message
from antiphon.stack.inputs import HEARTBEAT
from antiphon.testing import Cluster
from antiphon.testing.cluster import Process
from antiphon.trace.verdict import Property, Status

RING = [("A", "B"), ("B", "C"), ("C", "A")]
DOMAINS = {
    "plain": CausalDomain("d"),
    "resilience 2": CausalDomain("d", resilience=2),
    "conservative": CausalDomain("d", resilience="all"),
    "declared": CausalDomain("d", overlaps=RING),
    "excluded": CausalDomain("d", overlaps=RING, excluded=["B"]),
}


class Person:
    """A process that reads all of its groups together."""

    def __init__(self, cluster: Cluster, name: str, *known: str) -> None:
        """Let it listen."""
        self.here: Process = cluster.process(name)
        seeds = [cluster[other].address for other in known]
        self.process = self.here.run(self._open(seeds))
        self.groups: dict[str, antiphon.Group] = {}
        self.read: list[tuple[str, bytes]] = []
        self.here.start(self._read())

    async def _open(self, seeds: list[str]) -> antiphon.Process:
        here = self.here
        process = antiphon.Process(here.name, at=here.address, seeds=seeds)
        return await process.__aenter__()

    async def _read(self) -> None:
        with suppress(antiphon.ExcludedError):
            async for event in self.process:
                if isinstance(event, Message):
                    self.read.append((event.group, event.payload))

    def join(
        self, group: str, domain: CausalDomain | str | None, *, is_founder: bool = False
    ) -> antiphon.Group:
        """Enter a group; return the handle."""
        handle = self.process.join(group, domain=domain, seeds=[] if is_founder else None)
        self.groups[group] = self.here.run(handle.__aenter__())
        return handle

    def leave(self, group: str) -> None:
        """Leave a group."""
        self.here.leave(self.groups.pop(group))

    def say(self, group: str, payload: bytes) -> None:
        """Multicast in a group."""
        self.here.run(self.groups[group].cbcast(payload))

    def close(self) -> None:
        """End."""
        self.here.run(self.process.__aexit__(None, None, None))


def is_at_rest(person: Person) -> bool:
    """Whether nothing of a process goes on: no heartbeat, no connection, nobody let in."""
    local = person.process._local
    incarnation = local.incarnation
    assert incarnation is not None
    return not (
        HEARTBEAT in incarnation.timers.handles
        or person.process.connections
        or incarnation.mesh.peers
        or local.listener.host
    )


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("seed", range(1, 4))
def test_answer_comes_after_its_call_though_who_answers_was_in_no_group_between(
    seed: int, domain: CausalDomain
) -> None:
    """Alice hears m in A, her only group, leaves it and answers in B; carol lacks what m names.

    What m names is x of C, which is slow to carol. In the record alice is one process, too.
    """
    with Cluster(seed) as cluster:
        dave = Person(cluster, "dave")
        dave.join("C", domain, is_founder=True)
        bob = Person(cluster, "bob", "dave")
        bob.join("C", domain)
        bob.join("A", domain, is_founder=True)
        carol = Person(cluster, "carol", "dave", "bob")
        carol.join("C", domain)
        carol.join("A", domain)
        carol.join("B", domain, is_founder=True)
        alice = Person(cluster, "alice", "bob", "carol")
        alice.join("A", domain)
        cluster.advance(0.5)
        cluster.stall("dave", "carol")
        dave.say("C", b"x")
        cluster.wait_until(lambda: ("C", b"x") in bob.read)
        bob.say("A", b"m")
        cluster.advance(0.2)
        if domain.crashes == 1:
            assert ("A", b"m") in alice.read
        if ("A", b"m") not in alice.read:  # it waits at bob until carol has x
            cluster.heal()
        cluster.wait_until(lambda: ("A", b"m") in alice.read)
        alice.leave("A")
        alice.join("B", domain)
        assert alice.groups["B"].me == "alice"
        alice.say("B", b"answer")
        cluster.advance(0.3)
        cluster.heal()
        cluster.advance(3)
        assert carol.read == [("C", b"x"), ("A", b"m"), ("B", b"answer")]
        verdict = cluster.verdict(at_rest=True)
        assert not [one for one in verdict.properties if one.status is Status.VIOLATED]
        assert verdict.of(Property.CAUSAL).status is Status.HOLDS
        names = {event.process for event in cluster.events() if event.kind == "multicast"}
        assert names == {"alice", "bob", "dave"}


def test_overlap_with_a_group_that_was_left_is_refused_though_it_was_the_only_one() -> None:
    """It names the groups; those that are declared to overlap can be joined."""
    domain = CausalDomain("d", overlaps=[("lobby", "room-*")])
    with Cluster() as cluster:
        alice = Person(cluster, "alice")
        alice.join("room-1", domain, is_founder=True)
        alice.leave("room-1")
        cluster.advance(10)
        with pytest.raises(antiphon.UsageError, match=r"been in group room-1 .* group room-4"):
            alice.join("room-4", domain, is_founder=True)
        alice.join("lobby", domain, is_founder=True)
        alice.leave("lobby")
        alice.join("room-1", domain, is_founder=True)
        assert alice.groups["room-1"].me == "alice~2"


def test_process_in_no_group_is_silent_and_goes_on_however_long_after() -> None:
    """No heartbeat, no connection, no visitors; then it is what it was, and nobody suspects it."""
    with Cluster(2) as cluster:
        bob = Person(cluster, "bob")
        bob.join("A", "d", is_founder=True)
        alice = Person(cluster, "alice", "bob")
        alice.join("A", "d")
        incarnation = alice.process._local.incarnation
        cluster.advance(1)
        assert not is_at_rest(alice)
        for number in range(2, 5):
            alice.leave("A")
            cluster.advance(7)
            assert is_at_rest(alice)
            alice.here.run(alice.process.flush())  # there is nothing to wait for
            cluster.advance(120)
            assert alice.process.groups == ()
            alice.join("A", "d")
            assert alice.groups["A"].me == f"alice~{number}"
            assert alice.process._local.incarnation is incarnation
            bob.say("A", b"%d" % number)
            cluster.advance(1)
            assert alice.read[-1] == ("A", b"%d" % number)
            assert bob.process.connections == alice.process.connections == 1
        cluster.advance(60)
        assert bob.groups["A"].members == ("bob", "alice~4")
        assert not [event for event in cluster.events() if event.kind == "suspect"]
        cluster.check()


def test_process_in_no_group_ends() -> None:
    """While its sessions are still being ended, and after that: nothing of it is left."""
    for rest_s in (0.0, 0.2, 20.0):
        with Cluster() as cluster:
            bob = Person(cluster, "bob")
            bob.join("A", "d", is_founder=True)
            alice = Person(cluster, "alice", "bob")
            alice.join("A", "d")
            alice.leave("A")
            cluster.advance(rest_s)
            alice.close()
            cluster.advance(5)
            assert alice.process._local.incarnation is None
            assert all(task.done() for task in alice.here.owner.tasks)
            (stop,) = (event for event in cluster.events() if event.kind == "stop")
            assert (stop.process, stop.detail) == ("alice", "left")
            cluster.check()


def test_who_is_excluded_is_another_process_when_it_joins_again() -> None:
    """It goes on with nothing of what it was."""
    with Cluster(3) as cluster:
        people = {name: Person(cluster, name, *known) for name, known in
                  {"bob": "", "carol": ["bob"], "alice": ["bob"]}.items()}  # fmt: skip
        alice = people["alice"]
        for person in people.values():
            person.join("A", "d", is_founder=person is people["bob"])
        incarnation = alice.process._local.incarnation
        cluster.pause("alice")
        cluster.wait_until(lambda: len(people["bob"].groups["A"].members) == 2, 60)
        cluster.resume("alice")
        cluster.advance(5)
        alice.leave("A")
        assert alice.process._local.incarnation is None
        alice.join("A", "d")
        assert alice.groups["A"].me == "alice~2"
        assert alice.process._local.incarnation is not incarnation


def test_process_without_a_domain_is_another_one_in_the_next_group() -> None:
    """Nothing of what it heard matters there, so nothing of it is kept."""
    with Cluster() as cluster:
        alice = Person(cluster, "alice")
        alice.join("A", None, is_founder=True)
        alice.leave("A")
        assert alice.process._local.incarnation is None


def test_stack_of_groups_is_left_and_entered_by_the_same_process() -> None:
    """An application goes from room to room, in none between two: one record tells of it."""
    with Cluster(4) as cluster:
        bob = Person(cluster, "bob")
        for group in "ABC":
            bob.join(group, "d", is_founder=True)
        here = cluster.process("alice")
        names: list[str] = []

        async def wander() -> None:
            async with antiphon.Process("alice", at=here.address, seeds=[bob.here.address]) as me:
                for group in "ABCA":
                    async with AsyncExitStack() as stack:
                        room = await stack.enter_async_context(me.join(group, domain="d"))
                        names.append(room.me)
                        await room.cbcast(group.encode())

        here.run(wander(), 60)
        cluster.advance(3)
        assert names == ["alice", "alice", "alice", "alice~2"]
        assert [payload for _, payload in bob.read] == [b"A", b"B", b"C", b"A"]
        recorded = {
            (event.process, event.recorded_as)
            for event in cluster.events()
            if event.process.startswith("alice")
        }
        assert recorded == {("alice", ""), ("alice~2", "alice")}
        cluster.check(at_rest=True)
