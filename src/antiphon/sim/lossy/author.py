"""Random worlds of causal blocks: what is done to them, and whether they kept their promises.

Law: a world is a function of its seed. Channels lose up to two of five datagrams, repeat and
reorder them; some processes hear nothing for a while; some crash, at random or just after their
message has reached one other, or are suspected while they live; messages have priorities and
lifetimes; buffers and windows are small in many worlds; in some, processes have no room for a
while, and who waits to be admitted sends nothing then. A world fails if a machine raises an error,
if the oracle or ``checks`` find a broken promise, or if, after all has been done, the living do not
come to deliver the same within ``_REST_PERIODS`` null periods, and then to rest, where they may.
"""

from random import Random

from antiphon.core.errors import AntiphonError
from antiphon.ordering.blocks.messages import BlockMessage
from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.sim.lossy.checks import BlockChecks
from antiphon.sim.lossy.network import LossOptions
from antiphon.sim.lossy.world import LossyNode, LossyWorld
from antiphon.trace.schema import Event

_NULL_US = 20_000
_REST_PERIODS = 600
_ANSWER_PERIODS = 4
_SUSPICION_US = 60_000
_PAUSES_US = (0, 0, 100, 1_000, 5_000, 40_000)
_MESSAGES_MAX = 120
"""So that answers to answers come to an end."""


def examine_blocks(seed: int) -> str:
    """Live through the world of ``seed``; say what went wrong, if anything did."""
    return survey_blocks(seed)[0]


def survey_blocks(seed: int) -> tuple[str, list[Event]]:
    """Live through the world of ``seed``; say what went wrong, and give its trace."""
    author = BlockAuthor(seed)
    try:
        said = author.live()
    except (AntiphonError, AssertionError, IndexError, KeyError, ValueError) as error:
        said = f"at {author.world.now_us} us: {type(error).__name__}: {error}"
    return said, author.world.events


class BlockAuthor:
    """Does random things to one group."""

    def __init__(self, seed: int) -> None:
        """Found a group."""
        self.random = random = Random(f"{seed}/blocks")
        size = random.choice((2, 3, 3, 3, 4, 4, 5, 6))
        settings = BlockSettings(
            null_us=_NULL_US,
            delay_us_max=random.choice((0, 4_000, 10_000)),
            settle_us=random.choice((None, 3_000, 12_000)),
            rests=random.random() < 0.7,
            at_once=random.choice((1, 2, 8)),
            counts_receipts=random.random() < 0.8,
            report_every=random.choice((1, 4, 16)),
            window=random.choice((1, 2, 4, 64)),
            waiting_max=random.choice((1, 2, 3, 4_096, 4_096)),
        )
        options = LossOptions(
            loss=random.choice((0.0, 0.05, 0.2, 0.4)),
            duplication=random.choice((0.0, 0.1, 0.3)),
            reordering=random.choice((0.0, 0.2, 0.6)),
        )
        self.world = LossyWorld(f"{seed}", size, settings, options)
        self.checks = BlockChecks(self.world)
        self.world.on_deliver = self._on_deliver
        self.deaf: set[int] = set()
        self.reach: int | None = None
        """The only process that hears what is sent at this moment, if there is such a one."""
        self.world.network.drops = self._drops
        self.answers = random.choice((0.0, 0.2, 0.5))
        self.lifetimes = random.choice((0.0, 0.0, 0.5))
        self.crashes_left = random.choice((0, 0, 1, 2, size - 2))
        self.count = 0
        self._readers = Random(f"{seed}/readers")
        self._lag = self._readers.choice((0.0, 0.0, 0.1, 0.3))
        self.behind: set[int] = set()

    def live(self) -> str:
        """Do some things, and look what becomes of it."""
        for _ in range(self.random.randint(8, 40)):
            self.world.run(self.random.choice(_PAUSES_US))
            self._act()
        self.deaf.clear()
        for rank in sorted(self.behind):
            self._read(rank)
        unsettled = ""
        self.world.run(2 * _SUSPICION_US + 100_000)
        for _ in range(_REST_PERIODS):
            self.world.run(_NULL_US)
            unsettled = self.checks.say_unsettled()
            if not unsettled:
                break
        noisy = "" if unsettled else self._say_noisy()
        return self.checks.wrong or self.checks.judge() or unsettled or noisy

    def _say_noisy(self) -> str:
        """Say who goes on speaking after all is known to all."""
        settings = self.world.settings
        if not settings.rests or settings.settle_us is None:
            return ""
        self.world.run(_ANSWER_PERIODS * _NULL_US)
        before = self.world.network.sent
        self.world.run(_ANSWER_PERIODS * _NULL_US)
        count = self.world.network.sent - before
        return f"{count} datagrams are sent though all is known to all" if count else ""

    def _read(self, rank: int) -> None:
        """Let a process have no room for more from now on; or have it again."""
        is_behind = rank not in self.behind
        self.behind ^= {rank}
        self.world.lag(rank, len(self.world.posted), is_behind=is_behind)

    def _act(self) -> None:
        if self._readers.random() < self._lag:
            self._read(self._readers.randrange(len(self.world.nodes)))
        kind, rank = self.random.random(), self.random.randrange(len(self.world.nodes))
        if kind < 0.08:
            self.deaf = {rank} if rank not in self.deaf else set()
        elif kind < 0.16 and self._may_crash(rank):
            self._crash(rank)
        else:
            for _ in range(self.random.choice((1, 1, 2, 5))):
                self._speak(rank)

    def _may_crash(self, rank: int) -> bool:
        node, living = self.world.nodes[rank], self.world.living
        return self.crashes_left > 0 and len(living) > 2 and node.is_up

    def _crash(self, rank: int) -> None:
        """Crash a process, often at the worst moment; or have it suspected first."""
        self.crashes_left -= 1
        kind = self.random.random()
        if kind < 0.5:
            others = [node.rank for node in self.world.living if node.rank != rank]
            self.reach = self.random.choice(others)
            self._speak(rank)
            self.reach = None
        elif kind < 0.75:
            self.world.suspect(rank, _SUSPICION_US)
            self.world.run(self.random.randint(0, _SUSPICION_US))
        self.world.crash(rank, _SUSPICION_US)

    def _speak(self, rank: int) -> None:
        is_held_up = self._lag and not self.world.nodes[rank].machine.window.is_open
        if len(self.world.posted) < _MESSAGES_MAX and not is_held_up:
            self.count += 1
            is_mortal = self.random.random() < self.lifetimes
            self.world.multicast(
                rank,
                b"%d" % self.count,
                priority=self.random.randint(0, 7),
                lifetime_us=self.random.choice((1, 3_000, 60_000, 150_000)) if is_mortal else None,
            )

    def _on_deliver(self, node: LossyNode, message: BlockMessage) -> None:
        self.checks.note(node, message)
        if message.sender != node.rank and self.random.random() < self.answers:
            self.world.scheduler.at(self.world.now_us, self._speak, node.rank)

    def _drops(self, _source: int, target: int, _data: bytes) -> bool:
        return target in self.deaf or (self.reach is not None and target != self.reach)
