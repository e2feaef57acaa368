"""Processes that share groups, on sockets: for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.net.harness import QUICK, TRIO, free_addresses, until

from antiphon import Group, Process, View
from antiphon.net.session.mesh import Mesh

Rooms = dict[str, dict[str, Group]]
"""Handles by the name of the process, then of the group."""


class House:
    """Processes that share groups."""

    def __init__(self, addresses: dict[str, str]) -> None:
        """Be empty."""
        self.addresses = addresses
        self.processes: dict[str, Process] = {}
        self.rooms: Rooms = {}

    def mesh(self, name: str) -> Mesh:
        """Return the sessions of a process."""
        incarnation = self.processes[name]._local.incarnation
        assert incarnation is not None
        return incarnation.mesh

    async def kill(self, name: str) -> None:
        """End a process without a word to its groups."""
        await self.processes[name]._local.close()

    def shut_out(self, name: str, *, by: str) -> None:
        """Have one process take another, which lives, for dead."""
        incarnation = self.processes[by]._local.incarnation
        assert incarnation is not None
        peer = next(one for one in incarnation.mesh.peers.values() if one.process.name == name)
        incarnation.on_dead(peer, "a test says so")


@asynccontextmanager
async def house(
    groups: dict[str, str], names: tuple[str, ...] = TRIO, **options: Any
) -> AsyncIterator[House]:
    """Start processes in groups: each group by the initials of those who found it together."""
    addresses = free_addresses(names)
    built = House(addresses)
    options = {"timing": QUICK} | options
    async with AsyncExitStack() as stack:
        for name in names:
            process = Process(name, at=addresses[name], seeds=list(addresses.values()), **options)
            built.processes[name] = await stack.enter_async_context(process)
            built.rooms[name] = {}

        async def enter(group: str, name: str, seeds: list[str]) -> None:
            handle = built.processes[name].join(group, seeds=seeds, found=True, drain_s=1.0)
            built.rooms[name][group] = await stack.enter_async_context(handle)

        for group, initials in groups.items():
            inside = [name for name in names if name[0] in initials]
            seeds = [addresses[name] for name in inside]
            await asyncio.gather(*(enter(group, name, seeds) for name in inside))
        yield built


async def until_members(group: Group, *members: str) -> None:
    """Wait until a handle shows just these members, in any order."""
    await until(
        lambda: sorted(group.members) == sorted(members) and group.view.primary,
        f"{group.me} is in a view of {members} in {group.name}",
    )


async def views_of(group: Group) -> list[View]:
    """Read a group to its end; return its views."""
    return [event async for event in group if isinstance(event, View)]
