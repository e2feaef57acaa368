"""Claims of Uniform: rounds and messages of D3 and D4, its counterexample, and commit."""

from collections.abc import Iterator

from antiphon.bench.view_cost import measure_view_cost
from antiphon.oracle.judging import judge
from antiphon.reproduction.claim import Claim, Effort, Judgement, Measured
from antiphon.reproduction.judges import at_most, between, table
from antiphon.sim.scenario import Scenario, Step, parse_scenario
from antiphon.sim.world import World
from antiphon.trace.claims import ClaimVerdict, FigureData, Series
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

_SIMULATED = "simulated: the machine that runs on sockets, whole, with exact counts"
_ROUNDS = "all channels take 50 ms, so times are rounds; heartbeats are not counted"
_SIZES = (4, 8, 16, 32)
_HOP_US = 50_000
"""Long beside whatever a process waits to put several words into one."""

_SENT_US = 1_000_000
_HEARTBEATS = ("Alive", "Beat")

_REMARK = """seed 1
flush {flush}
answers 0
delay_us 300
founders 4
at 1000 slow p2 p1 400000
at 1000 slow p2 p4 400000
at 2000 multicast p2 1
at 3000 crash p3 1
at 14000 crash p2 1
at 500000 heal
"""
"""The remark of 2.2: p2 multicasts m, which is slow on its way to p1 and p4, delivers it, installs
the view without p3, and crashes."""


def _sizes(effort: Effort) -> tuple[int, ...]:
    return _SIZES[: effort.pick(3, 4)]


def _violated(events: list[Event]) -> set[Property]:
    return {item.property for item in judge(events).properties if item.status is Status.VIOLATED}


def _counterexample(_effort: Effort) -> Measured:
    found = {
        flush: _violated(World(parse_scenario(_REMARK.format(flush=flush))).run().events)
        for flush in ("all-to-all", "view-atomic")
    }
    rows = [(flush, ", ".join(sorted(each)) if each else "none") for flush, each in found.items()]
    isis_alone = found["all-to-all"] == {Property.VIEW_ATOMIC} and not found["view-atomic"]
    return Measured(
        value=f"the ISIS flush breaks {rows[0][1]}; the view-atomic flush breaks {rows[1][1]}",
        numbers={"wrong": 0 if isis_alone else 1},
        table=table(("flush", "properties that the oracle finds violated"), rows),
    )


def _round_trip(verb: str, size: int) -> tuple[int, float, float]:
    """Multicast one message; return copies of data and answers, and when it is delivered.

    Every channel takes the same time, so times are rounds; at the sender, and at the last other.
    """
    step = Step(_SENT_US, "uniform" if verb == "uniform" else "causal", ("p1",), 1)
    world = World(
        Scenario(
            seed=1, founders=size, answers=0.0, delay_us=0, distance_us=_HOP_US,
            timing="default", steps=(step,),
        )
    )  # fmt: skip
    world.run_until(_SENT_US - 1)
    before = world.channels.sent_by_kind.copy()
    world.run_until(_SENT_US + 10 * _HOP_US)
    sent = world.channels.sent_by_kind - before
    count = sum(sent.values()) - sum(sent[kind] for kind in _HEARTBEATS)
    times = {
        event.process: event.time_us
        for driver in world.drivers.values()
        for event in driver.events
        if event.kind == "deliver"
    }
    assert len(times) == size, "everybody delivers it"
    rounds = {who: (time_us - _SENT_US) / _HOP_US for who, time_us in times.items()}
    others = [value for who, value in rounds.items() if who != "p1"]
    return count, rounds["p1"], max(others)


class _Rounds:
    """Measures one kind of multicast in groups of several sizes."""

    def __init__(self, verb: str, rounds: float, per_member: int) -> None:
        self._verb, self._rounds, self._per_member = verb, rounds, per_member

    def __call__(self, effort: Effort) -> Measured:
        found = {size: _round_trip(self._verb, size) for size in _sizes(effort)}
        rows = [
            (size, count, self._per_member * (size - 1), own, others)
            for size, (count, own, others) in found.items()
        ]
        size, (count, own, others) = list(found.items())[-1]
        claimed = [(n, self._per_member * (n - 1)) for n in found]
        return Measured(
            value=f"{count} messages for {size} members; delivered by all others after "
            f"{others:.3g} rounds, by the sender after {own:.3g}",
            numbers={
                "off": abs(others - self._rounds),
                "messages": count / (self._per_member * (size - 1)),
            },
            table=table(
                ("members", "messages", f"{self._per_member}(n - 1)", "rounds at the sender",
                 "rounds at the last"), rows,
            ),
            figure=FigureData(
                title=f"Messages of one {self._verb} multicast", x_name="members",
                y_name="messages",
                series=[
                    Series(name="measured", points=[(n, each[0]) for n, each in found.items()]),
                    Series(name=f"{self._per_member}(n - 1)", points=claimed, is_paper=True),
                ],
            ),
        )  # fmt: skip


def _detection(effort: Effort) -> Measured:
    found = {
        size: measure_view_cost("view-atomic", "crash", size).flushing for size in _sizes(effort)
    }
    rows = [(size, count, 2 * (size - 2)) for size, count in found.items()]
    size, count = list(found.items())[-1]
    return Measured(
        value=f"{count} messages among the {size - 1} that are left of {size}",
        numbers={"messages": count / (2 * (size - 2))},
        table=table(("members", "messages", "2(m - 1), m = n - 1"), rows),
        figure=FigureData(
            title="Messages that detect VA and install the view", x_name="members",
            y_name="messages",
            series=[
                Series(name="measured", points=list(found.items())),
                Series(name="2(m - 1)", points=[(n, 2 * (n - 2)) for n in found], is_paper=True),
            ],
        ),
    )  # fmt: skip


def _commit(effort: Effort) -> Measured:
    """Crash the coordinator at every moment of a transaction, one world per moment."""
    begin_us, step_us = 20_000, effort.pick(500, 100)
    outcomes: dict[str, int] = {"commit": 0, "abort": 0}
    differing = undecided = 0
    moments = range(begin_us, begin_us + 12_000, step_us)
    for crash_us in moments:
        scenario = Scenario(
            seed=1, founders=4, answers=0.0, delay_us=300, distance_us=700, transactions=1,
            steps=(
                Step(begin_us, "begin", ("p2",)), Step(crash_us, "crash", ("p1",), 1),
                Step(800_000, "heal"),
            ),
        )  # fmt: skip
        events = World(scenario).run().events
        differing += Property.COMMIT in _violated(events)
        told = {event.process: event.detail for event in events if event.kind == "decide"}
        survivors = {told.get(name) for name in ("p2", "p3", "p4")}
        if None in survivors:
            undecided += 1
        elif len(survivors) == 1:
            outcomes[str(survivors.pop())] += 1
    rows = [
        ("moments of the crash", len(moments)),
        ("all survivors committed", outcomes["commit"]),
        ("all survivors aborted", outcomes["abort"]),
        ("survivors without a decision", undecided),
        ("decisions that differ", differing),
    ]
    return Measured(
        value=f"{len(moments)} crashes: {outcomes['commit']} committed, {outcomes['abort']} "
        f"aborted, {undecided} undecided, {differing} in disagreement",
        numbers={"wrong": undecided + differing},
        table=table(("what became of it", "worlds"), rows),
    )


def _rounds_and_messages(found: Measured) -> Judgement:
    """Judge both: rounds to a tenth, messages to a tenth of what is claimed."""
    verdict, why = at_most("off", 0.1, "difference in rounds")(found)
    other, also = between("messages", 0.9, 1.1, "messages to what is claimed")(found)
    return (other if verdict is ClaimVerdict.HOLDS else verdict), f"{why}; {also}"


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    yield Claim(
        paper="Uniform", section="2.2, remark", name="counterexample",
        words="The flush of ISIS does not give view-atomic multicast (D3): on the schedule of the "
        "remark, who installs the next view has not delivered the same.",
        paper_value="D3 is violated by ISIS, and not by the protocol of section 3",
        measure=_counterexample,
        judge=at_most("wrong", 0, "schedules on which it is otherwise"),
        assumptions=(
            _SIMULATED,
            "lost retransmissions are channels that deliver only after the crash",
            "judged by the oracle, from the trace",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Uniform", section="3.1", name="view-atomic-rounds",
        words="A view-atomic multicast (D3) needs one round and n - 1 messages where nobody fails.",
        paper_value="1 round, n - 1 messages", measure=_Rounds("causal", 1, 1),
        judge=_rounds_and_messages,
        assumptions=(_SIMULATED, _ROUNDS),
    )  # fmt: skip
    yield Claim(
        paper="Uniform", section="3.3", name="detection-cost",
        words="Detecting VA and installing the view costs a report and a permission per member.",
        paper_value="n - 1 reports and n - 1 permissions", measure=_detection,
        judge=between("messages", 0.8, 1.2, "messages / 2(m - 1) in the largest group"),
        assumptions=(_SIMULATED, "one member crashes in an idle group; agreement is not counted"),
    )  # fmt: skip
    yield Claim(
        paper="Uniform", section="4.1", name="uniform-rounds",
        words="A uniform multicast (D4) needs two phases: the message, its acknowledgements, and "
        "the word to deliver: 3 rounds and 3(n - 1) messages.",
        paper_value="3 rounds, 3(n - 1) messages", measure=_Rounds("uniform", 3, 3),
        judge=_rounds_and_messages,
        assumptions=(_SIMULATED, _ROUNDS),
    )  # fmt: skip
    yield Claim(
        paper="Uniform", section="5.1", name="commit",
        words="A transaction is decided alike by all, and is not blocked by the crash of the "
        "coordinator.",
        paper_value="all who go on decide, and alike", measure=_commit,
        judge=at_most("wrong", 0, "crashes after which survivors differ or do not decide"),
        assumptions=(
            _SIMULATED, "the coordinator of four crashes at moments spread over the transaction",
        ),
    )  # fmt: skip
