"""Every interleaving of a few messages among three processes, on the real ordering machine.

Law: a plan says who multicasts what, at once or after so many deliveries; what is searched is the
order in which runs and confirmations arrive and lists and confirmations go out. Two histories in
which every process saw the same things in the same order are one state. At the end of each path
everything must have been delivered everywhere, in one order where total order was asked for, and
after its past.
"""

import pickle
from collections import deque
from typing import NamedTuple

from antiphon.core.control import Confirm
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import PORT_ORDER, Order, Run
from antiphon.core.views import View
from antiphon.ordering.mixed import MixedDomain

GROUP = GroupNumber(0)
SIZE = 3
VIEW = View(GroupName("g"), ViewNumber(1), tuple(ProcessId(name) for name in "abc"))


class Restless:
    """The token goes to whoever had the last turn: it moves as often as it can."""

    def __init__(self) -> None:
        """Nobody has sent anything."""
        self._last = -1

    def note(self, sender: int) -> None:
        """Remember the last one."""
        self._last = sender

    def successor(self, holder: int) -> int:
        """Return who had the last turn."""
        return holder if self._last < 0 else self._last


class Say(NamedTuple):
    """One message of a plan: ``who`` multicasts it when it has delivered ``after`` messages."""

    who: int
    order: Order
    uniform: bool = False
    after: int = 0


Message = tuple[int, int]
Item = Run | Confirm


class Place:
    """One process."""

    def __init__(self, rank: int, plan: list[Say], *, moves: bool) -> None:
        """Begin, with what it is to say."""
        self.rank = rank
        self.machine = MixedDomain("fixed")
        if moves:
            self.machine._policy = Restless
        self.machine.advance(GROUP, VIEW, Rank(rank))
        self.plan = deque(say for say in plan if say.who == rank)
        self.seen: list[object] = []
        self.delivered: list[Message] = []


class State:
    """A world at one moment."""

    def __init__(self, plan: list[Say], *, moves: bool) -> None:
        """Begin: what may be said at once is said."""
        self.places = [Place(rank, plan, moves=moves) for rank in range(SIZE)]
        self.channels: dict[tuple[int, int], deque[Item]] = {
            (source, target): deque()
            for source in range(SIZE)
            for target in range(SIZE)
            if source != target
        }
        self.pasts: dict[Message, frozenset[Message]] = {}
        self.totals: dict[Message, None] = {}
        for place in self.places:
            self._speak(place)

    @property
    def key(self) -> str:
        """What every process has seen, in order: that decides everything."""
        return repr([place.seen for place in self.places])

    def moves(self) -> list[tuple[int, int]]:
        """Return what can happen next: an arrival, or (p, p): p says what is due."""
        arrivals = [pair for pair, channel in self.channels.items() if channel]
        return arrivals + [
            (place.rank, place.rank) for place in self.places if place.machine.is_due(GROUP)
        ]

    def go(self, move: tuple[int, int]) -> None:
        """Let one thing happen."""
        source, target = move
        place = self.places[target]
        if source == target:
            place.seen.append("pay")
            self._pay(place)
        else:
            item = self.channels[move].popleft()
            place.seen.append((source, repr(item)))
            if isinstance(item, Run):
                self._deliver(place, place.machine.receive(item))
            else:
                self._deliver(place, place.machine.confirm(GROUP, source, item))
        self._speak(place)

    def _pay(self, place: Place) -> None:
        said = place.machine.multicast_order(GROUP)
        if said is not None:
            self._multicast(place, *said)
        for rank, confirm in place.machine.confirmations(GROUP):
            self.channels[place.rank, rank].append(confirm)

    def _speak(self, place: Place) -> None:
        while place.plan and len(place.delivered) >= place.plan[0].after:
            say = place.plan.popleft()
            run, ready = place.machine.multicast_any(GROUP, [b""], say.order, uniform=say.uniform)
            message = (place.rank, run.first)
            mine = frozenset((rank, number) for rank, number in self.pasts if rank == place.rank)
            fifo = say.order is Order.FIFO
            self.pasts[message] = mine if fifo else mine | frozenset(place.delivered)
            if say.order is Order.TOTAL:
                self.totals[message] = None
            self._multicast(place, run, ready)

    def _multicast(self, place: Place, run: Run, ready: list[Run]) -> None:
        for rank in range(SIZE):
            if rank != place.rank:
                self.channels[place.rank, rank].append(run)
        self._deliver(place, ready)

    def _deliver(self, place: Place, runs: list[Run]) -> None:
        place.delivered += [(run.sender, run.first) for run in runs if run.port != PORT_ORDER]

    def complaint(self) -> str:
        """Say what is wrong at the end; empty if nothing is."""
        for place in self.places:
            for at, message in enumerate(place.delivered):
                if not self.pasts[message] <= set(place.delivered[:at]):
                    return f"{place.rank} delivered {message} before something in its past"
            if place.machine.queue_depth or place.plan:
                return f"{place.rank} holds messages back, or never spoke"
        orders = [
            [message for message in place.delivered if message in self.totals]
            for place in self.places
        ]
        if any(order != orders[0] for order in orders):
            return f"the orders differ: {orders}"
        return "" if len(orders[0]) == len(self.totals) else "something was never delivered"


def search(plan: list[Say], *, moves: bool = False, states_max: int = 100_000) -> tuple[int, str]:
    """Try every interleaving; return how many states there were, and the first complaint."""
    first = State(plan, moves=moves)
    seen = {first.key}
    stack = [pickle.dumps(first)]
    while stack:
        frozen = stack.pop()
        state: State = pickle.loads(frozen)
        possible = state.moves()
        if not possible and (said := state.complaint()):
            return len(seen), said
        for at, move in enumerate(possible):
            after: State = state if at == len(possible) - 1 else pickle.loads(frozen)
            after.go(move)
            if after.key not in seen:
                seen.add(after.key)
                stack.append(pickle.dumps(after))
        assert len(seen) <= states_max, "the plan is too large to be searched"
    return len(seen), ""
