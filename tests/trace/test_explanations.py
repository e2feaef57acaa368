"""What verdicts say, pinned word for word: two judges that speak alike cannot correct each other.

A place is a letter here: steps are shown as "place: sentence".
"""

import pytest

from antiphon.trace import explanations as told
from antiphon.trace.explanations import BallotEvent, Ending, Explanation, MessageEvent, ViewEvent
from antiphon.trace.verdict import Link, MessageId, Property, Violation

FIRST = MessageId("alice", 1, "choir", 2)
SECOND = MessageId("bob", 5, "choir", 2)
WHERE = " (group choir, view 2)"


def multicast(message: MessageId, place: str) -> MessageEvent[str]:
    """Return the multicast of a message."""
    return MessageEvent(message.sender, message, is_multicast=True, place=place)


def delivery(process: str, message: MessageId, place: str) -> MessageEvent[str]:
    """Return a delivery."""
    return MessageEvent(process, message, is_multicast=False, place=place)


def view(process: str, number: int, place: str, *members: str) -> ViewEvent[str]:
    """Return the installation of a view."""
    return ViewEvent(process, "choir", number, members, place)


A_SENT, B_SENT = multicast(FIRST, "a"), multicast(SECOND, "b")
BOB_HAS_FIRST = delivery("bob", FIRST, "h")
WRONG = delivery("carol", SECOND, "w")
STAYED = Ending("carol", None, "z")
WENT_ON = Ending("carol", view("carol", 3, "v"), "z")
REFUSED = BallotEvent("bob", is_vote=True, says="no", place="n")
COMMITTED = BallotEvent("carol", is_vote=False, says="commit", place="c")
ABORTED = BallotEvent("dave", is_vote=False, says="abort", place="d")


def order(known: MessageEvent[str] | None, *, is_never: bool) -> Explanation[str]:
    """Explain that carol delivered the second message before, or without, the first."""
    return told.explain_order(Property.CAUSAL, WRONG, B_SENT, A_SENT, known, is_never=is_never)


CASES: dict[str, tuple[Explanation[str], Property, str, list[str]]] = {
    "early, as the sender had delivered the other": (
        order(BOB_HAS_FIRST, is_never=False),
        Property.CAUSAL,
        (
            "carol delivered message 5 of bob, but only later message 1 of alice, which bob had "
            f"delivered before multicasting it{WHERE}"
        ),
        [
            "a: alice multicast message 1 of alice",
            "h: bob delivered message 1 of alice",
            "b: bob multicast message 5 of bob",
            "w: carol delivered message 5 of bob, but message 1 of alice only later",
        ],
    ),
    "orphan of the sender's own": (
        order(None, is_never=True),
        Property.CAUSAL,
        (
            "carol delivered message 5 of bob, but never message 1 of alice, which bob had "
            f"multicast earlier{WHERE}"
        ),
        [
            "a: alice multicast message 1 of alice",
            "b: bob multicast message 5 of bob",
            "w: carol delivered message 5 of bob, but message 1 of alice never",
        ],
    ),
    "two orders": (
        told.explain_two_orders(
            (WRONG, delivery("carol", FIRST, "x")),
            (delivery("dave", FIRST, "y"), delivery("dave", SECOND, "z")),
        ),
        Property.TOTAL,
        (
            "carol delivered message 5 of bob before message 1 of alice, but dave delivered "
            f"message 1 of alice before message 5 of bob{WHERE}"
        ),
        [
            "y: dave delivered message 1 of alice",
            "z: dave delivered message 5 of bob",
            "w: carol delivered message 5 of bob",
            "x: carol delivered message 1 of alice only after message 5 of bob",
        ],
    ),
    "duplicate": (
        told.explain_duplicate(WRONG, delivery("carol", SECOND, "x")),
        Property.NO_DUPLICATE,
        f"carol delivered message 5 of bob a second time{WHERE}",
        ["w: carol delivered message 5 of bob", "x: carol delivered message 5 of bob again"],
    ),
    "never multicast": (
        told.explain_creation(WRONG, None),
        Property.NO_CREATION,
        f"carol delivered message 5 of bob, which bob never multicast{WHERE}",
        ["w: carol delivered message 5 of bob, which bob never multicast"],
    ),
    "delivered before it was multicast": (
        told.explain_creation(delivery("bob", SECOND, "w"), B_SENT),
        Property.NO_CREATION,
        f"bob delivered message 5 of bob before multicasting it{WHERE}",
        [
            "b: bob multicast message 5 of bob",
            "w: bob delivered message 5 of bob before multicasting it",
        ],
    ),
    "disagreement": (
        told.explain_disagreement(BOB_HAS_FIRST, A_SENT, STAYED),
        Property.AGREEMENT,
        f"carol never delivered message 1 of alice, which bob delivered{WHERE}",
        [
            "a: alice multicast message 1 of alice",
            "h: bob delivered message 1 of alice",
            "z: carol never delivered message 1 of alice up to the end of its record",
        ],
    ),
    "stall": (
        told.explain_stall(A_SENT, STAYED),
        Property.LIVENESS,
        f"carol never delivered message 1 of alice, which alice multicast{WHERE}",
        [
            "a: alice multicast message 1 of alice",
            "z: carol never delivered message 1 of alice up to the end of its record",
        ],
    ),
    "own missing": (
        told.explain_own_missing(multicast(MessageId("carol", 4), "m"), WENT_ON),
        Property.SELF_DELIVERY,
        "carol never delivered message 4 of carol, which it had multicast itself",
        [
            "m: carol multicast message 4 of carol",
            "v: carol installed view 3 without having delivered message 4 of carol",
        ],
    ),
    "not uniform, went on": (
        told.explain_not_uniform(BOB_HAS_FIRST, None, WENT_ON),
        Property.UNIFORM,
        (
            "carol never delivered message 1 of alice, which is uniform and which bob delivered, "
            f"and went on to view 3{WHERE}"
        ),
        [
            "h: bob delivered message 1 of alice",
            "v: carol installed view 3 without having delivered message 1 of alice",
        ],
    ),
    "not uniform, stayed": (
        told.explain_not_uniform(BOB_HAS_FIRST, A_SENT, STAYED),
        Property.UNIFORM,
        (
            "carol never delivered message 1 of alice, which is uniform and which bob delivered"
            f"{WHERE}"
        ),
        [
            "a: alice multicast message 1 of alice",
            "h: bob delivered message 1 of alice",
            "z: carol never delivered message 1 of alice up to the end of its record",
        ],
    ),
    "not atomic": (
        told.explain_not_atomic(BOB_HAS_FIRST, A_SENT, view("bob", 3, "u"), WENT_ON),
        Property.VIEW_ATOMIC,
        (
            "carol never delivered message 1 of alice, which bob delivered, and both went on to "
            f"view 3{WHERE}"
        ),
        [
            "a: alice multicast message 1 of alice",
            "h: bob delivered message 1 of alice",
            "u: bob installed view 3",
            "v: carol installed view 3 without having delivered message 1 of alice",
        ],
    ),
    "other members": (
        told.explain_other_members(view("alice", 2, "r", "alice"), view("carol", 2, "w", "carol")),
        Property.VIEWS,
        "carol installed view 2 of group choir with carol, but alice with alice",
        ["r: alice installed view 2 with alice", "w: carol installed view 2 with carol"],
    ),
    "wrong number": (
        told.explain_wrong_number(view("carol", 2, "r", "carol"), view("carol", 4, "w", "carol")),
        Property.VIEWS,
        "carol installed view 4 of group choir after view 2, not view 3",
        ["r: carol installed view 2", "w: carol installed view 4"],
    ),
    "not listed": (
        told.explain_not_listed(view("carol", 2, "w", "alice", "bob")),
        Property.VIEWS,
        "carol installed view 2 of group choir, of which it is not a member",
        ["w: carol installed view 2 with alice, bob"],
    ),
    "wrong view": (
        told.explain_wrong_view(WRONG, B_SENT, view("carol", 3, "v", "carol")),
        Property.SENDING_VIEW,
        "carol delivered message 5 of bob, of view 2 of group choir, while in view 3",
        [
            "b: bob multicast message 5 of bob",
            "v: carol installed view 3",
            "w: carol delivered message 5 of bob, of view 2 of group choir, while in view 3",
        ],
    ),
    "before any view": (
        told.explain_wrong_view(B_SENT, None, None),
        Property.SENDING_VIEW,
        "bob multicast message 5 of bob, of view 2 of group choir, before it had installed a view",
        [
            (
                "b: bob multicast message 5 of bob, of view 2 of group choir, before it had "
                "installed a view"
            )
        ],
    ),
    "commit against a vote": (
        told.explain_decision("transaction 1 of alice", "choir", COMMITTED, REFUSED),
        Property.COMMIT,
        "carol decided to commit transaction 1 of alice, on which bob voted no (group choir)",
        [
            "n: bob voted no on transaction 1 of alice",
            "c: carol decided to commit transaction 1 of alice, on which bob voted no",
        ],
    ),
    "two decisions": (
        told.explain_decision("transaction 1 of alice", "", ABORTED, COMMITTED),
        Property.COMMIT,
        "dave decided to abort transaction 1 of alice, but carol decided to commit it",
        [
            "c: carol decided to commit transaction 1 of alice",
            "d: dave decided to abort transaction 1 of alice, but carol decided to commit it",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_explanation_says_these_words(case: str) -> None:
    """Property, sentence, and the events that lead to it, the wrong one last, are these."""
    explanation, which, text, steps = CASES[case]
    assert explanation.property is which
    assert explanation.text == text
    assert [f"{place}: {says}" for place, says in explanation.steps] == steps


def test_every_explanation_is_pinned() -> None:
    """There is a case above for each property that can be broken by itself."""
    pinned = {explanation.property for explanation, *_ in CASES.values()}
    told_by_order = {Property.FIFO, Property.NO_ORPHAN, Property.TOTAL_CAUSAL}
    assert pinned | told_by_order == set(Property)


def test_violation_names_where_it_shows_and_where_it_is_recorded() -> None:
    """What was missing is told of the process that did without it; places become lines."""
    explanation = told.explain_disagreement(BOB_HAS_FIRST, None, STAYED)
    found = explanation.written("run", lambda place, text: Link("p", ord(place), text))
    assert found == Violation(
        property=Property.AGREEMENT,
        process="carol",
        message=FIRST,
        earlier=None,
        chain=(
            Link("p", ord("h"), "bob delivered message 1 of alice"),
            Link(
                "p",
                ord("z"),
                "carol never delivered message 1 of alice up to the end of its record",
            ),
        ),
        text=explanation.text,
        run="run",
    )


def test_order_names_the_earlier_message() -> None:
    """Orders name both messages: the one that came too early, and the one that had to come."""
    for explanation in (order(None, is_never=True), CASES["two orders"][0]):
        assert (explanation.process, explanation.message) == ("carol", SECOND)
        assert explanation.earlier == FIRST
