"""How long a switch of groups takes on loopback sockets, beside a bare echo on such a socket.

    python -m antiphon.bench.across.real_switches [COUNT]

Law: four processes, tasks of one event loop, in groups ``a`` of three of them and ``b`` of three;
two are in both, so that with a resilience of 1, too, a run for ``b`` waits for a receipt of ``a``.
One that is in both multicasts in ``a`` and at once in ``b``; or, every other time, answers in ``b``
what it has just read in ``a``. Measured from the moment in which the second message is handed over
until the last member of ``b`` has read it. After each switch an echo is sent over a connection of
the same transport, in the same event loop: that is a round trip. Medians of both.
"""

import asyncio
import statistics
import sys
import time
from contextlib import AsyncExitStack
from typing import Literal, NamedTuple, cast

from antiphon.net.application.causal_domain import CausalDomain
from antiphon.net.group.group import Group
from antiphon.net.process.joining import run
from antiphon.net.process.process import Process
from antiphon.net.transport.address import Address
from antiphon.net.transport.tcp import TcpTransport

_MEMBERS = {"a": ("ann", "bob", "cleo"), "b": ("bob", "cleo", "dora")}
_NAMES = ("ann", "bob", "cleo", "dora")
_WHO, _ASKER = "bob", "ann"
_GAP_S = 0.25
"""Between two switches: some heartbeats, after which all is known to be everywhere."""

_FIRST, _ASKED, _SECOND = b"first", b"asked", b"second"

Resilience = int | Literal["all"]
RESILIENCES: tuple[Resilience, ...] = (1, 2, "all")


class RealSwitchTimes(NamedTuple):
    """Medians."""

    switches: int
    delivered_us: float
    round_trip_us: float

    @property
    def round_trips(self) -> float:
        """How many round trips a switch takes, to its delivery."""
        return self.delivered_us / self.round_trip_us


def measure_real_switches(
    resilience: Resilience, count: int = 60, *, on_asyncio: bool = False
) -> RealSwitchTimes:
    """Measure so many switches, on the fastest event loop at hand or on asyncio's own."""
    return (asyncio.run if on_asyncio else run)(_measure(resilience, count))


class _Echo(asyncio.Protocol):
    """One end of a connection: returns what comes, or notes it."""

    def __init__(self, *, is_mirror: bool) -> None:
        self._is_mirror = is_mirror
        self._transport: asyncio.Transport | None = None
        self._has_come = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is of no such class

    def data_received(self, data: bytes) -> None:
        """Return it, or note that it has come back."""
        if self._is_mirror:
            self.write(data)
        else:
            self._has_come.set()

    def write(self, data: bytes) -> None:
        """Send something."""
        assert self._transport is not None, "it is connected"
        self._transport.write(data)

    async def send(self) -> int:
        """Send something, and return how long it was on its way to the other end and back."""
        self._has_come.clear()
        begun_ns = time.monotonic_ns()
        self.write(_SECOND)
        await self._has_come.wait()
        return time.monotonic_ns() - begun_ns


class _Scene:
    """The processes, and what is going on."""

    def __init__(self, groups: dict[str, dict[str, Group]]) -> None:
        self._groups = groups
        self._begun_ns = self._last_ns = self._count = 0
        self._is_read = asyncio.Event()

    async def switch(self, *, is_answer: bool) -> int:
        """Switch groups once; return how long it took, in nanoseconds."""
        self._count = 0
        self._is_read.clear()
        if is_answer:
            await self._groups[_ASKER]["a"].cbcast(_ASKED)
        else:
            await self._groups[_WHO]["a"].cbcast(_FIRST)
            await self._go_on()
        await self._is_read.wait()
        return self._last_ns - self._begun_ns

    async def _go_on(self) -> None:
        self._begun_ns = time.monotonic_ns()
        await self._groups[_WHO]["b"].cbcast(_SECOND)

    async def read(self, process: Process) -> None:
        """Read all groups of a process."""
        async for message in process.messages():
            if message.payload == _ASKED and process.me == _WHO:
                await self._go_on()
            elif message.payload == _SECOND:
                self._last_ns = time.monotonic_ns()
                self._count += 1
                if self._count == len(_MEMBERS["b"]):
                    self._is_read.set()


async def _measure(resilience: Resilience, count: int) -> RealSwitchTimes:
    domain = CausalDomain("bench", resilience)
    async with AsyncExitStack() as stack:
        processes: dict[str, Process] = {}
        groups: dict[str, dict[str, Group]] = {name: {} for name in _NAMES}
        for name in _NAMES:
            seeds = [other.address for other in processes.values()]
            process = Process(name, at="127.0.0.1:0", seeds=seeds)
            processes[name] = await stack.enter_async_context(process)
        for group, members in _MEMBERS.items():
            for name in members:
                seeds = [processes[members[0]].address] if name != members[0] else []
                handle = processes[name].join(group, seeds=seeds, domain=domain)
                groups[name][group] = await stack.enter_async_context(handle)
        scene = _Scene(groups)
        reading = [asyncio.ensure_future(scene.read(one)) for one in processes.values()]
        server = await TcpTransport().listen(Address("127.0.0.1", 0), lambda: _Echo(is_mirror=True))
        connection, echo = await TcpTransport().connect(
            server.address, lambda: _Echo(is_mirror=False)
        )
        taken_ns, echoed_ns = [], []
        for number in range(count):
            await asyncio.sleep(_GAP_S)
            taken_ns.append(await scene.switch(is_answer=bool(number % 2)))
            echoed_ns.append(await echo.send())
        connection.close()
        await server.close()
    await asyncio.gather(*reading)
    return RealSwitchTimes(
        count, statistics.median(taken_ns) / 1000, statistics.median(echoed_ns) / 1000
    )


def main() -> None:
    """Print a line for each resilience, on both event loops."""
    count = int((*sys.argv[1:], "60")[0])
    for resilience in RESILIENCES:
        for on_asyncio in (False, True):
            times = measure_real_switches(resilience, count, on_asyncio=on_asyncio)
            line = (
                f"resilience {resilience}, {'asyncio' if on_asyncio else 'the fastest loop'}: "
                f"{times.delivered_us:.0f} us, {times.round_trips:.1f} round trips of "
                f"{times.round_trip_us:.0f} us\n"
            )
            sys.stdout.write(line)


if __name__ == "__main__":
    main()
