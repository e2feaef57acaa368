"""Uniform 4, the uniform view-atomic multicast protocol: its claims, as corrected by the errata.

4.1 Two phases
    nobody delivers before all have acknowledged      ..._not_delivered_before_all_have_it (003-6)
    the sender marks it, and then it is delivered     ..._delivered_when_marked
    acknowledged with its past, not alone             ..._acknowledged_with_its_past (003-7)
    phase II need not be reliable                     ..._phase_2_may_be_lost
    no failure: all deliver                           ..._all_deliver_without_a_failure
    cost: 3 (n - 1) messages, 3 delays                ..._costs
    no order: WRONG, or rather weak                   ..._causal_order, ..._total_order (003-7)
4.2 Termination
    case 1: it was marked                             ..._case_1_marked_before_the_view
    case 2: it was received, not marked               ..._case_2_received_and_not_marked
    no message is needed                              ..._termination_needs_no_message
    what is left is delivered in a causal order       ..._termination_in_causal_order (003-7)
    Proposition 6: D4                                 ..._proposition_6_d4
"""

from tests.golden.acts import Delivered, Installed
from tests.papers.play import Play, catches, findings


def _mark(play: Play, *others: str) -> None:
    """Let others have p's message m and confirm it to p."""
    names = " and ".join(others)
    play.do(f"{names} receive m from p", *(f"{who} acknowledges" for who in others))
    play.do(f"p receives Confirm from {names}")


@catches("one confirmation is not waited for")
def test_uniform_4_1_not_delivered_before_all_have_it() -> None:
    """Erratum 003-6: one acknowledgement short, and D4 is broken. The sender waits as well."""
    play = Play()
    play.do("group of p q r s", "p multicasts m uniform")
    _mark(play, "q", "r")
    assert [play.delivered(who) for who in "pqr"] == [[], [], []]
    play.do("s receives m from p", "s acknowledges", "p receives Confirm from s")
    assert play.delivered("p") == ["m"]


@catches("uniform messages are delivered on receipt")
def test_uniform_4_1_delivered_when_marked() -> None:
    """Processes q and r deliver when they hear of the mark, each by itself."""
    play = Play()
    play.do("group of p q r", "p multicasts m uniform")
    _mark(play, "q", "r")
    assert play.delivered("q") == []
    play.do("p acknowledges", "q receives Confirm from p")
    assert (play.delivered("q"), play.delivered("r")) == (["m"], [])
    play.do("r receives Confirm from p")
    assert play.delivered("r") == ["m"]


@catches("confirmed on receipt", "only the past of its sender is settled")
def test_uniform_4_1_acknowledged_with_its_past() -> None:
    """Erratum 003-7: m depends on n, which only p got. q has m and not n: it does not confirm.

    Else p could deliver m, and die along with r, and q would have to go on without n, or without m.
    """
    play = Play()
    play.do("group of p q r", "r multicasts n", "p receives n from r", "p multicasts m uniform")
    play.do("q receives m from p")
    assert play.do("q acknowledges") == ["nothing to do"]
    play.do("q receives n from r")
    assert play.do("q acknowledges") == ["q sends Confirm that it has yours up to 1 to p"]


@catches("unmarked messages are dropped")
def test_uniform_4_1_phase_2_may_be_lost() -> None:
    """The marks die with p, which has delivered m: the others deliver it before view 2."""
    play = Play()
    play.do("group of p q r", "p multicasts m uniform")
    _mark(play, "q", "r")
    play.do("p acknowledges")
    assert play.delivered("p") == ["m"]
    play.change_view(without="p")
    assert [play.delivered(who) for who in "qr"] == [["m"], ["m"]]
    assert play.broken_promises() == []


@catches("lists are not confirmed", "mark is not told")
def test_uniform_4_1_all_deliver_without_a_failure() -> None:
    """Uniform multicasts of all kinds, from all: everybody delivers everything."""
    play = Play()
    play.do("group of p q r", "p multicasts a uniform", "q multicasts b uniform total")
    play.do("r multicasts c uniform fifo", "the rest happens", "r multicasts d uniform total")
    play.do("p multicasts e", "the rest happens")
    assert [sorted(play.delivered(who)) for who in "pqr"] == [list("abcde")] * 3
    assert play.broken_promises() == []


@catches("mark is not told")
def test_uniform_4_1_costs() -> None:
    """For n members n - 1 messages, n - 1 acknowledgements and n - 1 marks."""
    for size in (2, 4, 7):
        names = [f"m{number}" for number in range(size)]
        play = Play()
        play.do(f"group of {' '.join(names)}", "m0 multicasts m uniform", "the rest happens")
        assert (play.count("m"), play.count("Confirm")) == (size - 1, 2 * (size - 1))
        assert [play.delivered(who) for who in names] == [["m"]] * size


@catches("uniform messages have no past")
def test_uniform_4_1_causal_order() -> None:
    """Erratum 003-7: r has the mark of m2 before that of m1, on which it depends, and waits."""
    play = Play()
    play.do("group of p q r", "p multicasts m uniform")
    _mark(play, "q", "r")
    play.do("p acknowledges", "q receives Confirm from p", "q multicasts m2 uniform")
    play.do("p and r receive m2 from q", "p acknowledges", "r acknowledges")
    play.do("q receives Confirm from p and r", "q acknowledges", "r receives Confirm from q")
    assert play.delivered("r") == []
    play.do("r receives Confirm from p")
    assert play.delivered("r") == ["m", "m2"]


@catches("order of uniform messages is not uniform", "mark alone opens the gate")
def test_uniform_4_1_total_order() -> None:
    """Erratum 003-7: total order needs turns on top, and the turns must be uniform as well.

    p, the holder, has m and its mark, and has told its turn to nobody who has confirmed that.
    """
    play = Play()
    play.do("group of p q r with a fixed token", "q multicasts m uniform total")
    play.do("p and r receive m from q", "p acknowledges", "r acknowledges")
    play.do("q receives list and Confirm from p", "q receives Confirm from r", "q acknowledges")
    play.do("p receives Confirm from q")
    assert play.delivered("p") == [], "r has not got the list"
    play.do("the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["m"]] * 3


@catches("unmarked messages are dropped")
def test_uniform_4_2_case_1_marked_before_the_view() -> None:
    """The mark of m is known, and q and r wait for that of the list that gave its turn: p is dead.

    Both deliver m before view 2, where it has no turn any more.
    """
    play = Play()
    play.do("group of p q r with a fixed token", "q multicasts m uniform total")
    play.do("p and r receive m from q", "p acknowledges", "r acknowledges")
    play.do("q receives list and Confirm from p", "q receives Confirm from r", "q acknowledges")
    play.do("r receives all from q")
    assert [play.delivered(who) for who in "pqr"] == [[], [], []]
    play.change_view(without="p")
    assert [play.delivered(who) for who in "qr"] == [["m"], ["m"]]
    assert play.broken_promises() == []


@catches("unmarked messages are dropped")
def test_uniform_4_2_case_2_received_and_not_marked() -> None:
    """Nobody has delivered m, and its sender is gone: all that go on deliver it, before view 2."""
    play = Play()
    play.do("group of p q r s", "p multicasts m uniform", "q receives m from p")
    play.change_view(without="p")
    assert [play.delivered(who) for who in "qrs"] == [["m"]] * 3
    for who in "qrs":
        kinds = [type(act) for act in play.acts if act.who == who]
        order = [kind for kind in kinds if kind in {Delivered, Installed}]
        assert order == [Installed, Delivered, Installed]
    assert play.broken_promises() == []


@catches("unmarked messages are dropped")
def test_uniform_4_2_termination_needs_no_message() -> None:
    """As many messages are sent for the view change as if m had been plain and received by all."""
    counts = []
    for how in ("uniform", ""):
        play = Play()
        play.do("group of p q r", f"p multicasts m {how}".strip(), "q and r receive m from p")
        play.change_view(without="p")
        kinds = ("Prepare", "Promise", "Propose", "Accept", "Decide", "Report", "Install")
        counts.append([play.count(kind) for kind in (*kinds, "Confirm", "copy of m")])
        assert [play.delivered(who) for who in "qr"] == [["m"], ["m"]]
    assert counts[0] == counts[1]


@catches("termination in order of senders")
def test_uniform_4_2_termination_in_causal_order() -> None:
    """Erratum 003-7: when the view is left, q's m2, which depends on r's m1, comes after it."""
    play = Play()
    play.do("group of p q r s", "r multicasts m1 uniform", "p and q and s receive m1 from r")
    play.do("p acknowledges", "q acknowledges")
    play.do("s acknowledges", "r receives Confirm from p and q and s")
    play.do("r acknowledges", "q receives Confirm from r", "q multicasts m2 uniform")
    play.do("p and s receive m2 from q")
    assert [play.delivered(who) for who in "pqs"] == [[], ["m1"], []]
    play.change_view(without="r")
    assert [play.delivered(who) for who in "pqs"] == [["m1", "m2"]] * 3
    assert play.broken_promises() == []


@catches("confirmed on receipt", "unmarked messages are dropped", "mark alone opens the gate")
def test_uniform_4_2_proposition_6_d4() -> None:
    """In random worlds, what anybody delivered of uniform messages all who went on delivered."""
    assert findings(range(60)) == []
