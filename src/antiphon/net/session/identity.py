"""Who a process is in one incarnation, and what it says of itself to others.

Digests say in four bytes what processes must have been given alike.
"""

import zlib
from dataclasses import dataclass

from antiphon.core.frames import VERSION
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.stack.dissemination import VECTOR
from antiphon.stack.settings import Settings


@dataclass(frozen=True, slots=True)
class Identity:
    """What does not change in an incarnation."""

    group: str
    process: ProcessId
    start: int
    """Drawn anew for every incarnation, which tells it from any other under the same id."""
    settings: Settings
    founding_view: View | None = None
    """The view that this process founds with others, or alone."""
    with_state: bool = False
    """Whether the group gives its state to those that join."""
    with_commit: bool = False
    """Whether this process takes part in transactions, and so must everybody in the group."""
    causality_domain: str = ""
    """That of the group, described, which all must have been given alike; empty: one of its own."""
    line: str = ""
    """What datagrams go by that all must have been given alike; empty: nothing."""

    @property
    def domain(self) -> int:
        """What tells the group, as this process knows it, from others."""
        return domain_digest(
            self.group, self.settings.flush, with_state=self.with_state,
            with_commit=self.with_commit, causality_domain=self.causality_domain,
            protocol=self._protocol,
        )  # fmt: skip

    @property
    def founding(self) -> int:
        """What tells the founding members from others; 0 for who joins."""
        view = self.founding_view
        return founding_digest(view.members) if view is not None else 0

    def handshake(
        self,
        other: ProcessId,
        latest: View | None,
        *,
        to: int = 0,
        received: int = 0,
        is_founding: bool = False,
        is_asking: bool = False,
    ) -> Handshake:
        """Return what to say to ``other``, knowing views up to ``latest``."""
        return Handshake(
            self.group, self.settings.flush, self.process, self.start,
            latest.number if latest is not None else 0,
            self.founding if is_founding else 0, to, received,
            latest.next_incarnation_of(other) if latest is not None else 0,
            is_asking, self.with_state, self.with_commit,
            causality_domain=self.causality_domain, protocol=self._protocol_said,
        )  # fmt: skip

    @property
    def _protocol_said(self) -> str:
        """The group's protocol, as a handshake says it: nothing for vector time."""
        return self._protocol if self.settings.protocol is not None else ""

    @property
    def _protocol(self) -> str:
        """The group's protocol, with what its datagrams go by."""
        name = self.settings.protocol_name
        return f"{name}, {self.line}" if self.line else name

    def difference(self, other: Handshake) -> str:
        """Say what the other's group does not have in common with this one."""
        if other.group != self.group:
            where = f"in group {other.group}, not" if other.group else "not in group"
            return f"it is {where} {self.group}: join that one, or another seed"
        if other.causality_domain != self.causality_domain:
            theirs, mine = map(_say_domain, (other.causality_domain, self.causality_domain))
            return f"its group is {theirs}, not {mine}: give all the same, or none"
        if how := self._other_ways(other):
            return f"its group {how}: give all the same"
        if other.with_state != self.with_state:
            gives = "gives its state to those that join" if other.with_state else "gives no state"
            return f"its group {gives}: give a state to all members, or to none"
        if other.with_commit != self.with_commit:
            takes = "takes part" if other.with_commit else "takes no part"
            return (
                f"its group {takes} in transactions: create a Committer at every member before "
                "entering, or at none"
            )
        return "its group speaks another protocol: run the same version everywhere"

    def _other_ways(self, other: Handshake) -> str:
        if other.protocol != self._protocol_said:
            theirs = other.protocol or VECTOR
            return f"has protocol {theirs}, not {self._protocol}"
        if other.flush != self.settings.flush:
            return f"leaves views by flush={other.flush!r}, not {self.settings.flush!r}"
        return ""


def _say_domain(described: str) -> str:
    return f"in domain {described}" if described else "a domain of its own"


def domain_digest(
    group: str,
    flush: str,
    *,
    with_state: bool,
    with_commit: bool = False,
    causality_domain: str = "",
    protocol: str = VECTOR,
) -> int:
    """Return what tells this group from others, and from itself set up otherwise.

    It is on every frame. A ``causality_domain`` that is empty is one of the group's own.
    """
    said = ["antiphon", str(VERSION), protocol, group, flush, "state" if with_state else ""]
    said += ["commit"] if with_commit else []
    said += [f"in {causality_domain}"] if causality_domain else []
    return zlib.crc32("\n".join(said).encode())


def founding_digest(members: tuple[ProcessId, ...]) -> int:
    """Return what tells the founding members from others: names and addresses, in order."""
    said = [f"{member.name} {member.address}" for member in members]
    return zlib.crc32("\n".join(["founding", *said]).encode())
