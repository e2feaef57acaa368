"""What came too early: messages of views that are agreed on, but not installed here yet.

Law: whatever is of a later view is kept until that view begins, in the order in which it came; who
it is from is checked then. No correct process multicasts much in a view that others still have to
install, because it cannot go on without them: so the bytes of each process are limited. Where
processes bring what others multicast (``dissemination``), the limit counts for each whose runs one
may bring.
"""

from typing import NamedTuple

from antiphon.core.control import Alive
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run

EARLY_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of one sender, by one process, kept of views that are not installed yet: more is no correct
process."""

SENDERS_UNKNOWN = 64
"""Of how many senders a process may bring runs while no view is known here."""

EARLY_ALIVE_MAX = 10_000

EARLY_RUN_BYTES = 256
"""What a run weighs beside its payload."""


class EarlyRun(NamedTuple):
    """A run, or a letter, with how it came."""

    peer: ProcessId
    run: Run
    relayed: bool
    arrival: int
    """Its place in the order of receipt, of all groups."""


class Early:
    """Runs, letters and signs of life of later views."""

    __slots__ = ("_alive", "_bytes", "runs")

    def __init__(self) -> None:
        """Nothing came yet."""
        self.runs: list[EarlyRun] = []
        """In order of receipt."""
        self._bytes: dict[ProcessId, int] = {}
        self._alive: dict[ProcessId, list[Alive]] = {}

    def keep(
        self, peer: ProcessId, run: Run, arrival: int, *, relayed: bool, senders: int = 1
    ) -> None:
        """Keep a run or a letter of a later view, received as number ``arrival`` of all.

        ``senders``: whose runs ``peer`` may bring, how many of them.
        """
        if self._bytes.get(peer, 0) + run.byte_count + EARLY_RUN_BYTES > senders * EARLY_BYTES_MAX:
            message = f"{peer} sends ever more of a view that is not installed here"
            raise PeerError(message)
        self.keep_again(EarlyRun(peer, run, relayed, arrival))

    def keep_again(self, early: EarlyRun) -> None:
        """Keep what was kept before, and is still early."""
        kept = self._bytes.get(early.peer, 0) + early.run.byte_count + EARLY_RUN_BYTES
        assert kept > 0, "what is kept weighs something"
        self._bytes[early.peer] = kept
        self.runs.append(early)

    def keep_alive(self, peer: ProcessId, alive: Alive) -> None:
        """Keep a sign of life of a later view."""
        kept = self._alive.setdefault(peer, [])
        if len(kept) >= EARLY_ALIVE_MAX:
            message = f"{peer} speaks ever more of a view that is not installed here"
            raise PeerError(message)
        kept.append(alive)

    def count_of(self, peer: ProcessId, view_number: int) -> int:
        """Return how many messages a process has sent of a later view, as far as they came."""
        runs = (one.run for one in self.runs if one.peer == peer and not one.relayed)
        of_view = (run.last for run in runs if run.view == view_number and type(run) is not Letter)
        return max(of_view, default=0)

    def count_from(self, rank: int, view_number: int) -> int:
        """Return how many messages of a member of a later view have come, whoever brought them."""
        runs = (one.run for one in self.runs if one.run.view == view_number)
        of_member = (run.last for run in runs if run.sender == rank and type(run) is not Letter)
        return max(of_member, default=0)

    def take_runs(self) -> list[EarlyRun]:
        """Hand over the runs and letters; those still early are kept again."""
        taken, self.runs, self._bytes = self.runs, [], {}
        return taken

    def take_alive(self) -> list[tuple[ProcessId, list[Alive]]]:
        """Hand over the signs of life, by process."""
        taken, self._alive = self._alive, {}
        return list(taken.items())
