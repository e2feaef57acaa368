"""ISIS 7.4, group view management: its claims.

    one member initiates all changes                 ..._distinguished_member_initiates_changes
    that excludes other changes at the same time     ..._changes_exclude_each_other
    the new member is among the destinations         ..._new_member_is_told
    reception triggers the flush                     ..._reception_triggers_the_flush
    about 3n messages add a member                   ..._cost_of_a_join
    failure information is needed, from anywhere     ..._suspicion_of_anybody_is_enough
    no central server: anybody can take over         ..._next_member_takes_over
    footnote 12: any member is a way in              ..._any_member_is_a_way_in

The paper leaves open what happens if the distinguished member fails half-way: changes are agreed on
by a quorum here (docs/decisions/006-agreement-on-views.md), which costs one round more.
"""

from tests.papers.play import Play, catches, findings


@catches("every member proposes")
def test_isis_7_4_distinguished_member_initiates_changes() -> None:
    """Whoever hears of a change asks the most senior member, and only that one proposes."""
    play = Play()
    play.do("group of p q r", "x joins through r", "r receives JoinRequest from x")
    assert (play.count("Ask"), play.count("Propose"), play.count("Prepare")) == (1, 0, 0)
    play.do("the rest happens")
    assert [play.members(who) for who in "pqrx"] == [["p", "q", "r", "x"]] * 4
    assert (play.count("Propose"), play.count("Prepare")) == (2, 0)


@catches("one member is a quorum", "accepted views are overruled")
def test_isis_7_4_changes_exclude_each_other() -> None:
    """Two want different views at the same time: there is one view 2, the same for all."""
    play = Play()
    play.do("group of p q r s", "x joins through p", "p receives JoinRequest from x")
    play.do("r receives Propose from p", "q suspects p", "the rest happens")
    assert {tuple(map(str, view.members)) for n, view in play.table.views.items() if n == 2} == {
        ("p", "q", "r", "s", "x")
    }
    assert play.broken_promises() == []


@catches("joiner is not told")
def test_isis_7_4_new_member_is_told() -> None:
    """The decision goes to the new member as well, and it begins with that view."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "all is received")
    play.change_view()
    assert play.views("x") == [2]
    assert play.delivered("x") == [], "what was before is not for it"


@catches("news of a view starts nothing")
def test_isis_7_4_reception_triggers_the_flush() -> None:
    """Whoever learns of the new view begins to leave the old one, unasked."""
    play = Play()
    play.do("group of p q r", "x joins through p", "p receives JoinRequest from x")
    play.do("q receives Propose from p", "p receives Accept from q")
    assert play.do("q receives Decide from p") == [
        "q sends Report on view 1: received p=0 q=0 r=0 to p"
    ]


@catches("everybody is told")
def test_isis_7_4_cost_of_a_join() -> None:
    """The paper's 3n messages are the news and the linear flush; agreement comes on top.

    In a group that grows to n: n - 1 times the news, n - 1 flush messages, n - 1 permissions; and
    before that n - 2 proposals and as many votes, so that no two views can have one number.
    """
    for size in (3, 5, 9):
        names = " ".join(f"m{number}" for number in range(size - 1))
        play = Play()
        play.do(f"group of {names} by the coordinator flush", "x joins through m0")
        play.do("the rest happens")
        kinds = ("Decide", "Flush", "Install", "Propose", "Accept")
        assert [play.count(kind) for kind in kinds] == [size - 1] * 3 + [size - 2] * 2


@catches("suspicions are kept to oneself")
def test_isis_7_4_suspicion_of_anybody_is_enough() -> None:
    """One member notices a crash, and not the coordinator: the view without it comes about."""
    play = Play()
    play.do("group of p q r s", "s crashes", "r suspects s", "the rest happens")
    assert [play.members(who) for who in "pqr"] == [["p", "q", "r"]] * 3


@catches("every first ballot skips phase one")
def test_isis_7_4_next_member_takes_over() -> None:
    """The distinguished member dies while a change is under way: the next one completes it.

    Only q has accepted that x joins; p may have told somebody that it is decided, so q must ask.
    """
    play = Play()
    play.do("group of p q r s", "x joins through p", "p receives JoinRequest from x")
    play.do("r receives Propose from p")
    play.change_view(without="p")
    assert [str(member) for member in play.table.views[2].members] == ["p", "q", "r", "s", "x"]
    assert [play.members(who) for who in "qrs"] == [["q", "r", "s", "x"]] * 3


@catches("joiner is not told")
def test_isis_7_4_any_member_is_a_way_in() -> None:
    """The request may go to any member, and several at once make one view."""
    play = Play()
    play.do("group of p q r", "x joins through q", "y joins through r", "z joins through r")
    play.do("q receives JoinRequest from x", "r receives JoinRequest from y and z")
    play.do("the rest happens")
    assert [sorted(play.members(who)) for who in "pqrxyz"] == [list("pqrxyz")] * 6
    assert play.views("p")[-1] <= 3


@catches("one member is a quorum")
def test_isis_7_4_one_sequence_of_views() -> None:
    """Random worlds with crashes, joins, leaves and partitions: nobody sees another view."""
    assert findings(range(40)) == []
