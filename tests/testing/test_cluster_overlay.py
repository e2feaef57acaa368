"""Groups that flood an overlay, on the real driver: whom members have connections with, and when.

Law: connections are counted in the network, not in what processes say of themselves.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from random import Random
from typing import Any

import pytest

from antiphon import AntiphonError, Group, Letter, Message, Overlay, UsageError, View
from antiphon.ordering.overlay.topologies import TOPOLOGIES
from antiphon.testing import Cluster

NAMES = tuple(f"p{number:02}" for number in range(12))
CALM_S = 8.0
"""After this nobody has a reason to be alarmed any more: three silences, and what is on its way."""


def links(cluster: Cluster, names: tuple[str, ...] = NAMES) -> set[tuple[str, str]]:
    """Return which processes are connected."""
    connections = cluster.network.connections
    return {pair for pair in combinations(names, 2) if connections(*pair)}


def neighbours(
    names: tuple[str, ...], topology: str = "incomplete-hypercube"
) -> set[tuple[str, str]]:
    """Return which members, by seniority, are neighbours."""
    overlay = TOPOLOGIES[topology].overlay(len(names))
    return {
        (min(names[rank], names[other]), max(names[rank], names[other]))
        for rank, others in enumerate(overlay)
        for other in others
    }


def found(cluster: Cluster, topology: str = "incomplete-hypercube") -> dict[str, Group]:
    """Found the choir, and let it become calm."""
    groups = cluster.found("choir", *NAMES, protocol=Overlay(topology))
    cluster.advance(CALM_S)
    return groups


def count(read: Sequence[object]) -> int:
    """Return how many messages have been read."""
    return sum(isinstance(event, Message) for event in read)


def has_letter(read: Sequence[object]) -> bool:
    """Return whether a letter has been read."""
    return any(isinstance(event, Letter) for event in read)


@pytest.mark.parametrize("topology", ["incomplete-hypercube", "ring", "tree"])
def test_calm_members_are_connected_with_their_neighbours_only(topology: str) -> None:
    """And all read all that is multicast; no link is made for that."""
    with Cluster(seed=1) as cluster:
        groups = found(cluster, topology)
        calm = neighbours(groups[NAMES[0]].members, topology)
        assert links(cluster) == calm
        read = {name: cluster[name].collect(group) for name, group in groups.items()}
        for name, group in groups.items():
            cluster[name].run(group.cbcast(name.encode()))
        cluster.wait_until(lambda: all(count(each) == len(NAMES) for each in read.values()))
        cluster.advance(5)
        assert links(cluster) == calm
        stable = {str(name): 1 for name in NAMES}
        assert all(group.stability() == stable for group in groups.values())
        cluster.check()


def test_letter_and_call_to_who_is_no_neighbour_make_links_which_sleep_again() -> None:
    """At once, in both directions, whoever of the two would dial by its name."""
    with Cluster(seed=2) as cluster:
        groups = found(cluster)
        members = groups[NAMES[0]].members
        calm = neighbours(members)
        strangers = [pair for pair in combinations(NAMES, 2) if pair not in calm]
        for one, other in (strangers[0], strangers[-1][::-1]):
            read = cluster[other].collect(groups[other])
            begin_s = cluster.time_s
            cluster[one].run(groups[one].send(other, b"only you"))
            cluster.wait_until(partial(has_letter, read))
            assert cluster.time_s < begin_s + 0.3
            assert tuple(sorted((one, other))) in links(cluster)
            cluster.advance(CALM_S)
            assert links(cluster) == calm


def test_death_is_noticed_by_neighbours_and_the_others_go_on_without_it() -> None:
    """As soon as anywhere; and links between all sleep again, when the next view is everywhere."""
    with Cluster(seed=3) as cluster:
        groups = found(cluster)
        read = {name: cluster[name].collect(group) for name, group in groups.items()}
        cluster[NAMES[1]].run(groups[NAMES[1]].cbcast(b"before"))
        victim = groups[NAMES[0]].members[4]
        cluster.kill(victim, silently=True)
        killed_s = cluster.time_s
        left = tuple(name for name in NAMES if name != victim)
        cluster.wait_until(lambda: all(len(groups[name].members) == len(left) for name in left))
        assert cluster.time_s < killed_s + 2.5
        for name in left:
            cluster[name].run(groups[name].cbcast(b"after"))
        cluster.wait_until(lambda: all(count(read[name]) == 12 for name in left))
        cluster.advance(CALM_S)
        assert links(cluster) == neighbours(groups[left[0]].members)
        cluster.check()


def test_letter_to_who_has_just_died_makes_it_suspected() -> None:
    """It is no neighbour: nobody listens where it was, and that is known for certain."""
    with Cluster(seed=4) as cluster:
        groups = found(cluster)
        one, other = next(p for p in combinations(NAMES, 2) if p not in neighbours(NAMES))
        cluster.kill(other)
        task = cluster[one].start(groups[one].send(other, b"are you there?"))
        left = [name for name in NAMES if name != other]
        cluster.wait_until(lambda: all(len(groups[name].members) == 11 for name in left))
        cluster.wait_until(task.done)


def test_member_that_is_cut_off_from_all_is_blocked() -> None:
    """Its neighbours are silent; so are the others, watched from then on: three silences in all."""
    with Cluster(seed=5) as cluster:
        groups = found(cluster)
        lone = NAMES[7]
        cluster.partition({lone}, set(NAMES) - {lone})
        cut_s = cluster.time_s
        cluster.wait_until(lambda: not groups[lone].view.primary)
        assert cluster.time_s < cut_s + 3 * 1.5 + 0.7
        others = [name for name in NAMES if name != lone]
        cluster.wait_until(lambda: all(len(groups[name].members) == 11 for name in others))


def test_partition_lets_the_majority_go_on() -> None:
    """Both sides have neighbours left; the smaller one is blocked."""
    with Cluster(seed=6) as cluster:
        groups = found(cluster)
        minority = set(NAMES[:5])
        cluster.partition(minority, set(NAMES) - minority)
        rest = [name for name in NAMES if name not in minority]
        cluster.wait_until(lambda: all(len(groups[name].members) == 7 for name in rest))
        cluster.wait_until(lambda: not any(groups[name].view.primary for name in minority))


def test_joiner_is_taken_in_by_a_calm_group() -> None:
    """Whomever it asks; everybody knows, and becomes calm again."""
    with Cluster(seed=7) as cluster:
        groups = found(cluster)
        for number, seed in enumerate((NAMES[3], NAMES[11])):
            zoe = f"zoe{number}"
            groups[zoe] = cluster.process(zoe).join(
                "choir", seeds=[cluster[seed].address], protocol=Overlay()
            )
            cluster.advance(CALM_S)
            names = groups[zoe].members
            assert links(cluster, tuple(sorted(names))) == neighbours(names)
        read = {name: cluster[name].collect(group) for name, group in groups.items()}
        cluster["zoe1"].run(groups["zoe1"].cbcast(b"hello"))
        cluster.wait_until(lambda: all(count(each) == 1 for each in read.values()))
        cluster.check()


class RandomLife:
    """Faults of links and of members in a group that is often calm; then all come to rest."""

    def __init__(self, cluster: Cluster, seed: int, size: int) -> None:
        """Found the group."""
        self.random = Random(f"{seed}/overlay on the driver")
        self.cluster, self.size = cluster, size
        self.topology = self.random.choice(["incomplete-hypercube", "ring", "tree"])
        self.options: dict[str, Any] = {"protocol": Overlay(self.topology), "rejoin": True}
        names = [f"p{number}" for number in range(size)]
        self.groups = cluster.found("choir", *names, **self.options)
        self.killed: list[str] = []
        cluster.advance(self.random.choice([0.5, CALM_S]))

    @property
    def alive(self) -> list[str]:
        """Who has not been killed."""
        return [name for name in self.groups if name not in self.killed]

    def view_of(self, name: str) -> View | None:
        """Return the view of a process; None, if it is outside."""
        try:
            return self.groups[name].view
        except UsageError:
            return None

    def act(self, number: int) -> None:
        """Do something, and let time pass."""
        inside = [name for name in self.alive if self.view_of(name) is not None]
        one, other = self.random.sample(inside, 2)
        acts: list[Callable[[str, str, str], None]] = [self.kill, self.split, self.heal, self.join]
        acts += [self.say] * 6 + [self.write] * 4 + [self.hurt_link] * 3 + [self.pause] * 2
        self.random.choice(acts)(one, other, str(number))
        self.cluster.advance(self.random.choice([0.0, 0.01, 0.2, 1.0, 4.0]))

    def say(self, one: str, _: str, what: str) -> None:
        """Multicast, as soon as that may be."""
        self.cluster[one].start(self._say(one, what))

    async def _say(self, one: str, what: str) -> None:
        with suppress(AntiphonError):  # it may be out by the time that there is room
            await self.groups[one].cbcast(what.encode())

    def write(self, one: str, other: str, what: str) -> None:
        """Send a letter."""
        if other in self.groups[one].members:
            self.cluster[one].start(self._write(one, other, what))

    async def _write(self, one: str, other: str, what: str) -> None:
        with suppress(AntiphonError):  # either may be out by the time that there is room
            await self.groups[one].send(other, what.encode())

    def hurt_link(self, one: str, other: str, _: str) -> None:
        """Cut a connection, or let one side not know that it is cut, or let nothing pass."""
        cluster = self.cluster
        self.random.choice([cluster.cut, cluster.half_open, cluster.stall])(one, other)

    def pause(self, one: str, _: str, __: str) -> None:
        """Stop a process for a while."""
        self.cluster.pause(one)
        self.cluster.advance(self.random.choice([0.2, 1.0, 3.0]))
        self.cluster.resume(one)

    def kill(self, one: str, _: str, __: str) -> None:
        """Kill a process, if not too many are dead."""
        if len(self.killed) < (self.size - 1) // 3:
            self.killed.append(one)
            self.cluster.kill(one, silently=self.random.random() < 0.5)

    def split(self, _: str, __: str, ___: str) -> None:
        """Part the group in two."""
        alive = self.alive
        side = set(self.random.sample(alive, self.random.randint(1, len(alive) // 2)))
        self.cluster.partition(side, set(alive) - side)

    def heal(self, _: str, __: str, ___: str) -> None:
        """Let everything pass again."""
        self.cluster.heal()

    def join(self, one: str, _: str, what: str) -> None:
        """Let another process join."""
        zoe, seeds = f"zoe{what}", [self.cluster[one].address]
        handle = self.cluster.process(zoe).handle
        self.groups[zoe] = handle("choir", seeds=seeds, connect_s=300.0, **self.options)
        self.cluster[zoe].start(self.groups[zoe].__aenter__())

    def is_settled(self) -> bool:
        """Whether all who live are in one view."""
        alive = self.alive
        views = [self.view_of(name) for name in alive]
        return all(view and view.primary and len(view.members) == len(alive) for view in views)

    def end(self) -> None:
        """End all faults; all who live have to come together, and become calm."""
        self.cluster.heal()
        self.cluster.wait_until(self.is_settled, 120)
        self.cluster.advance(2 * CALM_S)
        members = [who.partition("~")[0] for who in self.groups[self.alive[0]].members]
        assert links(self.cluster, tuple(sorted(members))) == neighbours(
            tuple(members), self.topology
        )
        self.cluster.check()


def live(seed: int, size: int) -> None:
    """Live through one."""
    with Cluster(seed) as cluster:
        life = RandomLife(cluster, seed, size)
        for number in range(25):
            life.act(number)
        life.end()


@pytest.mark.parametrize("seed", range(4))
def test_random_faults_leave_calm_members_that_have_kept_every_promise(seed: int) -> None:
    """Links are cut, half open and stalled; members die, stop, are cut off, and join."""
    live(seed, 9)
