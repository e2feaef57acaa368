"""The bootstrap: who founds a group, when, and never two of them."""

from collections.abc import Callable
from random import Random

import pytest
from tests.mutants.planted_founding import SEARCHED
from tests.mutants.registry import Mutant, planted

from antiphon.core.control import FoundingAnswer, FoundingQuestion
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.bootstrap import AskPlace, Founding, RollCall
from antiphon.membership.failure_detector import Timing

TIMING = Timing(heartbeat_us=20_000, timeout_us=100_000)
HALF = 0.5
SCHEDULES = 600


class Schedule:
    """Some machines and the questions and answers between them, in an order that dice decide."""

    def __init__(self, seed: int) -> None:
        """Let two to five places start, soon or late."""
        self.random = random = Random(f"{seed}/bootstrap")
        self.now_us = 0
        places = [f"p{number}" for number in range(random.choice([2, 3, 3, 4, 4, 5]))]
        self.places = places
        self.machines: dict[str, Founding] = {}
        self.starts = {at: random.choice([0, 0, 90_000, 250_000]) for at in places}
        self.flying: list[tuple[str, str, FoundingQuestion | FoundingAnswer]] = []
        self.pace = random.choice([(0, 1, 2, 4), (0, 1, 2), (0, 1, 1), (0, 0, 1)])
        self.often = random.choice([0.01, 0.03, 0.1])
        self.dead: set[str] = set()
        self.cut: set[str] = set()

    def run(self, step_count: int = 500) -> list[View]:
        """Let things happen; return the first views that anybody takes for decided."""
        for _ in range(step_count):
            if self.flying == [] and all(at in self.dead or self._knows(at) for at in self.places):
                break
            self._pass_time()
            self._disturb()
            for _ in range(self.random.choice(self.pace)):
                self._carry()
        return [machine.view for machine in self.machines.values() if machine.view is not None]

    def _knows(self, at: str) -> bool:
        return at in self.machines and self.machines[at].view is not None

    def _pass_time(self) -> None:
        self.now_us += self.random.choice([0, 500, 2_000, 10_000, 40_000])
        for at in self.places:
            if at not in self.machines and self.now_us >= self.starts[at]:
                process = ProcessId(at)
                self.machines[at] = Founding("g", process, self.places, TIMING, self.now_us)
        for at, machine in self.machines.items():
            if at not in self.dead and machine.view is None:
                for asked in machine.look(self.now_us, self.random.random()):
                    self.flying.append((at, asked.place, asked.question))

    def _disturb(self) -> None:
        chance = self.random.random()
        if chance < 0.002 and len(self.dead) < len(self.places) - 1:
            self.dead.add(self.random.choice(self.places))
        elif chance < self.often:
            count = self.random.randint(0, len(self.places) - 1)
            self.cut = set(self.random.sample(self.places, count))

    def _carry(self) -> None:
        """Let something arrive, in any order but that of one pair; or be refused."""
        if not self.flying:
            return
        source, target, item = self.flying.pop(self.random.randrange(len(self.flying)))
        is_lost = target not in self.machines or {source, target} & self.dead
        if (source in self.cut) != (target in self.cut) or is_lost:
            if isinstance(item, FoundingAnswer):
                source, target = target, source
            if source not in self.dead:
                self.machines[source].miss(target, self.now_us, self.random.random())
        elif isinstance(item, FoundingQuestion):
            self.flying.append((target, source, self.machines[target].answer(item)))
        else:
            self.machines[target].hear(source, item, self.now_us, self.random.random())


def disagreements(seeds: range) -> int:
    """Return in how many schedules two first views were decided, or somebody saw that."""
    count = 0
    for seed in seeds:
        try:
            views = Schedule(seed).run()
        except AssertionError:
            count += 1
        else:
            count += len(set(map(str, views))) > 1
    return count


def test_never_two_first_views() -> None:
    """In any order of questions and answers, with losses, deaths and cuts; mostly there is one."""
    assert disagreements(range(SCHEDULES)) == 0
    founded = [bool(Schedule(seed).run()) for seed in range(200)]
    assert sum(founded) > 60


@pytest.mark.parametrize("mutant", SEARCHED, ids=lambda mutant: mutant.name)
def test_planted_mistakes_make_two(mutant: Mutant) -> None:
    """The same schedules find each mistake."""
    with planted(mutant):
        assert any(disagreements(range(seed, seed + 1)) for seed in range(SCHEDULES))


def founder(name: str, count: int = 3, now_us: int = 0) -> Founding:
    """Return the machine of one place of several."""
    places = [f"p{number}" for number in range(count)]
    return Founding("g", ProcessId(name), places, TIMING, now_us)


def questions(asked: list[AskPlace]) -> dict[str, FoundingQuestion]:
    """Return what is asked, by place."""
    return {one.place: one.question for one in asked}


def converse(machines: list[Founding], until: Callable[[], bool], now_us: int = 0) -> int:
    """Let all questions be answered at once; return when ``until`` is so."""
    by_place = {machine._me.place: machine for machine in machines}
    while not until():
        for machine in machines:
            for asked in machine.look(now_us, HALF):
                if asked.place in by_place:
                    said = by_place[asked.place].answer(asked.question)
                    machine.hear(asked.place, said, now_us, HALF)
                else:
                    machine.miss(asked.place, now_us, HALF)
        now_us += 1_000
        assert now_us < 5_000_000, "waited in vain"
    return now_us


def test_all_that_are_there_are_in_the_first_view_soon() -> None:
    """By the order of their places; nobody waits for a time-out."""
    machines = [founder(name) for name in ("p2", "p0", "p1")]
    time_us = converse(machines, lambda: all(machine.view is not None for machine in machines))
    view = machines[0].view
    assert view is not None
    assert (view.number, [who.name for who in view.members]) == (1, ["p0", "p1", "p2"])
    assert all(machine.view == view for machine in machines)
    assert time_us < TIMING.timeout_us


def test_majority_waits_for_the_rest_and_then_goes_on() -> None:
    """For as long as silence is borne, and no longer."""
    machines = [founder(name) for name in ("p1", "p2")]
    time_us = converse(machines, lambda: all(machine.view is not None for machine in machines))
    assert TIMING.timeout_us <= time_us < 2 * TIMING.timeout_us
    assert machines[0].view is not None
    assert [who.name for who in machines[0].view.members] == ["p1", "p2"]
    late = founder("p0", now_us=time_us)
    converse([late, *machines], lambda: late.view is not None, time_us)
    assert late.view == machines[0].view  # it is not in it, and joins


def test_half_founds_nothing() -> None:
    """Two of four wait for ever."""
    machines = [founder(name, 4) for name in ("p0", "p1")]
    with pytest.raises(AssertionError, match="waited in vain"):
        converse(machines, lambda: machines[0].view is not None)
    assert machines[0].missing == ["p2", "p3"]


def test_member_that_answers_ends_the_founding() -> None:
    """The group runs: nobody is asked any more."""
    machine = founder("p0")
    assert set(questions(machine.look(0, HALF))) == {"p1", "p2"}
    machine.meet("p2", 1_000, HALF)
    assert machine.is_running
    assert machine.look(500_000, HALF) == []


def test_other_list_is_noticed_and_gets_no_vote() -> None:
    """Two lists could each have a majority."""
    machine, other = founder("p0"), founder("p1", 5)
    question = questions(machine.look(0, HALF))["p1"]
    said = other.answer(FoundingQuestion(question.places, 7))
    assert not said.is_ok
    machine.hear("p1", said, 1_000, HALF)
    assert machine.given_others == "p1"


def test_lower_ballot_gets_no_vote_and_what_was_accepted_is_told() -> None:
    """As in any Paxos."""
    machine = founder("p0")
    places = tuple(machine.places)
    view = View("g", 1, (ProcessId("p1"),))  # type: ignore[arg-type]
    assert machine.answer(FoundingQuestion(places, 5, view)).is_ok
    assert not machine.answer(FoundingQuestion(places, 4)).is_ok
    assert not machine.answer(FoundingQuestion(places, 4, view)).is_ok
    told = machine.answer(FoundingQuestion(places, 6))
    assert (told.is_ok, told.promised, told.accepted_ballot, told.accepted) == (True, 6, 5, view)


@pytest.mark.parametrize(
    ("present", "now_us", "may"),
    [(5, 0, True), (4, 0, False), (3, 999, False), (3, 1_000, True), (2, 9_999, False)],
)
def test_list_of_members_begins_whole_or_late_by_a_majority(
    present: int, now_us: int, *, may: bool
) -> None:
    """All at once; more than half after a while; half never."""
    assert RollCall(5, 1_000, 0).may_begin(present, now_us) is may


def test_pair_of_members_needs_both() -> None:
    """Half is no majority, whoever it is."""
    assert not RollCall(2, 1_000, 0).may_begin(1, 5_000)
