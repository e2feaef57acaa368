"""What the ways into a group need of the node that enters it."""

from typing import Protocol

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.bootstrap import Founding
from antiphon.net.application.config import Config
from antiphon.net.driver.driver import Driver
from antiphon.net.group.local_group import LocalGroup
from antiphon.net.session.identity import Identity
from antiphon.net.stream.notifier import Notifier
from antiphon.net.transport.address import Address
from antiphon.stack.effects import LeaveGroup


class BootstrapOwner(Protocol):
    """What a bootstrap needs of its node."""

    config: Config
    notifier: Notifier
    ending: LeaveGroup
    """How the current incarnation ended, if it has."""
    founding: Founding | None
    """Its vote on who founds the group, where that was to be decided."""
    local_group: LocalGroup
    """What it enters."""

    @property
    def address(self) -> Address:
        """Where the others find it."""

    def has_failed_elsewhere(self, process: ProcessId) -> bool:
        """Whether another process failed in another group, as earlier incarnations knew."""

    def identity(self) -> Identity:
        """Return who this process is before it has a number in the group."""

    def number_for(self, number: int) -> int:
        """Return under which number, at least the one given, to take part in the group."""

    async def begin_incarnation(self, number: int, *, founding: View | None = None) -> Driver:
        """Take part as the incarnation of this number; ``founding`` is the list of founders."""

    async def end_incarnation(self, detail: str) -> None:
        """End the current incarnation, and stay for another one."""
