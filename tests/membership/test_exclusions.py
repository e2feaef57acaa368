"""Who failed in a group is told so by later incarnations of the processes that agreed on it."""

from antiphon.core.control import Out, Standing
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.views import COUNT_BITS, View
from antiphon.membership.exclusions import EXCLUSIONS_MAX, Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.stack.inputs import PeerLost
from antiphon.stack.process import Process
from antiphon.stack.settings import Settings

YARD, HALL = 17, 18
ONE = GroupNumber(1)
ANNA = ProcessId("anna", 2, 7, "anna:1")
BEN, BEN_AGAIN = (ProcessId("ben", number, 8 + number, "ben:1") for number in (1, 2))


def view(number: int, *members: ProcessId) -> View:
    """Return a view of the yard."""
    return View(GroupName("yard"), ViewNumber(number), members)


def part_of(me: ProcessId, exclusions: Exclusions, begun: View, domain: int = YARD) -> Process:
    """Return a process that is in one group."""
    process = Process(me, Timing(), 0, exclusions)
    process.open(ONE, me, begun, Settings(), 0, domain=domain)
    return process


def exclusions_of_ben() -> Exclusions:
    """Return what ben hands on who has excluded anna in view 4, and ended."""
    exclusions = Exclusions()
    ben = part_of(BEN, exclusions, view(3, BEN, ANNA))
    ben.step(PeerLost(ANNA.bare()), 0)
    latest = ben.endpoint(ONE).latest
    assert latest is not None
    assert (latest.number, latest.failed) == (4, (ANNA,))
    assert not exclusions.of(YARD)
    ben.close(ONE)
    return exclusions


def test_successor_tells_whom_its_former_self_excluded() -> None:
    """Also if the two share a channel, for another group, over which nothing of this one comes."""
    ben = part_of(BEN_AGAIN, exclusions_of_ben(), view(5, BEN_AGAIN))
    for has_channel in (False, True):
        assert ben.endpoint(ONE).answer(ANNA, 3, has_channel=has_channel) == Out(4)


def test_what_was_handed_on_is_handed_on_again() -> None:
    """However many incarnations come and go before the one that failed asks."""
    exclusions = exclusions_of_ben()
    for number in (5, 6):
        part_of(BEN_AGAIN, exclusions, view(number, BEN_AGAIN)).close(ONE)
    assert exclusions.of(YARD) == {ANNA: 4}


def test_other_group_and_other_incarnation_are_not_told() -> None:
    """Failing is of one incarnation, in one group; only there it is said."""
    exclusions = exclusions_of_ben()
    ben = part_of(BEN_AGAIN, exclusions, view(5, BEN_AGAIN), HALL)
    assert isinstance(ben.endpoint(ONE).answer(ANNA, 3, has_channel=True), Standing)
    ben = part_of(BEN_AGAIN, exclusions, view(5, BEN_AGAIN))
    later = ProcessId("anna", 3, 70, "anna:1")
    assert isinstance(ben.endpoint(ONE).answer(later, 0, has_channel=True), Standing)
    assert exclusions.has_failed_elsewhere(ANNA.numbered(1), HALL)
    assert not exclusions.has_failed_elsewhere(ANNA, YARD)
    assert not exclusions.has_failed_elsewhere(later, HALL)


def test_who_took_the_group_over_is_a_member_whatever_was_agreed_on_before() -> None:
    """The later lineage counts: in it the one that had failed takes others in."""
    latest = view((1 << COUNT_BITS) + 5, ANNA, BEN_AGAIN)
    ben = part_of(BEN_AGAIN, exclusions_of_ben(), latest)
    answer = ben.endpoint(ONE).answer(ANNA, latest.number, has_channel=True)
    assert isinstance(answer, Standing)
    assert answer.is_known


def test_latest_exclusions_are_kept() -> None:
    """What is kept is bounded, in all groups together."""
    exclusions = Exclusions()
    for number in range(1, EXCLUSIONS_MAX + 2):
        exclusions.note(number % 2, {ProcessId("p", number): number})
    kept = exclusions.of(0) | exclusions.of(1)
    assert sorted(kept.values()) == list(range(2, EXCLUSIONS_MAX + 2))
