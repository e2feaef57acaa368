"""What the ways into a group need of the process that enters it."""

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
    """What a bootstrap needs of its process."""

    config: Config
    address: Address
    """Where the others find it."""
    notifier: Notifier
    ending: LeaveGroup
    """How the current incarnation ended, if it has."""
    founding: Founding | None
    """Its vote on who founds the group, where that was to be decided."""
    local_group: LocalGroup
    """What it enters."""

    @property
    def turned_away(self) -> str | None:
        """Why somebody was turned away for being given another group."""

    def identity(self, process: ProcessId, start: int, founding: View | None) -> Identity:
        """Return who this process is in one incarnation."""

    def begin_incarnation(self, process: ProcessId, start: int, *, founding: View | None) -> Driver:
        """Begin an incarnation, which whoever connects from now on comes to see."""

    async def end_incarnation(self, detail: str) -> None:
        """End the current incarnation, and stay for another one."""
