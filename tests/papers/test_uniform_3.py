"""Uniform 3, the view-atomic multicast protocol: its claims, as corrected by the errata.

3.1 Process behaviour
    messages carry their view; old ones are discarded  ..._old_messages_are_discarded
    ... those of a later view are buffered             ..._future_messages_wait
    no multicast from the news of a view to its begin  ..._no_multicast_between_views
    rule 1: what may not have reached all is relayed   ..._rule_1_...
    rule 2: what the excluded send or relay is rejected ..._rule_2_... (003-3)
    rule 3: who receives it first relays it on         ..._rule_3_...
    duplicates are discarded                           ..._duplicates_are_discarded
3.2 The stable property VA
    counts are of what was received, not delivered     ..._counts_what_was_received (003-8)
    Propositions 1 and 2: VA is stable, and safe       ..._propositions_1_and_2_...
    Proposition 3: VA is reached                       ..._proposition_3_...
3.3 Its detection
    the excluded have a mark of their own              ..._exclusion_is_said (003-1)
    a participant reports on each view and each change ..._reports_again_on_changes
    ... and on installing with views pending           ..._reports_on_installing (003-2)
    condition 1: all have excluded the same            ..._condition_1_...
    condition 2: all have received the same            ..._condition_2_...
    comparing counts is enough                         ..._counts_are_enough (003-4)
    the coordinator fails: another one takes over      ..._coordinator_fails
    install is a reliable multicast                    ..._install_reaches_all (003-5)
    cost: n - 1 reports, n - 1 permissions             ..._costs
"""

from tests.papers.play import Play, catches, findings


def _agree(play: Play, *others: str) -> None:
    """Let p's proposal be decided by the votes of others; they hear of the decision."""
    names = " and ".join(others)
    play.do(f"{names} receive Propose from p", f"p receives Accept from {names}")


@catches("copies are taken twice")
def test_uniform_3_1_old_messages_are_discarded() -> None:
    """A copy of a message of view 1 reaches p in view 2: it is not delivered again, nor relayed."""
    play = Play()
    play.do("group of p q r s", "s multicasts m", "q and r receive m from s", "s crashes")
    play.do("p suspects s")
    _agree(play, "q", "r")
    play.do("q and r receive Decide from p", "p receives all from q and r")
    assert (play.views("p"), play.delivered("p")) == ([1, 2], ["m"])
    play.do("q receives all from p")
    assert play.views("q") == [1, 2]
    assert play.do("q receives copy of m from r") == ["nothing to do"]


@catches("messages of the next view are dropped")
def test_uniform_3_1_future_messages_wait() -> None:
    """A message of view 2 reaches q, still in view 1: q keeps it until it is there too."""
    play = Play()
    play.do("group of p q r", "q multicasts m", "all is received", "x joins through p")
    play.do("p receives JoinRequest from x", "q and r receive Propose from p")
    play.do("p receives Accept from q", "q and r receive Decide from p")
    play.do("p receives Report from q", "p receives Accept and Report from r")
    play.do("r receives Install from p", "r multicasts n", "q receives n from r")
    assert (play.views("q"), play.delivered("q")) == ([1], ["m"])
    play.do("q receives Install from p")
    assert (play.views("q"), play.delivered("q")) == ([1, 2], ["m", "n"])
    play.do("the rest happens")
    assert play.broken_promises() == []


@catches("multicasts go on during the flush")
def test_uniform_3_1_no_multicast_between_views() -> None:
    """From the news of a view to its installation nothing is multicast; it goes out then."""
    play = Play()
    play.do("group of p q r", "x joins through p", "p receives JoinRequest from x")
    play.do("q receives Propose from p", "p receives Accept from q")
    assert play.do("p multicasts m") == ["p has to wait with it"]
    play.do("the rest happens")
    assert [run.view for run in play.table.runs] == [2]
    assert play.broken_promises() == []


@catches("unstable messages are not forwarded", "only own messages are kept")
def test_uniform_3_1_rule_1_unstable_messages_are_relayed() -> None:
    """Only q has m of s, which is dead: q relays it to all that take part.

    Leaner than printed: messages of live senders are not relayed, for they arrive by themselves.
    """
    play = Play()
    play.do("group of p q r s", "s multicasts m", "q receives m from s", "q multicasts n")
    play.change_view(without="s")
    assert [play.delivered(who) for who in "pqr"] == [["m", "n"]] * 3
    assert (play.count("copy of m") > 0, play.count("copy of n")) == (True, 0)


@catches("late words of the excluded count")
def test_uniform_3_1_rule_2_words_of_the_excluded_are_rejected() -> None:
    """Erratum 003-3: right and necessary. s is excluded, and m arrives at q after q's report."""
    play = Play()
    play.do("group of p q r s", "q multicasts a", "all is received", "s multicasts m")
    play.do("p suspects s")
    _agree(play, "q", "r")
    play.do("q and r receive Decide from p", "q receives m from s")
    play.do("p receives Report from q and r")
    assert play.views("p") == [1, 2]
    play.do("the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["a"]] * 3
    assert play.broken_promises() == []


@catches("late words of the excluded count")
def test_uniform_3_1_rule_2_relays_of_the_excluded_are_rejected() -> None:
    """What an excluded process relays of somebody else does not count either."""
    play = Play()
    play.do("group of p q r s t", "t multicasts m", "s receives m from t", "t crashes")
    play.do("p suspects t")
    _agree(play, "q", "r", "s")
    play.do("q and r and s receive Decide from p", "p suspects s")
    play.do("q and r receive Propose from p", "p receives Report and Accept from q and r")
    play.do("q and r receive Decide from p", "q receives copy of m from s")
    assert play.delivered("q") == []
    play.do("the rest happens")
    assert play.broken_promises() == []


@catches("relayed messages are not relayed on")
def test_uniform_3_1_rule_3_who_receives_relays_on() -> None:
    """The relay of q reached only r, and q died: r has passed m on, so p and t get it."""
    play = Play()
    play.do("group of p q r s t", "s multicasts m", "q receives m from s", "s crashes")
    play.do("p suspects s")
    _agree(play, "q", "r", "t")
    play.do("q and r and t receive Decide from p", "r receives copy of m from q")
    play.change_view(without="q")
    assert [play.delivered(who) for who in "prt"] == [["m"]] * 3
    assert play.broken_promises() == []


@catches("copies are taken twice")
def test_uniform_3_1_duplicates_are_discarded() -> None:
    """All had m when its sender died, and all relay it: each delivers it once."""
    play = Play()
    play.do("group of p q r s", "s multicasts m", "all is received")
    play.change_view(without="s")
    assert play.count("copy of m") >= 6
    assert [play.delivered(who) for who in "pqr"] == [["m"]] * 3


@catches("reports count deliveries")
def test_uniform_3_2_counts_what_was_received() -> None:
    """Erratum 003-8: r holds b, which has no turn yet, and reports that it has received it.

    If deliveries counted, reports would go on differing for messages that nobody lacks.
    """
    play = Play()
    play.do("group of p q r", "p multicasts a total", "q multicasts b total")
    play.do("r receives b from q", "x joins through p", "p receives JoinRequest from x")
    play.do("r receives a and Propose from p", "p receives Accept from r")
    assert play.do("r receives Decide from p")[-1] == (
        "r sends Report on view 1: received p=1 q=1 r=0 to p"
    )
    assert play.holds("r") == ["b"]


@catches("late receipts are not reported", "one report is not waited for")
def test_uniform_3_2_propositions_1_and_2_stable_and_safe() -> None:
    """In random worlds nobody gets more after the permission, and all who go on have the same."""
    assert findings(range(30)) == []


@catches("no next round with views pending", "no exclusion of who never sent")
def test_uniform_3_2_proposition_3_reached_in_the_end() -> None:
    """One crash after the other while the view is being left: each view is installed in the end."""
    play = Play()
    play.do("group of p q r s t u v", "u multicasts m", "q receives m from u", "u crashes")
    play.do("p suspects u")
    _agree(play, "q", "r", "s")
    play.do("q receives Decide from p", "r receives Decide from p", "r receives copy of m from q")
    play.change_view(without="q")
    play.change_view(without="r")
    assert [play.delivered(who) for who in "pstv"] == [["m"]] * 4
    assert [play.views(who) for who in "pstv"] == [[1, 2, 3, 4]] * 4


@catches("no exclusion of who never sent")
def test_uniform_3_3_exclusion_is_said() -> None:
    """Erratum 003-1: minus zero is not less than zero; exclusion has a place of its own."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "all is received", "r crashes", "p suspects r")
    play.do("q receives Propose from p", "p receives Accept from q")
    assert play.do("q receives Decide from p") == [
        "q sends Report on view 1: received p=1 q=0 r=0, without r to p"
    ]
    play.do("the rest happens")
    assert play.views("p") == [1, 2]


@catches("late receipts are not reported")
def test_uniform_3_3_reports_again_on_changes() -> None:
    """Process q reports on learning of view 2, and again when m reaches it."""
    play = Play()
    play.do("group of p q r", "r multicasts m")
    play.do("x joins through p", "p receives JoinRequest from x")
    play.do("q and r receive Propose from p", "p receives Accept from q")
    assert play.do("q receives Decide from p")[0].endswith("received p=0 q=0 r=0 to p")
    assert play.do("q receives m from r")[-1].endswith("received p=0 q=0 r=1 to p")


@catches("no next round with views pending")
def test_uniform_3_3_reports_on_installing() -> None:
    """Erratum 003-2: view 3 is known when view 2 is installed; the next report goes out at once."""
    play = Play()
    play.do("group of p q r s", "q multicasts m", "all is received", "s crashes", "p suspects s")
    _agree(play, "q", "r")
    play.do("q and r receive Decide from p")
    play.change_view(without="r")
    assert [play.views(who) for who in "pq"] == [[1, 2, 3]] * 2


@catches("exclusion is not checked")
def test_uniform_3_3_condition_1_all_have_excluded_the_same() -> None:
    """A report of before q has heard that r is out too does not count.

    Counts are equal; but q may still take something of r.
    """
    play = Play()
    play.do("group of p q r s t", "q multicasts m", "all is received", "t crashes", "p suspects t")
    _agree(play, "q", "r", "s")
    play.do("q and r and s receive Decide from p", "p receives Report from q and s")
    play.do("p suspects r", "q and s receive Propose from p", "p receives Accept from q and s")
    assert play.views("p") == [1], "the reports are from before view 3"
    play.do("q receives Decide from p", "p receives Report from q")
    assert play.views("p") == [1], "that of s is"
    play.do("the rest happens")
    assert play.views("p") == [1, 2, 3]


@catches("one report is not waited for")
def test_uniform_3_3_condition_2_all_have_received_the_same() -> None:
    """Process r has m and q has not: no permission, however often they report the rest."""
    play = Play()
    play.do("group of p q r s", "s multicasts m", "p and r receive m from s", "x joins through p")
    play.do("p receives JoinRequest from x", "q and r and s receive Propose from p")
    play.do("p receives Accept from q and r", "q and r and s receive Decide from p")
    play.do("p receives Report from q and r", "p receives Accept and Report from s")
    assert play.views("p") == [1]
    play.do("q receives m from s", "p receives Report from q")
    assert play.views("p") == [1, 2]


@catches("late words of the excluded count")
def test_uniform_3_3_counts_are_enough() -> None:
    """Erratum 003-4: equal counts mean equal messages, because no copy comes from the excluded.

    s told q its m1, and r nothing. If r could take a copy from s after its report, counts of q and
    r would be equal for different reasons; as it is, r gets it from q.
    """
    play = Play()
    play.do("group of p q r s", "s multicasts m1", "q receives m1 from s", "p suspects s")
    _agree(play, "q", "r")
    play.do("r receives Decide from p")
    assert play.do("r receives m1 from s") == ["nothing to do"]
    play.do("the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["m1"]] * 3
    assert play.broken_promises() == []


@catches("report goes to the first coordinator for ever")
def test_uniform_3_3_coordinator_fails() -> None:
    """Coordinator p dies with the reports: all report anew to q, the most senior one left."""
    play = Play()
    play.do("group of p q r s t", "t multicasts m", "r receives m from t")
    play.do("t crashes", "p suspects t")
    _agree(play, "q", "r", "s")
    play.do("q and r and s receive Decide from p")
    play.change_view(without="p")
    assert [play.delivered(who) for who in "qrs"] == [["m"]] * 3
    assert [play.views(who) for who in "qrs"] == [[1, 2, 3]] * 3


@catches("permission is not passed on", "new coordinator repeats nothing")
def test_uniform_3_3_install_reaches_all() -> None:
    """Erratum 003-5: the permission reached one process alone, and its giver is dead.

    The paper has it relayed by all. Here the next coordinator repeats it, if it has it (q), and
    else learns it from the reports of whoever has installed the view (r).
    """
    for lucky in "qr":
        play = Play()
        play.do("group of p q r s", "q multicasts m", "all is received", "x joins through p")
        play.do("p receives JoinRequest from x", "q and r and s receive Propose from p")
        play.do("p receives Accept from q and r and s", "q and r and s receive Decide from p")
        play.do("p receives Report from q and r and s", f"{lucky} receives Install from p")
        play.change_view(without="p")
        assert [play.views(who) for who in "qrs"] == [[1, 2, 3]] * 3
        assert play.broken_promises() == []


@catches("one report is not waited for")
def test_uniform_3_3_costs() -> None:
    """A join in a quiet group: a report from each member, a permission to each and the joiner."""
    for size in (3, 5, 9):
        play = Play()
        names = " ".join(f"m{number}" for number in range(size))
        play.do(f"group of {names}", "x joins through m0", "m0 receives JoinRequest from x")
        play.do("the rest happens")
        assert (play.count("Report"), play.count("Install")) == (size - 1, size)
        last = max(index for index, act in enumerate(play.acts) if "Report" in repr(act))
        first = min(index for index, act in enumerate(play.acts) if "Install(" in repr(act))
        assert last < first, "not before all have reported"
