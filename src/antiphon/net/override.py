"""The operator's override: have a process that has lost its majority take the group over.

Law: it is an order, of the process's own program or of an operator on the same machine, to one
process that is blocked; nothing here happens by itself. What it is based on is said before; what
it does is logged as a warning, with who ordered it and what was undecided (docs/lost-majority.md).
"""

import logging
import os
from typing import Protocol

from antiphon.core.control import Situation
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.core.greeting import Greeting
from antiphon.core.ids import ProcessId
from antiphon.core.views import LINEAGE_STEP_MAX, say_number
from antiphon.net.asking import ask
from antiphon.net.stream import View
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import Input, TakeOverRequested

ANSWER_S = 5.0
"""How long a process may take to answer an operator."""

STATUS, TAKE_OVER = "status", "takeover"
"""What an operator can ask for."""

_log = logging.getLogger("antiphon")


class Owner(Protocol):
    """The process in question."""

    view: View | None

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def endpoint(self) -> Endpoint | None:
        """Its machine in the group, if it has one."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine."""

    def raise_error(self) -> None:
        """Raise what has ended its part in the group, if anything has."""

    def say_outside(self) -> str:
        """Say that it is not in its group."""

    async def until_changed(self) -> None:
        """Wait until something has happened."""


async def take_over(owner: Owner, who: str) -> View:
    """Have a process take its group over; return its view."""
    _begin(owner, who)
    while (view := owner.view) is None or not view.primary:
        owner.raise_error()
        await owner.until_changed()
    return view


def serve(owner: Owner, order: str, number: int, who: str) -> Situation:
    """Do what an operator orders; return how the process stands then."""
    obstacle = ""
    if order == TAKE_OVER:
        obstacle = _obey(owner, number, f"an operator, {who}")
    elif order != STATUS:
        obstacle = f"it knows no order {order!r:.40}"
    situation = _situation(owner)
    if order == TAKE_OVER or obstacle:
        return _with_obstacle(situation, obstacle)
    return situation


def _obey(owner: Owner, number: int, who: str) -> str:
    """Have a process take over that is still in view ``number``; return why it does not."""
    if number != _situation(owner).number:
        return f"{owner.name} is in another view by now: look again"
    try:
        _begin(owner, who)
    except UsageError as error:
        return str(error)
    return ""


def _begin(owner: Owner, who: str) -> None:
    owner.raise_error()
    endpoint = owner.endpoint
    if endpoint is None or endpoint.latest is None:
        raise UsageError(owner.say_outside())
    if why := endpoint.member.membership.takeover.obstacle:
        message = f"{owner.name} cannot take group {endpoint.latest.group} over: {why}"
        raise UsageError(message)
    before = _situation(owner)
    # From the operating system, and from no seed: two that take over must differ.
    step = 1 + int.from_bytes(os.urandom(8)) % LINEAGE_STEP_MAX  # noqa: TID251 - see above
    owner.give(TakeOverRequested(step))
    _log.warning(
        "%s has taken group %s over, by order of %s: it goes on alone in %s, without %s, whom it "
        "missed in %s; %d runs that it held back are lost or delivered, %d transactions were open",
        owner.name, endpoint.latest.group, who, say_number(endpoint.latest.number),
        ", ".join(before.missing), say_number(before.number), before.held, before.undecided,
    )  # fmt: skip


def _situation(owner: Owner) -> Situation:
    endpoint = owner.endpoint
    latest = endpoint.latest if endpoint is not None else None
    if endpoint is None or latest is None:
        return Situation(owner.name, 0, (), (), is_blocked=False, obstacle=owner.say_outside())
    membership, commit = endpoint.member.membership, endpoint.ports.commit
    suspected = [str(who) for who in membership.suspected if who in latest.members]
    return Situation(
        owner.name, latest.number, tuple(map(str, latest.members)), tuple(suspected),
        membership.is_blocked, membership.takeover.obstacle, endpoint.queue_depth,
        commit.open_count if commit is not None else 0,
    )  # fmt: skip


def _with_obstacle(situation: Situation, obstacle: str) -> Situation:
    return Situation(
        situation.process, situation.number, situation.members, situation.missing,
        situation.is_blocked, obstacle, situation.held, situation.undecided,
    )  # fmt: skip


async def consult(address: str, group: str, order: str, number: int, who: str) -> Situation:
    """Ask a process, as an operator, how it stands in a group; or order it something."""
    asker = ProcessId(who, 0)
    greeting = Greeting(group, "", asker, 0, number, is_asking=True, order=order)
    try:
        answer = await ask(address, encode_hello(0, greeting), ANSWER_S)
    except (OSError, PeerError) as error:
        message = (
            f"{address} does not answer ({str(error) or type(error).__name__}): is it running?"
        )
        raise UsageError(message) from None
    if answer.greeting.group != group:
        message = f"{address} is in group {answer.greeting.group}, not {group}: give its name"
        raise UsageError(message)
    if not isinstance(answer.said, Situation):
        message = (
            f"{address} does not answer operators from here: run this on the same machine, and "
            "the same version"
        )
        raise UsageError(message)
    return answer.said
