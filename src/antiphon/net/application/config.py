"""What a process is told about its group before it starts, checked.

Law: every mistake that can be seen without opening anything is said at once, in one sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, ProcessId, ViewNumber, check_name
from antiphon.core.records import MEMBERS_MAX
from antiphon.core.views import View
from antiphon.membership.bootstrap import PLACES_MAX
from antiphon.net.application.causal_domain import CausalDomain
from antiphon.net.application.checking import (
    check_flags,
    check_members,
    check_names,
    check_place,
    check_seconds,
    check_seeds,
    check_state,
)
from antiphon.net.application.datagrams import Datagrams
from antiphon.net.application.state import State
from antiphon.net.transport.address import Address, check_insecure, parse_address
from antiphon.net.transport.environment import SYSTEM, Environment
from antiphon.stack.settings import Settings

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to refuse it


class Ways(NamedTuple):
    """How a process gets into its group."""

    address: Address
    """Where it listens."""
    advertised: Address | None = None
    """Where the others find it, if that is not the same."""
    founding: View | None = None
    """The first view, if this process is one of several founding members."""
    seeds: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """All places that found the group together, if it does not run: this one included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a process is to take part."""

    group: str
    me: str
    ways: Ways
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
    domain: CausalDomain | None = None
    """The causality domain of the group; None: one of its own."""
    datagrams: Datagrams | None = None
    """How it sends and receives datagrams, if the process is in this group alone."""

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
    advertise: str | None = None,
    found: bool = False,
) -> Ways:
    """Return the way in; refuse what makes no sense."""
    check_names(group=group, me=me)
    check_name(group, "group name")
    check_name(me, "member name")
    check_seeds(seeds)
    check_flags(found=found, insecure=insecure)
    if at is not None:
        check_place("at", at)
    if advertise is not None:
        check_place("advertise", advertise)
    if members is not None:
        if seeds or found or advertise is not None:
            message = (
                "founding members need no seeds, nor found or advertise: give members, and at if "
                "this process listens elsewhere, or at and seeds"
            )
            raise UsageError(message)
        return _among_members(group, me, members, at, insecure=insecure)
    if at is None:
        message = "give members, with an address for each, or at, the address of this process"
        raise UsageError(message)
    return _by_seeds(me, at, seeds, insecure=insecure, advertise=advertise, found=found)


def _by_seeds(
    me: str, at: str, seeds: Sequence[str], *, insecure: bool, advertise: str | None, found: bool
) -> Ways:
    address = parse_address(at, port_min=0)
    advertised = parse_address(advertise) if advertise is not None else None
    places = {f"seed {seed}": parse_address(seed) for seed in seeds}
    check_insecure({me: address} | places, insecure=insecure)
    if (advertised or address).host in _EVERYWHERE:
        message = (
            f"the others cannot reach {advertised or address}: give an address of this machine, or "
            "advertise one"
        )
        raise UsageError(message)
    if advertised is not None:
        check_insecure({me: advertised}, insecure=insecure)
    known = tuple(dict.fromkeys(map(str, places.values())))
    if not found:
        return Ways(address, advertised, seeds=known)
    return found_ways(address, advertised, known)


def found_ways(address: Address, advertised: Address | None, places: tuple[str, ...]) -> Ways:
    """Return the way in of one that founds the group with all of ``places``, if it does not run."""
    here = str(advertised or address)
    _check_founders(here, places)
    others = tuple(one for one in places if one != here)
    return Ways(address, advertised, seeds=others, places=places)


def _among_members(
    group: str, me: str, members: Mapping[str, str], at: str | None, *, insecure: bool
) -> Ways:
    check_members(members)
    view, advertised = founding_view(group, me, members)
    known = {member.name: parse_address(member.address) for member in view.members}
    address = parse_address(at) if at is not None else advertised
    check_insecure(known | {f"{me} itself": address}, insecure=insecure)
    return Ways(address, advertised, view)


def _check_founders(here: str, places: tuple[str, ...]) -> None:
    """Refuse a list of places that cannot found a group together."""
    if here not in places:
        message = (
            f"found=True founds the group together with all seeds, and {here} is none of them: "
            "give the same seeds everywhere, with the address of every founder"
        )
        raise UsageError(message)
    if len(places) > PLACES_MAX:
        message = f"at most {PLACES_MAX} places found a group together, not {len(places)}"
        raise UsageError(message)
