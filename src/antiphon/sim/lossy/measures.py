"""How soon losses are recovered, at what cost, and how fast a group goes.

Law: measured is what happens in worlds of datagrams, in simulated time, so numbers are the same on
any machine. The recovery of a loss is the time from when a message was sent to when it first
comes to a process that the first copy did not reach.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.sim.lossy.nack import NackWorld
from antiphon.sim.lossy.network import LossOptions
from antiphon.sim.lossy.world import LossyWorld

_REST_PERIODS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Who says how much."""

    size: int = 5
    senders: int = 5
    interval_us: int = 10_000
    """Mean time between the messages of one sender."""
    duration_us: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What became of losses."""

    periods: list[float]
    """Time of each recovery, in null periods, in order."""
    missed: int
    """Copies that did not arrive the first time."""
    messages: int
    """That at least one process missed."""
    repeated: int
    """Copies sent again, to all."""
    sent: int
    """Messages."""

    def quantile(self, part: float) -> float:
        """Return the time within which so many were recovered, from 0 to 1."""
        return quantile(self.periods, part)

    @property
    def per_message(self) -> float:
        """How often a message that somebody missed was sent again."""
        return self.repeated / max(1, self.messages)


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which a part of some ordered values is; infinity if it is none."""
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("inf")


Speak = Callable[[int], None]


def _talk(world: LossyWorld | NackWorld, seed: str, traffic: Traffic, speak: Speak) -> None:
    """Have processes speak at random times."""
    dice = Random(f"{seed}/traffic")
    for sender in range(traffic.senders):
        time_us = 0.0
        while (time_us := time_us + dice.expovariate(1 / traffic.interval_us)) < (
            traffic.duration_us
        ):
            world.scheduler.at(int(time_us), speak, sender)


def _is_unsettled(world: LossyWorld) -> bool:
    last = world.living[0].machine.matrix.last
    return any(node.machine.matrix.last != last for node in world.living)


def _finish(world: LossyWorld) -> None:
    """Let time pass until all have delivered the same."""
    for _ in range(_REST_PERIODS):
        world.run(world.settings.null_us)
        if not _is_unsettled(world):
            return


def recover(
    seed: str, traffic: Traffic, settings: BlockSettings, options: LossOptions
) -> Recovered:
    """Lose messages under traffic, by causal blocks."""
    world = LossyWorld(seed, traffic.size, settings, options, is_traced=False)

    def speak(sender: int) -> None:
        world.multicast(sender, b"x")

    _talk(world, seed, traffic, speak)
    world.run(traffic.duration_us)
    _finish(world)
    times = [
        (world.nodes[target].received_us[name] - at_us) / settings.null_us
        for (target, name), at_us in world.missed_us.items()
        if name in world.nodes[target].received_us
    ]
    return Recovered(
        periods=sorted(times),
        missed=len(world.missed_us),
        messages=len({name for _, name in world.missed_us}),
        repeated=sum(node.machine.counts["repeated"] for node in world.nodes),
        sent=len(world.posted),
    )


def recover_by_asking(
    seed: str, traffic: Traffic, period_us: int, timer_us: int, options: LossOptions
) -> Recovered:
    """Lose messages under the same traffic, by questions of receivers."""
    world = NackWorld(seed, traffic.size, period_us, timer_us, options)
    _talk(world, seed, traffic, world.multicast)
    world.scheduler.run_until(traffic.duration_us + 40 * period_us)
    times = [
        (world.received_us[key] - at_us) / period_us
        for key, at_us in world.missed_us.items()
        if key in world.received_us
    ]
    return Recovered(
        periods=sorted(times), missed=len(world.missed_us),
        messages=len({name for _, name in world.missed_us}), repeated=world.repeated,
        sent=sum(world.sent),
    )  # fmt: skip


def recover_last(
    seed: str, size: int, settings: BlockSettings, *, lost_at: int, crashes: bool = False
) -> list[float]:
    """Lose the last message before silence at some; return how long each waits, in periods.

    With ``crashes`` its sender dies as soon as it is sent; who never gets it waits for ever.
    """
    world = LossyWorld(seed, size, settings, LossOptions(), is_traced=False)
    for sender in range(size):
        world.multicast(sender, b"before")
        world.run(3_000)
    world.run(5 * settings.null_us)
    world.network.drops = lambda _source, target, _data: target > size - 1 - lost_at
    world.multicast(0, b"last")
    name = 0, world.nodes[0].machine.matrix.last[0]
    world.network.drops = lambda _source, _target, _data: False
    begin_us = world.now_us
    if crashes:
        world.crash(0, 3 * settings.null_us)
    world.run(40 * settings.null_us)
    never_us = begin_us + 10**12
    return [
        (node.received_us.get(name, never_us) - begin_us) / settings.null_us
        for node in world.nodes[size - lost_at :]
    ]


def ask_for_last(
    seed: str, size: int, period_us: int, timer_us: int, *, lost_at: int, crashes: bool = False
) -> list[float]:
    """Do the same where receivers ask the sender."""
    world = NackWorld(seed, size, period_us, timer_us, LossOptions())
    world.scheduler.run_until(5 * period_us)
    world.network.drops = lambda _source, target, _data: target > size - 1 - lost_at
    world.multicast(0)
    world.network.drops = lambda _source, _target, _data: False
    begin_us = world.scheduler.now_us
    world.is_up[0] = not crashes
    world.scheduler.run_until(begin_us + 40 * period_us)
    never_us = begin_us + 10**12
    return [
        (world.received_us.get((rank, (0, 1)), never_us) - begin_us) / period_us
        for rank in range(size - lost_at, size)
    ]


def delivery_rate(
    seed: str, size: int, settings: BlockSettings, options: LossOptions, *,
    every_us: int, duration_us: int,
) -> tuple[float, float]:  # fmt: skip
    """Have all speak as fast as they may; return messages per second, and how much is repeated.

    Counted is what all have delivered while they speak; repeated copies are per message sent.
    """
    world = LossyWorld(seed, size, settings, options, is_traced=False)

    def speak(sender: int) -> None:
        world.multicast(sender, b"x")
        if world.now_us < duration_us:
            world.scheduler.at(world.now_us + every_us, speak, sender)

    for sender in range(size):
        world.scheduler.at(sender * every_us // size, speak, sender)
    world.run(duration_us)
    delivered = min(len(node.delivered) for node in world.nodes)
    repeated = sum(node.machine.counts["repeated"] for node in world.nodes)
    return delivered * 1_000_000 / duration_us, repeated / max(1, len(world.posted))
