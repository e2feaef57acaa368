"""Total order, as far as it has been read: any two who deliver two messages do so in one order.

Law: the definition of docs/properties.md. What all have delivered is cut into the smallest blocks
such that everybody delivered the first block first, then the second, and so on. Where all is well a
block is one stretch of messages, and forgotten at once; two orders are never in two blocks, so a
larger block is all that must be kept of a difference. It counts once the processes concerned are
known to have been there to the end of the view, or of all: until then they may die, and differ.
Cost: every process's deliveries of what is remembered, once per batch.
"""

from collections.abc import Callable, Iterable, Iterator

from antiphon.live.memory.record import Key, RunMemory
from antiphon.live.memory.remembered import Place, Stretch
from antiphon.live.memory.scope import Scope
from antiphon.live.packs import TOTAL, UNIFORM
from antiphon.live.stories import Teller
from antiphon.trace.explanations import Explanation, explain_two_orders
from antiphon.trace.verdict import EXAMPLES_MAX

Owned = tuple[int, Stretch]
"""A stretch, with its sender."""

BLOCKS_MAX = 100
"""Differences that are kept per view."""

Bound = Callable[[int], bool]
"""Whether a process, by its number in the scope, is held to total order in all messages."""


def blocks_of(scope: Scope, needed: Iterable[int]) -> list[list[Owned]]:
    """Return the blocks of what all who are needed have delivered, in order."""
    in_order = [
        (shelf.sender, piece)
        for shelf in scope.shelves
        for piece in shelf.stretches.values()
        if piece.says & TOTAL
    ]
    if not in_order:
        return []
    everybody = list(needed)
    sequences = [_sequence(in_order, process) for process in everybody]
    found: list[list[Owned]] = []
    block: list[Owned] = []
    seen: dict[tuple[int, int], int] = {}
    for row in zip(*sequences, strict=False):
        for owned in row:
            key = (owned[0], owned[1].first)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] == 1:
                block.append(owned)
            if seen[key] == len(everybody):
                del seen[key]
        if not seen:
            found.append(block)
            block = []
    return found


def differences(
    memory: RunMemory, scope: Scope, is_bound: Bound
) -> Iterator[tuple[Key, int, Callable[[Teller], Explanation[Place]]]]:
    """Yield what is delivered too early, as somebody before by name shows: with how to tell it."""
    if scope.has_takeover or not scope.is_total:
        return
    rest = [
        (shelf.sender, piece)
        for shelf in scope.shelves
        for piece in shelf.stretches.values()
        if piece.says & TOTAL
    ]
    names = sorted(range(len(scope.who)), key=lambda each: memory.name_of(scope.who[each]))
    for block in [*scope.blocks, rest]:
        sequences = {
            process: [
                owned
                for owned in _sequence(block, process)
                if owned[1].says & UNIFORM or is_bound(process)
            ]
            for process in names
        }
        yield from _wrong(memory, scope, names, sequences)


def _wrong(
    memory: RunMemory, scope: Scope, names: list[int], sequences: dict[int, list[Owned]]
) -> Iterator[tuple[Key, int, Callable[[Teller], Explanation[Place]]]]:
    for place, process in enumerate(names):
        found: dict[tuple[int, int], tuple[Owned, int, Owned]] = {}
        for other in names[:place]:
            for wrong, earlier in _reversed(sequences[other], sequences[process]):
                found.setdefault((wrong[0], wrong[1].first), (wrong, other, earlier))
        for wrong, other, earlier in found.values():
            piece, name = wrong[1], memory.name_of(scope.who[process])
            count = piece.count
            for number in range(piece.first, min(piece.last, piece.first + EXAMPLES_MAX - 1) + 1):
                key = (name, piece.got[process][3], number)
                yield key, count, _telling(scope, (process, other), wrong, earlier, number)
                count = 0


def _telling(
    scope: Scope, who: tuple[int, int], wrong: Owned, earlier: Owned, message: int
) -> Callable[[Teller], Explanation[Place]]:
    process, other = who

    def tell(teller: Teller) -> Explanation[Place]:
        def event(who: int, owned: Owned, number: int) -> object:
            return teller.delivery(scope, who, owned[0], number, owned[1].got[who])

        late = earlier[1].last
        here = (event(process, wrong, message), event(process, earlier, late))
        there = (event(other, earlier, late), event(other, wrong, message))
        return explain_two_orders(here, there)  # type: ignore[arg-type]

    return tell


def _reversed(one: list[Owned], two: list[Owned]) -> Iterator[tuple[Owned, Owned]]:
    """Yield what comes before something in ``two`` that it follows in ``one``: the last such."""
    in_one = {id(piece) for _, piece in one}
    in_two = {id(piece) for _, piece in two}
    expected = [owned for owned in one if id(owned[1]) in in_two]
    found = [owned for owned in two if id(owned[1]) in in_one]
    if [id(piece) for _, piece in expected] == [id(piece) for _, piece in found]:
        return
    places = {id(piece): place for place, (_, piece) in enumerate(expected)}
    delivered = 0
    for owned in found:
        place = places[id(owned[1])]
        missing = ((1 << place) - 1) & ~delivered
        if missing:
            yield owned, expected[missing.bit_length() - 1]
        delivered |= 1 << place


def _sequence(pieces: list[Owned], process: int) -> list[Owned]:
    """Return what a process delivered of these, in its order."""
    had = [owned for owned in pieces if process in owned[1].got]
    return sorted(had, key=lambda owned: (owned[1].got[process][3], owned[1].first))
