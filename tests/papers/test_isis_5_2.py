"""ISIS 5.2, the causal ABCAST protocol: its claims, as corrected by the errata.

the total order extends causality            ..._order_extends_causality
(1) nobody but the holder delivers at once    ..._undeliverable_until_ordered
(1) what follows an ABCAST waits behind it    ..._later_cbcast_waits_behind_it
(1) what is concurrent to it does not wait    ..._concurrent_cbcast_does_not_wait
(2) the holder delivers as they come          ..._holder_delivers_as_with_cbcast
(3) one list may serve several messages       ..._list_serves_several_messages
(3) it goes before, or on, what follows       ..._list_rides_on_the_next_multicast
(4) the list is an ordinary CBCAST: WRONG     ..._list_counts_on_receipt (000-5, 000-6)
(4) all deliver in the order of the holder    ..._all_deliver_in_the_order_of_the_list
(5) a turn is waited for                      ..._turn_is_waited_for
own messages need no delay: WRONG             ..._own_messages_wait_for_their_turn (000-7)
the token may move: INCOMPLETE                ..._new_holder_orders_what_waits (000-9)
cost: 1 CBCAST where the token is             ..._costs_one_multicast_where_the_token_is
cost: 1 + 1/k elsewhere                       ..._costs_one_and_a_part_elsewhere
"""

from tests.papers.play import Play, catches, findings

FIXED = "group of p q r with a fixed token"


@catches("own causal message overtakes own total one", "list counts when delivered")
def test_isis_5_2_order_extends_causality() -> None:
    """Let m -> m' -> m'', of which m and m'' are ABCASTs of two senders: all deliver m first."""
    play = Play()
    play.do(
        "group of p q r s with a fixed token", "q multicasts m total", "q multicasts m'",
        "p receives all from q", "p acknowledges", "r receives list from p",
        "r receives m and m' from q", "r multicasts m'' total", "s receives m'' from r",
        "the rest happens",
    )  # fmt: skip
    assert [play.delivered(who) for who in "pqrs"] == [["m", "m'", "m''"]] * 4
    assert play.broken_promises() == []


@catches("own message needs no turn")
def test_isis_5_2_step_1_undeliverable_until_ordered() -> None:
    """Everybody but the holder holds an ABCAST whose past it has delivered, its sender too."""
    play = Play()
    play.do(FIXED, "q multicasts a total", "r receives a from q")
    assert (play.holds("q"), play.holds("r")) == (["a"], ["a"])
    play.do("p receives a from q")
    assert [play.delivered(who) for who in "pqr"] == [["a"], [], []]


@catches("own causal message overtakes own total one")
def test_isis_5_2_step_1_later_cbcast_waits_behind_it() -> None:
    """What q multicasts after its ABCAST is not delivered before that is, anywhere."""
    play = Play()
    play.do(FIXED, "q multicasts a total", "q multicasts c", "r receives a and c from q")
    assert [play.delivered(who) for who in "qr"] == [[], []]
    play.do("the rest happens")
    assert [play.delivered(who) for who in "pqr"] == [["a", "c"]] * 3


@catches("abcast holds up everybody")
def test_isis_5_2_step_1_concurrent_cbcast_does_not_wait() -> None:
    """Process r multicasts c while it holds q's ABCAST: the two are concurrent."""
    play = Play()
    play.do("group of p q r s with a fixed token", "q multicasts a total", "r receives a from q")
    play.do("r multicasts c", "s receives a from q", "s receives c from r")
    assert [play.delivered(who) for who in "rs"] == [["c"], ["c"]]
    assert play.holds("s") == ["a"]


@catches("list counts when delivered")
def test_isis_5_2_step_2_holder_delivers_as_with_cbcast() -> None:
    """The holder delivers at once what has its past, and holds the rest: its order is causal."""
    play = Play()
    play.do(FIXED, "q multicasts c", "r receives c from q", "r multicasts a total")
    assert play.do("p receives a from r") == ["p holds a, waiting for c"]
    play.do("p receives c from q")
    assert play.delivered("p") == ["c", "a"]
    play.do("p acknowledges", "q receives a from r", "q receives list from p")
    play.do("q multicasts b total", "p receives b from q", "r receives list from p")
    assert play.delivered("p") == ["c", "a", "b"]
    assert play.delivered("r") == ["c", "a"]


@catches("one list for each message")
def test_isis_5_2_step_3_list_serves_several_messages() -> None:
    """Three ABCASTs of two senders are given their turns by one list."""
    play = Play()
    play.do(FIXED, "q multicasts a total", "r multicasts b total", "q multicasts c total")
    play.do("p receives a from q", "p receives b from r", "p receives c from q", "p acknowledges")
    play.do("q receives all from r", "q receives list from p")
    assert play.count("list") == 2, "one list, to two processes"
    assert play.delivered("q") == ["a", "b", "c"]


@catches("list waits for its own message")
def test_isis_5_2_step_3_list_rides_on_the_next_multicast() -> None:
    """The turns given so far go along with whatever the holder multicasts next.

    Erratum 000-8: with the printed step 4 that is needed, or c waits for a, a for the list, and the
    list for c; with lists that count on receipt it only saves a message.
    """
    play = Play()
    play.do(FIXED, "q multicasts a total", "p receives a from q")
    assert play.do("p multicasts c")[0].endswith("turn 1 is q's up to 1")
    play.do("the rest happens")
    assert play.count("list") == 0
    assert [play.delivered(who) for who in "pqr"] == [["a", "c"]] * 3


@catches("list counts when delivered")
def test_isis_5_2_step_4_list_counts_on_receipt() -> None:
    """Errata 000-5 and 000-6: as an ordinary CBCAST the list would wait for what waits for it.

    p's list names a, and is stamped with a and c, which p has delivered. c waits for a.
    """
    play = Play()
    play.do(FIXED, "q multicasts a total", "q multicasts c", "p receives a and c from q")
    play.do("p acknowledges", "r receives a and c from q", "r receives list from p")
    assert play.delivered("r") == ["a", "c"]
    play.do("the rest happens")
    assert play.broken_promises() == []


@catches("any turn is the next", "left overs in order of receipt")
def test_isis_5_2_step_4_all_deliver_in_the_order_of_the_list() -> None:
    """In random worlds with crashes, joins and moving tokens, all deliver ABCASTs in one order."""
    assert findings(range(60)) == []


@catches("any turn is the next")
def test_isis_5_2_step_5_turn_is_waited_for() -> None:
    """Process r knows that b comes before a, and has only a: it waits for b."""
    play = Play()
    play.do("group of p q r s with a fixed token", "q multicasts a total", "s multicasts b total")
    play.do("p receives b from s", "p receives a from q", "p acknowledges")
    play.do("r receives list from p", "r receives a from q")
    assert play.delivered("r") == []
    play.do("r receives b from s")
    assert play.delivered("r") == ["b", "a"]


@catches("own message needs no turn", "own causal message overtakes own total one")
def test_isis_5_2_own_messages_wait_for_their_turn() -> None:
    """Erratum 000-7: "need not delay messages received from itself" does not hold with ABCAST."""
    play = Play()
    play.do(FIXED, "q multicasts a total", "q multicasts c")
    assert play.holds("q") == ["c", "a"]
    play.do("the rest happens")
    assert play.delivered("q") == ["a", "c"]


def _move_the_token(play: Play) -> None:
    """Let q multicast so much that p passes the token on to it."""
    play.do("group of p q r", *(f"q multicasts q{number} total" for number in range(1, 9)))
    play.do("p receives all from q", "p acknowledges")


@catches("new holder looks at new messages only", "token is lost on the way")
def test_isis_5_2_new_holder_orders_what_waits() -> None:
    """Erratum 000-9: it "treats incoming ABCASTs"; those that came before must get turns too."""
    play = Play()
    _move_the_token(play)
    play.do("r multicasts b total", "q receives b from r", "q multicasts q9 total")
    play.do("q receives list from p", "the rest happens")
    assert play.delivered("p")[8:] == ["b", "q9"]
    assert play.delivered("r") == play.delivered("q") == play.delivered("p")


@catches("token is lost on the way", "successor begins on receipt")
def test_isis_5_2_costs_one_multicast_where_the_token_is() -> None:
    """Once the token has come to q, an ABCAST of q is one multicast, and q delivers it at once.

    It comes with the delivery of the list that names q, not with its receipt: q must know all
    turns that were given before.
    """
    play = Play()
    play.do("group of p q r", *(f"q multicasts q{number} total" for number in range(1, 9)))
    play.do("r multicasts c", "p receives c from r", "p receives all from q", "p acknowledges")
    play.do("q receives list from p")
    assert play.do("q multicasts early total")[0] == "q multicasts 9: early, total"
    play.do("q receives c from r", "the rest happens")
    before = play.multicast_count()
    play.do("q multicasts q10 total")
    assert play.delivered("q")[-1] == "q10"
    play.do("the rest happens")
    assert play.multicast_count() == before + 1


@catches("one list for each message", "token wanders")
def test_isis_5_2_costs_one_and_a_part_elsewhere() -> None:
    """With k ABCASTs to a list, and a token that does not move, each costs 1 + 1/k multicasts."""
    for k in (1, 4, 10):
        play = Play()
        play.do(FIXED, *(f"r multicasts m{number} total" for number in range(k)))
        play.do("the rest happens", *(f"q multicasts n{number} total" for number in range(k)))
        play.do("the rest happens")
        assert play.multicast_count() == 2 * (k + 1), k
