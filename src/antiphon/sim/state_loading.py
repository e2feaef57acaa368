"""The group's state at a simulated process: saved for a joiner, loaded piece by piece.

Law: the machine is that of the real network. The replica is what the state is of; loading a piece
takes a while.
"""

from functools import partial
from random import Random
from typing import Protocol

from antiphon.sim.replica import Replica
from antiphon.sim.surroundings import Surroundings
from antiphon.stack.effects import ExpectState, LoadChunk, SaveState
from antiphon.stack.inputs import Input, PieceLoaded, StateSaved
from antiphon.stack.questions import Questions

_LOAD_US = 4_000


class LoadingOwner(Protocol):
    """The process whose state it is."""

    def give(self, happened: Input) -> None:
        """Give an input to its machine."""

    def act_later(self, delay_us: int, action: "partial[None]") -> None:
        """Do something after a while, if it lives then."""


class StateLoading:
    """One incarnation's part in state transfer."""

    def __init__(
        self,
        owner: LoadingOwner,
        around: Surroundings,
        replica: Replica,
        random: Random,
        endpoint: Questions,
    ) -> None:
        """Ask ``endpoint`` whether all has been loaded."""
        self._owner = owner
        self._around = around
        self._replica = replica
        self._random = random
        self._endpoint = endpoint

    @property
    def has_state(self) -> bool:
        """Whether the process has got the group's state, where there is one."""
        return self._endpoint.has_state

    def do(self, effect: SaveState | ExpectState | LoadChunk) -> None:
        """Do what the machine says."""
        match effect:
            case SaveState(number):
                self._owner.give(StateSaved(number, self._replica.save()))
            case ExpectState(number):
                self._replica.expect(number)
            case LoadChunk():
                delay_us = int(self._random.random() * _LOAD_US)
                self._owner.act_later(delay_us, partial(self._load, effect))

    def _load(self, chunk: LoadChunk) -> None:
        self._around.mark("transfer")
        self._replica.load(chunk.number, chunk.data)
        self._owner.give(PieceLoaded(chunk.number))
        if self.has_state and not self._replica.has_state:
            self._replica.finish()
