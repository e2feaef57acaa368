"""Planted bugs of declared structures, epochs and flushes (ISIS 6.6, 6.7, 7.3): a rule left out.

Law: as of ``planted_domains``, in whose list they are.
"""

from collections.abc import Iterable

from tests.mutants.planted_domains import plant

from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Foreign, Letter
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.gated import GatedDomain
from antiphon.ordering.structure import Structure
from antiphon.stack.domain import Domain
from antiphon.stack.epochs import Epochs
from antiphon.stack.failing import Failing
from antiphon.stack.flushes import Flushes, Wait
from antiphon.stack.member_questions import MemberQuestions
from antiphon.stack.names import KnownNames

_FORGET = GatedDomain._forget
_BEGIN_FLUSH = Flushes.begin
_LEAVE = Epochs.leave


@plant(Structure, "are_linked", "ISIS 6.6, Theorem 1", structure="declared")
def own_groups_are_enough_on_a_circle(self: Structure, one: str, other: str) -> bool:
    """Stamps of groups that one is not in never ride along."""
    del self, one, other
    return False


@plant(
    GatedDomain, "bar", "6.6 with joiners",
    schedule="test_who_joins_is_told_what_the_others_know",
)  # fmt: skip
def joiner_delivers_at_once(self: GatedDomain, group: GroupNumber, ranks: Iterable[int]) -> None:
    """Who joins a group is not told what was named in it before."""
    del self, group, ranks


@plant(
    GatedDomain, "_forget", "6.6 with joiners, kin",
    schedule="test_who_joins_with_another_is_told_too",
)  # fmt: skip
def what_a_joiner_is_told_ends_with_the_view(self: GatedDomain, group: int) -> None:
    """The next view begins although what a joiner was told is not here."""
    _FORGET(self, group)
    self._barriers.pop(group, None)


@plant(
    GatedDomain, "expect_bars", "6.6 with joiners, kin",
    schedule="test_what_a_joiner_has_received_may_not_be_ready",
)  # fmt: skip
def what_a_joiner_has_received_is_ready(self: GatedDomain, group: GroupNumber) -> None:
    """What everybody has received is named no more, though a joiner holds it."""
    del self, group


@plant(
    GatedDomain, "_letter_lack", "6.6 with joiners and letters",
    schedule="test_a_letter_to_a_joiner_comes_before_what_follows_it",
)  # fmt: skip
def letter_to_a_joiner_waits_for_all(self: GatedDomain, letter: Letter) -> Lack | None:
    """A joiner holds letters until all have told it what they know, and acknowledges them."""
    return self._barrier_lack(letter.group)


@plant(
    MemberQuestions, "has_news", "6.6 with letters", is_property=True,
    schedule="test_what_a_letter_tells_one_member_all_can_know",
)  # fmt: skip
def letter_tells_one_member_alone(self: MemberQuestions) -> bool:
    """What a letter names is not multicast first."""
    del self
    return False


@plant(
    KnownNames,
    "open",
    "undeclared overlaps",
    schedule="test_an_overlap_that_is_not_declared_is_refused",
)
def any_overlap_is_let_in(self: KnownNames, me: str, group: GroupNumber, name: str) -> None:
    """A process may be in groups that are not declared to overlap."""
    del me
    self._own[group] = name
    self._rides.clear()


# Epochs.


@plant(
    Epochs, "_goes_round", "000-22 (a)", structure="excluded",
    schedule="test_all_that_was_delivered_counts_not_the_last_message_alone",
)  # fmt: skip
def last_group_alone_counts(self: Epochs, group: GroupNumber) -> bool:
    """Where the last message was of the same group, no epoch is begun."""
    knowledge = self._ordering.knowledge
    touched = knowledge.touched() if knowledge is not None else []
    last = max(touched, key=lambda one: list(knowledge._recent).index(one), default=group)  # type: ignore[union-attr]
    excluded = self._names.is_excluded
    return last != group and (excluded(last) or excluded(group))


@plant(Epochs, "_goes_round", "000-22 (b)", schedule="test_what_was_sent_counts_too")
def what_was_sent_does_not_count(self: Epochs, group: GroupNumber) -> bool:
    """An epoch is begun for what was delivered from others, and for nothing else."""
    ordering, names = self._ordering, self._names
    return any(
        other != group
        and (names.is_excluded(other) or names.is_excluded(group))
        and any(
            count
            for rank, count in enumerate(ordering.delivered(other))
            if rank != part.stability.rank
        )
        for other, part in self._parts.items()
    )


@plant(Epochs, "_reached", "000-22 (c)", structure="excluded")
def one_group_is_enough(self: Epochs) -> tuple[int, int]:
    """An epoch is entered when it has been said in one group by all."""
    reached = 1
    for group, part in self._parts.items():
        heard, me = self._heard.get(group, {}), part.stability.rank
        others = [heard.get(who, 1) for rank, who in enumerate(part.members) if rank != me]
        reached = max(reached, min(others, default=self.said))
    return reached, reached


@plant(Epochs, "_reached", "000-22 (d)", schedule="test_what_is_said_is_not_entered")
def what_is_said_is_entered(self: Epochs) -> tuple[int, int]:
    """One variable for what is stamped and what is delivered."""
    return self.said, self.said


@plant(Epochs, "cross", "ISIS 6.7", structure="excluded")
def no_epoch_before_an_excluded_group(self: Epochs, group: GroupNumber) -> None:
    """Nobody flushes before it goes from or to an excluded group."""
    del self, group


@plant(
    Epochs, "leave", "000-23",
    schedule="test_who_leaves_a_group_and_joins_another_begins_an_epoch",
)  # fmt: skip
def who_has_left_begins_no_epoch(self: Epochs, group: GroupNumber) -> None:
    """What was learnt in a group that was left goes round."""
    _LEAVE(self, group)
    self._has_left = False


@plant(
    Failing, "complete", "6.7, a member that fails",
    schedule="test_what_the_dead_said_is_waited_for_while_somebody_has_more_of_it",
)  # fmt: skip
def who_fails_is_waited_for_no_longer(self: Failing, group: GroupNumber) -> list[int]:
    """What others have of it is relayed when the view is left, and comes too late."""
    transition = self._parts[group].transition
    return transition.excluded_ranks()


@plant(
    Failing, "look", "6.7, a member that fails",
    schedule="test_members_of_two_groups_with_the_same_dead_do_not_wait_for_each_other",
)  # fmt: skip
def nobody_says_what_it_has_of_who_fails(self: Failing, group: GroupNumber) -> None:
    """Two groups that are left at once wait for each other."""
    del self, group


# Flushes.


@plant(Flushes, "begin", "ISIS 7.3, queue", schedule="test_what_is_queued_is_waited_for")
def flush_forgets_what_is_queued(self: Flushes, number: int, groups: list[GroupNumber]) -> None:
    """What was handed over and has not left is not waited for."""
    _BEGIN_FLUSH(self, number, groups)
    self._parts[number] = {group: Wait(None) for group in groups}


@plant(
    Domain, "still_named", "ISIS 7.3, past",
    schedule="test_the_past_in_groups_of_others_is_asked_for",
)  # fmt: skip
def flush_knows_own_groups_only(
    self: Domain, group: int, view: int, wanted: dict[int, int]
) -> dict[int, int]:
    """The causal past in groups that one is not in does not count."""
    del self, group, view, wanted
    return {}


@plant(Domain, "hurry", "ISIS 7.3, promptness", schedule="test_the_past_of_others_is_told_soon")
def nobody_hurries(self: Domain, stamps: Foreign, via: int) -> Foreign:
    """The word that everybody has something comes when it comes."""
    del self, stamps, via
    return ()
