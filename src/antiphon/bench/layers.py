"""Where the time of a call goes, layer by layer: ``python -m antiphon.bench.layers COUNT BYTES``.

Law: two members in one process, connected over loopback, on plain asyncio (what is written in C
shows no layers). A profiler counts the time inside each function, and a function belongs to the
layer of its file; waiting is left out. Profiling makes Python code look dearer than system
calls: shares of ours are upper bounds.
"""

import asyncio
import cProfile
import pstats
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from antiphon.net.group.group import Group
from antiphon.net.process.joining import join
from antiphon.net.transport.ports import free_ports

CAUSAL, PROTOCOL, TRANSPORT = "causal multicast", "rest of the protocol", "transport"
LOOP, SYSTEM, OTHER = "event loop", "system calls", "other"
LAYERS = (CAUSAL, PROTOCOL, TRANSPORT, LOOP, SYSTEM, OTHER)

_ORDERING = "ordering"
_WARM_UP = 50
_SYSTEM_CALLS = ("'send' of", "'recv", "'sendmsg'", "'poll' of", "epoll", "'accept'", "select.")


class LayerReport(msgspec.Struct):
    """Microseconds per call, by layer."""

    by_layer_us: dict[str, float]
    """A call and its reply, at both ends."""


def measure_layers(count: int, payload_bytes: int) -> dict[str, float]:
    """Return microseconds per call, by layer, measured in a process of its own."""
    command = [sys.executable, "-m", "antiphon.bench.layers", str(count), str(payload_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout, type=LayerReport).by_layer_us


def layer_of(file: str, function: str) -> str:
    """Return the layer of a function, by the file that it is in."""
    parts = Path(file).parts
    if "antiphon" in parts:
        package = parts[len(parts) - parts[::-1].index("antiphon")]
        if package == _ORDERING:
            return CAUSAL
        if package in {"core", "membership", "stack", "toolkit"}:
            return PROTOCOL
        return TRANSPORT if package == "net" else OTHER
    if any(word in function for word in _SYSTEM_CALLS):
        return SYSTEM
    if "asyncio" in parts or file.endswith("selectors.py"):
        return LOOP
    return OTHER


async def _calls(count: int, payload: bytes, profile: cProfile.Profile) -> None:
    names = ("m0", "m1")
    places = (f"127.0.0.1:{port}" for port in free_ports(2))
    members = dict(zip(names, places, strict=True))
    async with AsyncExitStack() as stack:
        # Side by side: each waits for the other.
        caller, other = await asyncio.gather(
            *(stack.enter_async_context(join("layers", me=name, members=members)) for name in names)
        )
        other.answer_calls(lambda _sender, _payload: b"")
        readers = [asyncio.ensure_future(_read(group)) for group in (caller, other)]
        for number in range(_WARM_UP + count):
            if number == _WARM_UP:
                profile.enable()
            await caller.call(payload, timeout_s=10.0)
        profile.disable()
    await asyncio.gather(*readers)


async def _read(group: Group) -> None:
    async for _ in group:
        pass


def _main() -> None:
    count, payload_bytes = int(sys.argv[1]), int(sys.argv[2])
    profile = cProfile.Profile()
    asyncio.run(_calls(count, bytes(payload_bytes), profile))
    found = dict.fromkeys(LAYERS, 0.0)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, _, function), (_, _, own_s, _, _) in stats.items():
        if "'poll' of" not in function:  # waiting for the other end
            found[layer_of(file, function)] += own_s * 1e6 / count
    sys.stdout.write(msgspec.json.encode(LayerReport(found)).decode())


if __name__ == "__main__":
    _main()
