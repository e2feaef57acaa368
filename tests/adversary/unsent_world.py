"""A random world of processes that are shut out, come back and leave, and send all the time.

Its judge knows nothing of queues and incarnations: it has what the applications handed over and
read, and which payloads the drivers were given to send. Every call that returned normally handed
something over; of a reader's own multicasts each either went out or was told (``Unsent``), what was
told nobody has read, and what went out is of the incarnation that its application had come to.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

import antiphon
from antiphon import (
    AntiphonError,
    Blocks,
    ExcludedError,
    Letter,
    Message,
    Order,
    Overlay,
    Unsent,
    View,
)
from antiphon.net.driver.driver import Driver
from antiphon.net.stream.events import Event
from antiphon.testing import Cluster

PROTOCOLS = {"blocks": Blocks(), "ring": Overlay("ring")}
KINDS = ("alone", "blocks", "ring", "several", "several")
DOMAINS = (None, "d", antiphon.CausalDomain("d", resilience="all"))
NAMES = ("alice", "bob", "carol", "dave")
GAPS_S = (0.0005, 0.01, 0.1, 0.4)
"""How long a sender may rest."""

FAULTS = ("part", "accuse", "accuse", "accuse twice", "pause", "leave", "slow")

DRAIN_S = 0.5


@dataclass
class Said:
    """Something that an application handed over, or tried to."""

    payload: bytes
    group: str
    to: str = ""
    """For whom a letter is."""
    reading: str = ""
    """The incarnation that the application had come to before."""
    is_accepted: bool = False


@dataclass
class Actor:
    """One process, and what its application did."""

    name: str
    groups: dict[str, antiphon.Group] = field(default_factory=dict)
    process: antiphon.Process | None = None
    said: list[Said] = field(default_factory=list)
    read: list[tuple[str, Event]] = field(default_factory=list)
    reading: dict[str, str] = field(default_factory=dict)
    """By group: as whom it is in the view that was read last."""
    left: set[str] = field(default_factory=set)
    pause_s: float = 0.0
    """How long the reader may rest after an event."""
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    @property
    def unsent(self) -> list[bytes]:
        """What it was told never went out."""
        told = (event.payloads for _, event in self.read if isinstance(event, Unsent))
        return [payload for payloads in told for payload in payloads]


class UnsentWorld:
    """Random applications, and random faults one after the other."""

    def __init__(self, seed: int, gone: Counter[bytes]) -> None:
        """``gone`` counts how often each payload has left its process."""
        self._gone = gone
        random = self._random = Random(f"unsent {seed}")
        self._kind = random.choice(KINDS)
        self._domain = random.choice(DOMAINS)
        self._is_causal_only = self._kind == "blocks" or random.random() < 0.5
        self._liar = random.choice(NAMES)
        self.cluster = Cluster(seed)
        self.actors = {name: Actor(name) for name in NAMES}

    def run(self, seconds: float = 8) -> list[str]:
        """Run the world to its end; return what is wrong."""
        cluster, random = self.cluster, self._random
        self._found()
        end_s = cluster.time_s + seconds
        for actor in self.actors.values():
            sources = [actor.process] if actor.process is not None else [actor.groups["A"]]
            readers = [self._start(actor, self._read(actor, source)) for source in sources]
            actor.tasks = [*readers, *(self._start(actor, self._send(actor, end_s)) for _ in "ab")]
        while cluster.time_s < end_s:
            cluster.advance(random.choice([0.002, 0.3, 3]) * random.random())
            self._harm()
        self._heal()
        for actor in self.actors.values():
            actor.pause_s = 0
        cluster.advance(30)
        for actor in self.actors.values():
            cluster.wait_for(self._start(actor, self._end(actor)), 60)
        cluster.advance(3)
        cluster.raise_failures()
        stuck = [f"{actor.name} hangs" for actor in self.actors.values() if _is_busy(actor)]
        return stuck + self._judge()

    def _start(self, actor: Actor, work: Any) -> "asyncio.Task[None]":
        return self.cluster[actor.name].start(work)

    def _found(self) -> None:
        cluster, random = self.cluster, self._random
        if self._kind != "several":
            options: dict[str, Any] = {
                "rejoin": True,
                "drain_s": DRAIN_S,
                "protocol": PROTOCOLS.get(self._kind),
            }
            for name, group in cluster.found("A", *NAMES, **options).items():
                self.actors[name].groups["A"] = group
            return
        for count, (name, actor) in enumerate(self.actors.items()):
            here, known = cluster.process(name), [cluster[one] for one in NAMES[:count]]
            process = actor.process = here.run(_open(here, [one.address for one in known]))
            for label in "AB":
                others = [one for one in NAMES[:count] if label in self.actors[one].groups]
                if label == "A" or random.random() < 0.7:
                    seeds: list[str] | None = None if others else []
                    group = actor.groups[label] = process.join(
                        label, domain=self._domain, drain_s=DRAIN_S, seeds=seeds
                    )
                    here.run(group.__aenter__())

    # Applications.

    async def _read(self, actor: Actor, source: antiphon.Group | antiphon.Process) -> None:
        with suppress(ExcludedError):
            async for event in source:
                label = event.group or "A"
                actor.read.append((label, event))
                if isinstance(event, View | Unsent):
                    actor.reading[label] = _own_name(actor, event)
                if self._random.random() < 0.02:
                    await self._say(actor, label)
                if actor.pause_s:
                    await asyncio.sleep(actor.pause_s * self._random.random())

    async def _send(self, actor: Actor, end_s: float) -> None:
        random = self._random
        while self.cluster.time_s < end_s and (here := sorted(actor.groups.keys() - actor.left)):
            await self._say(actor, random.choice(here))
            await asyncio.sleep(random.choice(GAPS_S) * random.random())

    async def _say(self, actor: Actor, label: str) -> None:
        random, group = self._random, actor.groups[label]
        with suppress(AntiphonError):
            to = random.choice(["", "", *group.members])
            count = 1 if to else random.choice([1, 1, 5])
            name, reading = f"{actor.name} {label}".encode(), actor.reading.get(label, "")
            made = [
                Said(b"%s %d" % (name, number), label, to, reading)
                for number in range(len(actor.said), len(actor.said) + count)
            ]
            actor.said += made
            payloads = [said.payload for said in made]
            if to:
                await group.send(to, payloads[0])
            elif self._is_causal_only:
                await group.multicast_many(payloads)
            else:
                is_uniform = random.random() < 0.3
                await group.multicast_many(payloads, random.choice([*Order]), uniform=is_uniform)
            for said in made:
                said.is_accepted = True

    async def _leave(self, actor: Actor, label: str) -> None:
        actor.left.add(label)
        await actor.groups[label].__aexit__(None, None, None)

    async def _end(self, actor: Actor) -> None:
        actor.left |= actor.groups.keys()
        whole = actor.process or actor.groups["A"]
        await whole.__aexit__(None, None, None)

    # Faults.

    def _harm(self) -> None:
        random, cluster = self._random, self.cluster
        self._heal()
        fault, victim = random.choice(FAULTS), random.choice(NAMES)
        actor = self.actors[victim]
        if fault in {"part", "pause"}:
            cluster.advance(random.choice([0, 0.01, 4]))
        if fault == "part":
            cluster.partition({victim}, set(NAMES) - {victim})
        elif fault == "pause":
            cluster.pause(victim)
        elif fault == "slow":
            actor.pause_s = random.choice([0, 0.01, 2])
        elif (
            fault == "leave"
            and random.random() < 0.3
            and (here := sorted(actor.groups.keys() - actor.left))
        ):
            actor.tasks.append(self._start(actor, self._leave(actor, random.choice(here))))
        elif victim != self._liar:
            for _ in fault.split():
                self._start(self.actors[self._liar], self._accuse(victim))
                cluster.advance(random.choice([0.0005, 0.01, 0.3]))

    async def _accuse(self, victim: str) -> None:
        """Have one take another, who lives, for dead."""
        group: Any = next(iter(self.actors[self._liar].groups.values()))
        incarnation = group._local.process.process.incarnation
        for peer in list(incarnation.mesh.peers.values()) if incarnation is not None else ():
            if peer.process.name == victim:
                incarnation.on_dead(peer, "so")

    def _heal(self) -> None:
        self.cluster.heal()
        for name in NAMES:
            self.cluster.resume(name)

    # The judge.

    def _judge(self) -> list[str]:
        everybody = self.actors.values()
        heard = {
            event.payload
            for actor in everybody
            for _, event in actor.read
            if isinstance(event, Message | Letter)
        }
        return [wrong for actor in everybody for wrong in self._judge_one(actor, heard)]

    def _judge_one(self, actor: Actor, heard: set[bytes]) -> Iterator[str]:
        known = {said.payload: place for place, said in enumerate(actor.said)}
        told = Counter(actor.unsent)
        mine = [
            event
            for _, event in actor.read
            if isinstance(event, Message) and event.sender.partition("~")[0] == actor.name
        ]
        own = Counter(event.payload for event in mine)
        for event in mine:
            if (reading := actor.said[known[event.payload]].reading) not in {"", event.sender}:
                yield f"of {reading}, and sent by {event.sender}: {event.payload!r}"
        yield from (f"told what is not its own: {payload!r}" for payload in told.keys() - known)
        yield from (f"told, and heard: {payload!r}" for payload in told.keys() & heard)
        yield from (f"told, and sent: {payload!r}" for payload in told if self._gone[payload])
        yield from (f"told twice: {payload!r}" for payload in told if told[payload] > 1)
        yield from (f"read twice: {payload!r}" for payload in own if own[payload] > 1)
        for said in actor.said:
            payload = said.payload
            if said.to or not said.is_accepted or told[payload]:
                continue  # a letter is dropped where its reader is gone
            if not self._gone[payload]:
                yield f"vanished: {payload!r}"
            elif self._is_causal_only and self._kind != "several" and not own[payload]:
                yield f"sent, and not read back: {payload!r}"


async def _open(here: Any, seeds: list[str]) -> antiphon.Process:
    process = antiphon.Process(here.name, at=here.address, seeds=seeds, rejoin=True)
    return await process.__aenter__()


def _own_name(actor: Actor, event: View | Unsent) -> str:
    """Return as whom a process is in a view; unknown where the next is still to come."""
    members = event.members if isinstance(event, View) else ()
    return next((name for name in members if name.partition("~")[0] == actor.name), "")


def _is_busy(actor: Actor) -> bool:
    return not all(task.done() and task.exception() is None for task in actor.tasks)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[bytes]]:
    """Count how often each payload of an application is given to a driver to send."""
    gone: Counter[bytes] = Counter()
    send_run, send_letter = Driver._send_run, Driver._send_letter

    def count_run(self: Driver, sent: Any) -> None:
        gone.update(map(bytes, sent.run.payloads) if sent.run is not None else ())
        send_run(self, sent)

    def count_letter(self: Driver, sent: Any) -> None:
        gone.update(map(bytes, sent.letter.payloads))
        send_letter(self, sent)

    level = logging.getLogger("antiphon").level
    logging.getLogger("antiphon").setLevel(logging.CRITICAL)
    with monkeypatch.context() as patched:
        patched.setattr(Driver, "_send_run", count_run)
        patched.setattr(Driver, "_send_letter", count_letter)
        yield gone
    logging.getLogger("antiphon").setLevel(level)
