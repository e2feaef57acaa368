"""The verdict on a run, as far as it has been read.

Law: the words, and the meaning, are those of `antiphon verify` on the rows read so far, but for one
thing: as long as the run goes on, a process that has not ended is not whole, whatever its record
shows. When following ends (``is_over``), every record ends where it ends. Nothing is claimed to
hold if rows came too late to be judged, nor of causality from one group to another, which is not
judged here, whatever the rows say of domains: `antiphon verify` does, when the run has ended.
"""

from functools import partial

from antiphon.live.checks.ballots import wrong_decisions
from antiphon.live.checks.shortfalls import Shortfalls
from antiphon.live.conclusions.left_out import LEFT_OUT
from antiphon.live.conclusions.outlook import Outlook
from antiphon.live.conclusions.untested import UNTESTED
from antiphon.live.judge import RunJudge, counts_of, senders_of
from antiphon.live.memory.record import Example, Key
from antiphon.live.packs import TOTAL, UNIFORM
from antiphon.live.stories import Ledger, Make
from antiphon.live.summaries import summary_of
from antiphon.trace import words
from antiphon.trace.verdict import (
    ALL,
    EXAMPLES_MAX,
    Property,
    PropertyVerdict,
    Terms,
    Verdict,
    Violation,
    concluded,
    unknown,
)

ENGINE = "live"

JUDGED_LATER = "(antiphon verify RUN judges it when the run has ended)"
"""What is said of causality across groups, instead of how to declare domains."""

_OF_VIEWS = {Property.VIEWS, Property.SENDING_VIEW, Property.VIEW_ATOMIC}
_OF_CAUSES = {Property.CAUSAL, Property.NO_ORPHAN, Property.TOTAL_CAUSAL}
_NOT_YET = {
    Property.AGREEMENT: words.WHEN_ENDED,
    Property.LIVENESS: words.WHEN_ENDED,
    Property.SELF_DELIVERY: words.WHEN_LEFT,
    Property.VIEW_ATOMIC: words.WHEN_LEFT,
    Property.TOTAL: words.WHEN_LEFT,
    Property.UNIFORM: words.WHEN_LEFT,
}
"""What is judged only when something ends."""

_UNTOUCHED = {Property.VIEWS, Property.SENDING_VIEW, Property.COMMIT}
"""What rows that came too late have no say in."""


def conclude(judge: RunJudge, terms: Terms = ALL, *, is_over: bool) -> Verdict:
    """Return the verdict."""
    return _Conclusion(judge, is_over=is_over).verdict(terms)


class _Conclusion:
    """What can be said of a run now."""

    def __init__(self, judge: RunJudge, *, is_over: bool) -> None:
        memory = judge.memory
        self._judge, self._memory, self._is_over = judge, memory, is_over
        self._ledger = Ledger(memory)
        self._counts = dict(memory.counts)
        self._examples: dict[str, list[tuple[Key, Violation]]] = {}
        self._too_late = memory.too_late
        for which, kept in memory.examples.items():
            self._examples[which] = [(each.key, self._told(each)) for each in kept]
        for scope in (*judge.scopes.values(), *memory.late_views):
            self._too_late += scope.too_late
            for which, count in counts_of(scope).items():
                self._counts[which] = self._counts.get(which, 0) + count
            for which, key, count, tell in judge.outcomes(scope, is_over=is_over):
                self._add(which, key, count, partial(tell, self._ledger))
        self._outlook = _outlook(judge, is_over=is_over)
        self._add_ballots()
        self._add_made_up()

    def verdict(self, terms: Terms) -> Verdict:
        """Return it."""
        memory = self._memory
        return Verdict(
            run=memory.name,
            engine=ENGINE,
            process_count=sum(bool(process.row_count) for process in memory.processes),
            event_count=memory.row_count,
            message_count=memory.message_count,
            delivery_count=memory.delivery_count,
            properties=tuple(map(self._concluded, terms.asked)),
            terms=terms,
        )

    def _concluded(self, which: Property) -> PropertyVerdict:
        if not self._memory.delivery_count and which is not Property.COMMIT:
            return unknown(which, words.NO_DELIVERY)
        if which in _OF_VIEWS and not self._memory.has_views:
            return unknown(which, words.NO_VIEW)
        not_asked = self._not_asked(which)
        if not_asked:
            return unknown(which, not_asked)
        untested, left_out = UNTESTED[which](self._outlook), LEFT_OUT[which](self._outlook)
        count = self._counts.get(which, 0)
        if which is Property.NO_CREATION and left_out and not count:
            return unknown(which, left_out)
        if untested and not self._is_over and which in _NOT_YET:
            untested, left_out = self._not_yet(which), ""
        late = "" if which in _UNTOUCHED else self._late()
        if count:
            left_out = words.together(late, left_out)
        else:
            untested = words.together(late, untested)
        across = self._across() if which in _OF_CAUSES else ""
        return concluded(which, count, self._first(which), left_out, across, untested)

    def _across(self) -> str:
        """Say through whom causality crosses groups."""
        groups: dict[str, set[int]] = {}
        for each in self._memory.processes:
            groups.setdefault(each.record or each.name, set()).update(each.groups)
        across = [name for name, found in groups.items() if len(found) > 1]
        return words.in_several_groups(across, JUDGED_LATER)

    def _late(self) -> str:
        """Say what came too late to be judged."""
        return words.came_too_late(self._too_late) if self._too_late else ""

    def _not_yet(self, which: Property) -> str:
        """Say when more will be known."""
        suspicions = 0
        if which is Property.TOTAL:
            suspicions = sum(map(self._judge.suspicions, self._judge.scopes.values()))
        return words.together(_NOT_YET[which], words.differing(suspicions) if suspicions else "")

    def _first(self, which: Property) -> list[Violation]:
        found = sorted(self._examples.get(which, []), key=_key)
        return [violation for _, violation in found[:EXAMPLES_MAX]]

    def _add(self, which: Property, key: Key, count: int, make: Make) -> None:
        self._counts[which] = self._counts.get(which, 0) + count
        kept = self._examples.setdefault(which, [])
        kept.append((key, self._ledger.written(make())))
        kept.sort(key=_key)
        del kept[EXAMPLES_MAX:]

    def _add_ballots(self) -> None:
        memory = self._memory
        for group in memory.groups:
            for transaction in group.transactions.values():
                for key, tell in wrong_decisions(memory, transaction):
                    self._add(Property.COMMIT, key, 1, partial(tell, self._ledger.teller))

    def _add_made_up(self) -> None:
        """Count what was in doubt in ended views, of senders that turned out to be whole."""
        for process, uncast in self._memory.uncast.items():
            if self._outlook.is_whole(process) and not self._too_late:
                which = Property.NO_CREATION
                self._counts[which] = self._counts.get(which, 0) + uncast.count
                kept = self._examples.setdefault(which, [])
                kept += [(example.key, example.violation) for example in uncast.examples]

    def _told(self, example: Example) -> Violation:
        """Return an example in the words that are true now."""
        if example.story is None:
            return example.violation
        group, view = map(int, example.scope.split("/"))
        scope = self._judge.scopes[group, view]
        is_never = not self._judge.has_come(scope, example.story)
        process = self._memory.numbers[example.story.wrong.process]
        is_open = not self._is_over and not self._judge.is_done(scope, process)
        return self._ledger.teller.told(example.story, is_never=is_never, is_open=is_open)

    def _not_asked(self, which: Property) -> str:
        if which in {Property.TOTAL, Property.TOTAL_CAUSAL}:
            return "" if self._outlook.asking(TOTAL) else words.NO_TOTAL
        if which is Property.UNIFORM:
            return "" if self._outlook.asking(UNIFORM) else words.NO_UNIFORM
        if which is Property.COMMIT:
            return "" if self._memory.is_decided else words.NO_DECISION
        return ""


def _key(example: tuple[Key, Violation]) -> Key:
    return example[0]


def _outlook(judge: RunJudge, *, is_over: bool) -> Outlook:
    """Look at a run, those of its views that go on included."""
    memory = judge.memory
    doubtful = {process: uncast.count for process, uncast in memory.uncast.items()}
    left_out, senders = memory.left_out, set(memory.unseen)
    for scope in judge.scopes.values():
        missing = Shortfalls(memory, scope, is_over=is_over)
        for process, shortfall in missing.doubtful():
            doubtful[process] = doubtful.get(process, 0) + shortfall.count
        left_out += missing.uncast_count()
        senders |= senders_of(scope)
    return Outlook(
        memory=memory,
        views=[
            *memory.ended.values(),
            *(summary_of(memory, scope) for scope in judge.scopes.values()),
        ],
        doubtful=doubtful,
        left_out=left_out,
        unseen=[
            memory.name_of(process)
            for process in senders
            if not memory.processes[process].row_count
        ],
        is_over=is_over,
    )
