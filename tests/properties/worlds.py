"""A world runs one schedule twice, in lock step: on real processes and on the slow machine.

Over FIFO channels the real one goes the whole way: ``Endpoint``, encoded frames, decoded runs; or,
as over unordered ones, without what is around the ordering machine. After each step both must have
delivered the same messages in the same order at every process. What happened is kept as a history
for the event graph, the judge that shares no idea with either of them.
"""

from collections.abc import Sequence

from tests.properties.event_graph import Event, Message, complaints
from tests.properties.processes import BareProcess, Done, Process, WholeProcess
from tests.properties.schedules import Arrive, Multicast, Schedule, Step
from tests.properties.slow_machine import Parcel, SlowProcess

from antiphon.core.errors import AntiphonError
from antiphon.core.frames import Runs, decode_frame, encode_runs
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.stack.effects import DeliverRuns, SendRun

DOMAIN = 0


class WrongOrderError(AssertionError):
    """The real process did something else than the slow machine."""


class World:
    """Processes, slow twins, and between each pair a channel of what is under way."""

    def __init__(
        self,
        size: int,
        *,
        fifo_channels: bool = True,
        compares_twins: bool = True,
        is_whole: bool = True,
    ) -> None:
        """Start ``size`` members of one group; the twins may be left out of the judgement.

        Endpoints need FIFO channels: over others, and if not ``is_whole``, bare machines run.
        """
        self.compares_twins = compares_twins
        members = tuple(ProcessId(f"p{rank}") for rank in range(size))
        view = View(GroupName("world"), ViewNumber(1), members)
        self.fifo_channels = fifo_channels
        self.members = members
        self.processes: list[Process] = [
            WholeProcess(member, view)
            if is_whole and fifo_channels
            else BareProcess(member, view, fifo_channels=fifo_channels)
            for member in members
        ]
        self.twins = [SlowProcess(rank, size) for rank in range(size)]
        self.history: list[list[Event]] = [[] for _ in members]
        self.orders: list[list[Message]] = [[] for _ in members]
        self.sent: list[Run] = []
        self.channels: dict[tuple[int, int], list[tuple[Run, Parcel]]] = {
            (sender, receiver): []
            for sender in range(size)
            for receiver in range(size)
            if sender != receiver
        }

    def multicast(self, who: int, count: int, *, is_fifo: bool = False) -> Run:
        """Let ``who`` multicast a run; return it as it went out."""
        first = 1 + sum(run.count for run in self.sent if run.sender == who)
        payloads = [_payload(who, number) for number in range(first, first + count)]
        order = Order.FIFO if is_fifo else Order.CAUSAL
        effects = self.processes[who].multicast(payloads, order)
        match effects[0]:
            case SendRun(run):
                self.history[who] += [
                    Event("multicast", message, is_fifo) for message in _names(run)
                ]
            case _:
                message = f"the first effect of a multicast is {effects[0]}"
                raise WrongOrderError(message)
        self.sent.append(run)
        parcel = self.twins[who].multicast(count, is_fifo=is_fifo)
        for (sender, _), channel in self.channels.items():
            if sender == who:
                channel.append((run, parcel))
        self._take_deliveries(who, effects[1:])
        return run

    def arrive(
        self, sender: int, receiver: int, indexes: Sequence[int] = (0,), *, keep: bool = False
    ) -> None:
        """Let parcels of one channel arrive in one frame; with ``keep`` they may come again."""
        channel = self.channels[sender, receiver]
        arriving = [channel[index] for index in indexes]
        if not keep:
            taken = sorted(indexes, reverse=True)
            for index in taken:
                del channel[index]
        self.bring(sender, receiver, arriving)

    def bring(self, sender: int, receiver: int, arriving: list[tuple[Run, Parcel]]) -> None:
        """Carry runs to ``receiver`` as the bytes of one frame."""
        frame = decode_frame(encode_runs(DOMAIN, sender, [run for run, _ in arriving]))
        assert isinstance(frame, Runs), "what was encoded as runs came back as something else"
        for run, (_, parcel) in zip(frame.runs, arriving, strict=True):
            effects = self.processes[receiver].receive(self.members[sender], run)
            self.twins[receiver].receive(parcel)
            self._take_deliveries(receiver, effects)

    def _take_deliveries(self, who: int, effects: Done) -> None:
        for effect in effects:
            match effect:
                case DeliverRuns(runs):
                    for run in runs:
                        self._record_delivery(who, run)
                case SendRun():
                    message = f"process {who} sent something that nobody asked for: {effect}"
                    raise WrongOrderError(message)
        if self.compares_twins:
            self._compare(who)

    def _compare(self, who: int) -> None:
        if self.orders[who] != self.twins[who].order:
            message = f"process {who}: {_difference(self.orders[who], self.twins[who].order)}"
            raise WrongOrderError(message)
        held = self.processes[who].ordering.queue_depth
        if held != len(self.twins[who].queue):
            message = f"process {who} holds {held} runs, not {len(self.twins[who].queue)}"
            raise WrongOrderError(message)

    def _record_delivery(self, who: int, run: Run) -> None:
        for message, payload in zip(_names(run), run.payloads, strict=True):
            if payload != _payload(*message):
                text = f"process {who} delivered {payload!r} as {message}"
                raise WrongOrderError(text)
            self.orders[who].append(message)
            self.history[who].append(Event("deliver", message))

    def take(self, step: Step) -> None:
        """Do one step of a schedule."""
        if isinstance(step, Multicast):
            self.multicast(step.who % len(self.processes), step.count, is_fifo=step.is_fifo)
            return
        busy = [pair for pair, channel in self.channels.items() if channel]
        if busy:
            sender, receiver = busy[step.channel % len(busy)]
            before = len(self.orders[receiver])
            self._take_arrival(sender, receiver, step)
            if step.answer and len(self.orders[receiver]) > before:
                self.multicast(receiver, step.answer)

    def _take_arrival(self, sender: int, receiver: int, step: Arrive) -> None:
        channel = self.channels[sender, receiver]
        index = step.pick % len(channel)
        if self.fifo_channels:
            self.arrive(sender, receiver, range(min(step.batch, len(channel))))
        elif step.cut and channel[index][0].count > 1:
            self.bring(sender, receiver, [_part(*channel[index], step.cut)])
        else:
            self.arrive(sender, receiver, (index,), keep=step.is_copy)

    def settle(self) -> None:
        """Let everything under way arrive, the youngest channels first."""
        for (sender, receiver), channel in reversed(self.channels.items()):
            while channel:
                self.arrive(sender, receiver)


def judge(schedule: Schedule, *, compares_twins: bool = True, is_whole: bool = True) -> list[str]:
    """Run a schedule to its end; return all that is wrong with it, from either judge."""
    world = World(
        schedule.size,
        fifo_channels=schedule.fifo_channels,
        compares_twins=compares_twins,
        is_whole=is_whole,
    )
    found: list[str] = []
    try:
        for step in schedule.steps:
            world.take(step)
        world.settle()
    except WrongOrderError as error:
        found.append(f"slow machine: {error}")
    except AntiphonError as error:
        found.append(f"refused honest traffic: {error}")
    is_complete = not found
    if is_complete and any(process.ordering.queue_depth for process in world.processes):
        found.append("delay queue: something is still held")
    found += [f"event graph: {text}" for text in complaints(world.history, is_complete=is_complete)]
    return found


def _part(run: Run, parcel: Parcel, cut: int) -> tuple[Run, Parcel]:
    """Return some messages of a run, from its head or (below zero) from its tail."""
    size = 1 + (abs(cut) - 1) % (run.count - 1)
    if cut < 0:
        return run.after(run.last - size), parcel[-size:]
    payloads = run.payloads[:size]
    head = Run(run.group, run.view, run.sender, run.first, run.order, run.stamp, payloads)
    return head, parcel[:size]


def _names(run: Run) -> list[Message]:
    return [(run.sender, number) for number in range(run.first, run.last + 1)]


def _payload(sender: int, number: int) -> bytes:
    """Say who and which, in lengths that vary, so that a slice in the wrong place shows."""
    return f"{sender}:{number}".encode() + b"." * (number % 3)


def _difference(real: list[Message], slow: list[Message]) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(real, slow, strict=False)) if a != b),
        min(len(real), len(slow)),
    )
    return f"after {place} deliveries came {real[place:][:3]}, expected {slow[place:][:3]}"
