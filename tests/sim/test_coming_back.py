"""Worlds in which several are out at once, or given up wrongly: everybody is back in the end."""

import pytest
from tests.sim.test_world import every_flush, last_members, lived, world

from antiphon.sim.world import World


@every_flush
@pytest.mark.parametrize("seed", range(4))
def test_several_that_slept_come_back_together(flush: str, seed: int) -> None:
    """Two of five are stopped until they are out, and continued together."""
    text = (
        "founders 5\nat 3000 multicast p4 1\nat 5000 pause p4\nat 5000 pause p5\n"
        "at 400000 resume p4\nat 400000 resume p5\nat 500000 multicast p1 1\n"
    )
    members = last_members(lived(world(flush, text, seed)))
    assert members[:3] == ["p1", "p2", "p3"]
    assert sorted(members[3:]) == ["p4~2", "p5~2"]


@every_flush
@pytest.mark.parametrize("seed", range(4))
def test_majority_that_slept_finds_together_again(flush: str, seed: int) -> None:
    """Three of five are stopped: nobody can be excluded before they go on."""
    who = ("p1", "p3", "p4")
    text = "founders 5\nat 3000 multicast p4 1\n"
    text += "".join(f"at 5000 pause {name}\n" for name in who)
    text += "".join(f"at 400000 resume {name}\n" for name in who)
    members = last_members(lived(world(flush, text + "at 500000 multicast p2 1\n", seed)))
    assert sorted(name.partition("~")[0] for name in members) == ["p1", "p2", "p3", "p4", "p5"]


@every_flush
def test_joiner_that_is_excluded_before_its_first_view_comes_back(flush: str) -> None:
    """It asks, is cut off before it hears that it was taken in, and is excluded meanwhile."""
    excluded = 0
    for cut_us in range(6_000, 16_000, 500):
        text = f"founders 3\nat 5000 join q1\nat {cut_us} partition q1\nat 400000 heal\n"
        outcome = lived(world(flush, text + "at 500000 multicast p1 1\n"))
        assert last_members(outcome)[:3] == ["p1", "p2", "p3"]
        assert last_members(outcome)[3].startswith("q1")
        excluded += any(str(who) == "q1" for view in outcome.views for who in view.failed)
    assert excluded > 5


@every_flush
def test_junior_of_two_that_gave_up_its_senior_comes_back(flush: str) -> None:
    """It is blocked, the senior goes on without it; it asks, learns that, and joins again."""
    text = "founders 2\nat 3000 multicast p1 1\nat 5000 condemn p2 p1\nat 500000 multicast p2 1\n"
    assert last_members(lived(world(flush, text))) == ["p1", "p2~2"]


@every_flush
def test_senior_of_two_that_gives_up_its_junior_goes_on(flush: str) -> None:
    """And the junior, which hears nothing any more, comes back."""
    text = "founders 2\nat 3000 multicast p1 1\nat 5000 condemn p1 p2\nat 500000 multicast p2 1\n"
    assert last_members(lived(world(flush, text))) == ["p1", "p2~2"]


@every_flush
@pytest.mark.parametrize("seed", range(4))
def test_wrong_judgements_that_leave_no_quorum_are_taken_back(flush: str, seed: int) -> None:
    """The senior of four is dead, and one of the three others was given up: all three go on."""
    text = (
        "founders 4\nat 3000 multicast p3 1\nat 4900 condemn p2 p3\nat 4900 crash p1 1\n"
        "at 4950 multicast p3 1\nat 5000 multicast p2 1\nat 900000 multicast p4 1\n"
    )
    outcome = lived(world(flush, text, seed))
    assert sorted(name.partition("~")[0] for name in last_members(outcome)) == ["p2", "p3", "p4"]


@every_flush
def test_each_gave_up_the_other_and_nobody_is_out(flush: str) -> None:
    """Of four the senior is dead, and two of the others have given up each other."""
    text = (
        "founders 4\nat 3000 multicast p3 1\nat 4900 crash p1 1\nat 4900 condemn p2 p3\n"
        "at 4900 condemn p3 p2\nat 4900 condemn p4 p3\nat 900000 multicast p4 1\n"
    )
    outcome = lived(world(flush, text))
    assert sorted(name.partition("~")[0] for name in last_members(outcome)) == ["p2", "p3", "p4"]


@every_flush
def test_sleeper_learns_from_later_lives_that_it_is_out(flush: str) -> None:
    """All members that it knew have died and come back as new incarnations, at their old places.

    It had given them up before it slept, so that nothing they said before is left to be read.
    """
    text = "founders 5\nat 3000 multicast p4 1\n"
    text += "".join(f"at 5000 condemn p5 p{number}\n" for number in range(1, 5))
    text += "at 5001 pause p5\n"
    for place, name in enumerate(("p1", "p2", "p3", "p4")):
        time_us = 400_000 + 400_000 * place
        text += f"at {time_us} crash {name} 1\nat {time_us + 100_000} join {name}\n"
    text += "at 2400000 resume p5\nat 2600000 multicast p1 1\n"
    members = last_members(lived(world(flush, text)))
    assert members == ["p1~2", "p2~2", "p3~2", "p4~2", "p5~2"]


def test_newcomer_that_knows_only_the_dead_is_excused() -> None:
    """All founders are gone: it has nobody to ask, and the others are at rest without it."""
    text = (
        "founders 1\nat 1000 join q1\nat 100000 join q2\nat 300000 leave p1\nat 500000 join q3\n"
        "at 600000 multicast q1 1\n"
    )
    outcome = World(world("view-atomic", text)).run()
    assert outcome.stuck == ""
    assert last_members(outcome) == ["q1", "q2"]
