"""What somebody lacks: agreement, view-atomic, self-delivery, liveness, uniform; and made-up rows.

Law: the definitions of docs/properties.md, read off the sets of what everybody has delivered,
which stay when single messages have been forgotten. What a process lacks counts once it has left
the view, or its record is complete: until then it may come. Cost: processes times senders per view.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from antiphon.live.memory.number_sets import Numbers, common, greatest, minus, size, spans_of, union
from antiphon.live.memory.record import Key, RunMemory
from antiphon.live.memory.remembered import Place
from antiphon.live.memory.scope import Scope
from antiphon.live.packs import UNIFORM
from antiphon.live.stories import Teller
from antiphon.trace.explanations import (
    Explanation,
    explain_creation,
    explain_disagreement,
    explain_not_atomic,
    explain_not_uniform,
    explain_own_missing,
    explain_stall,
)
from antiphon.trace.verdict import EXAMPLES_MAX, Property

CREATION_MS = 5_000
"""For so long a message may be delivered of which only later ones are known to be multicast."""

Telling = Callable[[Teller], Explanation[Place]]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Messages of one sender that a process lacks, or should not have."""

    property: Property
    count: int
    examples: list[tuple[Key, Telling]]
    """The first few."""


Expected = dict[int, Numbers]
"""By sender, by its number in the scope."""


class Shortfalls:
    """Looks at what is missing in one scope."""

    def __init__(
        self, memory: RunMemory, scope: Scope, *, is_over: bool, is_left: bool = False
    ) -> None:
        """Look at a scope; ``is_over``: all records just end here; ``is_left``: all have left."""
        self._is_left = is_left or is_over
        self._memory = memory
        self._scope = scope
        self._is_over = is_over
        members = scope.members or sorted(scope.who[each] for each in scope.acting)
        self.members = sorted(members, key=memory.name_of)
        self.movers = [
            process
            for process in sorted(scope.went_on, key=memory.name_of)
            if process in scope.installed and process in scope.members
        ]

    def all(self) -> Iterator[Shortfall]:
        """Yield everything that is missing for good."""
        yield from self.agreement()
        yield from self.view_atomic()
        yield from self.self_delivery()
        yield from self.liveness()
        yield from self.uniform()

    def held(self) -> list[int]:
        """Return the members that were there to the end."""
        scope = self._scope
        return [
            member
            for member in self.members
            if self._memory.is_held(scope.group, scope.view, member, is_over=self._is_over)
        ]

    def delivered(self, process: int) -> Expected:
        """Return what a process, by its number in the run, has delivered."""
        scope = self._scope
        number = scope.numbers.get(process)
        if number is None:
            return {}
        found = {sender: scope.delivered(number, sender) for sender in range(len(scope.who))}
        return {sender: numbers for sender, numbers in found.items() if numbers}

    def of_all(self, processes: Iterable[int]) -> Expected:
        """Return what any of some processes has delivered."""
        found: Expected = {}
        for process in processes:
            for sender, numbers in self.delivered(process).items():
                found[sender] = union(found.get(sender, 0), numbers)
        return found

    def agreement(self) -> Iterator[Shortfall]:
        """Yield what some who were there to the end have delivered, and some not."""
        whole = self.held()
        for member, sender, missing in self._lacking(whole, self.of_all(whole)):
            tell = partial(self._tell_disagreement, whole, member, sender)
            yield self._shortfall(Property.AGREEMENT, member, sender, missing, tell)

    def view_atomic(self) -> Iterator[Shortfall]:
        """Yield what some who went on together have delivered, and some not."""
        for mover, sender, missing in self._lacking(self.movers, self.of_all(self.movers)):
            tell = partial(self._tell_not_atomic, mover, sender)
            yield self._shortfall(Property.VIEW_ATOMIC, mover, sender, missing, tell)

    def self_delivery(self) -> Iterator[Shortfall]:
        """Yield what a process did not deliver of its own before it went on, or ended."""
        scope = self._scope
        for sender, shelf in enumerate(scope.shelves):
            process = scope.who[sender]
            missing = minus(shelf.sent, scope.delivered(sender, sender))
            if missing and self._memory.is_bound(scope, process, is_over=self._is_over):
                tell = partial(self._tell_own_missing, process, sender)
                yield self._shortfall(Property.SELF_DELIVERY, process, sender, missing, tell)

    def liveness(self) -> Iterator[Shortfall]:
        """Yield what did not come from one who was there to the end to another."""
        scope, whole = self._scope, self.held()
        sent = {
            scope.numbers[process]: scope.shelves[scope.numbers[process]].sent
            for process in scope.who
            if self._memory.is_held(scope.group, scope.view, process, is_over=self._is_over)
        }
        for member, sender, missing in self._lacking(whole, sent):
            tell = partial(self._tell_stall, member, sender)
            yield self._shortfall(Property.LIVENESS, member, sender, missing, tell)

    def uniform(self) -> Iterator[Shortfall]:
        """Yield what is uniform, and was delivered by anybody, but not by one who had to."""
        scope = self._scope
        if scope.has_takeover or not scope.is_uniform:
            return
        held = self.held()
        bound = [member for member in self.members if member in self.movers or member in held]
        for member, sender, missing in self._lacking(bound, self.uniform_deliveries()):
            tell = partial(self._tell_not_uniform, member, sender)
            yield self._shortfall(Property.UNIFORM, member, sender, missing, tell)

    def uniform_deliveries(self) -> Expected:
        """Return what is uniform of what anybody has delivered."""
        scope, found = self._scope, Expected()
        for sender, numbers in self.of_all(scope.who).items():
            shelf = scope.shelves[sender]
            uniform = shelf.uniform
            for piece in shelf.stretches.values():
                if piece.sending is None and piece.told & UNIFORM:
                    uniform = union(uniform, (piece.first, piece.last))
            if delivered := common(uniform, numbers):
                found[sender] = delivered
        return found

    def created(self) -> Iterator[Shortfall]:
        """Yield what was delivered, and never multicast."""
        for process, sender, numbers, is_lost in self._uncast():
            if not is_lost:
                yield self._creation(process, sender, numbers)

    def doubtful(self) -> Iterator[tuple[int, Shortfall]]:
        """Yield what was delivered, and may have been multicast; with its sender in the run."""
        for process, sender, numbers, is_lost in self._uncast():
            if is_lost:
                yield self._scope.who[sender], self._creation(process, sender, numbers)

    def _creation(self, process: int, sender: int, numbers: Numbers) -> Shortfall:
        name = self._memory.name_of(self._scope.who[process])
        shelf = self._scope.shelves[sender]
        examples: list[tuple[Key, Telling]] = [
            (
                (name, shelf.within(number, number)[0].got[process][3], number),
                partial(self._tell_creation, process, sender, number),
            )
            for number in _first_few(numbers)
        ]
        return Shortfall(Property.NO_CREATION, size(numbers), examples)

    def uncast_count(self) -> int:
        """Return how many deliveries are of messages whose multicast is not on record."""
        return sum(size(numbers) for _, _, numbers, _ in self._uncast())

    def _uncast(self) -> Iterator[tuple[int, int, Numbers, bool]]:
        """Yield deliveries of what is not known to be multicast; and if that may be lost."""
        scope = self._scope
        for sender, shelf in enumerate(scope.shelves):
            process = self._memory.processes[scope.who[sender]]
            highest = greatest(shelf.sent)
            is_whole = process.is_whole(is_over=self._is_over)
            for piece in shelf.stretches.values():
                if piece.sending is not None:
                    continue
                numbers: Numbers = (piece.first, piece.last)
                below = numbers if is_whole else common(numbers, highest)
                if not self._is_left and piece.seen_ms > self._memory.now_ms - CREATION_MS:
                    below = 0
                above = minus(numbers, below)
                for who in piece.got:
                    if below:
                        yield who, sender, below, False
                    if above:
                        yield who, sender, above, True

    def _lacking(
        self, processes: Iterable[int], expected: Expected
    ) -> Iterator[tuple[int, int, Numbers]]:
        for process in processes:
            has = self.delivered(process)
            for sender, numbers in expected.items():
                if missing := minus(numbers, has.get(sender, 0)):
                    yield process, sender, missing

    def _shortfall(
        self, which: Property, process: int, sender: int, missing: Numbers,
        tell: Callable[[int, Teller], Explanation[Place]],
    ) -> Shortfall:  # fmt: skip
        memory, scope = self._memory, self._scope
        where = (memory.name_of(process), memory.groups[scope.group].name, scope.view)
        name = memory.name_of(scope.who[sender])
        examples: list[tuple[Key, Telling]] = [
            ((*where, name, number), partial(tell, number)) for number in _first_few(missing)
        ]
        return Shortfall(which, size(missing), examples)

    def _tell_disagreement(
        self, whole: list[int], member: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        scope = self._scope
        delivered = teller.delivery(scope, self._first(whole, sender, number), sender, number)
        origin = teller.origin(scope, delivered, sender)
        return explain_disagreement(delivered, origin, teller.ending(scope, member, None))

    def _tell_not_atomic(
        self, mover: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        scope = self._scope
        other = self._first(self.movers, sender, number)
        delivered = teller.delivery(scope, other, sender, number)
        there = teller.installation(scope, scope.went_on[scope.who[other]])
        end = teller.ending(scope, mover, scope.went_on[mover])
        return explain_not_atomic(delivered, teller.origin(scope, delivered, sender), there, end)

    def _tell_own_missing(
        self, process: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        scope = self._scope
        multicast = teller.sent(scope, sender, number)
        end = teller.ending(scope, process, scope.went_on.get(process))
        return explain_own_missing(multicast, end)

    def _tell_stall(
        self, member: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        scope = self._scope
        multicast = teller.sent(scope, sender, number)
        return explain_stall(multicast, teller.ending(scope, member, None))

    def _tell_not_uniform(
        self, member: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        scope = self._scope
        names = sorted(scope.who, key=self._memory.name_of)
        delivered = teller.delivery(scope, self._first(names, sender, number), sender, number)
        successor = scope.went_on[member] if member in self.movers else None
        end = teller.ending(scope, member, successor)
        return explain_not_uniform(delivered, teller.origin(scope, delivered, sender), end)

    def _tell_creation(
        self, process: int, sender: int, number: int, teller: Teller
    ) -> Explanation[Place]:
        return explain_creation(teller.delivery(self._scope, process, sender, number), None)

    def _first(self, processes: Iterable[int], sender: int, number: int) -> int:
        """Return the first of some processes that delivered a message, by its number here."""
        scope = self._scope
        return next(
            scope.numbers[process]
            for process in processes
            if process in scope.numbers
            and common(scope.delivered(scope.numbers[process], sender), (number, number))
        )


def _first_few(numbers: Numbers) -> list[int]:
    found: list[int] = []
    for first, last in spans_of(numbers):
        found += range(first, min(last, first + EXAMPLES_MAX - 1) + 1)
    return found[:EXAMPLES_MAX]
