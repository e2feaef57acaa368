"""ISIS 7.2, point-to-point messages: its claims, as corrected by the errata.

letters are delivered causally                     ..._letter_waits_for_its_past
the stamp is that of a CBCAST, nothing is counted  ..._letter_is_stamped_and_not_counted
no new multicast before the acknowledgement        ..._multicast_waits_for_the_acknowledgement
only multicasts wait: WRONG                        ..._letter_to_another_waits_too (000-24)
ready messages leave in order of receipt           ..._ready_messages_in_order_of_receipt
it is receipt that is acknowledged                 ..._receipt_is_acknowledged
all that was sent is to be acknowledged            ..._every_letter_is_acknowledged
the cost does not depend on the size               ..._costs_two_messages_in_any_group
internal to the processes involved                 ..._third_process_hears_nothing
fault-tolerance: nobody waits for the dead         ..._addressee_that_dies_is_not_waited_for
replies to multicast requests                      ..._replies_are_letters
"""

from tests.papers.play import Play, catches, findings


@catches("letter has no stamp", "letter overtakes the multicasts of its sender")
def test_isis_7_2_letter_waits_for_its_past() -> None:
    """A letter waits for what its sender had delivered, and for what its sender had multicast."""
    play = Play()
    play.do("group of p q r", "r multicasts n", "p receives n from r", "p sends x to q")
    assert play.do("q receives x from p") == ["q holds x, waiting for n"]
    play.do("q receives n from r")
    assert play.delivered("q") == ["n", "x"]
    play = Play()
    play.do("group of p q r", "r multicasts n", "p receives n from r", "p multicasts m")
    play.do("p sends x to q", "q receives m and x from p")
    assert play.holds("q") == ["m", "x"]
    play.do("q receives n from r")
    assert play.delivered("q") == ["n", "m", "x"]


@catches("letter has no stamp", "letter is counted")
def test_isis_7_2_letter_is_stamped_and_not_counted() -> None:
    """It carries the stamp of the next multicast, and that has the same number and stamp still."""
    play = Play()
    play.do("group of p q r", "r multicasts n", "p receives n from r")
    assert play.do("p sends x to q") == ["p sends x to q, stamp r=1"]
    play.do("q receives x from p", "q acknowledges", "p receives LetterTaken from q")
    assert play.do("p multicasts m")[0] == "p multicasts 1: m, stamp r=1"
    play.do("all is received")
    assert play.delivered("r") == ["n", "m"]


@catches("sender of a letter goes on multicasting")
def test_isis_7_2_multicast_waits_for_the_acknowledgement() -> None:
    """The sender starts no multicast before the letter is known to be there: q has x before m."""
    play = Play()
    play.do("group of p q r", "p sends x to q", "p multicasts m")
    assert play.delivered("p") == []
    play.do("the rest happens")
    assert play.delivered("q") == ["x", "m"]
    assert [play.delivered(who) for who in "pr"] == [["m"], ["m"]]
    assert play.broken_promises() == []


@catches("letter to another does not wait")
def test_isis_7_2_letter_to_another_waits_too() -> None:
    """Erratum 000-24: else r could read y, multicast m, and q would deliver m before x."""
    play = Play()
    play.do("group of p q r", "p sends x to q", "p sends y to r")
    assert play.table.next_item("p", "r") is None, "y has not gone out"
    play.do("q receives all from p", "q acknowledges", "p receives LetterTaken from q")
    play.do("r receives y from p", "r multicasts m", "the rest happens")
    assert play.delivered("q") == ["x", "m"]
    assert play.broken_promises() == []


@catches("ready letters come last")
def test_isis_7_2_ready_messages_in_order_of_receipt() -> None:
    """Erratum 000-24: x and m wait for w; when it comes, x leaves first, for it was there first."""
    play = Play()
    play.do("group of p q s", "s multicasts w", "p receives w from s", "p sends x to q")
    play.do("q receives x from p", "q acknowledges", "p receives LetterTaken from q")
    play.do("p multicasts m", "q receives m from p")
    assert play.holds("q") == ["x", "m"]
    play.do("q receives w from s")
    assert play.delivered("q") == ["w", "x", "m"]
    assert play.broken_promises() == []


@catches("letters are acknowledged when delivered")
def test_isis_7_2_receipt_is_acknowledged() -> None:
    """A letter that is held is acknowledged: its sender waits for the channel, not for its past."""
    play = Play()
    play.do("group of p q s", "s multicasts w", "p receives w from s", "p sends x to q")
    play.do("q receives x from p")
    assert play.holds("q") == ["x"]
    assert play.do("q acknowledges") == ["q sends LetterTaken 1 to p"]


@catches("any acknowledgement frees the sender")
def test_isis_7_2_every_letter_is_acknowledged() -> None:
    """Two letters to q, replies to its calls: acknowledging the first does not set p free."""
    play = Play()
    play.do("group of p q r", "q calls a wanting first", "q calls b wanting first")
    play.do("p receives a from q", "p answers x", "q receives reply from p", "q acknowledges")
    play.do("p receives b from q", "p answers y", "p receives LetterTaken from q")
    play.do("p multicasts m")
    assert play.delivered("p") == ["a", "b"]
    play.do("the rest happens")
    replies = "reply x to call 1 reply y to call 2"
    assert play.delivered("q") == ["a", "b", *replies.split(), "m"]
    assert play.broken_promises() == []


@catches("letter is counted")
def test_isis_7_2_costs_two_messages_in_any_group() -> None:
    """A letter and its acknowledgement, whatever the size of the group."""
    for size in (2, 5, 20):
        names = [f"m{number}" for number in range(size)]
        play = Play()
        play.do(f"group of {' '.join(names)}", "m0 sends x to m1", "the rest happens")
        assert (play.count("x"), play.count("LetterTaken")) == (1, 1)
        play.do("m0 multicasts m")
        (run,) = play.table.runs
        assert run.first == 1


@catches("letter is counted")
def test_isis_7_2_third_process_hears_nothing() -> None:
    """Letters between p and q leave no mark on what r sees: no gap, no stamp."""
    play = Play()
    play.do("group of p q r", "p sends x to q", "the rest happens", "q sends y to p")
    play.do("the rest happens", "q multicasts m", "p multicasts n", "all is received")
    assert sorted(play.delivered("r")) == ["m", "n"]
    assert play.holds("r") == []
    assert [run.stamp for run in play.table.runs] == [(), ()]


@catches("letter to the dead is waited for")
def test_isis_7_2_addressee_that_dies_is_not_waited_for() -> None:
    """The view without the addressee sets the sender free."""
    play = Play()
    play.do("group of p q r", "p sends x to q", "p multicasts m")
    play.change_view(without="q")
    assert [play.delivered(who) for who in "pr"] == [["m"], ["m"]]


@catches("letter has no stamp")
def test_isis_7_2_replies_are_letters() -> None:
    """A reply comes causally after all that its sender had delivered, the request among it."""
    play = Play()
    play.do("group of p q r", "r multicasts n", "q receives n from r", "p calls read wanting first")
    play.do("q receives read from p", "q answers 42")
    play.do("p receives reply from q")
    assert play.table.held("p"), "the reply waits for n"
    play.do("p receives n from r")
    assert play.table.held("p") == []
    assert play.count("reply") == 1


@catches("letter has no stamp")
def test_isis_7_2_letters_in_random_worlds() -> None:
    """Causality over multicasts and letters together, in random worlds with crashes and joins."""
    assert findings(range(40)) == []
