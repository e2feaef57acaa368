"""A lean driver: one process of a large simulated group, in which nobody fails.

Law: the machine is the endpoint that the network runs, and the driver does what
``stack.endpoint`` asks for: one input at a time, all effects in order before the next, timers when
they are due, nothing sent while the machine admits no senders. An application never speaks from
inside a delivery. What only faults bring about (suspicion, view changes, rejected peers) cannot
happen here, and is an error of the machine if it does: explored worlds (``world``) are for that.
"""

from collections import deque
from typing import Protocol

from antiphon.core.control import AnyMessage
from antiphon.core.frames import encode_runs
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.stack.effects import (
    AdmitSenders,
    DeliverRuns,
    Effect,
    ExpectPeers,
    InstallView,
    RelayRuns,
    SendControl,
    SendRun,
    SetTimer,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    HEARTBEAT,
    ControlReceived,
    Input,
    MulticastRequested,
    PeerHeard,
    RunsReceived,
    SendersWaited,
    Timer,
    TimerFired,
)
from antiphon.trace.rows import Rows

_TURN_US = 100
"""A timer whose time has come fires so much later: by then a burst of arrivals is taken."""

Item = RunsReceived | ControlReceived
"""What travels: what it is to whom it arrives at. All copies of a multicast are one object."""


class TimeSource(Protocol):
    """What tells the time."""

    @property
    def now_us(self) -> int:
        """The time."""


class Carrier(Protocol):
    """What carries for the drivers of all processes; they go by their numbers."""

    def multicast(self, source: int, item: Item) -> None:
        """Send ``item`` to every other process."""

    def send(self, source: int, target: int, item: Item) -> None:
        """Send ``item`` to one other process."""

    def set_timer(self, process: int, time_us: int, due: tuple[Timer, int]) -> None:
        """Call ``fire(due)`` of a process at this time."""

    def on_send(self, run: Run) -> None:
        """A run has been multicast."""

    def on_deliver(self, process: int, run: Run) -> None:
        """A process has delivered a run."""


def frame_overhead_bytes(run: Run) -> int:
    """Return what ``run`` weighs on the wire beyond its payloads, in a frame of its own."""
    return len(encode_runs(0, run.sender, [run])) - run.byte_count


class LeanDriver:
    """One process: its machine, and where it journals."""

    __slots__ = (
        "_carrier",
        "_clock",
        "_index",
        "_indexes",
        "_is_admitted",
        "_me",
        "_rows",
        "_timer_count",
        "_timers",
        "_wanting",
        "endpoint",
        "held_runs_max",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        indexes: dict[ProcessId, int],
        clock: TimeSource,
        carrier: Carrier,
        rows: Rows | None,
    ) -> None:
        """Prepare to drive ``endpoint``; ``indexes`` has the numbers of all processes.

        ``rows`` take what happens.
        """
        self.endpoint = endpoint
        self._me = endpoint.me
        self._index = indexes[endpoint.me]
        self._indexes = indexes
        self._clock = clock
        self._carrier = carrier
        self._rows = rows
        self._timers: dict[Timer, int] = {}
        self._timer_count = 0
        self._is_admitted = False
        self._wanting: deque[MulticastRequested] = deque()
        self.held_runs_max = 0
        """The deepest that the delay queue has been, where that is journalled."""

    # What happens.

    def start(self) -> None:
        """Begin; to be called once, before anything happens."""
        if self._rows is not None:
            self._rows.start(self._clock.now_us)
        self._do_all(self.endpoint.start())

    def stop(self, time_us: int, why: str) -> None:
        """Note the end; nothing happens any more."""
        if self._rows is not None:
            self._rows.stop(time_us, why)

    def multicast(self, asked: MulticastRequested) -> None:
        """Multicast, now or when the machine admits it."""
        if self._is_admitted:
            assert not self._wanting, "what waits goes out as soon as it is admitted"
            self._give(asked)
        else:
            self._wanting.append(asked)
            self._give(SendersWaited(is_waiting=True))
        self._send_wanting()

    def take(self, item: Item) -> None:
        """Take what arrives: a run the short way if it can go there."""
        if type(item) is not RunsReceived:
            self._give(item)
            self._send_wanting()
            return
        run, endpoint = item.runs[0], self.endpoint
        if endpoint.receive(item.peer, run):
            if self._rows is not None:
                self._note_receipt(run)
                self._note_delivery(run)
            self._carrier.on_deliver(self._index, run)
            effects = endpoint.step(PeerHeard(item.peer), self._clock.now_us)
        else:
            effects = endpoint.step(item, self._clock.now_us)
            # Where runs are forwarded they come more than once: all but the first do nothing.
            if self._rows is not None and (effects or endpoint.member.dissemination is None):
                self._note_receipt(run)
        if effects:
            self._do_all(effects)
            self._send_wanting()

    def fire(self, due: tuple[Timer, int]) -> None:
        """It is the time that was set for a timer, unless it has been set again since."""
        timer, number = due
        if self._timers.get(timer) == number:
            del self._timers[timer]
            self._give(TimerFired(timer))
            self._send_wanting()

    # Driving the machine.

    def _give(self, happened: Input) -> None:
        self._do_all(self.endpoint.step(happened, self._clock.now_us))

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)

    def _send_wanting(self) -> None:
        """Hand over what was not admitted before, one by one: each may fill the room there is."""
        while self._wanting and self._is_admitted:
            self._give(self._wanting.popleft())
            if not self._wanting:
                self._give(SendersWaited(is_waiting=False))

    def _do(self, effect: Effect) -> None:
        match effect:
            case SendRun(run, alive):
                self._send_run(run, alive, effect.to)
            case DeliverRuns(runs):
                self._deliver(runs)
            case SendControl(to, message):
                self._send_each(to, ControlReceived(self._me, message))
            case RelayRuns(to, runs):
                for run in runs:
                    self._send_each(to, RunsReceived(self._me, [run], is_relayed=True))
            case SetTimer(timer, time_us):
                self._set_timer(timer, time_us)
            case AdmitSenders(messages):
                self._is_admitted = messages
            case _:
                self._note(effect)

    def _note(self, effect: Effect) -> None:
        match effect:
            case InstallView(view):
                if self._rows is not None:
                    self._rows.view(self._clock.now_us, view)
            case ExpectPeers():
                pass  # all channels are there from the beginning
            case _:
                unexpected = f"{self._me}: {effect}, in a group in which nobody fails"
                raise AssertionError(unexpected)

    def _deliver(self, runs: list[Run]) -> None:
        for run in runs:
            if self._rows is not None:
                self._note_delivery(run)
            self._carrier.on_deliver(self._index, run)

    def _send_each(self, to: tuple[ProcessId, ...], item: Item) -> None:
        for process in to:
            self._carrier.send(self._index, self._indexes[process], item)

    def _send_run(
        self, run: Run, alive: AnyMessage | None, to: tuple[ProcessId, ...] | None
    ) -> None:
        if self._rows is not None:
            depth, overhead_bytes = self.endpoint.queue_depth, frame_overhead_bytes(run)
            self._rows.run(self._clock.now_us, "multicast", run, depth, overhead_bytes)
        self._carrier.on_send(run)
        if alive is not None:
            self._carrier.multicast(self._index, ControlReceived(self._me, alive))
        if to is None:
            self._carrier.multicast(self._index, RunsReceived(self._me, [run]))
        else:
            self._send_each(to, RunsReceived(self._me, [run]))

    def _set_timer(self, timer: Timer, time_us: int) -> None:
        self._timer_count += 1
        self._timers[timer] = number = self._timer_count
        now_us = self._clock.now_us
        if timer == HEARTBEAT and number == 1:
            # Not all at once: each process begins at a time of its own within the first interval.
            time_us += (time_us - now_us) * self._index // len(self._indexes)
        self._carrier.set_timer(self._index, max(time_us, now_us + _TURN_US), (timer, number))

    # The journal.

    def _note_receipt(self, run: Run) -> None:
        depth = self.endpoint.queue_depth
        self.held_runs_max = max(self.held_runs_max, depth)
        assert self._rows is not None, "only traced processes note anything"
        self._rows.run(self._clock.now_us, "receive", run, depth)

    def _note_delivery(self, run: Run) -> None:
        assert self._rows is not None, "only traced processes note anything"
        self._rows.run(self._clock.now_us, "deliver", run, self.endpoint.queue_depth)
