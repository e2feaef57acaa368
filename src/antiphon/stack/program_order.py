"""Program order: what a process hands over in several groups leaves in the order of the hand-over.

Law: each thing that waits in a send queue of a domain has a place; only the first of all may leave.
So what waits for a group's next view holds up what was multicast later in another group: else a
response could leave before its call. Things without a group any more have no place.

Cost: a few dictionary moves for what waits; nothing for what leaves at once.
"""

from collections import deque

from antiphon.core.ids import GroupNumber


class ProgramOrder:
    """The places of what waits in the send queues of one domain."""

    __slots__ = ("_next", "waiting")

    def __init__(self) -> None:
        """Nothing waits."""
        self._next = 1
        self.waiting: dict[int, Places] = {}
        """By place: the queue of what waits there, in order."""

    def put(self, queue: "Places") -> int:
        """Return the place of something that begins to wait in a queue."""
        place = self._next
        self._next += 1
        self.waiting[place] = queue
        return place

    def remove(self, place: int) -> None:
        """It has left, or does not wait any more."""
        del self.waiting[place]

    @property
    def first(self) -> "Places | None":
        """The queue whose first thing is the first of all; None: nothing waits."""
        return next(iter(self.waiting.values()), None)

    def is_last(self, place: int) -> bool:
        """Whether nothing has begun to wait since."""
        return place == self._next - 1


class Places:
    """The places of what waits in one send queue, in order; none as long as it is the only one."""

    __slots__ = ("_places", "group", "order")

    def __init__(self) -> None:
        """Be in nobody's order."""
        self.order: ProgramOrder | None = None
        self.group = GroupNumber(0)
        """The group of the queue, as its domain knows it."""
        self._places: deque[int] = deque()

    def enter(self, order: ProgramOrder, group: GroupNumber, count: int) -> None:
        """Take part in an order, for a group, with so many things that wait already."""
        self.leave()
        self.group = group
        self.order = order
        self._places.extend(order.put(self) for _ in range(count))

    def leave(self) -> None:
        """Take part no longer: what waits here holds up nobody."""
        if self.order is not None:
            for place in self._places:
                self.order.remove(place)
        self._places.clear()
        self.order = None

    @property
    def is_first(self) -> bool:
        """Whether nothing of another queue is before what this one has to send."""
        order = self.order
        return order is None or not order.waiting or order.first is self

    @property
    def may_append(self) -> bool:
        """Whether what is put behind the last thing here would have its place, too."""
        return self.order is None or (bool(self._places) and self.order.is_last(self._places[-1]))

    def put(self) -> None:
        """Something begins to wait, behind all else."""
        if self.order is not None:
            self._places.append(self.order.put(self))

    def take(self, index: int = 0) -> None:
        """Something does not wait any more: the first thing, or another."""
        if self.order is not None:
            self.order.remove(self._places[index])
            del self._places[index]
