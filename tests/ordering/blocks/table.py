"""Machines of causal blocks around a table: who hears what is said by the test, not by dice.

Law: channels are instant. What is said reaches those whom the test does not except; random delays
are the shortest possible, so time passes in null periods only.
"""

from collections.abc import Collection

from antiphon.ordering.blocks.machine import CausalBlocks
from antiphon.ordering.blocks.messages import (
    BlockEffect,
    BlockMessage,
    DeliverBlock,
    TransmitBlock,
)
from antiphon.ordering.blocks.settings import BlockSettings

NULL_US = 1_000_000

SETTINGS = BlockSettings(null_us=NULL_US, delay_us_max=0, settle_us=None, at_once=1, window=16)


class Table:
    """Some machines, by the letters p, q, r, s."""

    def __init__(self, names: str = "pqr", settings: BlockSettings = SETTINGS) -> None:
        """Sit down."""
        self.names = names
        self.now_us = 0
        self.machines = {
            name: CausalBlocks(len(names), rank, settings, lambda _top: 0)
            for rank, name in enumerate(names)
        }
        self.delivered: dict[str, list[str]] = {name: [] for name in names}
        self.sent: list[tuple[str, BlockMessage, bool]] = []
        """Who sent what, and whether again."""
        self.dead = ""
        self.deaf: Collection[str] = ""
        """Who hears nothing that is repeated."""

    def say(
        self, who: str, text: str, lost_at: str = "", lifetime_us: int | None = None
    ) -> BlockMessage:
        """Multicast a message, which does not reach some."""
        machine = self.machines[who]
        effects = machine.multicast(text.encode(), self.now_us, lifetime_us=lifetime_us)
        self._do(who, effects, lost_at)
        return next(each.message for each in effects if isinstance(each, TransmitBlock))

    def hear(self, who: str, message: BlockMessage, source: str = "") -> None:
        """Let a copy come to somebody, from its sender if not from another."""
        rank = self.names.index(source) if source else message.sender
        self._do(who, self.machines[who].receive(message, rank, self.now_us))

    def suspect(self, dead: str) -> None:
        """Somebody is dead, and all know."""
        self.dead += dead
        for who in self.living:
            self.machines[who].suspect(self.names.index(dead), self.now_us)
            self._settle(who)

    @property
    def living(self) -> list[str]:
        """Who is not dead."""
        return [name for name in self.names if name not in self.dead]

    def pass_period(self, lost_at: str = "") -> None:
        """Let a null period pass; null messages, and what is repeated, do not reach some."""
        self.now_us += NULL_US
        for who in self.living:
            self._do(who, self.machines[who].wake(self.now_us), lost_at)

    def periods_until(self, who: str, text: str, most: int = 8) -> int:
        """Return after how many null periods somebody has delivered a message."""
        for count in range(most + 1):
            if text in self.delivered[who]:
                return count
            self.pass_period()
        return most + 1

    def _do(self, who: str, effects: list[BlockEffect], lost_at: str = "") -> None:
        for effect in effects:
            if isinstance(effect, DeliverBlock):
                message = effect.message
                self.delivered[who].append(
                    "-" if message.is_void else bytes(message.payload).decode()
                )
            else:
                self._send(who, effect, lost_at)
        self._settle(who)

    def _send(self, who: str, effect: TransmitBlock, lost_at: str) -> None:
        self.sent.append((who, effect.message, effect.is_repeated))
        for other in self.living:
            is_deaf = effect.is_repeated and other in self.deaf
            if other != who and other not in lost_at and not is_deaf:
                machine = self.machines[other]
                rank = self.names.index(who)
                self._do(other, machine.receive(effect.message, rank, self.now_us))

    def _settle(self, who: str) -> None:
        """Do what is due at once: what is to be repeated."""
        machine = self.machines[who]
        while machine.due_us <= self.now_us:
            self._do(who, machine.wake(self.now_us))

    @property
    def repeated(self) -> list[tuple[str, str]]:
        """Who repeated what."""
        return [
            (who, bytes(message.payload).decode())
            for who, message, is_repeated in self.sent
            if is_repeated and not message.is_null
        ]
