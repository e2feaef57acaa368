"""Random schedules of members that flood: crashes, answers in upcalls, links that come and go."""

from tests.overlay.world import World

from antiphon.ordering.overlay.topologies import TOPOLOGIES, reachable


def crash_schedule(topology: str, size: int, seed: int) -> World:
    """Live through one world: as many crashes as the overlay may have, at any moment."""
    kind = TOPOLOGIES[topology]
    world = World(kind.overlay(size), seed)
    dice = world.dice
    world.answer_chance, world.budget = dice.choice([(0.0, 0), (0.1, 10), (0.5, 6)])
    crashes = dice.randint(0, max(0, kind.connectivity(size) - 1))
    doomed = dice.sample(range(size), crashes)
    for who in doomed:
        world.dying[who] = dice.randrange(30)
    pending = [dice.randrange(size) for _ in range(dice.randint(1, 8))]
    while pending or world.busy:
        if pending and (not world.busy or dice.random() < 0.2):
            who = pending.pop()
            if who not in world.crashed:
                world.broadcast(who)
        else:
            world.arrive(*dice.choice(world.busy))
    world.oracle.conclude(world.survivors)
    return world


def link_schedule(size: int, seed: int) -> World:
    """Live through one world in which links come and go, and those that are open connect all."""
    world = World(TOPOLOGIES["ring"].overlay(size), seed)
    dice = world.dice
    world.answer_chance, world.budget = dice.choice([(0.0, 0), (0.3, 8)])
    changes = dice.randint(2, 8)
    pending = [dice.randrange(size) for _ in range(dice.randint(2, 10))]
    while pending or changes or world.busy:
        chance = dice.random()
        if changes and chance < 0.2:
            changes -= 1
            _change_links(world)
        elif pending and chance < 0.4:
            world.broadcast(pending.pop())
        elif world.busy:
            world.arrive(*dice.choice(world.busy))
    world.oracle.conclude(world.survivors)
    return world


def _change_links(world: World) -> None:
    one, other = world.dice.sample(range(len(world.members)), 2)
    mine = world.members[one]
    if other in mine.links:
        if world.dice.random() < 0.7 and _is_spared(world, one, other):
            world.drain_link(one, other)
    elif not _is_known(world, one, other):
        world.add_link(one, other)


def _is_known(world: World, one: int, other: int) -> bool:
    """Whether one end still has something of a link."""
    pairs = ((one, other), (other, one))
    return any(
        peer in world.members[who]._incoming or peer in world.members[who]._outgoing
        for who, peer in pairs
    )


def _is_spared(world: World, one: int, other: int) -> bool:
    """Whether links that are open on both sides connect everybody without this one."""
    near = [
        [
            peer
            for peer in member.links
            if {rank, peer} != {one, other}
            and member.is_open(peer)
            and rank in world.members[peer].links
            and world.members[peer].is_open(rank)
        ]
        for rank, member in enumerate(world.members)
    ]
    return len(reachable(near, one)) == len(near)
