"""Multicasts and deliveries, judged as they come: fifo, causal, total-causal; nothing twice.

Law: a delivery of m' at p is right if p has delivered all that the sender of m' had multicast or
delivered before it. Both sides are sets of numbers per sender (what p has, what the sender had), so
chains of messages need no care: transitivity is in the sets. The two journals are read in
any order: whichever row comes first waits for the other. What is missing counts only if it is on
record that it was multicast; until then it is in doubt, and nothing is raised. So an alarm never
has to be taken back, however late a journal is. Cost: a few microseconds per row.
"""

from functools import partial

from antiphon.live.memory.number_sets import (
    Numbers,
    common,
    greatest,
    minus,
    size,
    spans_of,
    union,
    with_span,
)
from antiphon.live.memory.record import Key, RunMemory
from antiphon.live.memory.remembered import EarlyDelivery, Place, SentRow, Shelf, Stretch
from antiphon.live.memory.scope import Doubt, Hunch, OrderStory, Orphans, Scope
from antiphon.live.packs import FIFO, MULTICAST, TOTAL, UNIFORM
from antiphon.live.stories import Ledger, piece_of, told_of
from antiphon.trace.explanations import explain_creation, explain_duplicate
from antiphon.trace.verdict import EXAMPLES_MAX, Property

ORPHANS_MAX = 1000
"""Different sets of missing messages that are remembered per view."""


class Orders:
    """Judges the rows about messages of one scope."""

    def __init__(self, memory: RunMemory, scope: Scope, ledger: Ledger, now_ms: int) -> None:
        """Judge in a scope, of rows read now."""
        self._memory = memory
        self._scope = scope
        self._ledger = ledger
        self._now_ms = now_ms

    def multicast(
        self, sender: int, says: int, span: tuple[int, int], place: Place, time_us: int, name: str
    ) -> None:
        """Take a `multicast` row."""
        scope, shelf = self._scope, self._scope.shelves[sender]
        first, _ = span
        asked = says & (TOTAL | UNIFORM)
        scope.asks.add(asked)
        if asked:
            self._becomes_own(sender)
        if says & FIFO:
            self._memory.has_fifo = True
        else:
            self._memory.has_causal = True
        spans = [span]
        if not isinstance(shelf.sent, int) or first <= shelf.sent:
            again = common(shelf.sent, span)
            if again:
                self._repeated(sender, sender, again, place, is_multicast=True)
            spans = spans_of(minus(span, shelf.sent))
        sending = SentRow(place, time_us, says & ~MULTICAST, scope.have[sender].copy(), name)
        for begin, end in spans:
            scope.acting.add(sender)
            self._memory.message_count += end - begin + 1
            for piece in shelf.cut(begin, end, self._now_ms):
                for part in _singly(shelf, piece, self._now_ms) if sender in piece.got else [piece]:
                    self._sent(sender, shelf, part, sending)

    def _sent(self, sender: int, shelf: Shelf, piece: Stretch, sending: SentRow) -> None:
        """Take the multicast of a stretch, and judge the deliveries that waited for it."""
        piece.sending, piece.before = sending, shelf.sent
        shelf.sent = with_span(shelf.sent, piece.first, piece.last)
        if sending.says & TOTAL:
            shelf.total = with_span(shelf.total, piece.first, piece.last)
        if sending.says & UNIFORM:
            shelf.uniform = with_span(shelf.uniform, piece.first, piece.last)
        if sender in piece.got:
            self._delivered_early(sender, piece)
        for process, waiting in piece.waiting.items():
            self._scope.is_tested = True
            self._time(process, sender, piece, waiting.time_us)
            if _is_behind(piece, waiting.have, sender):
                self._compare(process, sender, piece, waiting.have)
        piece.waiting = {}

    def deliver(
        self, process: int, sender: int, says: int, span: tuple[int, int], place: Place,
        time_us: int, name: str,
    ) -> None:  # fmt: skip
        """Take a `deliver` row."""
        scope = self._scope
        first, last = span
        scope.asks.add(says & (TOTAL | UNIFORM))
        if process == sender and sender not in scope.own:
            self._becomes_own(sender)
        scope.delivering.add(process)
        self._memory.delivery_count += last - first + 1
        have, shelf = scope.have[process], scope.shelves[sender]
        had, gone = have[sender], shelf.forgotten
        if isinstance(had, int) and first == had + 1 and isinstance(gone, int) and gone < first:
            self._fresh(process, sender, first, last, place, (says, time_us, name))
            return
        again = common(had, (first, last))
        if again:
            self._repeated(process, sender, again, place, is_multicast=False)
        for begin, end in spans_of(minus((first, last), had)):
            for lo, hi in self._remembered(process, shelf, begin, end):
                self._fresh(process, sender, lo, hi, place, (says, time_us, name))

    def _remembered(
        self, process: int, shelf: Shelf, first: int, last: int
    ) -> list[tuple[int, int]]:
        """Return what of a delivery can be judged; the rest has been forgotten."""
        gone = common(shelf.forgotten, (first, last))
        if not gone:
            return [(first, last)]
        have = self._scope.have[process]
        have[shelf.sender] = union(have[shelf.sender], gone)
        self._scope.too_late += size(gone)
        return spans_of(minus((first, last), gone))

    def _fresh(
        self, process: int, sender: int, first: int, last: int, place: Place,
        said: tuple[int, int, str],
    ) -> None:  # fmt: skip
        """Take the delivery of messages that the process had not delivered."""
        says, time_us, name = said
        scope = self._scope
        have = scope.have[process]
        scope.acting.add(process)
        for piece in scope.shelves[sender].cut(first, last, self._now_ms):
            if piece.sending is None:
                piece.waiting[process] = EarlyDelivery(have.copy(), time_us)
                piece.told |= says & (TOTAL | UNIFORM)
            else:
                scope.is_tested = True
                self._time(process, sender, piece, time_us)
                if _is_behind(piece, have, sender):
                    self._compare(process, sender, piece, have, place)
            piece.got[process] = place
            if name:
                piece.names[process] = name
            have[sender] = with_span(have[sender], piece.first, piece.last)

    def _time(self, process: int, sender: int, piece: Stretch, time_us: int) -> None:
        """Measure the delay of a delivery at another process."""
        assert piece.sending is not None, "it was multicast"
        if process == sender:
            return
        delay_us = time_us - piece.sending.time_us
        if delay_us < 0:
            self._memory.is_skewed = True
        else:
            self._memory.delays.add(delay_us, piece.count)

    def _becomes_own(self, process: int) -> None:
        """Hold a process to deliveries of its own messages, those before included."""
        if process in self._scope.own:
            return
        self._scope.own.add(process)
        hunch = self._scope.hunches.pop(process, None)
        if hunch is not None:
            self._scope.count(Property.CAUSAL, hunch.count)
            for doubt in hunch.first:
                self._offer(doubt)

    def _compare(
        self, process: int, sender: int, piece: Stretch, have: list[Numbers],
        place: Place | None = None,
    ) -> None:  # fmt: skip
        """Judge a delivery by what the process had before, and by what the sender had."""
        sending = piece.sending
        assert sending is not None, "nothing is judged before"
        if place is None:
            place = piece.got[process]
        missing = _missing(piece, have, sender)
        if not missing:
            return
        own = minus(piece.before, _at(have, sender))
        if own:
            self._found(self._doubt(Property.FIFO, process, sender, piece, place, {sender: own}))
        if sending.says & FIFO:
            return
        self._found(self._doubt(Property.CAUSAL, process, sender, piece, place, missing))
        if sending.says & TOTAL:
            self._found(self._doubt(Property.TOTAL_CAUSAL, process, sender, piece, place, missing))
        self._orphaned(self._doubt(Property.NO_ORPHAN, process, sender, piece, place, missing))

    def _doubt(
        self, which: Property, process: int, sender: int, piece: Stretch, place: Place,
        missing: dict[int, Numbers],
    ) -> Doubt:  # fmt: skip
        assert piece.sending is not None, "nothing is judged before"
        return Doubt(
            which, process, sender, piece.first, piece.last, place, missing, piece.sending.place
        )

    def _found(self, doubt: Doubt) -> None:
        """Take something that may be wrong: it is, or it waits, or nothing can come of it."""
        scope = self._scope
        if proof_of(scope, doubt):
            scope.count(doubt.property, doubt.last - doubt.first + 1)
            self._offer(doubt)
            return
        own = common(doubt.missing.get(doubt.process, 0), scope.shelves[doubt.process].sent)
        if len(doubt.missing) > 1 or not own or doubt.process in scope.own:
            scope.doubts.append(doubt)
        elif doubt.property == Property.CAUSAL:  # nothing of its own is in total order so far
            hunch = scope.hunches.setdefault(doubt.process, Hunch())
            hunch.count += doubt.last - doubt.first + 1
            if len(hunch.first) < EXAMPLES_MAX:
                hunch.first.append(doubt)

    def settle(self) -> None:
        """Look again at what was in doubt: more multicasts are known now."""
        scope, left = self._scope, []
        for doubt in scope.doubts:
            if proof_of(scope, doubt):
                scope.count(doubt.property, doubt.last - doubt.first + 1)
                self._offer(doubt)
            else:
                left.append(doubt)
        scope.doubts = left

    def _orphaned(self, doubt: Doubt) -> None:
        """Remember that something was delivered without its past, which may come yet."""
        orphans = self._scope.orphans
        key = f"{doubt.process}/{sorted(doubt.missing.items())}"
        if key not in orphans:
            if len(orphans) >= ORPHANS_MAX:
                return
            orphans[key] = Orphans(doubt.process, doubt.missing)
        found = orphans[key]
        found.count += doubt.last - doubt.first + 1
        if len(found.first) < EXAMPLES_MAX:
            found.first.append(doubt)

    def _offer(self, doubt: Doubt) -> None:
        """Raise the first message of a stretch that is out of order, and keep the first few."""
        scope, which = self._scope, Property(doubt.property)
        key = key_of(self._memory, scope, doubt.process, doubt.place, doubt.first)
        made = partial(story_of, self._ledger, scope, doubt, doubt.first)
        self._ledger.alarm(scope, which, key, made)
        for number in range(doubt.first, min(doubt.last, doubt.first + EXAMPLES_MAX - 1) + 1):
            self._ledger.keep(
                which,
                key_of(self._memory, scope, doubt.process, doubt.place, number),
                partial(story_of, self._ledger, scope, doubt, number),
                f"{scope.group}/{scope.view}",
            )

    def _repeated(
        self, process: int, sender: int, again: Numbers, place: Place, *, is_multicast: bool
    ) -> None:
        """Take what was multicast, or delivered, a second time."""
        scope, teller = self._scope, self._ledger.teller
        scope.count(Property.NO_DUPLICATE, size(again))
        for number in _first_few(again):
            if is_multicast:
                first = teller.sent(scope, sender, number)
                repeated = first._replace(place=place)
            else:
                first = teller.delivery(scope, process, sender, number)
                repeated = teller.delivery(scope, process, sender, number, place)
            self._ledger.offer(
                scope,
                Property.NO_DUPLICATE,
                key_of(self._memory, scope, process, place, number),
                lambda first=first, repeated=repeated: explain_duplicate(first, repeated),  # type: ignore[misc]
            )

    def _delivered_early(self, sender: int, piece: Stretch) -> None:
        """Take messages that their own sender delivered before multicasting them."""
        scope, teller = self._scope, self._ledger.teller
        place = piece.got[sender]
        scope.count(Property.NO_CREATION, piece.count)
        for number in range(piece.first, min(piece.last, piece.first + EXAMPLES_MAX - 1) + 1):
            delivery = teller.delivery(scope, sender, sender, number)
            multicast = teller.multicast(scope, sender, number)
            self._ledger.offer(
                scope,
                Property.NO_CREATION,
                key_of(self._memory, scope, sender, place, number),
                lambda one=delivery, two=multicast: explain_creation(one, two),  # type: ignore[misc]
            )


def key_of(memory: RunMemory, scope: Scope, process: int, place: Place, number: int) -> Key:
    """Return where a finding stands: by process, then by position."""
    return (memory.name_of(scope.who[process]), place[3], number)


def proof_of(scope: Scope, doubt: Doubt) -> dict[int, Numbers]:
    """Return what is missing for certain: it was multicast, and its own sender records it."""
    found: dict[int, Numbers] = {}
    is_total = doubt.property == Property.TOTAL_CAUSAL
    for sender, missing in doubt.missing.items():
        shelf = scope.shelves[sender]
        proven = common(missing, shelf.total if is_total else shelf.sent)
        if proven and (sender != doubt.process or sender in scope.own):
            found[sender] = proven
    return found


def story_of(ledger: Ledger, scope: Scope, doubt: Doubt, number: int) -> OrderStory:
    """Tell of a message that was delivered before, or without, what had to come first.

    Of several that had to, the one that its sender multicast or delivered last.
    """
    teller = ledger.teller
    owner, earlier = _latest(scope, doubt, number)
    multicast = teller.sent(scope, doubt.sender, number)._replace(place=doubt.sending)
    origin = teller.sent(scope, owner, earlier)
    piece = piece_of(scope, owner, earlier)
    place = None if piece is None else piece.got.get(doubt.sender)
    is_own = owner == doubt.sender and (origin.place[3], earlier) < (doubt.sending[3], number)
    known = None
    if place is not None and not is_own:
        known = told_of(teller.delivery(scope, doubt.sender, owner, earlier))
    return OrderStory(
        doubt.property,
        told_of(teller.delivery(scope, doubt.process, doubt.sender, number, doubt.place)),
        told_of(multicast),
        told_of(origin),
        known,
    )


def _latest(scope: Scope, doubt: Doubt, number: int) -> tuple[int, int]:
    """Return what is missing that the sender multicast or delivered last before a message."""
    limit = (doubt.sending[3], number)
    found: list[tuple[int, int, int]] = []
    for owner, numbers in proof_of(scope, doubt).items():
        found.append((-2, greatest(numbers), owner))  # should its rows have been forgotten
        for first, last in spans_of(numbers):
            for piece in scope.shelves[owner].within(first, last):
                latest, when = min(piece.last, last), -1
                place = piece.got.get(doubt.sender)
                if place is not None and place[3] < doubt.sending[3]:
                    when = place[3]
                if owner == doubt.sender and piece.sending is not None:
                    multicast = piece.sending.place[3]
                    when = max(when, multicast if (multicast, latest) < limit else -1)
                found.append((when, latest, owner))
    _, missing, owner = max(found)
    return owner, missing


def _is_behind(piece: Stretch, have: list[Numbers], sender: int) -> bool:
    """Whether something may be missing; where sets are single numbers, whether it is."""
    sending = piece.sending
    assert sending is not None, "it was multicast"
    try:
        if piece.before.__class__ is tuple or piece.before > have[sender]:  # type: ignore[operator]
            return True
        for wanted, had in zip(sending.past, have, strict=False):
            if wanted.__class__ is tuple or wanted > had:  # type: ignore[operator]
                return True
    except TypeError:
        return True
    return len(sending.past) > len(have)


def _missing(piece: Stretch, have: list[Numbers], sender: int) -> dict[int, Numbers]:
    """Return what the sender had and the process has not, by sender."""
    assert piece.sending is not None, "it was multicast"
    found: dict[int, Numbers] = {}
    for number, past in enumerate(piece.sending.past):
        wanted = union(past, piece.before) if number == sender else past
        left = minus(wanted, _at(have, number))
        if number == sender:
            left = minus(left, (piece.first, piece.last))
        if left:
            found[number] = left
    if sender >= len(piece.sending.past):
        left = minus(piece.before, _at(have, sender))
        if left:
            found[sender] = left
    return found


def _at(have: list[Numbers], number: int) -> Numbers:
    """Return what was had of a sender, who may have turned up later."""
    return have[number] if number < len(have) else 0


def _singly(shelf: Shelf, piece: Stretch, now_ms: int) -> list[Stretch]:
    """Cut messages apart that their sender delivered first: each of them is before each other."""
    first, last = piece.first, min(piece.last, piece.first + ORPHANS_MAX)
    parts = [shelf.cut(number, number, now_ms)[0] for number in range(first, last + 1)]
    return parts + (shelf.cut(last + 1, piece.last, now_ms) if piece.last > last else [])


def _first_few(numbers: Numbers) -> list[int]:
    found: list[int] = []
    for first, last in spans_of(numbers):
        found += range(first, min(last, first + EXAMPLES_MAX - 1) + 1)
    return found[:EXAMPLES_MAX]
