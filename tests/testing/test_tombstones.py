"""A dictionary that several processes change: tombstones go when everybody has delivered them.

The example of docs/stability.md, and that it needs all that is said there.
"""

import asyncio
import json
from collections.abc import Callable
from random import Random

import pytest

from antiphon import Group, Message, Order, Timing, View
from antiphon.testing import Cluster

pytestmark = pytest.mark.long

TIMING = Timing(heartbeat_us=5_000, timeout_us=2_000_000)
NAMES = ("anna", "ben", "cleo")
KEYS = "abc"
_Stamp = tuple[int, str]


class SharedDictionary:
    """One replica. The change with the greatest stamp wins, whatever comes first."""

    def __init__(self, group: Group, pause_s: Callable[[], float]) -> None:
        """Begin empty; read each event after a while."""
        self.group = group
        self._pause_s = pause_s
        self.entries: dict[str, tuple[_Stamp, str]] = {}
        self.tombstones: dict[str, tuple[_Stamp, str, int]] = {}
        """By key: the stamp of its removal, who multicast that, and its number in this view."""
        self._wishes: list[tuple[str, str | None]] = []
        self._clock = 0
        self._view = 0

    def change(self, key: str, value: str | None) -> None:
        """Set a key, or remove it: as soon as everything before has been read."""
        self._wishes.append((key, value))

    async def live(self) -> None:
        """Read; look after garbage and wishes also while nothing comes."""
        looking = asyncio.ensure_future(self._look())
        async for event in self.group:
            if isinstance(event, View) and event.number != self._view:
                self._view = event.number
                self.tombstones.clear()  # all who are here have delivered the last view's messages
            elif isinstance(event, Message):
                self._apply(event)
            await self._tidy()
            await asyncio.sleep(self._pause_s())
        looking.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(0.005)
            await self._tidy()

    async def _tidy(self) -> None:
        group = self.group
        if not group.is_caught_up:
            return
        known = group.stability(delivered=True)
        for key, (_, sender, number) in list(self.tombstones.items()):
            if number <= known[sender]:
                del self.tombstones[key]
        if self._wishes:
            key, value = self._wishes.pop(0)
            stamp = (self._clock + 1, group.me)
            # Removals are quicker than what they remove: the worst case.
            order = Order.TOTAL if value is not None else Order.CAUSAL
            is_uniform = value is not None
            said = json.dumps([key, value, stamp]).encode()
            await group.multicast(said, order, uniform=is_uniform)

    def _apply(self, message: Message) -> None:
        key, value, (clock, author) = json.loads(message.payload)
        stamp = (clock, author)
        self._clock = max(self._clock, clock)
        before = max(
            self.entries.get(key, ((0, ""), ""))[0], self.tombstones.get(key, ((0, ""), "", 0))[0]
        )
        if stamp < before:
            return
        self.entries.pop(key, None)
        self.tombstones.pop(key, None)
        if value is not None:
            self.entries[key] = stamp, value
        else:
            self.tombstones[key] = stamp, message.sender, message.number


def run(seed: int, *, kill: bool = False) -> tuple[list[object], list[object], int]:
    """Let three change a dictionary at random; return what each has, its tombstones, how many."""
    random = Random(seed)
    with Cluster(seed, delay_s=(0.0001, 0.1)) as cluster:
        groups = cluster.found("dictionary", *NAMES, timing=TIMING)
        replicas = {
            name: SharedDictionary(group, lambda: random.choice((0.0, 0.0, 0.1)))
            for name, group in groups.items()
        }
        for name in NAMES:
            cluster[name].start(replicas[name].live())
        removals = 0
        for step in range(60):
            name = random.choice(NAMES if not kill or step < 30 else NAMES[:2])
            value = str(step) if random.random() < 0.5 else None
            removals += value is None
            replicas[name].change(random.choice(KEYS), value)
            cluster.advance(random.random() * 0.1)
            if kill and step == 30:
                cluster.kill("cleo")
        cluster.advance(10.0)
        cluster.check()
        living = [replicas[name] for name in (NAMES[:2] if kill else NAMES)]
        return (
            [dict(sorted(replica.entries.items())) for replica in living],
            [replica.tombstones for replica in living],
            removals,
        )


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_replicas_agree_and_keep_no_tombstone(seed: int, kill: bool) -> None:
    """Whatever comes in whatever order, all end with the same entries and without garbage."""
    entries, tombstones, removals = run(seed, kill=kill)
    assert all(one == entries[0] for one in entries)
    assert tombstones == [{}] * len(entries)
    assert removals > 20


def _received(group: Group, right: Callable[..., dict[str, int]]) -> dict[str, int]:
    return right(group)


def _is_always_caught_up(_group: Group) -> bool:
    return True


@pytest.mark.parametrize("mistake", ["received", "unread"])
def test_less_is_not_enough(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collected by receipts alone, or with messages unread, replicas come to differ somewhere."""
    if mistake == "received":
        right = Group.stability
        monkeypatch.setattr(Group, "stability", lambda group, **_: _received(group, right))
    else:
        monkeypatch.setattr(Group, "is_caught_up", property(_is_always_caught_up))
    outcomes = (run(seed)[0] for seed in range(120))
    assert any(one != entries[0] for entries in outcomes for one in entries)
