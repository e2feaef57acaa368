"""Paying: telling others what they wait for, neither too often nor too late.

Law: lists, confirmations and acknowledgements that somebody waits for leave when all that had
arrived is taken, so one message serves many; an acknowledgement that nobody waits for leaves a
little later, so it serves several letters. Nobody who reads too slowly acknowledges letters, but
replies, which no reader has to take.
"""

import asyncio
from typing import TYPE_CHECKING

from antiphon.stack.member import Member

if TYPE_CHECKING:
    from antiphon.net.life import Life

OWING_S_MAX = 0.005
"""How long an acknowledgement may wait that nobody has asked for."""


class Payer:
    """Pays for one life."""

    def __init__(self, life: "Life") -> None:
        """Owe nothing."""
        self._life = life
        self._is_due = False
        self._timer: asyncio.TimerHandle | None = None

    def look(self, member: Member) -> None:
        """Something has happened: see to it that whoever waits for this process is told."""
        if self._is_due or member.owes_nothing:
            return
        letters = member.letters
        if member.is_due or (
            letters.is_due and letters.is_payable(withhold=self._life.is_behind())
        ):
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._pay)
        elif letters.owed and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(OWING_S_MAX, self._pay_late)

    def stop(self) -> None:
        """Pay nobody any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _pay_late(self) -> None:
        self._timer = None
        member = self._life.member
        if member is not None and member.letters.owed:
            self._pay()

    def _pay(self) -> None:
        self._is_due = False
        self._life.pay()
