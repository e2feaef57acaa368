"""The datagrams of one group: from the machine to the socket of the process, and back.

Law: it only carries. The key of a view comes from its senior member (``membership.group_keys``);
what the machine sends before it has come waits for it, within bounds, and is lost beyond: it is
sent again. What comes is given to the machine as it comes, as of the member that sealed it;
whatever else arrives at the socket is counted there (``net.datagrams``), and harms nobody.
"""

from collections.abc import Callable
from typing import Protocol

from antiphon.core.control import KeyTold
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.effects import SendControl
from antiphon.membership.group_keys import GroupKeys, KeyEffect, UseKey
from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.packets import SECRET_BYTES
from antiphon.net.datagrams.port import DatagramPort
from antiphon.stack.blocks import Blocks
from antiphon.stack.inputs import DatagramsReceived
from antiphon.stack.member import Member

WAITING_MAX = 256
"""Datagrams that wait for the key of their view."""

_VIEWS_MAX = 8
"""Views of which late datagrams are told by whom they are; the machine drops them then."""


class BlocksDriver(Protocol):
    """The driver of the group."""

    process: ProcessId
    domain: int
    flush: Callable[[], None]
    """Gives what the application has multicast."""

    def give(self, happened: DatagramsReceived) -> None:
        """Give an input to the machine."""


class GroupDatagrams:
    """One incarnation's datagrams in one group."""

    def __init__(
        self,
        owner: BlocksDriver,
        port: DatagramPort,
        protocol: Blocks,
        send_control: Callable[[SendControl], None],
    ) -> None:
        """Take part, in no view yet."""
        self._owner, self._port, self._protocol = owner, port, protocol
        self._send_control = send_control
        self._keys = GroupKeys(owner.process)
        self._members: dict[int, tuple[ProcessId, ...]] = {}
        self._waiting: list[bytes] = []
        self._arrived: list[tuple[ProcessId, bytes]] = []
        self._number = 0
        self.channel = port.channel(owner.domain, self)

    # What the driver calls.

    def size_runs(self, member: Member) -> None:
        """Let runs be as large as this process's packets make worth while."""
        assert member.blocks is not None, "the group has chosen them"
        run_bytes = self._protocol.run_bytes_on(self._port.settings.body_bytes_max)
        member.blocks.group.run_bytes_max = run_bytes

    def install(self, view: View) -> None:
        """A view has been installed, of which this process is a member."""
        self._number = view.number
        self._members[view.number] = view.members
        if len(self._members) > _VIEWS_MAX:
            del self._members[min(self._members)]
        self._waiting.clear()
        self._do(self._keys.install(view, self._port.environment.draw(SECRET_BYTES)))

    def hear(self, peer: ProcessId, told: KeyTold) -> None:
        """A member tells a key; raise PeerError if it must not."""
        self._do(self._keys.hear(peer, told))

    def send(self, data: bytes) -> None:
        """Send to all other members of the view."""
        if self.channel.number == self._number:
            self.channel.send((data,))
        elif len(self._waiting) < WAITING_MAX:
            self._waiting.append(data)
        else:
            self.channel.counts.unsealed += 1

    def count(self) -> DatagramCounts:
        """Return what became of datagrams, of this group and of none."""
        return self.channel.counts + self._port.counts

    def close(self) -> None:
        """Send and receive no more."""
        self.channel.close()

    def _do(self, effects: list[KeyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, UseKey):
                self.channel.use(effect, self._owner.process)
                waiting, self._waiting = self._waiting, []
                if waiting:
                    self.channel.send(waiting)
            else:
                self._send_control(effect)

    # What the socket calls.

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        """A member has sent these."""
        members = self._members.get(number)
        if members is None or members[sender] == self._owner.process:
            return
        source = members[sender]
        self._arrived += [(source, item) for item in items]

    def on_read(self) -> None:
        """Give what has arrived together: one step of the machine is for all of it."""
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._owner.flush()  # what was multicast before this arrival does not depend on it
            self._owner.give(DatagramsReceived(arrived))

    def on_room(self) -> None:
        """The line takes more: few enough messages are under way anyhow."""
