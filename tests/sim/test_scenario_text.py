"""Scenarios as text: what is written reads back, and what is wrong is named with its line."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UsageError
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario, Step, Verb, parse_scenario, without_strangers
from antiphon.stack.settings import FLUSHES


@given(st.integers(0, 10**6), st.sampled_from(sorted(FLUSHES)))
def test_random_scenario_reads_back(seed: int, flush: str) -> None:
    """The text form of any random scenario is that scenario."""
    scenario = random_scenario(seed, flush)
    assert parse_scenario(str(scenario)) == scenario


def test_random_scenario_is_a_function_of_seed_and_flush() -> None:
    """The same seed writes the same scenario, another one another, and the flush is as asked."""
    assert random_scenario(3) == random_scenario(3)
    assert random_scenario(3) != random_scenario(4)
    assert random_scenario(3, "coordinator").flush == "coordinator"
    for seed in range(0, 60, 2):  # near worlds; a wide one may have another theme
        scenario, other = random_scenario(seed), random_scenario(seed, "coordinator")
        assert (scenario.founders, scenario.delay_us) == (other.founders, other.delay_us)
        if scenario.founders <= 2:  # too few for a scene, which depends on what the flush gives
            assert scenario.steps == other.steps


def test_random_scenarios_have_every_fault() -> None:
    """A few hundred seeds together do everything to a world that can be done."""
    verbs = {step.verb for seed in range(200) for step in random_scenario(seed).steps}
    assert verbs == set(get_args(Verb))


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
def test_random_scenarios_ask_no_flush_for_what_it_cannot_give(flush: str) -> None:
    """Uniform messages, and transactions, are for the view-atomic flush."""
    verbs = {step.verb for seed in range(200) for step in random_scenario(seed, flush).steps}
    assert not any(verb.startswith("uniform") or verb == "begin" for verb in verbs)
    assert {"total", "fifo", "causal", "send"} <= verbs


def test_text_is_read_as_people_write_it() -> None:
    """Comments, blank lines, defaults and any order of the head are fine."""
    text = """
    # a world
    flush coordinator   # linear

    at 10 slow p1 p2 5
    founders 4
    at 20 partition p1 p2 p3
    at 30 heal
    at 40 crash p1
    """
    assert parse_scenario(text) == Scenario(
        seed=0,
        founders=4,
        flush="coordinator",
        steps=(
            Step(10, "slow", ("p1", "p2"), 5),
            Step(20, "partition", ("p1", "p2", "p3")),
            Step(30, "heal"),
            Step(40, "crash", ("p1",)),
        ),
    )


def test_founders_may_be_said_last_and_joiners_are_known() -> None:
    """Who is a founder depends on the whole text, and who joins may be spoken of before that."""
    text = "at 5 slow p4 q1 100\nat 10 join q1\nat 20 multicast q1 1\nfounders 4\n"
    assert [step.who for step in parse_scenario(text).steps] == [("p4", "q1"), ("q1",), ("q1",)]


def test_steps_of_those_whom_nobody_knows_can_be_left_out() -> None:
    """What is left can be read again; who is in a partition with others is just not named."""
    steps = (
        Step(1, "crash", ("q1",)), Step(2, "partition", ("p1", "q1")), Step(3, "heal"),
        Step(4, "slow", ("p1", "q1"), 5), Step(5, "join", ("q2",)), Step(6, "leave", ("q2",)),
    )  # fmt: skip
    scenario = without_strangers(Scenario(seed=1, founders=1, steps=steps))
    assert scenario.steps == (Step(2, "partition", ("p1",)), *steps[2:3], *steps[4:])
    assert parse_scenario(str(scenario)) == scenario


def test_empty_text_is_the_smallest_world() -> None:
    """Everything has a default."""
    assert parse_scenario("") == Scenario(seed=0)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("at 10 explode p1", "there is no verb 'explode'"),
        ("at soon crash p1", "line 2 of the scenario, 'at soon crash p1', cannot be read"),
        ("at 10", "line 2 of the scenario, 'at 10', cannot be read"),
        ("founders", "line 2 of the scenario, 'founders', cannot be read"),
        ("founders 3 4", "line 2 of the scenario, 'founders 3 4', cannot be read"),
        ("at 10 crash", "cannot be read"),
        ("at 10 slow p1", "cannot be read"),
        ("at 10 slow p1 p2 ²", "cannot be read"),
        ("at -10 crash p1", "cannot be read"),
        ("founders many", "cannot be read"),
        ("founders 0", "founders"),
        ("founders -1", "founders"),
        ("founders 100000", "founders"),
        ("messages -1", "messages"),
        ("answers 7", "answers"),
        ("answers nan", "answers"),
        ("delay_us -1", "delay_us"),
        ("colour red", "there is no colour in a scenario"),
        ("at 10 crash p4", "line 2 of the scenario, 'at 10 crash p4', names p4, whom nobody knows"),
        ("at 10 join bob\nat 10 crash p4", "p1 to p3, and those that a step lets join"),
        ("at 10 slow p1 bob 5", "names bob, whom nobody knows"),
        ("at 10 partition p1 p0", "names p0, whom nobody knows"),
        ("founders 1\nat 10 leave p2", "line 3 of the scenario, 'at 10 leave p2', names p2"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(line: str, sentence: str) -> None:
    """The line that is wrong is named, or what is wrong with the head."""
    with pytest.raises(UsageError) as refusal:
        parse_scenario(f"seed 1\n{line}\n")
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


SEVERAL = """
group A p1 p2 p3
group B p3 carol
resilience all
answers 0
at 10 causal p1 2 in A
at 20 join q in B
at 30 send p3 carol in B
at 40 crash p1 1
expect p3 delivers p1/1 p1/2
expect q delivers
expect view B p3 carol q
"""


def test_several_groups_are_read_and_read_back() -> None:
    """Groups have names and members of their own, and steps say where."""
    scenario = parse_scenario(SEVERAL)
    assert scenario.founders == 0
    assert scenario.groups == (("A", ("p1", "p2", "p3")), ("B", ("p3", "carol")))
    assert scenario.resilience == "all"
    assert scenario.steps[0] == Step(10, "causal", ("p1",), 2, "A")
    assert [each.what for each in scenario.expected] == ["delivers", "delivers", "view"]
    assert parse_scenario(str(scenario)) == scenario


def test_groups_beside_the_founders_are_further_ones() -> None:
    """What says no group is of the founders' one."""
    scenario = parse_scenario("founders 3\ngroup B p2 p5\nat 5 causal p1 1\nat 6 total p5 1 in B\n")
    assert scenario.founders == 3
    assert [step.group for step in scenario.steps] == ["", "B"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("group A p1", "a group has a name of its own, and members, each named once"),
        ("group C", "a group has a name of its own, and members, each named once"),
        ("group C p1 p1", "a group has a name of its own, and members, each named once"),
        ("group ./C p1", "is not usable"),
        ("group C p/1", "is not usable"),
        ("founders 2\ngroup g p1", "g is the group of the founders"),
        ("resilience 0", "resilience is 1, 2, ... or all"),
        ("resilience some", "resilience is 1, 2, ... or all"),
        ("clocks apart", "there is no clocks in a scenario of several groups"),
        ("at 10 causal p1 1", "does not say where: end it with `in A`"),
        ("at 10 causal p1 1 in C", "names group C: there is A, B"),
        ("at 10 causal p9 1 in A", "names p9, whom nobody knows: processes are carol, p1, p2, p3"),
        ("at 10 crash p1 in A", "crash is of a process in all its groups"),
        ("at 10 begin p1 in A", "there is no begin"),
        ("expect p1", "expect is followed by"),
        ("expect p1 delivers p1", "'p1' is no message"),
        ("expect p1 delivers p1/0", "'p1/0' is no message"),
        ("expect p1 never", "expect is followed by"),
        ("expect p9 delivers p1/1", "names p9, whom nobody knows"),
        ("expect p1 delivers p9/1", "names p9, whom nobody knows"),
        ("expect view C p1", "names group C: there is A, B"),
        ("expect verdict beauty holds", "there is no property 'beauty'"),
        ("expect verdict causal well", "holds, violated, unknown"),
    ],
)
def test_wrong_line_about_groups_is_refused_in_one_sentence(line: str, sentence: str) -> None:
    """The line that is wrong is named, or what is wrong with the head."""
    with pytest.raises(UsageError) as refusal:
        parse_scenario(f"group A p1 p2 p3\ngroup B p3 carol\n{line}\n")
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("at 10 causal p1 1 in A", "names a group, and there is one only: say `group NAME p q`"),
        ("expect p1 delivers p1/1", "expect is for scenarios of several groups"),
        ("resilience 2", "there is no resilience in a scenario"),
    ],
)
def test_what_is_of_several_groups_is_refused_where_there_is_one(line: str, sentence: str) -> None:
    """Nothing is silently ignored."""
    with pytest.raises(UsageError) as refusal:
        parse_scenario(f"{line}\n")
    assert sentence in str(refusal.value)
