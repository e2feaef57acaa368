"""What can be forgotten of a view that goes on: what everybody has delivered, and was judged.

Law: a message is forgotten when every member of the view has delivered it, and each delivery has
been judged. A member whose journal has not turned up is waited for, for a while; where no view says
who is to deliver a message, it is kept for a while after it was seen first. What is forgotten never
makes a difference to a count: sets of numbers stay.
"""

from antiphon.live.checks.totals import BLOCKS_MAX, blocks_of
from antiphon.live.memory.number_sets import minus
from antiphon.live.memory.record import RunMemory
from antiphon.live.memory.remembered import Stretch
from antiphon.live.memory.scope import Scope
from antiphon.live.packs import TOTAL

ABSENT_MS = 60_000
"""A member whose journal has not turned up for so long is not waited for."""

HOLD_MS = 10_000
"""Where no view says who is to deliver a message, it is remembered for so long at least."""

Keys = set[tuple[int, int]]
"""Stretches, by sender and first number."""


def forget(memory: RunMemory, scope: Scope) -> None:
    """Forget what everybody has delivered."""
    needed = _needed(scope, memory.now_ms)
    if not needed:
        return
    scope.orphans = {
        key: each
        for key, each in scope.orphans.items()
        if any(
            minus(numbers, scope.have[each.process][sender])
            for sender, numbers in each.missing.items()
        )
    }
    ready = _ready(scope, needed, memory.now_ms)
    settled = _settled_order(scope, needed, ready) if scope.is_total else ready
    for sender, shelf in enumerate(scope.shelves):
        done = [
            piece
            for piece in shelf.stretches.values()
            if (sender, piece.first) in ready
            and (not piece.says & TOTAL or (sender, piece.first) in settled)
        ]
        if done:
            shelf.forget(done)


def _needed(scope: Scope, now_ms: int) -> frozenset[int] | None:
    """Return who has to have a message before it is forgotten; None: that is not known yet."""
    is_waiting = now_ms < scope.seen_ms + ABSENT_MS
    found = set(scope.acting)
    for member in scope.members:
        number = scope.numbers.get(member)
        if number is not None:
            found.add(number)
        elif member in scope.installed:
            found.add(scope.number_of(member))
        elif is_waiting:
            return None
    return frozenset(found)


def _ready(scope: Scope, needed: frozenset[int], now_ms: int) -> Keys:
    """Return what everybody has delivered.

    Not what somebody delivered after something that is yet to be judged, for that may have had to
    come later. A sender that records no deliveries of its own messages has its own; but it may be
    about to: so not before it has done something else.
    """
    before_ms = now_ms - (0 if scope.members else HOLD_MS)
    limits = _limits(scope, now_ms)
    found: Keys = set()
    for sender, shelf in enumerate(scope.shelves):
        latest = scope.latest.get(sender, 0)
        for piece in shelf.stretches.values():
            if piece.sending is None or piece.seen_ms > before_ms:
                continue
            is_own = sender in scope.own or latest <= piece.sending.place[3]
            wanted = needed if is_own else needed - {sender}
            if wanted <= piece.got.keys() and not (limits and _is_after(piece, limits)):
                found.add((sender, piece.first))
    return found


def _limits(scope: Scope, now_ms: int) -> dict[int, int]:
    """Return, by process, where its first delivery is that is yet to be judged."""
    limits: dict[int, int] = {}
    for shelf in scope.shelves:
        for piece in shelf.stretches.values():
            if piece.waiting and piece.seen_ms > now_ms - ABSENT_MS:
                for process in piece.waiting:
                    place = piece.got[process][3]
                    limits[process] = min(limits.get(process, place), place)
    return limits


def _is_after(piece: Stretch, limits: dict[int, int]) -> bool:
    got = piece.got
    return any(process in got and got[process][3] > limit for process, limit in limits.items())


def _settled_order(scope: Scope, needed: frozenset[int], ready: Keys) -> Keys:
    """Return what can be forgotten of the total order; keep the blocks that differ."""
    settled: Keys = set()
    for block in blocks_of(scope, needed):
        keys = {(sender, piece.first) for sender, piece in block}
        if not keys <= ready:
            break
        if len(block) > 1 and len(scope.blocks) < BLOCKS_MAX:
            scope.blocks.append(block)
        settled |= keys
    return settled
