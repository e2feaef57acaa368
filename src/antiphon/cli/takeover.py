"""``antiphon takeover``: have a survivor go on alone where a majority is gone for good."""

import asyncio
import getpass
import re
from typing import Annotated

import typer

from antiphon.cli.screen import output
from antiphon.core.control import Situation
from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name
from antiphon.core.views import say_number
from antiphon.net.process.override import STATUS, TAKE_OVER, consult
from antiphon.net.transport.address import parse_address


def takeover(
    address: Annotated[str, typer.Argument(help="Where the survivor listens, as host:port.")],
    group: Annotated[str, typer.Option(help="The name of the group.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether you are sure.")] = False,
) -> None:
    """Have a process that has lost the majority of its group go on alone.

    Only if the members that it misses are gone for good: not slow, not cut off. Otherwise whatever
    they did meanwhile is lost, and they are out as soon as they hear of it. The process makes the
    next view by itself, of a new lineage, and takes others in again, with the state that it has.

    Shows first what the process holds, and asks. It must be blocked, and on this machine unless it
    was started with insecure=True. docs/lost-majority.md, where Antiphon's source is, says when
    this is safe and what is lost.

    Exit status: 0 it has taken over, 1 it was not told to, 2 it cannot, or does not answer.
    """
    parse_address(address)
    check_name(group, "group name")
    who = _operator()
    before = asyncio.run(consult(address, group, STATUS, 0, who))
    _print(before, group)
    if before.obstacle:
        message = f"{before.process} cannot take over: {before.obstacle}"
        raise UsageError(message)
    missing = ", ".join(before.missing)
    if not yes and not typer.confirm(f"Are {missing} gone for good?"):
        raise typer.Exit(1)
    after = asyncio.run(consult(address, group, TAKE_OVER, before.number, who))
    if after.obstacle:
        raise UsageError(after.obstacle)
    output.print(
        f"{after.process} goes on alone, in {say_number(after.number)}: have the others join again",
        markup=False,
    )


def _print(situation: Situation, group: str) -> None:
    """Show what a process holds."""
    lines = [f"{situation.process} in group {group}"]
    if situation.number:
        lines += [
            f"  last view agreed on: {say_number(situation.number)}",
            f"  its members: {', '.join(situation.members)}",
            f"  out of its reach: {', '.join(situation.missing) or 'nobody'}",
            f"  runs that it holds back, for want of others: {situation.held}",
            f"  transactions that are open: {situation.undecided}",
        ]
    for line in lines:
        output.print(line, markup=False, highlight=False, soft_wrap=True)


def _operator() -> str:
    """Return who gives the order, as a name that a handshake can carry."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = ""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:64] or "operator"
