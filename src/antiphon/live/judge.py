"""The live judge: takes the rows of a run as they are written, and raises what is wrong.

Law: rows of one process come in its order, those of different processes in any order: what is
raised does not depend on which journal was read first, and nothing is raised that the rest of the
journals could undo (docs/decisions/020-live-verdicts.md has the exceptions, each of which leaves a
violation of another property). What is remembered is bounded by what somebody has yet to deliver,
and by the views that somebody has yet to leave. The judge is plain data between two batches:
``RunMemory`` and a ``Scope`` per view. Pure: time is an argument. Cost: a few microseconds per row.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from antiphon.live.checks.ballots import finished, leave_out, take_ballot, wrong_decisions
from antiphon.live.checks.orders import Orders, key_of, proof_of, story_of
from antiphon.live.checks.shortfalls import Shortfall, Shortfalls, Telling
from antiphon.live.checks.totals import differences
from antiphon.live.checks.views import check_view, explain_view, install, wrong_views
from antiphon.live.forgetting import forget
from antiphon.live.memory.number_sets import holds, minus, with_span
from antiphon.live.memory.record import Ballot, Example, Key, RunMemory, Uncast
from antiphon.live.memory.remembered import Place
from antiphon.live.memory.scope import Doubt, InstalledRow, OrderStory, Scope
from antiphon.live.packs import MULTICAST, Note, Pack, Strip
from antiphon.live.stories import Ledger, Made
from antiphon.live.summaries import is_clean, summary_of
from antiphon.trace.explanations import Explanation
from antiphon.trace.verdict import EXAMPLES_MAX, Property, Violation

LINGER_MS = 120_000
"""A view that others have left is over for a process that has been silent for so long."""

OPEN_MAX = 16
"""Views that have ended and are remembered all the same, for something is wrong in them."""

LATE_MAX = 100
"""`view` rows of views that had ended that are remembered."""

REFERENCES_MAX = 64
"""Views that have ended whose members are remembered."""

ScopeKey = tuple[int, int]
"""Group and view."""

Found = tuple[Property, Key, int, Callable[[Ledger], Explanation[Place] | OrderStory]]


class RunJudge:
    """Judges one run."""

    def __init__(self, memory: RunMemory, scopes: dict[ScopeKey, Scope]) -> None:
        """Go on from what is remembered."""
        self.memory = memory
        self.scopes = scopes
        self._ledger = Ledger(memory)

    def take(self, file: str, pack: Pack, now_ms: int) -> None:
        """Take rows of a file, which follow those taken of it before."""
        self.memory.now_ms = now_ms
        _Reader(self, file, pack).read()
        self.memory.row_count += pack.row_count
        self.memory.newest_us = max(self.memory.newest_us, pack.newest_us)

    def settle(self, now_ms: int) -> list[Violation]:
        """End a batch: raise what has turned out to be wrong, and forget what can be forgotten."""
        self.memory.now_ms = now_ms
        for scope in (*self.scopes.values(), *self.memory.late_views):
            Orders(self.memory, scope, self._ledger, now_ms).settle()
            for which, key, _, tell in self.outcomes(scope, is_over=False):
                self._ledger.alarm(scope, which, key, partial(tell, self._ledger))
        self._settle_ballots()
        raised = [self._as_it_stands(made, scope) for made, scope in self._ledger.raised]
        self._ledger.raised = []
        for scope in self.scopes.values():
            forget(self.memory, scope)
        self._close()
        if not self.memory.delivery_count:
            self.memory.held_back += raised
            return []
        raised = self.memory.held_back + raised
        self.memory.held_back = []
        return raised

    def _as_it_stands(self, made: Made, scope: Scope | None) -> Violation:
        """Tell what is raised: of something that is missing, whether it may come yet."""
        if not isinstance(made, OrderStory) or scope is None:
            return self._ledger.written(made)
        process = self.memory.numbers[made.wrong.process]
        return self._ledger.teller.told(
            made,
            is_never=not self.has_come(scope, made),
            is_open=not self.is_done(scope, process),
        )

    def scope(self, group: int, view: int) -> Scope | None:
        """Return a scope, made if need be; None: it has ended."""
        found = self.scopes.get((group, view))
        if found is None and not holds(self.memory.groups[group].closed, view + 1):
            found = self.scopes[group, view] = Scope(group, view, seen_ms=self.memory.now_ms)
            following = self.scopes.get((group, view + 1))
            if following is not None:
                found.went_on = dict(following.installed)
            found.has_takeover = any(
                one.view == view for one in self.memory.groups[group].takeovers
            )
        return found

    def strip(self, strip: Strip, process: int, group: int, reader: "_Reader") -> None:
        """Take rows about messages of one process in one view."""
        scope = self.scope(group, strip.view)
        self.memory.processes[process].groups.add(group)
        places = [reader.place(process, row[1], row[2]) for row in strip.rows]
        if scope is None:
            self._take_late(
                strip, process, group, list(zip(places, reader.senders(strip), strict=True))
            )
            return
        orders = Orders(self.memory, scope, self._ledger, self.memory.now_ms)
        local, ids = scope.number_of(process), strip.ids
        numbers: dict[int, int] = {}
        for at, (says, _, _, time_us, name, first, count) in enumerate(strip.rows):
            span, place = (first, first + count - 1), places[at]
            called = ids.get(at, "") if ids else ""
            if says & MULTICAST:
                orders.multicast(local, says, span, place, time_us, called)
                continue
            sender = numbers.get(name)
            if sender is None:
                sender = numbers[name] = scope.number_of(reader.process(name))
            orders.deliver(local, sender, says, span, place, time_us, called)
        scope.latest[local] = places[-1][3]
        standing = self.memory.groups[group].standings.get(process)
        current = None if standing is None else standing.latest
        if current is None or current.view != strip.view:
            rows = list(zip(strip.rows, places, reader.senders(strip), strict=True))
            check_view(self.memory, scope, process, rows, self._ledger)
        elif standing is not None:
            standing.is_acting = True

    def note(self, note: Note, process: int, reader: "_Reader") -> None:
        """Take another row."""
        about = self.memory.processes[process]
        match note.kind:
            case "start":
                about.has_start = True
            case "crash":
                about.has_crash = True
            case "stop":
                about.stop = note.detail
            case "view":
                self._install(note, process, reader)
            case _:
                group = self.memory.group(reader.name(note.group))
                place = reader.place(process, note.line, note.index)
                ballot = Ballot(process, note.view, note.kind == "vote", note.detail, place)
                sender = reader.process(note.sender)
                take_ballot(self.memory, group, sender, note.first, ballot)

    def _install(self, note: Note, process: int, reader: "_Reader") -> None:
        group = self.memory.group(reader.name(note.group))
        self.memory.processes[process].groups.add(group)
        scope = self.scope(group, note.view)
        place = reader.place(process, note.line, note.index)
        row = InstalledRow(
            process, note.view, [reader.process(each) for each in note.members], place
        )
        if scope is None:  # it has ended: only the row itself can be judged
            scope = Scope(group, note.view)
            reference = self.memory.groups[group].references.get(note.view)
            if reference is not None:
                scope.lineup.append(reference)
                scope.installed[reference.process] = reference
            self.memory.late_views = [*self.memory.late_views, scope][-LATE_MAX:]
        install(self.memory, scope, row, self._ledger)
        if row.before is not None and row.is_takeover:
            leave_out(self.memory, group, process, row.before[0])
            if (left := self.scopes.get((group, row.before[0]))) is not None:
                left.has_takeover = True
        if (before := self.scopes.get((group, note.view - 1))) is not None:
            before.went_on.setdefault(process, row)

    def _take_late(
        self, strip: Strip, process: int, group: int, rows: list[tuple[Place, int]]
    ) -> None:
        """Take rows of a view that has ended: they are in the wrong view, if in any."""
        self.memory.too_late += sum(row[6] for row in strip.rows)
        self.memory.delivery_count += sum(row[6] for row in strip.rows if not row[0] & MULTICAST)
        scope = Scope(group, strip.view)
        placed = [
            (row, place, sender) for row, (place, sender) in zip(strip.rows, rows, strict=True)
        ]
        standing = self.memory.groups[group].standings.get(process)
        if standing is not None and standing.latest is not None:
            check_view(self.memory, scope, process, placed, self._ledger)
        self._add_up(scope)

    def outcomes(self, scope: Scope, *, is_over: bool, is_left: bool = False) -> Iterator[Found]:
        """Yield what is wrong in a scope besides what has been counted; as it stands now.

        ``is_over``: all records just end here. ``is_left``: nobody is in the view any more.
        """
        memory = self.memory
        for key, row, reference in wrong_views(memory, scope, is_over=is_over):
            yield Property.VIEWS, key, 1, partial(_tell_view, scope, row, reference)
        missing = Shortfalls(memory, scope, is_over=is_over, is_left=is_left)
        for shortfall in (*missing.all(), *missing.created()):
            yield from _of_shortfall(shortfall)

        def is_bound(process: int) -> bool:
            return memory.is_bound(scope, scope.who[process], is_over=is_over)

        for key, count, tell in differences(memory, scope, is_bound):
            yield Property.TOTAL, key, count, partial(_tell, tell)
        yield from self._orphans(scope, is_over=is_over)

    def suspicions(self, scope: Scope) -> int:
        """Return how many deliveries are out of total order, if those concerned live on."""
        found = differences(self.memory, scope, lambda _: True)
        return sum(count for _, count, _ in found)

    def _orphans(self, scope: Scope, *, is_over: bool) -> Iterator[Found]:
        """Yield deliveries whose past has not come, at processes to which it will not."""
        for orphans in scope.orphans.values():
            process = orphans.process
            if not (is_over or self.is_done(scope, scope.who[process])):
                continue
            missing = {
                sender: minus(numbers, scope.delivered(process, sender))
                for sender, numbers in orphans.missing.items()
            }
            count = orphans.count
            for doubt in orphans.first:
                left = Doubt(
                    doubt.property, process, doubt.sender, doubt.first, doubt.last, doubt.place,
                    missing, doubt.sending,
                )  # fmt: skip
                if not proof_of(scope, left):
                    break
                for number in range(doubt.first, min(doubt.last, doubt.first + 2) + 1):
                    key = key_of(self.memory, scope, process, doubt.place, number)
                    tell = partial(_tell_orphan, scope, left, number)
                    yield Property.NO_ORPHAN, key, count, tell
                    count = 0

    def is_done(self, scope: Scope, process: int) -> bool:
        """Whether a process has left a view, or ended."""
        if self.memory.processes[process].is_ended:
            return True
        standing = self.memory.groups[scope.group].standings.get(process)
        latest = None if standing is None else standing.latest
        return latest is not None and latest.view > scope.view

    def _settle_ballots(self) -> None:
        """Raise decisions that contradict something, and forget what all have decided."""
        memory, ledger = self.memory, self._ledger
        for about in memory.groups:
            for transaction in about.transactions.values():
                self._note_ballots(transaction.ballots)
                for key, tell in wrong_decisions(memory, transaction):
                    raised = memory.raised.setdefault(Property.COMMIT, [])
                    if len(raised) < EXAMPLES_MAX and repr(key) not in raised:
                        raised.append(repr(key))
                        ledger.raise_(tell(ledger.teller))
            members = {
                process
                for scope in self.scopes.values()
                if memory.groups[scope.group] is about
                for process in (*scope.members, *scope.installed)
                if not memory.processes[process].is_ended
            }
            for key_ in finished(about, members):
                transaction = about.transactions.pop(key_)
                for key, tell in wrong_decisions(memory, transaction):
                    memory.counts[Property.COMMIT] = memory.counts.get(Property.COMMIT, 0) + 1
                    ledger.keep(Property.COMMIT, key, partial(tell, ledger.teller))

    def _note_ballots(self, ballots: list[Ballot]) -> None:
        if any(not each.is_vote for each in ballots):
            self.memory.is_decided = True
            self.memory.is_ballot_tested |= len(ballots) > 1

    def _close(self) -> None:
        """Forget views that have ended everywhere, and in which nothing is left to judge."""
        dirty = 0
        for key in sorted(self.scopes, reverse=True):
            scope = self.scopes[key]
            if not self._is_over(scope):
                continue
            if not is_clean(self.memory, scope, self.is_done):
                dirty += 1
                if dirty <= OPEN_MAX:
                    continue
            self._end(scope)
            del self.scopes[key]

    def _is_over(self, scope: Scope) -> bool:
        """Whether nobody is in a view any more."""
        concerned = {
            *scope.members, *scope.installed, *(scope.who[each] for each in scope.acting)
        }  # fmt: skip
        undone = [process for process in concerned if not self.is_done(scope, process)]
        if not undone:
            return bool(concerned)
        silent_since = self.memory.now_ms - LINGER_MS
        return bool(scope.went_on) and all(
            max(self.memory.processes[process].heard_ms, scope.seen_ms) <= silent_since
            for process in undone
        )

    def _end(self, scope: Scope) -> None:
        """Keep of a view what the verdict needs."""
        memory, ledger = self.memory, self._ledger
        where = f"{scope.group}/{scope.view}"
        for which, key, count, tell in self.outcomes(scope, is_over=False, is_left=True):
            scope.count(which, count)
            ledger.keep(which, key, partial(tell, ledger), where)
        if scope.has_takeover:
            kept = memory.examples.get(Property.TOTAL_CAUSAL, [])
            kept[:] = [example for example in kept if example.scope != where]
        self.retell(scope)
        self._add_up(scope)
        missing = Shortfalls(memory, scope, is_over=False, is_left=True)
        memory.left_out += missing.uncast_count()
        for process, shortfall in missing.doubtful():
            uncast = memory.uncast.setdefault(process, Uncast())
            uncast.count += shortfall.count
            uncast.examples += [
                Example(key, ledger.teller.written(tell(ledger.teller)))
                for key, tell in shortfall.examples[: EXAMPLES_MAX - len(uncast.examples)]
            ]
        memory.too_late += scope.too_late
        memory.unseen.update(senders_of(scope))
        summary = summary_of(memory, scope)
        memory.ended[repr(summary)] = summary
        memory.ended_count += 1
        about = memory.groups[scope.group]
        if scope.installed:
            first = scope.installed[min(scope.installed, key=memory.name_of)]
            about.references[scope.view] = first
            for view in sorted(about.references)[:-REFERENCES_MAX]:
                del about.references[view]
        about.closed = with_span(about.closed, scope.view + 1, scope.view + 1)

    def _add_up(self, scope: Scope) -> None:
        for which, count in counts_of(scope).items():
            self.memory.counts[which] = self.memory.counts.get(which, 0) + count

    def retell(self, scope: Scope) -> None:
        """Tell examples of a scope as they ended: what was missing came later, or never."""
        for example in _examples_of(self.memory, scope):
            story = example.story
            assert story is not None, "see _examples_of"
            is_never = not self.has_come(scope, story)
            example.violation = self._ledger.teller.told(story, is_never=is_never)
            example.story = None

    def has_come(self, scope: Scope, story: OrderStory) -> bool:
        """Whether a process has delivered what it lacked."""
        process = scope.numbers[self.memory.numbers[story.wrong.process]]
        sender = scope.numbers[self.memory.numbers[story.earlier.process]]
        return holds(scope.delivered(process, sender), story.earlier.message.number)


def counts_of(scope: Scope) -> dict[str, int]:
    """Return what was counted; total order is not asked of a view that somebody took over from."""
    left_out = Property.TOTAL_CAUSAL if scope.has_takeover else ""
    return {which: count for which, count in scope.counts.items() if which != left_out}


def senders_of(scope: Scope) -> set[int]:
    """Return the senders of messages that were delivered, by their numbers in the run."""
    return {
        scope.who[sender] for row in scope.have for sender, numbers in enumerate(row) if numbers
    }


class _Reader:
    """Takes a pack apart: names become numbers of the run, rows get their places."""

    def __init__(self, judge: RunJudge, file: str, pack: Pack) -> None:
        memory = judge.memory
        self._judge, self._memory, self._pack = judge, memory, pack
        if file not in memory.lines:
            memory.lines[file] = 0
            memory.files.append(file)
        self._name = file
        self._file = memory.files.index(file)
        self._base = memory.lines[file] + 1
        self._numbers: dict[int, int] = {}

    def read(self) -> None:
        """Hand over all rows."""
        judge, memory, pack = self._judge, self._memory, self._pack
        for tail in pack.tails:
            about = memory.processes[self.process(tail.process)]
            about.stop = None  # whatever comes now comes after it
            about.is_numbered = tail.index >= 0
            about.heard_ms, about.record = memory.now_ms, tail.record
        for item in pack.items:
            process = self.process(item.process)
            if isinstance(item, Strip):
                judge.strip(item, process, memory.group(self.name(item.group)), self)
            else:
                judge.note(item, process, self)
        for tail in pack.tails:
            number = self.process(tail.process)
            about = memory.processes[number]
            about.row_count += tail.row_count
            about.last = self.place(number, tail.line, tail.index)
            if not tail.is_stop:
                about.stop = None
        memory.lines[self._name] += pack.line_count

    def name(self, number: int) -> str:
        """Return a name of the pack's table."""
        return self._pack.names[number]

    def process(self, number: int) -> int:
        """Return the number in the run of a name of the pack's table."""
        found = self._numbers.get(number)
        if found is None:
            found = self._numbers[number] = self._memory.process(self._pack.names[number])
        return found

    def place(self, process: int, line: int, index: int) -> Place:
        """Return where a row is."""
        at = self._base + line
        return (process, self._file, at, index if index >= 0 else at)

    def senders(self, strip: Strip) -> Iterable[int]:
        """Return the senders of the messages of rows, by their numbers in the run."""
        return [self.process(row[4]) for row in strip.rows]


def _of_shortfall(shortfall: Shortfall) -> Iterator[Found]:
    """Yield a shortfall's examples, the first with the whole count."""
    count = shortfall.count
    for key, tell in shortfall.examples:
        yield shortfall.property, key, count, partial(_tell, tell)
        count = 0


def _tell(tell: Telling, ledger: Ledger) -> Explanation[Place]:
    return tell(ledger.teller)


def _tell_view(
    scope: Scope, row: InstalledRow, reference: InstalledRow | None, ledger: Ledger
) -> Explanation[Place]:
    return explain_view(ledger.teller, scope, row, reference)


def _tell_orphan(scope: Scope, doubt: Doubt, number: int, ledger: Ledger) -> OrderStory:
    return story_of(ledger, scope, doubt, number)


def _examples_of(memory: RunMemory, scope: Scope) -> Iterator[Example]:
    where = f"{scope.group}/{scope.view}"
    for examples in memory.examples.values():
        for example in examples:
            if example.story is not None and example.scope == where:
                yield example
