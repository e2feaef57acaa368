"""What a process is told about its group before it starts, checked.

Law: every mistake that can be seen without opening anything is said at once, in one sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, ProcessId, ViewNumber, check_name
from antiphon.core.records import MEMBERS_MAX
from antiphon.core.views import View
from antiphon.net.application.checking import (
    check_flags,
    check_members,
    check_names,
    check_place,
    check_seconds,
    check_seeds,
    check_state,
)
from antiphon.net.application.state import State
from antiphon.net.transport.address import Address, check_insecure, parse_address
from antiphon.net.transport.environment import SYSTEM, Environment
from antiphon.stack.settings import Settings

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to refuse it


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a process is to take part."""

    group: str
    me: str
    address: Address
    founding: View | None
    """The first view, if this process is one of several founding members."""
    seeds: tuple[str, ...]
    settings: Settings
    state: State | None = None
    trace: Path | None = None
    connect_s: float = 10.0
    drain_s: float = 5.0
    insecure: bool = False
    rejoin: bool = False
    delay_s_max: float = 0.0
    """Slowness of the links, to give causal order something to do on one machine."""
    environment: Environment = SYSTEM
    """Network, clock, dice and journal."""

    def __post_init__(self) -> None:
        """Refuse what is of the wrong kind."""
        check_state(self.state)
        check_flags(insecure=self.insecure, rejoin=self.rejoin)
        check_seconds("connect_s", self.connect_s)
        check_seconds("drain_s", self.drain_s, is_zero_fine=True)


def founding_view(group: str, me: str, members: Mapping[str, str]) -> tuple[View, Address]:
    """Return the first view of a group that is founded together, and this process's address."""
    if me not in members:
        message = f"{me} is no member of group {group}: add it to the members"
        raise UsageError(message)
    if len(members) > MEMBERS_MAX:
        message = f"a group has at most {MEMBERS_MAX} members, not {len(members)}"
        raise UsageError(message)
    addresses = {check_name(name, "member name"): parse_address(members[name]) for name in members}
    processes = tuple(ProcessId(name, address=str(addresses[name])) for name in addresses)
    return View(GroupName(group), ViewNumber(1), processes), addresses[me]


def configure(
    group: str,
    me: str,
    members: Mapping[str, str] | None,
    at: str | None,
    seeds: Sequence[str],
    *,
    insecure: bool,
) -> tuple[View | None, Address, tuple[str, ...]]:
    """Return the founding view, the own address and the seeds; refuse what makes no sense."""
    check_names(group=group, me=me)
    check_name(group, "group name")
    check_name(me, "member name")
    check_seeds(seeds)
    if (members is None) == (at is None):
        message = "give members, with an address for each, or at, the address of this process"
        raise UsageError(message)
    if members is not None:
        if seeds:
            message = "founding members need no seeds: give members, or at and seeds"
            raise UsageError(message)
        check_members(members)
        view, address = founding_view(group, me, members)
        known = {member.name: parse_address(member.address) for member in view.members}
        check_insecure(known, insecure=insecure)
        return view, address, ()
    assert at is not None, "one of the two is given"
    check_place("at", at)
    address = parse_address(at, port_min=0)
    places = {f"seed {seed}": parse_address(seed) for seed in seeds}
    check_insecure({me: address} | places, insecure=insecure)
    if address.host in _EVERYWHERE:
        message = f"the others cannot reach {address}: give an address of this machine"
        raise UsageError(message)
    return None, address, tuple(map(str, places.values()))
