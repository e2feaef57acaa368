"""Who leaves a group that does not let it go in time is told what never went out (``Unsent``).

Its program lives on, in other groups: so its part in the group does too, with nobody behind it.
"""

import pytest

import antiphon
from antiphon import Message, Unsent
from antiphon.net.stream.events import Event
from antiphon.testing import Cluster

NAMES = ("alice", "bob", "carol")
SURVIVORS = ("alice", "bob")


class Singer:
    """A process that could be in more groups, and reads the one that it is in."""

    def __init__(self, cluster: Cluster, name: str, *known: str) -> None:
        """Enter the group, or found it."""
        self.here = cluster.process(name)
        seeds = [cluster[other].address for other in known]
        self.process = self.here.run(self._open(seeds))
        self.group = self.process.join("choir", drain_s=0.5)
        self.here.run(self.group.__aenter__())
        self.read: list[Event] = []
        self.here.start(self._read())

    async def _open(self, seeds: list[str]) -> antiphon.Process:
        here = self.here
        process = antiphon.Process(here.name, at=here.address, seeds=seeds, rejoin=True)
        return await process.__aenter__()

    async def _read(self) -> None:
        async for event in self.process:
            self.read.append(event)

    @property
    def said(self) -> list[bytes]:
        """The messages that were read."""
        return [event.payload for event in self.read if isinstance(event, Message)]

    @property
    def told(self) -> list[Unsent]:
        """What never went out."""
        return [event for event in self.read if isinstance(event, Unsent)]

    async def sing(self) -> None:
        """Multicast and send, each in every way, behind a letter that is never acknowledged."""
        await self.group.send("bob", b"hello?")
        await self.group.cbcast_many([b"one", b"two"])
        await self.group.send("alice", b"to one")
        await self.group.abcast(b"in order")


UNSENT = Unsent((b"one", b"two", b"to one", b"in order"), ("", "", "alice", ""))


def _choir(cluster: Cluster) -> list[Singer]:
    return [Singer(cluster, name, *NAMES[:count]) for count, name in enumerate(NAMES)]


@pytest.mark.parametrize("is_healed", [False, True], ids=["cut off for good", "heard again"])
def test_what_waits_when_a_blocked_group_is_left_is_told(*, is_healed: bool) -> None:
    """It does not go out later either, when the others are heard again."""
    with Cluster(1) as cluster:
        alice, bob, carol = _choir(cluster)
        cluster.partition({"carol"}, set(SURVIVORS))
        carol.here.run(carol.sing())
        cluster.wait_until(lambda: not carol.group.view.primary)
        carol.here.leave(carol.group)
        cluster.advance(0.1)
        assert carol.told == [UNSENT]
        if is_healed:
            cluster.heal()
        cluster.advance(10)
        assert alice.group.members == SURVIVORS
        assert not alice.said
        assert not bob.said
        assert carol.told == [UNSENT]


def test_who_leaves_while_it_comes_back_is_told_what_it_had_sent() -> None:
    """The one incarnation is over, the next one is not taken in: who reads on hears of it."""
    with Cluster(2) as cluster:
        alice, bob, carol = _choir(cluster)
        cluster.partition({"carol"}, set(SURVIVORS))
        carol.here.run(carol.sing())
        cluster.wait_until(lambda: alice.group.members == bob.group.members == SURVIVORS)
        former = carol.group._local.driver
        cluster.heal()
        cluster.wait_until(lambda: carol.group._local.driver is not former)
        cluster.partition({"carol"}, set(SURVIVORS))
        carol.here.leave(carol.group)
        cluster.advance(0.1)
        assert carol.told == [UNSENT]
        assert not alice.said
        assert not bob.said
