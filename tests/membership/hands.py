"""What the tests of membership share: names, views, and machines held in the hand.

Law: nothing here decides anything; a test says in full what happens to its machine.
"""

from collections.abc import Container
from dataclasses import dataclass, field

from antiphon.core.control import AnyMessage, Decide, Install
from antiphon.core.ids import GroupName, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run, Stamp
from antiphon.core.views import View
from antiphon.membership.effects import DeliverRuns, Effect, Outbox, RelayRuns, SendControl
from antiphon.stack.member import Member
from antiphon.stack.receiver import GROUP
from antiphon.stack.settings import Settings

A, B, C, D, E = (ProcessId(name, address=f"at {name}") for name in "abcde")
X, Y = (ProcessId(name, address=f"at {name}") for name in "xy")

Effects = list[Effect]


def view_of(
    *members: ProcessId,
    number: int = 1,
    joined: tuple[ProcessId, ...] = (),
    left: tuple[ProcessId, ...] = (),
    failed: tuple[ProcessId, ...] = (),
    stateless: tuple[ProcessId, ...] = (),
) -> View:
    """Return a view."""
    return View(
        GroupName("g"), ViewNumber(number), members, joined, left, failed, stateless
    )  # fmt: skip


def run_of(
    sender: int, first: int, *, view: int = 1, count: int = 1, stamp: Stamp = (), data: bytes = b"."
) -> Run:
    """Return a run of one-byte messages."""
    return Run(
        GROUP, ViewNumber(view), Rank(sender), first, Order.CAUSAL, stamp, [data] * count
    )  # fmt: skip


def sent(effects: list[Effect]) -> list[tuple[ProcessId, AnyMessage]]:
    """Return the control messages among effects, one by one, with whom they go to."""
    return [
        (process, effect.message)
        for effect in effects
        if isinstance(effect, SendControl)
        for process in effect.to
    ]


def relayed(effects: list[Effect]) -> list[tuple[ProcessId, Run]]:
    """Return the relayed runs among effects, one by one, with whom they go to."""
    return [
        (process, run)
        for effect in effects
        if isinstance(effect, RelayRuns)
        for process in effect.to
        for run in effect.runs
    ]


@dataclass
class Shelf:
    """Copies as a flush sees them (``transition.Copies``), put there by a test."""

    counts: list[int] = field(default_factory=list)
    by_rank: dict[int, list[Run]] = field(default_factory=dict)
    elsewhere: list[Run] = field(default_factory=list)
    has_spoken: bool = False

    def say_last_words(self) -> None:
        """Note that there was a chance to."""
        self.has_spoken = True

    def received(self) -> list[int]:
        """Return what the test says was received."""
        return list(self.counts)

    def unstable(self, rank: int) -> list[Run]:
        """Return the runs that the test put there."""
        return list(self.by_rank.get(rank, []))

    def unstable_in_order(self) -> list[Run]:
        """Return all of them."""
        return [run for runs in self.by_rank.values() for run in runs]

    def unstable_elsewhere(self, staying: Container[ProcessId]) -> list[Run]:
        """Return the runs of other views that the test put there."""
        return list(self.elsewhere)


def member(me: ProcessId, view: View | None, flush: str = "view-atomic", now_us: int = 0) -> Member:
    """Return a member at the beginning of its life; what it does first is done."""
    machine = Member(me, view, Settings(flush=flush), now_us)
    machine.take_effects()
    return machine


def outbox(me: ProcessId) -> Outbox:
    """Return an empty box of effects."""
    return Outbox(me)


def delivered(effects: Effects) -> list[tuple[int, int]]:
    """Return the runs delivered: sender's rank and first number."""
    return [
        (run.sender, run.first)
        for effect in effects
        if isinstance(effect, DeliverRuns)
        for run in effect.runs
    ]


def kinds(effects: Effects) -> list[str]:
    """Return the names of effects."""
    return [type(effect).__name__ for effect in effects]


def permit(machine: Member, view: View, now_us: int = 0) -> Effects:
    """Let a view be agreed on and permitted."""
    effects = machine.take_control(A, Decide((view,)), now_us)
    return effects + machine.take_control(A, Install(view.number), now_us)
