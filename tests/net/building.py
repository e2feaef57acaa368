"""Processes on sockets in groups of one causality domain, for the tests of domains."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.net.harness import QUICK, free_addresses, verdict_on

from antiphon import CausalDomain, Group, Process
from antiphon.trace.verdict import Status

NAMES = ("alice", "bob", "carol", "dave")


class Building:
    """Processes in groups of one domain."""

    def __init__(self) -> None:
        """Be empty."""
        self.processes: dict[str, Process] = {}
        self.rooms: dict[str, dict[str, Group]] = {}


async def build(
    stack: AsyncExitStack,
    groups: dict[str, str],
    *,
    resilience: int | str = 1,
    domain: CausalDomain | None = None,
    **options: Any,
) -> Building:
    """Start processes in groups of domain d: each group by the initials of its founders."""
    addresses = free_addresses(NAMES)
    built = Building()
    domain = domain or CausalDomain("d", resilience)  # type: ignore[arg-type]
    for name in NAMES:
        process = Process(
            name, at=addresses[name], seeds=list(addresses.values()), timing=QUICK, **options
        )
        built.processes[name] = await stack.enter_async_context(process)
        built.rooms[name] = {}

    async def enter(group: str, name: str, seeds: list[str]) -> None:
        handle = built.processes[name].join(
            group, seeds=seeds, found=True, domain=domain, drain_s=1.0
        )
        built.rooms[name][group] = await stack.enter_async_context(handle)

    for group, initials in groups.items():
        inside = [name for name in NAMES if name[0] in initials]
        seeds = [addresses[name] for name in inside]
        await asyncio.gather(*(enter(group, name, seeds) for name in inside))
    return built


async def read(process: Process, count: int) -> list[tuple[str, bytes]]:
    """Read so many messages of all groups, with their groups."""
    found: list[tuple[str, bytes]] = []
    async for message in process.messages():
        found.append((message.group, message.payload))
        if len(found) == count:
            break
    return found


def causality(folder: Path) -> Status:
    """Return what the oracle says of causal order in the run folder of a domain."""
    verdict = verdict_on(folder)
    return next(item.status for item in verdict.properties if item.property == "causal")


def shut_out(built: Building, name: str, *, by: tuple[str, ...]) -> None:
    """Have some processes take another, which lives, for dead."""
    for other in by:
        incarnation = built.processes[other]._local.incarnation
        assert incarnation is not None
        peer = next(one for one in incarnation.mesh.peers.values() if one.process.name == name)
        incarnation.on_dead(peer, "a test says so")
