"""ISIS 5.3, multicast stability: its claims, as corrected by the errata.

k-stable: known to be received at k destinations   ..._k_stable_counts_destinations (000-16)
stable: known to be received at all                ..._stable_when_all_have_received_it
stable(p) is the end of a prefix                   ..._stable_number_is_the_end_of_a_prefix
receipt counts (5.5 says delivery: AMBIGUOUS)      ..._receipt_counts_not_delivery
stable(p) is told to the others                    ..._stable_number_is_told_to_the_others
it rides on multicasts                             ..._stable_number_rides_on_a_multicast
a message of its own if nothing else is sent       ..._silent_process_tells_it_too
every multicast becomes stable in the end          ..._everything_becomes_stable
its sender failed: only then it may not            ..._not_stable_if_its_sender_fails
stability numbers belong to a view                 ..._numbers_do_not_span_views (000-17 c)
"""

from tests.papers.play import Play, catches

ONE_BYTE = 1


def _beat_all(play: Play, names: str) -> None:
    """Let everybody say once what it has received, and everybody hear it."""
    play.do(*(f"{who} beats" for who in names), "the rest happens")


@catches("sender counts among the k")
def test_isis_5_3_k_stable_counts_destinations() -> None:
    """Erratum 000-16: the k that have it must not include the sender, or only k - 1 survive it."""
    play = Play()
    play.do("group of p q r s", "p multicasts m", "q receives m from p", "q beats")
    play.do("p receives Alive from q")
    assert [play.table.k_stable("p", k) for k in (1, 2, 3)] == [1, 0, 0]


@catches("most is taken for all")
def test_isis_5_3_stable_when_all_have_received_it() -> None:
    """The sender keeps its copy until the last destination has said that it has the message."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "q and r receive m from p", "q beats")
    play.do("p receives Alive from q")
    assert play.table.kept("p") == ONE_BYTE
    play.do("r beats", "p receives Alive from r")
    assert play.table.kept("p") == 0


@catches("most is taken for all")
def test_isis_5_3_stable_number_is_the_end_of_a_prefix() -> None:
    """It is the largest n such that all multicasts of the sender up to n are stable."""
    play = Play()
    play.do("group of p q r", *(f"p multicasts {name}" for name in "abc"))
    play.do("q receives a and b and c from p", "r receives a from p")
    play.do("q beats", "r beats", "p receives Alive from q and r")
    assert play.table.stable("p", "p") == 1
    assert play.table.kept("p") == 2 * ONE_BYTE


@catches("only deliveries are acknowledged")
def test_isis_5_3_receipt_counts_not_delivery() -> None:
    """5.5 (5) says delivery; receipt is enough: what is held at r is not lost with its sender."""
    play = Play()
    play.do("group of p q r", "p multicasts a", "q receives a from p", "q multicasts b")
    play.do("r receives b from q", "p receives b from q", "r beats", "p beats")
    assert play.delivered("r") == []
    play.do("q receives Alive from r and p")
    assert play.table.stable("q", "q") == 1


@catches("stability is kept secret")
def test_isis_5_3_stable_number_is_told_to_the_others() -> None:
    """Who received the message keeps a copy until its sender says that it is stable."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "q and r receive m from p")
    play.do("q beats", "r beats", "p receives Alive from q and r")
    assert [play.table.kept(who) for who in "qr"] == [ONE_BYTE] * 2
    assert play.do("p beats") == ["p sends Alive in view 1, received p=1, stable 1 to q r"]
    play.do("q and r receive Alive from p")
    assert [play.table.kept(who) for who in "qr"] == [0, 0]


@catches("stability is kept secret")
def test_isis_5_3_stable_number_rides_on_a_multicast() -> None:
    """If the last word about it is long ago, the number goes along with the next multicast."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "q and r receive m from p")
    play.do("q beats", "r beats", "p receives Alive from q and r")
    assert play.do("p multicasts n")[0].endswith("stable 1 to q r")
    play.do("q receives all from p")
    assert play.table.kept("q") == ONE_BYTE, "n is not stable, m is"


@catches("stability is kept secret", "nothing ever becomes stable")
def test_isis_5_3_silent_process_tells_it_too() -> None:
    """Without anything to multicast, the number goes out with the heartbeat."""
    play = Play()
    play.do("group of p q r", "p multicasts m", "300 ms pass")
    assert [play.table.kept(who) for who in "pqr"] == [ONE_BYTE, 0, 0], "nobody has it yet"
    play.do("the rest happens")
    _beat_all(play, "qr")
    _beat_all(play, "p")
    assert [play.table.kept(who) for who in "pqr"] == [0, 0, 0]


@catches("nothing ever becomes stable")
def test_isis_5_3_everything_becomes_stable() -> None:
    """If channels lose nothing and nobody fails, no copy is kept for ever."""
    play = Play()
    play.do("group of p q r s")
    for who in "pqrs":
        play.do(f"{who} multicasts {who}1 {who}2", "all is received", f"{who} multicasts {who}3")
    play.do("all is received")
    _beat_all(play, "pqrs")
    _beat_all(play, "pqrs")
    assert [play.table.kept(who) for who in "pqrs"] == [0] * 4


@catches("only own messages are kept")
def test_isis_5_3_not_stable_if_its_sender_fails() -> None:
    """A message that reached q only, of a sender that died: q keeps it, whatever the others say."""
    play = Play()
    play.do("group of p q r s", "s multicasts m", "q receives m from s")
    play.do("p beats", "r beats", "q receives Alive from p and r")
    play.do("s crashes")
    assert play.table.kept("q") == ONE_BYTE
    play.do("p suspects s", "the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["m"]] * 3, "that is what it was kept for"


@catches("stability spans views")
def test_isis_5_3_numbers_do_not_span_views() -> None:
    """Erratum 000-17 (c): a number of the old view says nothing of the messages of the new one.

    q's Alive about view 1 arrives when p is in view 2 and has multicast there.
    """
    play = Play()
    play.do("group of p q by the all-to-all flush", "p multicasts a", "q receives a from p")
    play.do("x joins through p", "p receives JoinRequest from x", "q receives Propose from p")
    play.do(
        "p receives Accept from q", "q receives Decide from p", "q beats", "x receives all from p"
    )
    play.do("p receives Flush from q and x", "p multicasts b")
    assert play.views("p") == [1, 2]
    play.do("p receives Alive from q")
    assert [play.table.k_stable("p", k) for k in (1, 2)] == [0, 0]
