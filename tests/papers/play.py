"""What the tests of the papers share: small plays, and which planted bug each test must find.

Law: a claim is shown at the table of the golden conversations, command by command, or in simulated
worlds that the oracle judges. A test that names planted bugs (``catches``) has to fail with each of
them in place: ``test_claims_can_fail`` sees to that.
"""

from collections.abc import Callable
from functools import cache

from tests.golden.acts import Delivered, Installed, Sent
from tests.golden.language import Conversation
from tests.golden.wording import name_of, words

from antiphon.core.runs import PORT_ORDER, Letter, Run
from antiphon.sim.exploration import examine
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario, parse_scenario

Claim = Callable[[], None]

CAUGHT: list[tuple[Claim, str]] = []
"""The tests, each with a planted bug that it must find."""


def catches(*bugs: str) -> Callable[[Claim], Claim]:
    """Say which planted bugs make a test fail."""

    def note(claim: Claim) -> Claim:
        CAUGHT.extend((claim, bug) for bug in bugs)
        return claim

    return note


class Play(Conversation):
    """A conversation that a test holds, and asks about."""

    def do(self, *commands: str) -> list[str]:
        """Let things happen; return the lines about the last one."""
        lines: list[str] = []
        for command in commands:
            lines = self.tell(command)
        return lines

    def change_view(self, *, without: str = "") -> None:
        """Let the next view be agreed on and installed: without a process, or with x."""
        if without:
            self.do(f"{without} crashes", *self._suspicions(without))
        else:
            self.do("x joins through p")
        self.do("the rest happens")

    def _suspicions(self, dead: str) -> list[str]:
        others = [who for who, seat in self.table.seats.items() if seat.is_up and who != dead]
        return [f"{who} suspects {dead}" for who in others]

    def delivered(self, who: str) -> list[str]:
        """Return what a process has delivered, in order; without sets-order lists."""
        return [
            word
            for act in self.acts
            if isinstance(act, Delivered) and act.who == who and act.run.port != PORT_ORDER
            for word in words(act.run, self.table.views).split()
        ]

    def views(self, who: str) -> list[int]:
        """Return the numbers of the views that a process has installed."""
        return [
            act.view.number for act in self.acts if isinstance(act, Installed) and act.who == who
        ]

    def members(self, who: str) -> list[str]:
        """Return the members of the last view of a process."""
        view = self.table.seats[who].view
        return [str(member) for member in view.members] if view is not None else []

    def holds(self, who: str) -> list[str]:
        """Return what a process has received and not delivered."""
        return [words(held.run, self.table.views) for held in self.table.held(who)]

    def count(self, kind: str) -> int:
        """Return how many messages of a kind were sent, one by one."""
        return sum(
            len(act.to) for act in self.acts if isinstance(act, Sent) and name_of(act.item) == kind
        )

    def multicast_count(self) -> int:
        """Return how many runs were multicast."""
        return sum(
            isinstance(act, Sent) and isinstance(act.item, Run) and not isinstance(act.item, Letter)
            for act in self.acts
        )

    def broken_promises(self) -> list[str]:
        """Let the oracle judge; return what was broken."""
        self.do("the end")
        return list(self.broken)


# Worlds.


def findings(seeds: range, flush: str = "view-atomic") -> list[str]:
    """Return what goes wrong in the first of these random worlds in which something does."""
    for seed in seeds:
        if what := _finding(seed, flush):
            return [what]
    return []


@cache
def _finding(seed: int, flush: str) -> str:
    finding = examine(random_scenario(seed, flush))
    return finding.what if finding is not None else ""


def forget_worlds() -> None:
    """The machines have changed: what became of worlds so far is out of date."""
    _finding.cache_clear()


def world(text: str, flush: str = "view-atomic", *, orders: str = "causal") -> Scenario:
    """Return a world from its steps, in which nobody answers."""
    head = f"seed 1\nflush {flush}\nanswers 0\ndelay_us 300\norders {orders}\n"
    return parse_scenario(head + text)
