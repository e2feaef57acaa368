"""The operator's override: have a process that has lost its majority take the group over.

Law: it is an order, of the process's own program or of an operator on the same machine, to one
process that is blocked; nothing here happens by itself. What it is based on is said before; what
it does is logged as a warning, with who ordered it and what was undecided (docs/lost-majority.md).
"""

import logging

from antiphon.core.control import Situation
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.core.views import LINEAGE_STEP_MAX, say_number
from antiphon.net.group.local_group import LocalGroup
from antiphon.net.session.probe import probe
from antiphon.net.stream.events import View
from antiphon.net.transport.environment import Environment, current_environment
from antiphon.stack.inputs import TakeOverRequested

ANSWER_S = 5.0
"""How long a process may take to answer an operator."""

STATUS, TAKE_OVER = "status", "takeover"
"""What an operator can ask for."""

_log = logging.getLogger("antiphon")


async def take_over(local_group: LocalGroup, who: str, environment: Environment) -> View:
    """Have a process take its group over; return its view."""
    _begin(local_group, who, environment)
    while (view := local_group.view) is None or not view.primary:
        local_group.raise_error()
        await local_group.notifier.until_notified()
    return view


def serve(
    local_group: LocalGroup, order: str, number: int, who: str, environment: Environment
) -> Situation:
    """Do what an operator orders; return how the process stands then."""
    obstacle = ""
    if order == TAKE_OVER:
        obstacle = _obey(local_group, number, f"an operator, {who}", environment)
    elif order != STATUS:
        obstacle = f"it knows no order {order!r:.40}"
    situation = _situation(local_group)
    if order == TAKE_OVER or obstacle:
        return _with_obstacle(situation, obstacle)
    return situation


def _obey(local_group: LocalGroup, number: int, who: str, environment: Environment) -> str:
    """Have a process take over that is still in view ``number``; return why it does not."""
    if number != _situation(local_group).number:
        return f"{local_group.name} is in another view by now: look again"
    try:
        _begin(local_group, who, environment)
    except UsageError as error:
        return str(error)
    return ""


def _begin(local_group: LocalGroup, who: str, environment: Environment) -> None:
    local_group.raise_error()
    endpoint = local_group.endpoint
    if endpoint is None or endpoint.latest is None:
        raise UsageError(local_group.admission.say_outside())
    if why := endpoint.member.membership.takeover.obstacle:
        message = f"{local_group.name} cannot take group {endpoint.latest.group} over: {why}"
        raise UsageError(message)
    before = _situation(local_group)
    step = 1 + environment.draw_start() % LINEAGE_STEP_MAX  # two that take over must differ
    local_group.give(TakeOverRequested(step))
    _log.warning(
        "%s has taken group %s over, by order of %s: it goes on alone in %s, without %s, whom it "
        "missed in %s; %s; transactions that were open: %d",
        local_group.name, endpoint.latest.group, who, say_number(endpoint.latest.number),
        ", ".join(before.missing), say_number(before.number), _say_held(before.held),
        before.undecided,
    )  # fmt: skip


def _say_held(count: int) -> str:
    """Say what becomes of runs of messages that were held back when a process took over."""
    if not count:
        return "it held nothing back"
    runs = "run" if count == 1 else "runs"
    return f"of {count} {runs} of messages that it held back, what lacks an earlier message is lost"


def _situation(local_group: LocalGroup) -> Situation:
    endpoint = local_group.endpoint
    latest = endpoint.latest if endpoint is not None else None
    if endpoint is None or latest is None:
        return Situation(
            local_group.name,
            0,
            (),
            (),
            is_blocked=False,
            obstacle=local_group.admission.say_outside(),
        )
    membership, commit = endpoint.member.membership, endpoint.ports.commit
    suspected = [str(who) for who in membership.suspected if who in latest.members]
    return Situation(
        local_group.name, latest.number, tuple(map(str, latest.members)), tuple(suspected),
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
    handshake = Handshake(group, "", asker, 0, number, is_asking=True, order=order)
    try:
        transport = current_environment().transport
        answer = await probe(transport, address, encode_hello(0, handshake), ANSWER_S)
    except (OSError, PeerError) as error:
        message = (
            f"{address} does not answer ({str(error) or type(error).__name__}): is it running?"
        )
        raise UsageError(message) from None
    if answer.handshake.group != group:
        other = answer.handshake.group
        where = f"in group {other}, not {group}" if other else f"not in group {group}"
        message = f"{address} is {where}: give the name of a group that it is in"
        raise UsageError(message)
    if not isinstance(answer.said, Situation):
        message = (
            f"{address} does not answer operators from here: run this on the same machine, and "
            "the same version"
        )
        raise UsageError(message)
    return answer.said
