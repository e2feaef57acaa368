"""The way in: whom a process asks, whom it asks to be taken in, and when it gives up."""

from itertools import pairwise

from antiphon.core.control import Standing
from antiphon.core.ids import ProcessId
from antiphon.membership.entrance import (
    PLACES_MAX,
    Effect,
    Found,
    GiveUp,
    Inquire,
    Knock,
    Search,
)
from antiphon.membership.failure_detector import Timing

TIMING = Timing(heartbeat_us=20_000, timeout_us=100_000)
HALF = 0.5
A, B, C = (ProcessId(name, 1, 0, f"{name}:1") for name in "abc")


def member(
    process: ProcessId, view: int = 3, *, blocked: bool = False, known: bool = False,
    places: tuple[str, ...] = (), next_incarnation: int = 2,
) -> Found:  # fmt: skip
    """Return the answer of a member."""
    return Found(process, Standing(view, blocked, known, places), next_incarnation)


def asked(effects: list[Effect]) -> list[str]:
    """Return which places are asked."""
    return [place for effect in effects if isinstance(effect, Inquire) for place in effect.places]


def search_of(*places: str) -> Search:
    """Return a search that has asked these places."""
    search = Search("choir", list(places), TIMING, 0, last_number=1)
    assert asked(search.look(0, HALF)) == list(places)
    return search


def run(search: Search, until_us: int, from_us: int = 0) -> list[Effect]:
    """Let time pass."""
    effects: list[Effect] = []
    for now_us in range(from_us, until_us, 5_000):
        effects += search.look(now_us, HALF)
    return effects


def test_highest_view_that_can_go_on_is_the_contact() -> None:
    """Neither the first that answers, nor one that is blocked, nor one that is out."""
    search = search_of("a:1", "b:1", "c:1", "d:1")
    search.hear("a:1", member(A, 3), 1_000, HALF)
    assert search.look(1_000, HALF) == []
    search.hear("b:1", member(B, 9, blocked=True), 1_000, HALF)
    search.hear("d:1", Found(ProcessId("d"), None), 1_000, HALF)
    search.hear("c:1", member(C, 5), 2_000, HALF)
    assert search.look(2_000, HALF) == [Knock(C, 2)]
    assert search.contact == C


def test_silent_place_holds_nobody_up_for_long() -> None:
    """A good answer waits for the others' for a heartbeat, and no longer."""
    search = search_of("a:1", "b:1")
    search.hear("a:1", member(A), 1_000, HALF)
    assert not run(search, 21_000, 5_000)
    assert search.look(search.is_due_us, HALF) == [Knock(A, 2)]


def test_no_place_ends_the_search_by_not_answering() -> None:
    """Silence, refused connections and hang-ups are asked again, after longer and longer pauses."""
    search = search_of("a:1", "b:1")
    times: list[int] = []
    for now_us in range(0, 2_000_000, 1_000):
        for place in asked(search.look(now_us, HALF)):
            if place == "a:1":  # nothing is ever heard of the other one
                times.append(now_us)
                search.miss(place, now_us, HALF)
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[-1] <= TIMING.timeout_us
    search.hear("b:1", member(B), 2_000_000, HALF)
    assert Knock(B, 2) in run(search, 2_100_000, 2_000_000)


def test_everybody_out_or_blocked_is_no_reason_to_give_up() -> None:
    """They may come back, or go on."""
    search = search_of("a:1", "b:1")
    for now_us in range(0, 1_000_000, 10_000):
        for place in asked(search.look(now_us, HALF)):
            found = Found(A, None) if place == "a:1" else member(B, blocked=True)
            search.hear(place, found, now_us, HALF)
    assert search.say().startswith("the members that answer (b at b:1) cannot go on")
    assert "again" not in search.say()
    search.hear("b:1", member(B), 1_000_000, HALF)
    assert Knock(B, 2) in run(search, 1_100_000, 1_000_000)


def test_lost_majority_is_said_with_those_who_do_not_answer() -> None:
    """Who answers, where nobody does, and what it takes; not that trying again would help."""
    search = search_of("a:1", "b:1", "c:1")
    search.hear("b:1", member(B, blocked=True), 1_000, HALF)
    for place in ("a:1", "c:1"):
        search.miss(place, 1_000, HALF)
    said = search.say()
    assert "(b at b:1) cannot go on" in said
    assert "nobody answers at a:1, c:1" in said
    assert "only with a majority of that view" in said
    assert said.endswith(
        "have one of those that answer take over: antiphon takeover b:1 --group choir"
    )
    assert "again" not in said


def test_process_does_not_ask_itself() -> None:
    """Whoever it asks may name its place, where an earlier incarnation of it was."""
    search = Search("choir", ["a:1", "c:1"], TIMING, 0, here="c:1")
    search.hear("a:1", member(A, blocked=True, places=("b:1", "c:1")), 0, HALF)
    assert search.places == ["a:1", "b:1"]


def test_trying_again_is_advised_where_it_can_help() -> None:
    """Where a member has not got round to it, and where those who answer are on their way in."""
    search = search_of("a:1")
    search.hear("a:1", Found(A, None), 1_000, HALF)
    assert search.say() == "nobody who answers is in the group: try again when one of them is"
    search.hear("a:1", member(A), 2_000, HALF)
    run(search, 300_000, 2_000)
    assert search.say() == "a at a:1 has not taken this process in: try again, with more time"


def test_blocked_member_that_has_taken_the_process_in_is_a_contact() -> None:
    """Its group may be blocked because the joiner, a member already, does not know it."""
    search = search_of("a:1")
    search.hear("a:1", member(A, blocked=True, known=True), 1_000, HALF)
    assert search.look(1_000, HALF) == [Knock(A, 2)]


def test_slow_contact_is_replaced_and_the_incarnation_stays() -> None:
    """It may still take the process in, so the number stays too."""
    search = search_of("a:1", "b:1")
    search.hear("a:1", member(A, 4), 0, HALF)
    search.hear("b:1", member(B, 3), 0, HALF)
    knocks: list[Effect] = []
    for now_us in range(0, 2 * search.patience_us, 5_000):
        for effect in search.look(now_us, HALF):
            knocks += [effect] if isinstance(effect, Knock) else []
        for place, who, view in (("a:1", A, 4), ("b:1", B, 3)):
            if search.contact is None:
                search.hear(place, member(who, view, next_incarnation=2), now_us, HALF)
    assert list(dict.fromkeys(map(str, knocks))) == [str(Knock(A, 2)), str(Knock(B, 2))]
    assert len(knocks) > 4


def test_lost_contact_is_replaced_at_once() -> None:
    """The others are asked anew: what they said before may be out of date."""
    search = search_of("a:1", "b:1")
    search.hear("a:1", member(A, 4), 0, HALF)
    search.hear("b:1", member(B, 3), 0, HALF)
    assert search.look(0, HALF) == [Knock(A, 2)]
    search.lose(A, 1_000, HALF)
    assert asked(search.look(1_000, HALF)) == ["a:1", "b:1"]
    search.miss("a:1", 2_000, HALF)
    search.hear("b:1", member(B, 5), 2_000, HALF)
    assert search.look(2_000, HALF) == [Knock(B, 2)]


def test_contacts_lost_again_and_again_are_not_asked_without_a_pause() -> None:
    """Or two processes would keep each other busy."""
    search = search_of("a:1")
    count = 0
    for now_us in range(0, 1_000_000, 500):
        for _ in asked(search.look(now_us, HALF)):
            search.hear("a:1", member(A), now_us, HALF)
        if search.contact is not None:
            count += 1
            search.lose(A, now_us, HALF)
    assert 5 < count < 60


def test_exclusion_before_the_first_view_is_no_refusal() -> None:
    """The next incarnation, with the next number, tries again."""
    search = search_of("a:1")
    search.hear("a:1", member(A), 0, HALF)
    assert search.look(0, HALF) == [Knock(A, 2)]
    search.end("the others have gone on", 0, 1_000, HALF, is_refused=False)
    assert asked(search.look(1_000, HALF)) == ["a:1"]
    search.hear("a:1", member(A, next_incarnation=2), 2_000, HALF)
    assert search.look(2_000, HALF) == [Knock(A, 3)]


def test_outdated_number_is_replaced_by_the_one_told() -> None:
    """By a refusal that names it, or by an answer."""
    search = search_of("a:1")
    search.hear("a:1", member(A, next_incarnation=1), 0, HALF)
    assert search.look(0, HALF) == [Knock(A, 2)]
    search.end("it has had 6 incarnations already", 7, 1_000, HALF, is_refused=False)
    search.look(1_000, HALF)
    search.hear("a:1", member(A, next_incarnation=2), 2_000, HALF)
    assert search.look(2_000, HALF) == [Knock(A, 7)]


def test_refusal_of_the_group_ends_the_search() -> None:
    """The name is taken: no other member will say anything else."""
    search = search_of("a:1", "b:1")
    search.hear("a:1", member(A), 0, HALF)
    search.end("the name is taken", 0, 1_000, HALF, is_refused=True)
    assert search.look(1_000, HALF) == [GiveUp("the name is taken")]


def test_strangers_end_the_search_only_if_there_is_nobody_else() -> None:
    """Another group at one address says nothing about the other addresses."""
    search = search_of("a:1", "b:1")
    search.refuse("a:1", "a:1 is in another group", 0, HALF)
    assert not [e for e in run(search, 1_000_000) if isinstance(e, GiveUp)]
    assert search.say() == "a:1 is in another group"
    search.refuse("b:1", "b:1 is in another group", 1_000_000, HALF)
    assert search.look(1_000_000, HALF) == [GiveUp("a:1 is in another group")]


def test_members_are_found_through_whoever_is_heard() -> None:
    """A process that knew only one that cannot help asks those of whom that one tells."""
    search = search_of("a:1")
    search.hear("a:1", member(A, blocked=True, places=("b:1", "c:1")), 0, HALF)
    assert asked(search.look(0, HALF)) == ["b:1", "c:1"]
    many = tuple(f"x:{number}" for number in range(2 * PLACES_MAX))
    search.hear("b:1", member(B, blocked=True, places=many), 1_000, HALF)
    assert len(search.places) == PLACES_MAX


def test_who_has_failed_elsewhere_is_given_the_time_to_hear_of_it() -> None:
    """It is asked again and again, and knocked at when it is another start, or has had its time."""
    doomed = ProcessId("a", 0, 5, "a:1")
    for has_returned in (True, False):
        search = Search("choir", ["a:1"], TIMING, 0, has_failed=lambda who: who.bare() == doomed)
        assert asked(search.look(0, HALF)) == ["a:1"]
        search.hear("a:1", member(doomed.numbered(1)), 1_000, HALF)
        effects = run(search, search.patience_us, 1_000)
        assert set(asked(effects)) == {"a:1"}
        assert len(asked(effects)) == len(effects)
        returned = ProcessId("a", 2, 6, "a:1") if has_returned else doomed.numbered(1)
        heard_us = 100_000 if has_returned else search.patience_us + 1_000
        search.hear("a:1", member(returned), heard_us, HALF)
        assert search.look(heard_us, HALF) == [Knock(returned, 2)]


def test_another_member_is_asked_rather_than_who_has_failed_elsewhere() -> None:
    """Be its view the lower one."""
    search = Search("choir", ["a:1", "b:1"], TIMING, 0, has_failed=lambda who: who == A)
    search.look(0, HALF)
    search.hear("a:1", member(A, 9), 1_000, HALF)
    search.hear("b:1", member(B, 3), 1_000, HALF)
    assert search.look(1_000, HALF) == [Knock(B, 2)]
