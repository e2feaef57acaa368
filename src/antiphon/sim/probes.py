"""Probes between simulated processes: sent to a place, not to a process.

Law: a probe reaches whoever bears the name at its place when it arrives, on channels of its
own, which are slow and cut as those between the two processes are, but go on when a process is out
or has given the other up. Nobody answers for a process that is down, or between two incarnations;
one that is paused answers when it goes on. What is answered is the machine's word alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.core.control import Out, Standing
from antiphon.core.ids import ProcessId
from antiphon.membership.entrance import Found
from antiphon.sim.channels import Channels
from antiphon.sim.driver import Driver
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import ProbeReceived

_LATER_US = 1_000


@dataclass(frozen=True, slots=True)
class Probe:
    """Somebody wants to know how another stands, and itself."""

    asker: ProcessId
    """Numbered 0 if it is between two incarnations."""
    view_number: int
    about: ProcessId | None = None
    """Whom a member looks for at this place; None: it looks for a way in."""


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """What came of a probe."""

    probe: Probe
    place: str
    found: Found | None = None
    """None: nobody answers there."""
    said: Out | Standing | None = None


def post_box(name: str) -> ProcessId:
    """Return the end of the channels on which a process asks and is asked."""
    return ProcessId(name, 0)


class Probes:
    """All probes of a world, and their answers."""

    def __init__(
        self,
        scheduler: Scheduler,
        channels: Channels,
        current: dict[str, Driver],
        on_reply: Callable[[ProbeReply], None],
    ) -> None:
        """Find who bears a name now in ``current``."""
        self._scheduler = scheduler
        self._channels = channels
        self._current = current
        self._on_reply = on_reply

    def send(self, place: str, probe: Probe) -> None:
        """Send a probe."""
        self._channels.post(post_box(probe.asker.name), post_box(place), probe)

    def probe(self, driver: Driver, process: ProcessId) -> None:
        """Probe a process for a member that is blocked."""
        latest = driver.endpoint.latest
        assert latest is not None, "only members probe"
        self.send(process.place, Probe(driver.machine.me, latest.number, process))

    def arrive(self, place: str, item: object) -> None:
        """Answer a probe, or hand over what was answered."""
        if isinstance(item, ProbeReply):
            self._on_reply(item)
        elif isinstance(item, Probe):
            self._answer((place, item))

    def _answer(self, what: tuple[str, Probe]) -> None:
        place, probe = what
        driver = self._current.get(place)
        if driver is not None and driver.is_up and driver.is_paused:
            self._scheduler.at(self._scheduler.now_us + _LATER_US, self._answer, what)
            return
        reply = ProbeReply(probe, place)
        if driver is not None and driver.is_up:
            reply = _reply_of(driver, place, probe)
            if probe.about is not None:
                driver.give(ProbeReceived(probe.asker, probe.view_number))
        self._channels.post(post_box(place), post_box(probe.asker.name), reply)


def _reply_of(driver: Driver, place: str, probe: Probe) -> ProbeReply:
    membership, asker = driver.machine.membership, probe.asker
    has_channel = asker in membership.transition.everybody() or asker in membership.roster.left
    said = driver.endpoint.answer(asker, probe.view_number, has_channel=has_channel)
    standing = said if isinstance(said, Standing) else None
    latest = membership.latest
    number = latest.next_incarnation_of(asker) if latest is not None else 0
    return ProbeReply(probe, place, Found(driver.machine.me, standing, number), said)
