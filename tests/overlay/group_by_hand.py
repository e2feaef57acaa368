"""A group that floods an overlay, whole, over channels that take a millisecond.

Law: every machine is the one that ships; what it says is carried in order, and noted. A channel is
there for whoever is expected: what is said to another member is a mistake, and raises. Who is no
member any more has one for a while.
"""

from collections import Counter
from functools import partial
from heapq import heappop, heappush
from typing import Any

from antiphon.core.control import AnyMessage
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.stack import effects, inputs
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.overlay import Overlay
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Limits, Settings

WAY_US = 1_000
BEAT_US = Timing().heartbeat_us


class Group:
    """Members that begin together."""

    def __init__(self, size: int, topology: str = "incomplete-hypercube", **limits: int) -> None:
        """Found it, at time 0; beats of different members are at different times."""
        self.settings = Settings(protocol=Overlay(topology), limits=Limits(**limits))
        self.members = tuple(ProcessId(f"p{rank:02}") for rank in range(size))
        self.now_us = self._count = 0
        self._events: list[tuple[int, int, Any]] = []
        self._timers: dict[tuple[ProcessId, Any], int] = {}
        self.endpoints: dict[ProcessId, Endpoint] = {}
        self.expected: dict[ProcessId, tuple[ProcessId, ...]] = {}
        self.said: Counter[type] = Counter()
        """Control messages by kind, each as often as it was sent to somebody."""
        self.done: list[tuple[ProcessId, effects.Effect]] = []
        """What is for nobody else."""
        view = View(GroupName("g"), ViewNumber(1), self.members)
        for place, me in enumerate(self.members):
            self._at(place * BEAT_US // size, partial(self._begin, me, view))
        self.run(BEAT_US)

    def _at(self, time_us: int, action: Any) -> None:
        self._count += 1
        heappush(self._events, (time_us, self._count, action))

    def _begin(self, me: ProcessId, view: View | None) -> None:
        endpoint = self.endpoints[me] = Endpoint(me, view, self.settings, self.now_us)
        self._do(me, endpoint.start())

    def run(self, for_us: int) -> None:
        """Let time pass."""
        until_us = self.now_us + for_us
        while self._events and self._events[0][0] <= until_us:
            self.now_us, _, action = heappop(self._events)
            action()
        self.now_us = until_us

    def settle(self) -> None:
        """Let time pass until all is quiet; forget what was said."""
        self.run(30 * BEAT_US)
        self.said.clear()

    def give(self, me: ProcessId, happened: inputs.Input) -> None:
        """Let something happen to a member, if it lives and has begun."""
        endpoint = self.endpoints.get(me)
        if endpoint is not None:
            self._do(me, endpoint.step(happened, self.now_us))
        elif me in self.members and self.now_us < BEAT_US:
            self._at(self.now_us + WAY_US, partial(self.give, me, happened))

    def multicast(self, me: ProcessId, payload: bytes = b"x") -> None:
        """Multicast one message."""
        how = How(Order.CAUSAL)
        self.give(me, inputs.MulticastRequested([payload], how, len(payload)))

    def crash(self, *victims: ProcessId) -> None:
        """Let members be gone, without a word."""
        for victim in victims:
            del self.endpoints[victim]

    def _do(self, me: ProcessId, todo: list[effects.Effect]) -> None:
        for effect in todo:
            match effect:
                case effects.SetTimer(timer, time_us):
                    self._timers[me, timer] = time_us
                    self._at(max(time_us, self.now_us), partial(self._fire, me, timer, time_us))
                case effects.SendRun(run, None, to) if to is not None:
                    self._send(me, to, inputs.RunsReceived(me, [run]))
                case effects.SendControl(to, message):
                    self._tell(me, to, message)
                case effects.RelayRuns(to, runs):
                    self._send(me, to, inputs.RunsReceived(me, runs, is_relayed=True))
                case effects.SendLetter(to, letter):
                    self._send(me, (to,), inputs.LetterReceived(me, letter))
                case _:
                    self._note(me, effect)

    def _note(self, me: ProcessId, effect: effects.Effect) -> None:
        if isinstance(effect, effects.ExpectPeers):
            self.expected[me] = effect.processes
        self.done.append((me, effect))

    def _fire(self, me: ProcessId, timer: inputs.Timer, time_us: int) -> None:
        if self._timers.get((me, timer)) == time_us:
            del self._timers[me, timer]
            self.give(me, inputs.TimerFired(timer))

    def _tell(self, me: ProcessId, to: tuple[ProcessId, ...], message: AnyMessage) -> None:
        self.said[type(message)] += len(to)
        self._send(me, to, inputs.ControlReceived(me, message))

    def _send(self, me: ProcessId, to: tuple[ProcessId, ...], item: inputs.Input) -> None:
        for other in to:
            view = self.endpoints[me].latest
            is_departing = view is not None and other not in view.members
            has_channel = is_departing or other in self.expected[me]
            assert has_channel, f"{me} has no channel with {other} for {item}"
            self._at(self.now_us + WAY_US, partial(self.give, other, item))

    # What became of it.

    def of(self, kind: type) -> list[tuple[ProcessId, Any]]:
        """Return what was done of one kind, and by whom."""
        return [(me, effect) for me, effect in self.done if type(effect) is kind]
