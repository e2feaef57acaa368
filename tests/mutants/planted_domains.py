"""Planted bugs of causality across groups (ISIS 6): stamps, tags, flushes, resilience, letters.

Law: each is a printed rule that is wrong (an erratum), or a rule of ours left out. They are hunted
in worlds of one causality domain (``sim.random_domains``), by a judge that knows no timestamps.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from antiphon.core.control import HowFar
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign, Letter, Run, Stamp
from antiphon.core.views import View
from antiphon.membership.failures import Failures
from antiphon.ordering.delay_queue import DelayQueue, Lack
from antiphon.ordering.knowledge import ForeignClock, Knowledge
from antiphon.ordering.lost_runs import LostRuns
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.own_stamps import VIEW, GroupClock
from antiphon.ordering.stability import Stability
from antiphon.ordering.vector import VectorDomain
from antiphon.ordering.vector_clock import VectorClock
from antiphon.stack.domain import ALL, Domain
from antiphon.stack.lacks import Inquiry, Lacks
from antiphon.stack.member import Member
from antiphon.stack.nesting import Nesting
from antiphon.stack.program_order import Places
from antiphon.stack.reach import GroupReach
from antiphon.stack.receiver import Receiver


class DomainMutant(NamedTuple):
    """One mistake."""

    name: str
    source: str
    target: type
    method: str
    wrong: Any
    resilience: int
    seeds: int
    """Within how many worlds it is found, at most."""
    schedule: str
    """The test that finds it, where worlds seldom do (``test_domain_mutants.SCHEDULES``)."""
    structure: str = "none"
    """What the worlds declare of their overlaps."""


MUTANTS: list[DomainMutant] = []


def plant(
    target: type,
    method: str,
    source: str,
    *,
    resilience: int = 1,
    seeds: int = 150,
    schedule: str = "",
    structure: str = "none",
    is_property: bool = False,
) -> Callable[[Any], Any]:
    """Register a wrong method, or property, under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        planted = property(wrong) if is_property else wrong
        name = wrong.__name__.replace("_", " ")
        mutant = DomainMutant(
            name, source, target, method, planted, resilience, seeds, schedule, structure
        )
        MUTANTS.append(mutant)
        return wrong

    return register


_STAMP, _STAMP_ONE, _NOTE = Knowledge.stamp, Knowledge._stamp_one, Knowledge.note
_FOREIGN_LACK, _LEARN = VectorDomain._foreign_lack, VectorDomain._learn
_NOTE_VIEW, _PUT_READY = Knowledge.note_view, DelayQueue.put_ready
_IS_FALSE = Lacks._is_false
_BEGIN, _MAY_END = Member._begin, Receiver.may_end


# Stamps.


@plant(VectorDomain, "_foreign_lack", "000-2")
def rule_for_other_groups_ranges_over_all(self: VectorDomain, run: Run) -> Lack | None:
    """Whatever a message is stamped with must have been delivered, the message itself included."""
    clock = self._groups[run.group]
    if run.sender != clock.rank and clock.delivered[run.sender] < run.first:
        return run.group, run.sender, run.first
    return _FOREIGN_LACK(self, run)


@plant(Knowledge, "stamp", "000-12")
def last_multicast_is_that_to_any_group(
    self: Knowledge, to: int, *, is_letter: bool = False
) -> Foreign:
    """What has changed is what has changed since the last multicast, whatever its group."""
    stamps = _STAMP(self, to, is_letter=is_letter)
    for clock in self._mine.values():
        clock.told = max(clock.told, self._mine[to].told)
    return stamps


@plant(Knowledge, "note", "000-13")
def own_sends_are_forgotten(self: Knowledge, group: int, clock: GroupClock, rank: int) -> None:
    """Only what was delivered of others rides along."""
    if rank != clock.rank:
        _NOTE(self, group, clock, rank)


@plant(Knowledge, "_stamp_one", "000-14")
def only_own_groups_ride_along(
    self: Knowledge, group: int, to: int, told: int, *, is_whole: bool = False
) -> tuple[int, int, Stamp] | None:
    """A group is active only for its members."""
    is_active = group in self._mine
    return _STAMP_ONE(self, group, to, told, is_whole=is_whole) if is_active else None


@plant(DelayQueue, "put_ready", "000-15", seeds=400)
def ready_ones_leave_in_any_order(self: DelayQueue, arrival: int, run: Run) -> None:
    """The last one received leaves first."""
    _PUT_READY(self, -arrival, run)


@plant(Stability, "is_everywhere", "000-16")
def one_other_receiver_is_enough(
    self: Stability, rank: int, count: int, *, delivered: bool
) -> bool:
    """An entry is left out when one member beside the sender has the message."""
    del delivered
    return self.receivers(rank, count) >= 1


@plant(
    Stability, "is_everywhere", "000-15, kin",
    schedule="test_a_turn_that_has_not_been_said_is_not_taken_for_known",
)  # fmt: skip
def turns_that_nobody_knows_count_as_known(
    self: Stability, rank: int, count: int, *, delivered: bool
) -> bool:
    """What was received everywhere is left out although its turn may not be known everywhere."""
    del delivered
    return self.stable(rank) >= count


@plant(VectorDomain, "_learn", "000-13, kin", seeds=1500)
def letter_is_known_to_the_whole_group(self: VectorDomain, run: Run, clock: VectorClock) -> None:
    """What was learnt by a letter is not told to the group in which it was sent."""
    if type(run) is Letter and self.knowledge is not None:
        self.knowledge.merge(run.foreign, run.group)
    else:
        _LEARN(self, run, clock)


# What a run in another group has said.


@plant(
    Knowledge, "stamp", "told by another group",
    schedule="test_what_everybody_has_tells_for_nothing",
)  # fmt: skip
def what_is_not_named_tells_all_the_same(
    self: Knowledge, to: int, *, is_letter: bool = False
) -> Foreign:
    """A run that everybody has is not named, nor what it has said."""
    mine = self._mine[to]
    mine.told = max(clock.told for clock in (mine, *self._look_around(to)))
    return _STAMP(self, to, is_letter=is_letter)


@plant(Nesting, "tells_for", "told by another group")
def any_group_tells_for_any(self: Nesting, other: int, group: int) -> bool:
    """What was said in one group goes unsaid in all others."""
    del self, other, group
    return True


@plant(
    LostRuns, "note", "told by another group",
    schedule="test_what_a_lost_run_said_is_waited_for_in_its_place",
)  # fmt: skip
def what_lost_runs_said_is_forgotten(self: LostRuns, runs: Iterable[Run]) -> None:
    """What names a lost run, and leaves unsaid what that one said, waits for nothing."""
    del self, runs


@plant(
    Receiver, "unstable", "told by another group",
    schedule="test_who_relays_a_run_says_what_the_one_before_it_said",
)  # fmt: skip
def runs_are_relayed_as_they_came(self: Receiver, rank: int) -> list[Run]:
    """What a run leaves unsaid is left to who relays the other run."""
    return list(self.stability.copies.get(rank, ()))


# Views.


@plant(GroupReach, "is_left_by_all", "who is excluded and does not know it", seeds=400)
def views_go_unsaid_though_somebody_is_doubted(self: GroupReach) -> bool:
    """A view that all its members have installed is named no more."""
    return self.is_installed_everywhere()


@plant(
    Knowledge, "_supersede", "who is excluded and does not know it",
    schedule="test_what_is_of_an_older_view_is_followed_by_the_new_one",
)  # fmt: skip
def what_is_of_an_older_view_is_forgotten_unsaid(
    self: Knowledge, group: int, view: int, to: int, newer: int
) -> None:
    """A group that was told entries of an older view is told to forget them, and no more."""
    del newer
    gone = tuple(self._owed[group, view][to].items())
    self._pay(group, view, to, gone)
    self._say(to, group, view, gone)


@plant(Lacks, "_is_false", "what others are asked about", seeds=400)
def what_is_on_its_way_is_found_not_to_be(
    self: Lacks,
    group: GroupNumber,
    view: View,
    inquiry: Inquiry,
    answered: Mapping[ProcessId, HowFar],
) -> bool | None:
    """Who has to say how many messages it has sent is asked, and not listened to."""
    is_sent = inquiry.rank != VIEW and view.members[inquiry.rank] in answered
    return True if is_sent else _IS_FALSE(self, group, view, inquiry, answered)


@plant(
    Lacks, "_is_false", "what others are asked about",
    schedule="test_who_is_out_is_not_told_by_others_who_are_out_that_there_is_no_such_view",
)  # fmt: skip
def one_answer_is_enough_for_a_view(
    self: Lacks,
    group: GroupNumber,
    view: View,
    inquiry: Inquiry,
    answered: Mapping[ProcessId, HowFar],
) -> bool | None:
    """Whoever knows of no later view will do to tell that there is none."""
    is_said = inquiry.rank == VIEW and any(one.is_last for one in answered.values())
    return True if is_said else _IS_FALSE(self, group, view, inquiry, answered)


@plant(VectorDomain, "_foreign_lack", "000-25")
def newer_tags_are_ignored(self: VectorDomain, run: Run) -> Lack | None:
    """A stamp of a view that is still to be installed says nothing."""
    stamps = tuple(
        (group, view, entries)
        for group, view, entries in run.foreign
        if group not in self._groups or view <= self._groups[group].view_number
    )
    copy = Run(run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads)
    copy.foreign = stamps
    return _FOREIGN_LACK(self, copy)


@plant(Knowledge, "_merge_one", "000-25, merging", seeds=600)
def counts_of_two_views_are_merged(
    self: Knowledge, group: int, view: int, entries: Stamp, via: int
) -> None:
    """The greater count stays, whatever the view that it is of."""
    known = self.foreign.setdefault(group, ForeignClock(view))
    known.view = max(view, known.view)
    self._touch(group)
    for rank, count in entries:
        if count > known.counts.get(rank, 0):
            known.counts[rank] = count
            known.recent.pop(rank, None)
            known.recent[rank] = self.tick
            known.via[rank] = via


@plant(Knowledge, "note_view", "000-25, kin", seeds=1500)
def view_alone_does_not_ride_along(self: Knowledge, group: int, clock: GroupClock) -> None:
    """Who has installed a view says so only along with messages of it."""
    _NOTE_VIEW(self, group, clock)
    clock.recent.pop(VIEW, None)


@plant(Receiver, "may_end", "000-26")
def view_ends_with_its_flush(self: Receiver) -> bool:
    """A view is left although something of it waits for another group."""
    del self
    return True


@plant(
    VectorDomain, "_foreign_lack", "rule 2 of overlapping flushes",
    schedule="test_flushes_of_two_groups_do_not_wait_for_each_other",
)  # fmt: skip
def what_is_lost_is_waited_for(self: VectorDomain, run: Run) -> Lack | None:
    """An entry that names a lost message holds up what names it, until its view has been left."""
    kept = {group: clock.kept for group, clock in self._groups.items()}
    for clock in self._groups.values():
        clock.kept = None
    lack = _FOREIGN_LACK(self, run)
    for group, clock in self._groups.items():
        clock.kept = kept[group]
    return lack


@plant(Receiver, "may_end", "rule 5 of overlapping flushes", resilience=2)
def last_lists_wait_for_receipts(self: Receiver) -> bool:
    """A view is left only when its last list, like any message, might leave for its group."""
    return self._domain.is_safe_for(self.group) and _MAY_END(self)


@plant(
    Member, "_begin", "001-10",
    schedule="test_001_10_nobody_speaks_in_a_view_before_who_joins_knows_of_it",
)  # fmt: skip
def nobody_waits_for_who_joins(self: Member, view: View, *, is_founding: bool = False) -> None:
    """Members multicast in a view that a joiner may not know of."""
    is_among = self._is_among_groups
    self._is_among_groups = is_among and is_founding
    _BEGIN(self, view, is_founding=is_founding)
    self._is_among_groups = is_among


# What other groups may lose.


@plant(
    Domain, "is_safe_for", "ISIS 6.5", resilience=2,
    schedule="test_6_5_what_another_groups_message_depends_on_is_not_lost_with_k_2",
)  # fmt: skip
def nothing_is_waited_for(self: Domain, group: GroupNumber) -> bool:
    """A run leaves for another group whatever may be lost."""
    return not self.ordering.has_undelivered(group)


@plant(
    Domain, "_comes_first", "ISIS 6.5",
    schedule="test_who_is_not_in_the_group_before_is_written_to_when_the_past_is_safe",
)  # fmt: skip
def everybody_is_in_the_group_before(self: Domain, other: GroupNumber, group: GroupNumber) -> bool:
    """A run leaves at once also for who does not get what it depends on."""
    del other, group
    return self.resilience == 1


@plant(Failures, "has", "failure is of a process")
def who_failed_in_one_group_is_heard_in_others(self: Failures, member: ProcessId) -> bool:
    """What comes late is dropped in one group, and what depends on it is taken in another."""
    del self, member
    return False


@plant(
    Receiver, "received", "000-20 c", resilience=ALL,
    schedule="test_000_20_two_that_wait_for_each_others_receipts_go_on",
)  # fmt: skip
def deliveries_are_waited_for(self: Receiver) -> list[int]:
    """What was received counts when it is delivered: two that wait deliver nothing."""
    return list(self._ordering.delivered(self.group))


@plant(MixedDomain, "has_undelivered", "turns of two groups", seeds=1500)
def own_messages_need_not_be_delivered(self: MixedDomain, group: GroupNumber) -> bool:
    """A process goes on in another group while its own message waits for its turn."""
    del self, group
    return False


# Program order and letters.


@plant(Places, "is_first", "program order", is_property=True)
def each_group_has_a_queue_of_its_own(self: Places) -> bool:
    """What was multicast later in another group may leave first."""
    del self
    return True


@plant(
    Domain, "awaits_letter", "000-24",
    schedule="test_7_2_a_letter_holds_up_all_groups_until_it_is_acknowledged",
)  # fmt: skip
def letter_holds_up_its_own_group_only(self: Domain, group: GroupNumber) -> bool:
    """Another group's multicasts need not wait until a letter is acknowledged."""
    del self, group
    return False
