"""Uniform 2, the model and the definitions: what is claimed of views, D3 and D4.

2.1 The sequence of views
    a crashed process is excluded in the end             ..._crashed_process_is_excluded
    it comes back as another process                     ..._comes_back_as_another_process
    a process that joins is in a view in the end         ..._joiner_is_taken_in
    who is in a view receives it, or is excluded         ..._member_gets_the_view_or_is_excluded
    all receive views in one order                       ..._one_sequence_of_views
    suspicions may be wrong                              ..._wrong_suspicion_is_tolerated (003-8)
2.2 Definitions
    footnote 1: views are received before installed      ..._views_are_received_before_installed
    D3: who goes on has delivered the same               ..._d3_holds_with_the_view_atomic_flush
    D3 is not what ISIS gives                            ..._d3_is_more_than_isis_gives (000-17 a)
    D4 is stronger than D3                               ..._d4_is_stronger_than_d3
    D4: what anybody delivered, all who go on did        ..._d4_holds_for_uniform_multicasts
"""

from tests.papers.play import Play, catches, findings, world

from antiphon.oracle import judge
from antiphon.sim.world import World
from antiphon.trace.verdict import Property, Status


@catches("nobody is ever suspected")
def test_uniform_2_1_crashed_process_is_excluded() -> None:
    """Nobody sees the crash itself: p3 is silent for long enough, and a view without it follows."""
    outcome = World(
        world("founders 4\nat 1000 multicast p1 1\nat 2000 crash p3\nat 300000 heal\n")
    ).run()
    assert outcome.stuck == ""
    assert [str(member) for member in outcome.views[-1].members] == ["p1", "p2", "p4"]
    assert [str(who) for who in outcome.views[-1].failed] == ["p3"]


@catches("former incarnations are taken in")
def test_uniform_2_1_comes_back_as_another_process() -> None:
    """After a crash the same name is another process: r~2, at the end of the list."""
    play = Play()
    play.do("group of p q r", "r multicasts m", "all is received")
    play.change_view(without="r")
    play.table.join("r", "q", number=1)
    play.do("the rest happens")
    assert not play.table.seats["r"].is_up, "that incarnation is over"
    play.do("r joins through q", "the rest happens")
    assert play.members("p") == ["p", "q", "r~2"]
    assert play.views("r~2") == [3]
    play.do("r~2 multicasts n", "the rest happens")
    assert play.delivered("p") == ["m", "n"]
    assert play.broken_promises() == []


@catches("suspicions are kept to oneself")
def test_uniform_2_1_joiner_is_taken_in() -> None:
    """Also if it asked a member that has no say itself."""
    play = Play()
    play.do("group of p q r", "x joins through r", "the rest happens")
    assert [play.members(who) for who in "pqrx"] == [["p", "q", "r", "x"]] * 4


@catches("new coordinator repeats nothing")
def test_uniform_2_1_member_gets_the_view_or_is_excluded() -> None:
    """The coordinator dies having let only q install view 2: r and s install it all the same."""
    play = Play()
    play.do("group of p q r s", "p multicasts m", "all is received", "x joins through p")
    play.do("p receives JoinRequest from x", "q and r receive Propose from p")
    play.do("p receives Accept from q and r", "q and r receive Decide from p")
    play.do("s receives all from p", "p receives all from q and r and s")
    play.do("q receives Install from p")
    assert (play.views("q"), play.views("r")) == ([1, 2], [1])
    play.change_view(without="p")
    assert [play.views(who) for who in "qrs"] == [[1, 2, 3]] * 3
    assert play.broken_promises() == []


@catches("one member is a quorum", "any half is a quorum")
def test_uniform_2_1_one_sequence_of_views() -> None:
    """In random worlds with partitions nobody ever installs another view of the same number."""
    assert findings(range(40)) == []


@catches("excluded process is not told")
def test_uniform_2_1_wrong_suspicion_is_tolerated() -> None:
    """Erratum 003-8: r lives and is excluded. It is told so, and stops; the others go on."""
    play = Play()
    play.do("group of p q r", "r multicasts m", "all is received", "p suspects r")
    play.do("the rest happens")
    assert not play.table.seats["r"].is_up
    assert [play.members(who) for who in "pq"] == [["p", "q"]] * 2
    assert play.broken_promises() == []


@catches("one report is not waited for")
def test_uniform_2_2_views_are_received_before_installed() -> None:
    """Footnote 1: p has received views 2 and 3 before it installs 2; it installs both, in order."""
    play = Play()
    play.do("group of p q r s t", "q multicasts m", "all is received", "t crashes", "p suspects t")
    play.do("q and r and s receive Propose from p", "p receives Accept from q and r and s")
    play.do("q and r and s receive Decide from p", "s crashes", "p suspects s")
    play.do("q and r receive Propose from p", "p receives Report and Accept from q and r")
    assert (play.views("p"), play.table.latest_view("p")) == ([1], 3)
    play.do("the rest happens")
    assert [play.views(who) for who in "pqr"] == [[1, 2, 3]] * 3


@catches("unstable messages are not forwarded", "one report is not waited for")
def test_uniform_2_2_d3_holds_with_the_view_atomic_flush() -> None:
    """In random worlds, all who went on to a view delivered the same before, crashed or not."""
    assert findings(range(30)) == []


REMARK = """
founders 4
at 1000 slow p2 p1 400000
at 1000 slow p2 p4 400000
at 2000 multicast p2 1
at 3000 crash p3 1
at 14000 crash p2 1
at 500000 heal
"""
"""The remark of 2.2: p2 multicasts m, which is slow, installs the view without p3, and crashes."""


@catches("one report is not waited for")
def test_uniform_2_2_d3_is_more_than_isis_gives() -> None:
    """Erratum 000-17 (a): the schedule of the remark breaks D3 with the ISIS flush, and only D3."""
    statuses = {}
    for flush in ("all-to-all", "view-atomic"):
        verdict = judge(World(world(REMARK, flush)).run().events)
        statuses[flush] = [
            item.property for item in verdict.properties if item.status is Status.VIOLATED
        ]
    assert statuses == {"all-to-all": [Property.VIEW_ATOMIC], "view-atomic": []}


@catches("unmarked messages are dropped", "one confirmation is not waited for")
def test_uniform_2_2_d4_is_stronger_than_d3() -> None:
    """A plain multicast that only its dead sender delivered breaks D4, not D3; a uniform, neither.

    p delivers m and dies, and nobody else has it. That is right for a plain m: p installed no view
    after. A uniform m p does not deliver: one of those that go on may lack it.
    """
    plain = Play()
    plain.do("group of p q r s", "p multicasts m")
    assert plain.delivered("p") == ["m"]
    plain.change_view(without="p")
    assert [plain.delivered(who) for who in "qrs"] == [[], [], []]
    assert plain.broken_promises() == []

    uniform = Play()
    uniform.do("group of p q r s", "p multicasts m uniform", "q and r receive m from p")
    uniform.do("q acknowledges", "r acknowledges", "p receives Confirm from q and r")
    assert uniform.delivered("p") == []
    uniform.change_view(without="p")
    assert [uniform.delivered(who) for who in "qrs"] == [["m"]] * 3
    assert uniform.broken_promises() == []


@catches("unmarked messages are dropped")
def test_uniform_2_2_d4_holds_for_uniform_multicasts() -> None:
    """Whatever p had delivered when it died, wherever it dies, all who go on have delivered."""
    steps = [
        "q receives m from p", "r receives m from p", "q acknowledges", "p receives Confirm from q",
        "r acknowledges", "p receives Confirm from r", "s receives m from p", "s acknowledges",
        "p receives Confirm from s", "p acknowledges", "q receives Confirm from p",
    ]  # fmt: skip
    for count in range(len(steps) + 1):
        play = Play()
        play.do("group of p q r s", "p multicasts m uniform", *steps[:count])
        was_delivered = play.delivered("p") + play.delivered("q")
        play.change_view(without="p")
        if was_delivered:
            assert [play.delivered(who) for who in "qrs"] == [["m"]] * 3, count
        assert play.broken_promises() == [], count
