"""A steady group: simulated processes that found a group, multicast, and never fail.

Law: a seed is a world. Everything that happens is a function of the options, so the same options
give the same events, byte for byte. The machines are the endpoints of the real network, whole:
heartbeats, stability, flow control and failure detection included. Runs travel as objects, which
nobody may change; what they would weigh on the wire is measured with the real codec.

The group is quiescent, and the simulation over, when every message has been delivered everywhere.
If that does not happen, because the machines are wrong, it is over when nothing has been delivered
for longer than any message, timer or heartbeat takes.

``Timing`` is chosen so that silence is never suspicious however long a copy takes, and so that
heartbeats are a small part of the traffic: see :func:`timing_for`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.records import MEMBERS_MAX
from antiphon.core.runs import PORT_ORDER, Order, Run
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.sim.delays import DelayChannels, DelayOptions, Receive
from antiphon.sim.lean_driver import Item, LeanDriver
from antiphon.sim.scenario import PROTOCOLS
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.workload import Multicast, Workload, WorkloadOptions
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import MulticastRequested, Timer
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.trace.rows import Rows, Sink
from antiphon.trace.schema import QUIESCENT, Event

GROUP = GroupName("g")

_BURSTS_PER_HEARTBEAT = 50
"""How many bursts a process begins by itself between two heartbeats, if not more."""

_DELAYS_PER_HEARTBEAT = 20
"""A heartbeat is at least so many times as long as a copy takes: the talk waits for copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A world."""

    seed: int
    process_count: int = 5
    order: Order = Order.CAUSAL
    uniform: bool = False
    protocol: str = "vector"
    """How messages reach the members, as scenarios say it."""
    delays: DelayOptions = field(default_factory=DelayOptions)
    workload: WorkloadOptions = field(default_factory=WorkloadOptions)

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        if not 1 <= self.process_count <= MEMBERS_MAX:
            message = f"from 1 to {MEMBERS_MAX} processes can be simulated"
            raise UsageError(message)
        if self.protocol not in PROTOCOLS:
            known = ", ".join(PROTOCOLS)
            message = f"there is no protocol {self.protocol!r}: choose one of {known}"
            raise UsageError(message)
        settings_for(self).check(self.order, uniform=self.uniform)

    @property
    def how(self) -> How:
        """The way in which all messages are multicast."""
        return How(self.order, self.uniform)


class Talk(Protocol):
    """What the applications of all processes do; ``Workload`` is one."""

    @property
    def is_over(self) -> bool:
        """Whether nobody will multicast anything any more."""

    def start(self, process_count: int) -> None:
        """Begin."""

    def on_deliver(self, process: int, run: Run) -> None:
        """A process has delivered what another has multicast."""


MakeTalk = Callable[[Scheduler, WorkloadOptions, str, Multicast], Talk]


def process_names(process_count: int) -> list[str]:
    """Return p1, p2, ...: padded, so that names sort as numbers."""
    width = len(str(process_count))
    return [f"p{number:0{width}}" for number in range(1, process_count + 1)]


def timing_for(options: Options) -> Timing:
    """Return the default timing, slowed down where the world is slow.

    A process is heard at least every second heartbeat, in large groups more rarely, and what it
    sends is under way for ``longest_us`` at most, so nobody is ever silent for as long as the
    timeout. Where processes say little, or copies take long, heartbeats are rarer: most of what
    is simulated is to be messages.
    """
    usual = Timing()
    heartbeat_us = max(
        usual.heartbeat_us,
        _BURSTS_PER_HEARTBEAT * options.workload.interval_us_mean,
        _DELAYS_PER_HEARTBEAT * options.delays.delay_us_mean,
    )
    rarely = max(1, options.process_count // 32)
    timeout_us = max(usual.timeout_us, 5 * rarely * heartbeat_us + 2 * options.delays.longest_us)
    return Timing(
        heartbeat_us=heartbeat_us,
        timeout_us=timeout_us,
        timeout_us_max=max(usual.timeout_us_max, 4 * timeout_us),
        stall_us=max(usual.stall_us, 4 * timeout_us),
    )


def settings_for(options: Options) -> Settings:
    """Return how all take part."""
    return Settings(timing=timing_for(options), protocol=PROTOCOLS[options.protocol])


def make_endpoints(options: Options) -> tuple[View, list[Endpoint]]:
    """Return the view that the group is founded with, and the machines of its members."""
    members = tuple(map(ProcessId, process_names(options.process_count)))
    view = View(GROUP, ViewNumber(1), members)
    settings = settings_for(options)
    return view, [Endpoint(member, view, settings, 0) for member in members]


class SteadyGroup:
    """All processes of a simulation."""

    def __init__(
        self,
        options: Options,
        sinks: dict[str, Sink] | None = None,
        make_talk: MakeTalk = Workload,
    ) -> None:
        """Build the world; ``sinks`` take each process's events, by its name."""
        self._how = options.how
        self._quiet_us = 2 * timing_for(options).timeout_us
        self.scheduler = Scheduler()
        view, endpoints = make_endpoints(options)
        indexes = {member: index for index, member in enumerate(view.members)}
        self.drivers = [
            LeanDriver(endpoint, indexes, self.scheduler, self, rows)
            for endpoint, rows in zip(endpoints, rows_for(view, sinks), strict=True)
        ]
        seed = str(options.seed)
        self._talk = make_talk(self.scheduler, options.workload, seed, self._say)
        receivers: list[Receive] = [driver.take for driver in self.drivers]
        self._channels = DelayChannels(self.scheduler, options.delays, seed, receivers)
        # As a carrier: the innermost calls go straight to where they belong.
        self.multicast: Callable[[int, Item], None] = self._channels.multicast
        self.send: Callable[[int, int, Item], None] = self._channels.send
        self._owed = 0  # deliveries that are still to come, of all messages at all processes
        self._moved_us = 0
        self.message_count = 0
        """Messages that the applications have multicast so far."""

    @property
    def held_runs_max(self) -> int:
        """The deepest that a delay queue has been, if that is journalled."""
        return max(driver.held_runs_max for driver in self.drivers)

    @property
    def copy_count(self) -> int:
        """Copies sent so far, of messages and of control messages."""
        return self._channels.copy_count

    def run(self, slice_events: int = 20_000) -> Iterator[int]:
        """Run until quiescent, yielding the number of messages multicast so far now and then."""
        for driver in self.drivers:
            driver.start()
        self._talk.start(len(self.drivers))
        self.scheduler.at(self._quiet_us, self._look, None)
        while self.scheduler.run(slice_events):
            yield self.message_count
        for driver in self.drivers:
            driver.stop(self.scheduler.now_us, QUIESCENT)
        yield self.message_count

    def _say(self, process: int, payloads: list[bytes]) -> None:
        self.message_count += len(payloads)
        self._owed += len(payloads) * len(self.drivers)
        byte_count = sum(map(len, payloads))
        self.drivers[process].multicast(MulticastRequested(payloads, self._how, byte_count))

    # As a carrier.

    def set_timer(self, process: int, time_us: int, due: tuple[Timer, int]) -> None:
        """Call ``fire(due)`` of a process at this time."""
        self.scheduler.at(time_us, self.drivers[process].fire, due)

    def on_send(self, run: Run) -> None:
        """A run has been multicast: what the machine says by itself is to arrive as well."""
        if run.port == PORT_ORDER:
            self._owed += run.count * len(self.drivers)

    def on_deliver(self, process: int, run: Run) -> None:
        """A process has delivered a run."""
        self._owed -= len(run.payloads)
        self._moved_us = self.scheduler.now_us
        if not self._owed and self._talk.is_over:
            self.scheduler.at(self.scheduler.now_us, self._rest, None)
        elif run.sender != process and run.port != PORT_ORDER:
            self._talk.on_deliver(process, run)

    # The end.

    def _look(self, _: None) -> None:
        """Look whether something has been delivered of late."""
        now_us = self.scheduler.now_us
        if self._talk.is_over and now_us - self._moved_us > self._quiet_us:
            self._rest(None)
        else:
            self.scheduler.at(now_us + self._quiet_us, self._look, None)

    def _rest(self, _: None) -> None:
        self.scheduler.clear()


def rows_for(view: View, sinks: dict[str, Sink] | None) -> list[Rows | None]:
    """Return what takes the rows of each member, if they are journalled."""
    if sinks is None:
        return [None] * len(view.members)
    return [Rows(str(member), view.group, sinks[str(member)]) for member in view.members]


def simulate(options: Options) -> list[Event]:
    """Run a world until it is quiescent and return its events, numbered, process by process."""
    rows: dict[str, list[Event]] = {name: [] for name in process_names(options.process_count)}
    group = SteadyGroup(options, {name: rows[name].append for name in rows})
    for _ in group.run():
        pass
    for events in rows.values():
        for index, event in enumerate(events):
            event.index = index
    return [event for events in rows.values() for event in events]
