"""Founding a group by a list of members: on the network, what ``membership.bootstrap`` says.

Law: everybody on the list begins in view 1, which is the list, when all of it is there, or, after a
while, more than half of it (``RollCall``). Who is there is asked by short connections
(``session.probe``); who is there is connected to before the group begins. Who begins tells those it
counted, before anything else. Who is told, or finds, that the group has begun begins too, if a
member that has begun counted this very start of it: so a founder that begins, speaks and dies is
known to have been there, and does not begin once more under the same name. If none did, and nobody
is left that waits, the group runs without it, and it joins, as a new incarnation of its name. What
is awaited is logged, after a second and then seldom.
"""

import asyncio
import logging

from antiphon.core.control import Begun
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.bootstrap import RollCall
from antiphon.net.driver.driver import Driver
from antiphon.net.process.founding import LOOK_S, Waiting, until_notified
from antiphon.net.process.owner import BootstrapOwner
from antiphon.net.session.listener import GIVEN_OTHERS
from antiphon.net.session.probe import Answer, probe

_ASK_S = 1.0
"""How long a member may take to answer before it is asked again."""

_PATIENCE_US = 3_000_000
"""Who is not there yet is waited for at least this long: a program takes a while to start."""

_log = logging.getLogger("antiphon")


class FoundingByList:
    """One attempt to found a group with those on a list."""

    def __init__(self, node: BootstrapOwner, view: View, connect_s: float) -> None:
        """Prepare for a node that listens."""
        environment = node.config.environment
        self._node, self._config, self._view = node, node.config, view
        self._transport, self._now_us = environment.transport, environment.now_us
        self._connect_s = connect_s
        self._me = next(member for member in view.members if member.name == node.config.me)
        others = [member for member in view.members if member != self._me]
        self._due_us = dict.fromkeys(others, 0)
        """When to ask for each."""
        self._missing = dict.fromkeys(others)
        """Who is not there yet."""
        self._waiting: dict[ProcessId, int] = {}
        """Who answers that it waits too, and since which start."""
        self._ahead: dict[ProcessId, None] = {}
        """Who has begun, and does not count this process."""
        self._wrong: dict[ProcessId, str] = {}
        self._refusal: str | None = None
        self._has_begun = False
        self._asking: dict[asyncio.Task[None], ProcessId] = {}

    async def found(self) -> bool:
        """Found the group, and begin in its first view; False if it is running without us."""
        view, config = self._view, self._config
        driver = await self._node.begin_incarnation(1, founding=view)
        timeout_us = config.settings.timing.timeout_us
        patience_us = min(max(timeout_us, _PATIENCE_US), int(self._connect_s * 5e5))
        roll_call = RollCall(len(view.members), patience_us, self._now_us())
        waiting = Waiting(config, "found")
        try:
            async with asyncio.timeout(self._connect_s):
                while not self._is_settled(driver, roll_call):
                    waiting.tell(self._say_absent())
                    await until_notified(self._node.notifier, LOOK_S)
        except TimeoutError:
            raise UsageError(self._say_missing(driver)) from None
        finally:
            asking, self._asking = list(self._asking), {}
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        if self._refusal is not None:
            raise UsageError(self._refusal)
        if self._is_running_without_us:
            await self._node.end_incarnation("the group is running: joins it as a new incarnation")
            return False
        if not self._has_begun and (absent := self._say_absent()):
            _log.warning("%s founds group %s without them: %s", self._me, view.group, absent)
        self._begin(driver)
        return True

    def _begin(self, driver: Driver) -> None:
        """Begin, and tell those who are there; no other start of one of them counts any more.

        Whom this process has counted is out of date if others had begun before it had them all.
        """
        counted, mesh = dict(driver.reception.counted), driver.mesh
        if not driver.reception.is_begun:
            missing = counted if self._has_begun else {who.bare() for who in self._missing}
            counted = {who: start for who, start in counted.items() if who not in missing}
        begun = Begun(((driver.incarnation.process, driver.incarnation.start), *counted.items()))
        driver.outlet.send(tuple(counted), begun)
        for founder in self._due_us:
            peer = mesh.peers.get(founder.bare())
            start = counted.get(founder.bare(), 0)
            # Who was not there before the group began may be by now: that is found out anew.
            if peer is not None and (peer.is_condemned or (start and not peer.may_be(start))):
                mesh.dismiss(peer, "it has begun again")
        driver.begin(self._view)
        for process, start in counted.items():
            mesh.peers[process].awaited = start

    def _is_connected(self, driver: Driver, member: ProcessId, start: int) -> bool:
        """Whether there is a connection to this start of a founding member; see that there is."""
        process = member.bare()
        peer = driver.mesh.peers.get(process)
        if peer is not None and (peer.is_condemned or peer.start not in {0, start}):
            driver.mesh.dismiss(peer, "it has begun again")
        elif peer is not None and peer.link is not None and not peer.is_guest:
            return True
        driver.contacts.discard(process)
        driver.meet(process)
        return False

    def _is_settled(self, driver: Driver, roll_call: RollCall) -> bool:
        """Ask who is not there; tell whether there is anything left to wait for."""
        if driver.reception.is_begun:
            self._has_begun = True
            return True
        asked = self._asking.values()
        now_us = self._now_us()
        for member, due_us in self._due_us.items():
            if due_us <= now_us and member not in asked:
                self._due_us[member] = now_us + int(LOOK_S * 1e6)
                task = asyncio.ensure_future(self._ask(driver, member))
                self._asking[task] = member
                task.add_done_callback(lambda done: self._asking.pop(done, None))
        for member, start in self._waiting.items():
            if self._is_connected(driver, member, start):
                self._missing.pop(member, None)
                driver.reception.count(member.bare(), start)
            else:
                self._missing[member] = None
        if self._refusal is not None or self._is_running_without_us or self._has_begun:
            return True
        present = len(self._view.members) - len(self._missing) - len(self._ahead)
        return roll_call.may_begin(present, now_us)

    @property
    def _is_running_without_us(self) -> bool:
        """Whether the group has begun, and nobody is known to wait who could begin it with us."""
        is_alone = not self._waiting and not self._has_begun
        return bool(self._ahead) and is_alone and not self._unasked

    @property
    def _unasked(self) -> bool:
        return any(not due_us for due_us in self._due_us.values()) or bool(self._asking)

    async def _ask(self, driver: Driver, member: ProcessId) -> None:
        handshake = driver.handshake(member, is_asking=True)
        try:
            hello = encode_hello(driver.domain, handshake)
            answer = await probe(self._transport, member.address, hello, _ASK_S)
        except (OSError, PeerError) as error:
            self._wrong[member] = str(error) if isinstance(error, PeerError) else ""
            self._missing[member] = None
            self._ahead.pop(member, None)
            self._waiting.pop(member, None)
        else:
            self._look_at(driver, member, answer)
        self._node.notifier.notify()

    def _look_at(self, driver: Driver, member: ProcessId, answer: Answer) -> None:
        """Look at what was found where a founding member should be."""
        handshake = answer.handshake
        self._ahead.pop(member, None)
        self._waiting.pop(member, None)
        self._missing[member] = None
        if not handshake.group:
            self._wrong[member] = "it is not in the group yet"
        elif problem := _problem(driver, member, answer):
            self._refusal = f"{member.name} at {member.address}: {problem}"
        elif handshake.founding:
            self._waiting[member] = handshake.start
        elif handshake.process == member and handshake.to == driver.incarnation.start:
            del self._missing[member]
            self._has_begun = True
        elif handshake.view:
            del self._missing[member]
            self._ahead[member] = None

    def _say_absent(self) -> str:
        return ", ".join(f"{who.name} at {who.address}" for who in self._missing)

    def _say_missing(self, driver: Driver) -> str:
        said = []
        for member in self._missing:
            name, address = member.name, member.address
            if why := self._wrong.get(member):
                said.append(f"{name} at {address} is something else: {why}")
            else:
                said.append(f"{name} does not answer at {address}")
        advice = "is every member running?"
        if (turned_away := driver.turned_away) is not None:
            advice = f"somebody was turned away because {turned_away}"
        return f"after {self._connect_s:g} s {', '.join(said)}: {advice}"


def _problem(driver: Driver, member: ProcessId, answer: Answer) -> str | None:
    """Say why who answers where a founding member should be cannot be that one."""
    handshake = answer.handshake
    if answer.domain != driver.domain:
        return driver.identity.difference(handshake)
    if handshake.process.name != member.name:
        name = handshake.process.name
        return f"{name} is at the other end of this connection: correct the addresses"
    if handshake.founding not in {0, driver.identity.founding}:
        return GIVEN_OTHERS
    return None
