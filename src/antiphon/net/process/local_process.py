"""A process on this machine: what it has once, whatever the number of its groups.

Law: a process has one listener, and one incarnation at a time (``driver.incarnation``): one session
and one heartbeat per pair of processes, one end for all its groups. The incarnation begins when the
first group needs it and ends when the process failed in the eyes of a group; then the next group
that is entered, or come back to, begins another one. It ends, too, when no group needs it any more,
unless it was in a group of a causality domain: what the process says in the next group depends on
what it heard there (ISIS 6.7, the phantom circle: 000-23). Then it rests.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.membership.exclusions import Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.net.application.datagrams import Datagrams
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.group.sending import CollectingTurn
from antiphon.net.session.listener import Listener
from antiphon.net.stream.notifier import Notifier
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import Environment

_SEVERAL = "; a program in several groups at one address is an antiphon.Process"


class LocalProcess:
    """A process, incarnation after incarnation."""

    def __init__(
        self,
        name: str,
        at: Address,
        advertised: Address | None,
        *,
        timing: Timing,
        environment: Environment,
        insecure: bool = False,
        delay_s_max: float = 0.0,
        is_alone: bool = False,
        line: Datagrams | None = None,
    ) -> None:
        """Describe it; nothing happens before :meth:`open`."""
        self.name, self.timing, self.environment = name, timing, environment
        self.line = line if line is not None else Datagrams()
        """How it sends and receives datagrams."""
        self.is_alone = is_alone
        """Whether it is in one group for good."""
        self.is_open = False
        """Whether it has begun to listen, and not ended."""
        self._at, self._advertised = at, advertised
        self._delay_s_max = delay_s_max
        self.address = advertised or at
        self._bound = at
        """Where the others find it."""
        self.notifier = Notifier()
        """For everybody who waits for something of this process."""
        self.listener = Listener(environment, insecure=insecure)
        self.exclusions = Exclusions()
        """Who failed in its groups, as its incarnations knew."""
        self.incarnation: Incarnation | None = None
        """The current one, if any group needs it."""
        self.datagrams: DatagramPort | None = None
        """The socket for datagrams, once a group needs it; at the same port as the listener."""
        self._former: Incarnation | None = None
        self.turns: dict[str, CollectingTurn] = {}
        """In which group of each causality domain a run is being collected."""
        self._numbers: dict[str, tuple[int, int]] = {}
        """For each causality domain: the last start and number that the process had there."""
        self._own_numbers: dict[str, set[int]] = {}
        """All numbers that it had there."""
        self._asker = environment.draw_start()  # so that nobody takes it for who was there before
        self._changing = asyncio.Lock()
        self._releasing: set[asyncio.Task[None]] = set()

    @property
    def known_places(self) -> list[str]:
        """Where the processes are with which this one shares groups."""
        if not self.is_in_group:
            return []
        assert self.incarnation is not None, "it is in a group"
        return list(self.incarnation.elsewhere().places)

    @property
    def is_in_group(self) -> bool:
        """Whether it is in a group, or on its way into, or out of, one."""
        return self.incarnation is not None and bool(self.incarnation.drivers)

    async def open(self) -> None:
        """Listen."""
        self.is_open = True
        advice = _SEVERAL if self.is_alone else ""
        bound = self._bound = await self.listener.open(self._at, self.name, advice)
        self.address = self._advertised or bound

    async def open_datagrams(self) -> None:
        """Have a socket for datagrams, at the port of the listener."""
        if self.datagrams is None:
            bound, settings = self._bound, self.line.settings(self._bound)
            try:
                self.datagrams = await DatagramPort.open(bound, self.environment, settings)
                if self.incarnation is not None:
                    self.incarnation.datagrams = self.datagrams
            except OSError as error:
                message = (
                    f"{bound} cannot be had for datagrams ({error.strerror or error}), as it is "
                    "for connections: choose another port"
                )
                if settings.multicast is not None:
                    message += f", or {settings.multicast.address} for multicast: try without"
                raise UsageError(message) from None

    async def close(self) -> None:
        """End, and listen no longer."""
        self.is_open = False
        try:
            async with self._changing:
                if self.incarnation is not None:
                    await self._end(self.incarnation)
        finally:
            await asyncio.gather(*self._releasing, return_exceptions=True)
            await self.listener.close()
            if self.datagrams is not None:
                self.datagrams.close()
                self.datagrams = None
            self.notifier.notify()

    @property
    def id(self) -> ProcessId:
        """The process in its current incarnation; before the first, by name and address."""
        if self.incarnation is not None:
            return self.incarnation.process
        return ProcessId(self.name, 0, self._asker, str(self.address))

    async def incarnate(self, *, is_listed: bool = False) -> Incarnation:
        """Return the current incarnation; begin one if there is none, or it is over.

        Founding members that are listed go by their names alone, which all must know beforehand.
        """
        async with self._changing:
            current = self.incarnation
            if current is not None and not current.is_over:
                if is_listed and current.process.boot:
                    message = (
                        f"{self.name} is in another group already, so it cannot found one by a "
                        "list of members: give seeds, and found=True"
                    )
                    raise UsageError(message)
                self.listener.host = current  # it may have rested
                return current
            if current is not None:
                await self._end(current)
            start = self.environment.draw_start()
            boot = 0 if is_listed else start
            process = ProcessId(self.name, 0, boot, str(self.address))
            begun = self.incarnation = Incarnation(
                self, process, start, self.environment, delay_s_max=self._delay_s_max
            )
            if self._former is not None:
                begun.mesh.credentials.inherit(self._former.mesh.credentials)
            self.listener.host = begun
            return begun

    def number_in(self, domain: str, number: int, is_taken: Callable[[int], bool]) -> int:
        """Return under which number, at least the one given, to be in a group of a domain.

        An incarnation has one number in all groups of a domain, if the groups let it: so it has one
        name there. The next incarnation has another one, whatever the groups. ``is_taken`` says
        whether a name that this program has not had has rows in the domain's run folder.
        """
        start, used = self._numbers.get(domain, (0, 0))
        current = self.incarnation
        is_same = current is not None and not current.is_over and current.start == start
        found = max(number, used if is_same else used + 1)
        # Later names of an earlier start of the program have rows, in whichever group they were.
        while found > 1 and found not in self._own_numbers.get(domain, ()) and is_taken(found):
            found += 1
        return found

    def note_number(self, domain: str, number: int) -> None:
        """Be in a group of a domain under this number, in the current incarnation."""
        assert self.incarnation is not None, "it has begun"
        self._numbers[domain] = self.incarnation.start, number
        self._own_numbers.setdefault(domain, set()).add(number)

    async def release(self) -> None:
        """End the incarnation if no group needs it any more, nor what it knows."""
        async with self._changing:
            current = self.incarnation
            if current is not None and not current.drivers:
                goes_on = self.is_open and not self.is_alone and not current.is_over
                if not (goes_on and current.has_past):
                    await self._end(current)
        self.notifier.notify()

    def release_soon(self) -> None:
        """Do that when there is time."""
        task = asyncio.ensure_future(self.release())
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    async def _end(self, current: Incarnation) -> None:
        self.listener.host = None
        current.flushing.close()
        for driver in current.drivers:
            with suppress(AntiphonError):  # a journal that cannot be written: said in the log
                driver.close(driver.ending.why or "the process ends")
        self._former, self.incarnation = current, None
        await current.close()

    # What the incarnation calls.

    def on_room(self) -> None:
        """A connection has come or gone, or time has passed: whoever waits may look again."""
        if self.incarnation is not None and self.incarnation.is_resting:
            self.listener.host = None
        self.notifier.notify()
