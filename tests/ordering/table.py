"""A table: members of a small group, and the channels between them, moved by hand.

Law: nothing happens unless a test says so: a message arrives when ``arrive`` is called, lists and
confirmations go out when ``acknowledge`` is. What happens is written down as rows, and judged by
the oracle; a test need not look into a machine.
"""

from collections import Counter, deque
from typing import Any

from tests.membership.hands import A, B, C, D, E, view_of

from antiphon.core.control import Decide
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_ORDER, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import (
    DeliverRuns,
    Effect,
    InstallView,
    RelayRuns,
    SendControl,
    SendLetter,
    SendRun,
)
from antiphon.oracle import judge
from antiphon.oracle.letter_checks import find_broken_letter
from antiphon.stack.member import Member
from antiphon.stack.settings import Settings
from antiphon.trace.rows import Rows
from antiphon.trace.schema import QUIESCENT, Event
from antiphon.trace.verdict import Status

FIFO, CAUSAL, TOTAL = Order.FIFO, Order.CAUSAL, Order.TOTAL
PEOPLE = (A, B, C, D, E)


class Seat:
    """One process: its machine, its rows, what it delivered."""

    def __init__(self, me: ProcessId, view: View, settings: Settings) -> None:
        """Sit down."""
        self.machine = Member(me, view, settings, 0)
        self.events: list[Event] = []
        self.rows = Rows(str(me), "g", self._note)
        self.delivered: list[str] = []
        self.views: dict[int, View] = {}
        self.is_up = True
        self.letters: Counter[tuple[str, str]] = Counter()

    def _note(self, event: Event) -> None:
        event.index = len(self.events)
        self.events.append(event)


class Table:
    """A group of ``size``, all in view 1; ``a`` is the most senior, and so holds the token."""

    def __init__(self, size: int, flush: str = "view-atomic", token: str = "fixed") -> None:
        """Let everybody sit down."""
        self.people = PEOPLE[:size]
        self.view = view_of(*self.people)
        settings = Settings(flush=flush, token=token)
        self.now_us = 0
        self.seats = {who: Seat(who, self.view, settings) for who in self.people}
        self.channels: dict[tuple[ProcessId, ProcessId], deque[Any]] = {
            (source, target): deque()
            for source in self.people
            for target in self.people
            if source != target
        }
        for who, seat in self.seats.items():
            seat.rows.start(0)
            self._do(who, seat.machine.take_effects())

    # What processes do.

    def say(
        self, who: ProcessId, order: Order = CAUSAL, *, uniform: bool = False, count: int = 1
    ) -> None:
        """Let ``who`` multicast."""
        machine = self.seats[who].machine
        self._do(who, machine.multicast([b""] * count, order, self._tick(), uniform=uniform))

    def write(self, who: ProcessId, to: ProcessId) -> None:
        """Let ``who`` send a letter."""
        self._tick()
        self._do(who, self.seats[who].machine.send_letter(to, b"", PORT_APPLICATION))

    def acknowledge(self, *who: ProcessId) -> None:
        """Let processes say what others wait for: lists, confirmations, acknowledgements."""
        for process in who:
            self._do(process, self.seats[process].machine.acknowledge(self._tick()))

    def learn(self, view: View, *who: ProcessId) -> None:
        """Let processes learn that a view has been agreed on."""
        for process in who:
            peer = next(other for other in self.people if other != process)
            machine = self.seats[process].machine
            self._do(process, machine.take_control(peer, Decide((view,)), self._tick()))

    # What happens to them.

    def arrive(self, source: ProcessId, *targets: ProcessId, count: int = 1) -> None:
        """Let the next things that ``source`` sent arrive at ``targets``."""
        for target in targets:
            for _ in range(count):
                self._take(source, target, self.channels[source, target].popleft())

    def crash(self, *who: ProcessId) -> None:
        """Let processes die; what they sent and has not arrived is lost."""
        for process in who:
            self.seats[process].is_up = False
            self.seats[process].rows.crash(self._tick())
            for target in self.people:
                if target != process:
                    self.channels[process, target].clear()

    def settle(self) -> None:
        """Let everything arrive, and everybody say what is due, until nothing more happens."""
        is_busy = True
        while is_busy:
            is_busy = False
            for (source, target), channel in self.channels.items():
                while channel:
                    is_busy = True
                    self._take(source, target, channel.popleft())
            for who, seat in self.seats.items():
                if seat.is_up and (seat.machine.is_due or seat.machine.letters.is_due):
                    is_busy = True
                    self.acknowledge(who)

    # What became of it.

    def order(self, who: ProcessId) -> list[str]:
        """Return what a process delivered, in order: ``b2`` is the second multicast of b."""
        return self.seats[who].delivered

    @property
    def held(self) -> dict[str, int]:
        """Return how many runs each living process holds back, if it holds any."""
        depths = {
            str(who): seat.machine.ordering.queue_depth
            for who, seat in self.seats.items()
            if seat.is_up
        }
        return {who: depth for who, depth in depths.items() if depth}

    def judge(self, *, is_over: bool = True) -> list[str]:
        """Return the promises that were broken; with ``is_over`` everything has arrived."""
        for seat in self.seats.values():
            if seat.is_up and is_over:
                seat.rows.stop(self._tick(), QUIESCENT)
        events = [event for seat in self.seats.values() for event in seat.events]
        broken = [
            item.property.value
            for item in judge(events).properties
            if item.status is Status.VIOLATED
        ]
        return broken + (["letters"] if find_broken_letter(events) else [])

    # Inside.

    def _tick(self) -> int:
        self.now_us += 1
        return self.now_us

    def _take(self, source: ProcessId, target: ProcessId, item: Any) -> None:
        seat = self.seats[target]
        if not seat.is_up:
            return
        machine, now_us = seat.machine, self._tick()
        match item:
            case Letter():
                self._do(target, machine.take_letter(source, item, now_us))
            case Run():
                if machine.receiver.receive_plain(source, item):
                    self._deliver(target, [item])
                else:
                    self._do(target, machine.take_run(source, item, now_us))
            case [Run() as run]:
                self._do(target, machine.take_run(source, run, now_us, relayed=True))
            case _:
                self._do(target, machine.take_control(source, item, now_us))

    def _do(self, who: ProcessId, effects: list[Effect]) -> None:
        seat = self.seats[who]
        for effect in effects:
            match effect:
                case SendRun(run):
                    seat.rows.run(self.now_us, "multicast", run, 0)
                    self._send(who, seat.views[run.view].members, run)
                case SendControl(to, message):
                    self._send(who, to, message)
                case RelayRuns(to, runs):
                    self._send(who, to, *([run] for run in runs))
                case SendLetter(to, letter):
                    seat.letters["to", str(to)] += 1
                    seat.rows.send_letter(self.now_us, str(to), seat.letters["to", str(to)])
                    self._send(who, (to,), letter)
                case _:
                    self._show(who, effect)

    def _show(self, who: ProcessId, effect: Effect) -> None:
        """Do what is for the application."""
        seat = self.seats[who]
        match effect:
            case DeliverRuns(runs):
                self._deliver(who, runs)
            case InstallView(view):
                seat.views[view.number] = view
                seat.rows.view(self.now_us, view)
            case _:
                pass

    def _send(self, who: ProcessId, to: tuple[ProcessId, ...], *items: Any) -> None:
        for process in to:
            if process != who:
                self.channels[who, process].extend(items)

    def _deliver(self, who: ProcessId, runs: list[Run]) -> None:
        seat = self.seats[who]
        for run in runs:
            sender = str(seat.views[run.view].members[run.sender])
            if isinstance(run, Letter):
                seat.letters["from", sender] += 1
                seat.rows.take_letter(self.now_us, sender, seat.letters["from", sender])
                seat.delivered.append(f"{sender}->{who}")
                continue
            seat.rows.run(self.now_us, "deliver", run, 0)
            if run.port != PORT_ORDER:
                seat.delivered += [f"{sender}{number}" for number in range(run.first, run.last + 1)]
