"""A simulated cluster: the real process machines on an abstract network, journalling.

Law: a seed is a world. Everything that happens is a function of the options, so the same options
give the same events, byte for byte. The machines are those of the real network (``stack.py``).
Runs travel as objects, which nobody may change; what they would weigh on the wire is measured
with the real codec.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from antiphon.core.errors import UsageError
from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.records import MEMBERS_MAX
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.sim.network import Network, NetworkOptions
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.workload import Workload, WorkloadOptions
from antiphon.stack import DeliverRuns, MulticastRequested, Process, SendRun
from antiphon.trace.rows import Rows, Sink
from antiphon.trace.schema import QUIESCENT, Event

GROUP = GroupName("g")
_NUMBER = GroupNumber(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A world."""

    seed: int
    process_count: int = 5
    order: Order = Order.CAUSAL
    network: NetworkOptions = field(default_factory=NetworkOptions)
    workload: WorkloadOptions = field(default_factory=WorkloadOptions)

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        if not 1 <= self.process_count <= MEMBERS_MAX:
            message = f"from 1 to {MEMBERS_MAX} processes can be simulated"
            raise UsageError(message)


def process_names(process_count: int) -> list[str]:
    """Return p1, p2, ...: padded, so that names sort as numbers."""
    width = len(str(process_count))
    return [f"p{number:0{width}}" for number in range(1, process_count + 1)]


def frame_overhead_bytes(run: Run) -> int:
    """Return what ``run`` weighs on the wire beyond its payloads, in a frame of its own."""
    return len(encode_runs(0, run.sender, [run])) - run.byte_count


class _Member:
    """One simulated process: its machine, and where it journals."""

    __slots__ = ("machine", "rows")

    def __init__(self, name: str, view: View, options: Options, sink: Sink | None) -> None:
        self.machine = Process(ProcessId(name), fifo_channels=options.network.is_fifo)
        self.machine.join_static(_NUMBER, view)
        self.rows = Rows(name, view.group, sink) if sink is not None else None


class Cluster:
    """All processes of a simulation."""

    def __init__(self, options: Options, sinks: dict[str, Sink] | None = None) -> None:
        """Build the world; ``sinks`` take each process's events, by its name."""
        self._options = options
        self.scheduler = Scheduler()
        names = process_names(options.process_count)
        view = View(GROUP, ViewNumber(1), tuple(ProcessId(name) for name in names))
        self.members = [
            _Member(name, view, options, sinks[name] if sinks is not None else None)
            for name in names
        ]
        seed = str(options.seed)
        self._workload = Workload(self.scheduler, options.workload, seed, self._multicast)
        receivers = [self._receiver(index) for index in range(len(names))]
        self._network = Network(self.scheduler, options.network, seed, receivers)
        self.message_count = 0
        self.held_runs_max = 0
        """The deepest that a delay queue has been."""

    @property
    def lost_count(self) -> int:
        """How many copies the network has lost."""
        return self._network.lost_count

    def run(self, slice_events: int = 20_000) -> Iterator[int]:
        """Run to quiescence, yielding the number of messages multicast so far now and then."""
        for member in self.members:
            if member.rows is not None:
                member.rows.start(0)
                member.rows.view(0, member.machine.view(_NUMBER))
        self._workload.start(len(self.members))
        while self.scheduler.run(slice_events):
            yield self.message_count
        for member in self.members:
            if member.rows is not None:
                member.rows.stop(self.scheduler.now_us, QUIESCENT)
        yield self.message_count

    def _multicast(self, index: int, payloads: list[bytes]) -> None:
        member, now_us = self.members[index], self.scheduler.now_us
        self.message_count += len(payloads)
        requested = MulticastRequested(_NUMBER, payloads, self._options.order)
        for effect in member.machine.step(requested, now_us):
            match effect:
                case SendRun(run):
                    if member.rows is not None:
                        depth = member.machine.ordering.queue_depth
                        overhead_bytes = frame_overhead_bytes(run)
                        member.rows.run(now_us, "multicast", run, depth, overhead_bytes)
                    self._network.multicast(index, run)
                case DeliverRuns(runs):
                    self._note_deliveries(member, runs)

    def _note_deliveries(self, member: _Member, runs: list[Run]) -> None:
        if member.rows is not None:
            depth = member.machine.ordering.queue_depth
            for run in runs:
                member.rows.run(self.scheduler.now_us, "deliver", run, depth)

    def _receiver(self, index: int) -> Callable[[Run], None]:
        """Return what happens when a run arrives at a member."""
        member, on_deliver = self.members[index], self._workload.on_deliver
        take = member.machine.receive

        def receive(run: Run) -> None:
            for _ in take(run):
                on_deliver(index)

        def receive_traced(run: Run) -> None:
            delivered = take(run)
            self._note_receipt(member, run)
            self._note_deliveries(member, delivered)
            for _ in delivered:
                on_deliver(index)

        return receive if member.rows is None else receive_traced

    def _note_receipt(self, member: _Member, run: Run) -> None:
        assert member.rows is not None, "only traced members note anything"
        depth = member.machine.ordering.queue_depth
        self.held_runs_max = max(self.held_runs_max, depth)
        member.rows.run(self.scheduler.now_us, "receive", run, depth)


def simulate(options: Options) -> list[Event]:
    """Run a world to quiescence and return its events, numbered, process by process."""
    rows: dict[str, list[Event]] = {name: [] for name in process_names(options.process_count)}
    cluster = Cluster(options, {name: rows[name].append for name in rows})
    for _ in cluster.run():
        pass
    for events in rows.values():
        for index, event in enumerate(events):
            event.index = index
    return [event for events in rows.values() for event in events]
