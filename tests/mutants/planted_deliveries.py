"""Planted bugs of what is known to be delivered by all: counts, words that come early, news."""

from msgspec.structs import replace
from tests.mutants.registry import plant

from antiphon.core.control import Alive
from antiphon.core.runs import Run
from antiphon.ordering.matrix_clock import MatrixClock, _Row
from antiphon.ordering.stability import Stability
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.receiver import Receiver

_RIGHT_ALIVE = Stability.alive
_RIGHT_SAY = FlowControl.say
_DELIVER = Receiver.deliver


@plant(Stability, "alive", "delivered: what is held")
def delivered_counts_what_is_received(
    self: Stability, number: int, received: list[int], agreed: int, *, is_blocked: bool = False
) -> Alive:
    """A member says that it has delivered whatever it has received."""
    alive = _RIGHT_ALIVE(self, number, received, agreed, is_blocked=is_blocked)
    return replace(alive, undelivered=())


@plant(FlowControl, "say", "delivered: flow control")
def withheld_counts_as_delivered(self: FlowControl, alive: Alive) -> Alive:
    """What was withheld is said later as if all of it had been delivered."""
    said = _RIGHT_SAY(self, alive)
    return said if said is alive else replace(said, undelivered=())


@plant(MatrixClock, "delivered", "delivered: all members")
def silent_members_do_not_count(self: MatrixClock, rank: int) -> int:
    """Who has not said anything is taken to have delivered everything."""
    for member, row in self._rows.items():
        row.settle(self._delivered[member])
    said = [row.known.get(rank, 0) for row in self._rows.values()]
    return min([self._delivered[rank], *said])


@plant(_Row, "settle", "delivered: concurrent messages")
def word_counts_before_what_was_multicast(self: _Row, _delivered: int) -> None:
    """What a member says counts at once, though messages that it multicast before wait here."""
    while self.waiting:
        self.known.update(self.waiting.popleft()[1])


@plant(Receiver, "deliver", "delivered: news")
def delivery_by_a_mark_is_no_news(self: Receiver, ready: list[Run]) -> None:
    """A member that delivers without receiving anything tells nobody."""
    has_news = self.has_news
    _DELIVER(self, ready)
    self.has_news = has_news
