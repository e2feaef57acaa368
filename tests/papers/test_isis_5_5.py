"""ISIS 5.5, delivery atomicity and group membership changes: its claims, corrected by the errata.

Virtually synchronous addressing, no failures
    no new multicast between views, deliveries go on   ..._no_new_multicast_during_the_flush
    the flush of all brings everything of the view     ..._flush_of_all_brings_everything
    n^2 messages, or 2n by a coordinator               ..._flush_costs
    the coordinator's word guarantees the same         ..._linear_flush_brings_everything
Timestamps
    VT is reset, and carries its view                  ..._clock_is_reset_in_a_new_view
    what has an expired index is ignored               ..._late_copy_of_an_old_view_is_ignored
Failures
    copies are forwarded by whoever has them           ..._unstable_messages_are_forwarded
    duplicates are rejected                            ..._duplicates_are_rejected
    (1) messages first, then the flush                 ..._flush_is_behind_the_forwarded
    (2) messages of a later view are saved             ..._later_messages_are_saved (000-17 d)
    (3) any later round installs the view              ..._any_later_round_installs (000-19)
    (3) orphans are discarded                          ..._orphans_are_discarded
    (4) forwarded once, then stable: WRONG             ..._forwarded_once_is_not_stable (000-18)
    (5) stable when installed: WRONG                   ..._copies_outlive_their_view (000-17 c)
    what the failed send is discarded              ..._words_of_the_failed_are_dropped (000-17 b)
    footnote 4: not for those that fail            ..._the_dead_may_have_delivered_more (000-17 a)
    Lemma 2: safe and live                             ..._lemma_2_survivors_agree
    who leaves takes part to the end                   ..._leaver_takes_part (000-17 f)
    ... unless it fails                                ..._dead_leaver_is_not_waited_for (000-17 f)
ABCAST when the token holder fails
    turns that were given are said first               ..._last_list_before_the_flush (000-10)
    and none is given any more                         ..._no_turn_during_the_flush (000-10)
    what is left is delivered in one order             ..._left_overs_in_one_order (000-11)
    lost turns are skipped                             ..._lost_turns_are_skipped (000-11)
"""

from tests.papers.play import Play, catches, findings

ALL = "by the all-to-all flush"
LINEAR = "by the coordinator flush"


@catches("multicasts go on during the flush")
def test_isis_5_5_no_new_multicast_during_the_flush() -> None:
    """A process that has sent its flush delivers what comes, and multicasts in the next view."""
    play = Play()
    play.do(f"group of p q r {ALL}", "r multicasts m", "x joins through p")
    play.do(
        "p receives JoinRequest from x", "q receives Propose from p", "p receives Accept from q"
    )
    play.do("q receives Decide from p")
    assert play.do("q multicasts n") == ["q has to wait with it"]
    assert play.do("q receives m from r") == ["q delivers m"]
    play.do("the rest happens")
    (n,) = [run for run in play.table.runs if run.payloads == [b"n"]]
    assert n.view == 2
    assert play.delivered("x") == ["n"]
    assert play.broken_promises() == []


@catches("one flush is not waited for")
def test_isis_5_5_flush_of_all_brings_everything() -> None:
    """Channels are FIFO: with the flush of r has come all that r multicast before."""
    play = Play()
    play.do(f"group of p q r {ALL}", "r multicasts m", "x joins through p")
    play.do(
        "p receives JoinRequest from x", "q receives Propose from p", "p receives Accept from q"
    )
    play.do("q and x receive Decide from p", "r receives Propose and Decide from p")
    play.do("q receives Flush from p and x")
    assert play.views("q") == [1], "one flush is missing, and m"
    play.do("q receives m and Flush from r")
    assert (play.views("q"), play.delivered("q")) == ([1, 2], ["m"])


@catches("everybody is told")
def test_isis_5_5_flush_costs() -> None:
    """All to all n (n - 1) messages; 2 (n - 1) by a coordinator, whose flush is the permission."""
    for size in (3, 5, 8):
        names = " ".join(f"m{number}" for number in range(size - 1))
        costs = {}
        for flush in (ALL, LINEAR):
            play = Play()
            play.do(f"group of {names} {flush}", "x joins through m0", "the rest happens")
            costs[flush] = play.count("Flush"), play.count("Install")
        assert costs == {ALL: (size * (size - 1), 0), LINEAR: (size - 1, size - 1)}


@catches("own messages are not copied", "coordinator keeps copies to itself")
def test_isis_5_5_linear_flush_brings_everything() -> None:
    """Process q gets the permission before m of r; a copy of m came by the coordinator."""
    play = Play()
    play.do(
        f"group of p q r {LINEAR}", "r multicasts m", "x joins through p", "p receives all from x"
    )
    play.do(
        "q receives Propose from p", "p receives Accept from q", "q and x receive Decide from p"
    )
    play.do("r receives all from p", "p receives all from q and x", "p receives all from r")
    play.do("q receives all from p")
    assert (play.views("q"), play.delivered("q")) == ([1, 2], ["m"])
    play.do("the rest happens")
    assert play.broken_promises() == []


@catches("clock is not reset")
def test_isis_5_5_clock_is_reset_in_a_new_view() -> None:
    """In view 2 numbers begin with 1, and stamps name nothing of view 1."""
    play = Play()
    play.do(
        "group of p q r", "p multicasts a", "all is received", "q multicasts b", "all is received"
    )
    play.change_view()
    assert play.do("q multicasts c")[0] == "q multicasts 1: c"
    play.do("p receives c from q")
    assert play.do("p multicasts d")[0] == "p multicasts 1: d, stamp q=1"
    assert play.do("r receives d from p") == ["r holds d, waiting for c"]
    play.do("all is received")
    assert play.delivered("x") == ["c", "d"]
    assert play.broken_promises() == []


@catches("copies are taken twice")
def test_isis_5_5_late_copy_of_an_old_view_is_ignored() -> None:
    """A copy of view 1 that is relayed to a process in view 2 changes nothing there."""
    play = Play()
    play.do("group of p q r s", "s multicasts a", "q and r receive a from s")
    play.do("s crashes", "p suspects s", "q and r receive Propose from p")
    play.do("p receives Accept from q and r", "q and r receive Decide from p")
    play.do("p receives copy of a from q", "p receives Report from q")
    play.do("p receives copy of a from r", "p receives Report from r")
    assert play.views("p") == [1, 2]
    play.do("q receives all from p", "q receives copy of a from r", "the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["a"]] * 3
    assert play.broken_promises() == []


@catches("nothing is forwarded", "only own messages are kept")
def test_isis_5_5_unstable_messages_are_forwarded() -> None:
    """Figure 3: the sender dies, one process has its message, and all get it from that one."""
    play = Play()
    play.do(f"group of p q r s {ALL}", "s multicasts m", "q receives m from s")
    play.change_view(without="s")
    assert [play.delivered(who) for who in "pqr"] == [["m"]] * 3
    assert [play.views(who) for who in "pqr"] == [[1, 2]] * 3


@catches("copies are taken twice")
def test_isis_5_5_duplicates_are_rejected() -> None:
    """Two processes forward the same message, and its sender had sent it: it is delivered once."""
    play = Play()
    play.do(f"group of p q r s {ALL}", "s multicasts m", "p and q and r receive m from s")
    play.change_view(without="s")
    assert play.count("copy of m") == 6
    assert [play.delivered(who) for who in "pqr"] == [["m"]] * 3


@catches("flush comes before the forwarded")
def test_isis_5_5_step_1_flush_is_behind_the_forwarded() -> None:
    """What is forwarded goes ahead of the flush on every channel."""
    play = Play()
    play.do(f"group of p q r s {ALL}", "s multicasts m", "q receives m from s", "s crashes")
    play.do("p suspects s", "q and r receive Propose from p", "p receives Accept from q and r")
    play.do("q and r receive Decide from p", "p receives Flush from r")
    play.do("p receives copy of m and Flush from q")
    assert (play.delivered("p"), play.views("p")) == (["m"], [1, 2])


@catches("messages of the next view are dropped")
def test_isis_5_5_step_2_later_messages_are_saved() -> None:
    """Erratum 000-17 (d): p is in view 2 and multicasts; q, still in view 1, delivers it later."""
    play = Play()
    play.do(f"group of p q r {ALL}", "x joins through p", "p receives JoinRequest from x")
    play.do(
        "q receives Propose from p", "p receives Accept from q", "q and x receive Decide from p"
    )
    play.do("r receives all from p", "p receives all from q and r", "p receives Flush from x")
    play.do("p multicasts m", "q receives all from p")
    assert (play.views("q"), play.delivered("q")) == ([1], [])
    play.do("q receives all from r", "q receives all from x")
    assert (play.views("q"), play.delivered("q")) == ([1, 2], ["m"])


@catches("only its own round installs a view")
def test_isis_5_5_step_3_any_later_round_installs() -> None:
    """Erratum 000-19: r dies without a flush; the round of view 3 installs view 2 as well."""
    play = Play()
    play.do(f"group of p q r s {ALL}", "s multicasts m", "all is received")
    play.do("s crashes", "p suspects s", "q and r receive Propose from p")
    play.do("p receives Accept from q and r", "q receives Decide from p")
    play.change_view(without="r")
    assert [play.views(who) for who in "pq"] == [[1, 2, 3]] * 2


@catches("orphans are delivered")
def test_isis_5_5_step_3_orphans_are_discarded() -> None:
    """The message of r names one of s that nobody who is left has: nobody delivers it."""
    play = Play()
    play.do(f"group of p q r s t {ALL}", "s multicasts lost", "r receives lost from s")
    play.do("r multicasts orphan", "p and q and t receive orphan from r", "s crashes", "r crashes")
    play.do(*(f"{who} suspects {dead}" for who in "pqt" for dead in "rs"), "the rest happens")
    assert [play.delivered(who) for who in "pqt"] == [[], [], []]
    assert play.members("p") == ["p", "q", "t"]
    assert play.broken_promises() == []


@catches("forwarded once then stable")
def test_isis_5_5_step_4_forwarded_once_is_not_stable() -> None:
    """Erratum 000-18: what was sent to a coordinator that died is sent to the next one."""
    play = Play()
    play.do(f"group of p q r s t {LINEAR}", "s multicasts m", "r receives m from s", "s crashes")
    play.do("p suspects s", "q and r and t receive Propose from p")
    play.do("p receives Accept from q and r", "q and r and t receive Decide from p")
    play.change_view(without="p")
    assert [play.delivered(who) for who in "qrt"] == [["m"]] * 3


@catches("copies are dropped with their view")
def test_isis_5_5_step_5_copies_outlive_their_view() -> None:
    """Erratum 000-17 (c): q has m, installs view 2 and keeps m: t, in view 1, may need it.

    s multicast m before it learned of view 2, and dies; only q got it, after its own flush.
    """
    play = Play()
    play.do(
        f"group of p q s t {ALL}", "s multicasts m", "x joins through p", "p receives all from x"
    )
    play.do("q and t receive Propose from p", "p receives Accept from q and t")
    play.do("q and t and x receive Decide from p", "s receives Propose and Decide from p")
    play.do("q receives m and Flush from s", "q receives all from p", "q receives all from t")
    play.do("q receives all from x")
    assert (play.views("q"), play.delivered("q")) == ([1, 2], ["m"])
    play.change_view(without="s")
    assert [play.delivered(who) for who in "pqt"] == [["m"]] * 3
    assert play.broken_promises() == []


@catches("late words of the failed count")
def test_isis_5_5_words_of_the_failed_are_dropped() -> None:
    """Erratum 000-17 (b): r is excluded, and what it multicast arrives at q after q's flush."""
    play = Play()
    play.do(f"group of p q r s {ALL}", "s multicasts a", "all is received", "r multicasts late")
    play.do("p suspects r", "q and s receive Propose from p", "p receives Accept from q and s")
    play.do("q receives Decide from p")
    assert play.do("q receives late from r") == ["nothing to do"]
    play.do("s receives Decide from p", "p and s receive all from q", "p and q receive all from s")
    play.do("q and s receive all from p")
    assert [play.delivered(who) for who in "pqs"] == [["a"]] * 3
    assert play.broken_promises() == []


@catches("unstable messages are not forwarded")
def test_isis_5_5_footnote_4_the_dead_may_have_delivered_more() -> None:
    """Erratum 000-17 (a): the ISIS flushes promise nothing about who installed and crashed then.

    s delivers m, installs view 2 with the flushes of the others and dies. The same steps with the
    view-atomic flush are harmless: s is not permitted to install before all have m.
    """
    play = Play()
    play.do(f"group of p q r s t {ALL}", "s multicasts m", "q crashes", "p suspects q")
    play.do("r and s and t receive Propose from p", "p receives Accept from r and t")
    play.do("r and s and t receive Decide from p", "s receives Flush from p and r and t")
    assert play.views("s") == [1, 2]
    play.change_view(without="s")
    assert play.broken_promises() == ["view-atomic"]

    other = Play()
    other.do("group of p q r s t", "s multicasts m", "r receives m from s", "q crashes")
    other.do(
        "p suspects q", "r and s and t receive Propose from p", "p receives Accept from r and t"
    )
    other.do("r and s and t receive Decide from p", "p receives Report from r and t")
    assert other.views("s") == [1]
    other.change_view(without="s")
    assert [other.delivered(who) for who in "prt"] == [["m"]] * 3
    assert other.broken_promises() == []


@catches("one flush is not waited for", "flush comes before the forwarded")
def test_isis_5_5_lemma_2_survivors_agree() -> None:
    """Random worlds with crashes, joins, leaves, wrong suspicions: survivors agree, and go on."""
    assert findings(range(20), "all-to-all") == []


@catches("own messages are not copied", "coordinator keeps copies to itself")
def test_isis_5_5_lemma_2_for_the_linear_flush() -> None:
    """The same with the coordinator's flush."""
    assert findings(range(60), "coordinator") == []


@catches("leaver is counted out too soon")
def test_isis_5_5_leaver_takes_part() -> None:
    """Erratum 000-17 (f): the leaver alone has m of a process that failed, and forwards it."""
    play = Play()
    play.do(f"group of p q r s t {ALL}", "s multicasts m", "r leaves", "p receives Ask from r")
    play.do("q and t receive Propose from p", "p receives Accept from q and t")
    play.do("q and t receive Decide from p", "r receives Propose and Decide from p")
    play.do("r receives m from s")
    play.change_view(without="s")
    assert [play.delivered(who) for who in "pqrt"] == [["m"]] * 4
    play.do("p beats", "q beats", "t beats", "the rest happens")
    assert play.views("r") == [1, 2]
    assert play.broken_promises() == []


@catches("dead leaver is waited for")
def test_isis_5_5_dead_leaver_is_not_waited_for() -> None:
    """Erratum 000-17 (f): a leaver that dies on the way is removed by one more view."""
    play = Play()
    play.do(f"group of p q r {ALL}", "p multicasts m", "all is received", "r leaves")
    play.do("p receives Ask from r", "q receives Propose from p", "p receives Accept from q")
    play.change_view(without="r")
    assert [play.views(who) for who in "pq"] == [[1, 2, 3]] * 2


# ABCAST when the token holder fails.


@catches("last list is not said")
def test_isis_5_5_last_list_before_the_flush() -> None:
    """Erratum 000-10: the holder delivered b before a and had not said so when the view came."""
    play = Play()
    play.do("group of p q r", "q multicasts a total", "r multicasts b total")
    play.do("p receives b from r", "p receives a from q")
    play.change_view()
    assert [play.delivered(who) for who in "pqr"] == [["b", "a"]] * 3
    assert play.broken_promises() == []


@catches("holder gives turns during the flush")
def test_isis_5_5_no_turn_during_the_flush() -> None:
    """Erratum 000-10: what reaches the holder after the news of a view gets no turn.

    If p gave turns on, it would deliver b before a, and q and r a before b, by sender.
    """
    play = Play()
    play.do("group of p q r s", "q multicasts a total", "r multicasts b total", "x joins through s")
    play.do("s receives JoinRequest from x", "p receives Ask from s", "s receives Propose from p")
    play.do("p receives Accept from s")
    play.do("q and r receive Propose from p", "p receives b and Accept from r")
    play.do("p receives a and Accept from q", "the rest happens")
    assert [play.delivered(who) for who in "pqrs"] == [["a", "b"]] * 4
    assert play.broken_promises() == []


@catches("left overs in order of receipt", "own left overs come first")
def test_isis_5_5_left_overs_in_one_order() -> None:
    """Erratum 000-11: the holder died with its turns; all sort alike, however things came."""
    play = Play()
    play.do("group of p q r s with a fixed token", "r multicasts b total", "q multicasts a total")
    play.do("r multicasts b2 total", "s receives b and b2 from r", "q receives b from r")
    play.change_view(without="p")
    orders = [play.delivered(who) for who in "qrs"]
    assert orders == [["a", "b", "b2"]] * 3
    assert play.broken_promises() == []


@catches("lost turns are waited for")
def test_isis_5_5_lost_turns_are_skipped() -> None:
    """Erratum 000-11: a turn was given to a message that died with its sender and the holder.

    p gives t's lost its turn first, and a its turn after that; everybody has the list.
    """
    play = Play()
    play.do("group of p q r s t u v with a fixed token", "t multicasts lost total")
    play.do(
        "q multicasts a total", "p receives lost from t", "p receives a from q", "p acknowledges"
    )
    play.do("q and r and s and u and v receive list from p", "t crashes", "p crashes")
    play.do(*(f"{who} suspects {dead}" for who in "qrsuv" for dead in "pt"), "the rest happens")
    assert [play.delivered(who) for who in "qrsuv"] == [["a"]] * 5
