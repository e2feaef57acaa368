"""The judge of deliveries: a word that is too early, in either way, is found; a right one not."""

from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.sim.deliveries import DeliveryBook

VIEW = View(GroupName("g"), ViewNumber(1), (ProcessId("a"), ProcessId("b")))


def book_of_one_message() -> DeliveryBook:
    """Return what happened when a multicast a message and delivered it, and b has not got it."""
    book = DeliveryBook()
    book.multicast("a", 1, 1)
    book.deliver("a", 1, "a", 1, 1)
    return book


def test_word_is_right_when_everybody_has_delivered() -> None:
    """Then there is nothing to complain about, and nothing that it does not know."""
    book = book_of_one_message()
    book.claim("a", VIEW, {"a": 0, "b": 0})
    book.deliver("b", 1, "a", 1, 1)
    assert "a knows of 0" in book.unknown("a", VIEW)
    book.claim("a", VIEW, {"a": 1, "b": 0})
    assert book.complaint == ""
    assert book.unknown("a", VIEW) == ""


def test_word_that_is_too_early_is_found() -> None:
    """At that moment, though it becomes true later."""
    book = book_of_one_message()
    book.claim("a", VIEW, {"a": 1, "b": 0})
    book.deliver("b", 1, "a", 1, 1)
    assert book.complaint == (
        "a says that 1 messages of a are delivered by all in view 1: by b, only 0 are"
    )


def test_concurrent_message_after_the_word_is_found() -> None:
    """B multicast it before it delivered a's message; a may not have said so before it came."""
    book = book_of_one_message()
    book.multicast("b", 1, 1)
    book.deliver("b", 1, "a", 1, 1)
    book.claim("a", VIEW, {"a": 1, "b": 0})
    assert book.complaint == ""
    book.deliver("a", 1, "b", 1, 1)
    assert "message 1 of b, which had delivered 0 before it" in book.complaint


def test_later_message_after_the_word_is_right() -> None:
    """What b multicasts after it has delivered a's message is no harm."""
    book = book_of_one_message()
    book.deliver("b", 1, "a", 1, 1)
    book.multicast("b", 1, 1)
    book.claim("a", VIEW, {"a": 1, "b": 0})
    book.deliver("a", 1, "b", 1, 1)
    assert book.complaint == ""


def test_views_are_judged_apart() -> None:
    """What was delivered in one view is not in another."""
    book = book_of_one_message()
    book.deliver("b", 1, "a", 1, 1)
    book.claim("a", View(VIEW.group, ViewNumber(2), VIEW.members), {"a": 1, "b": 0})
    assert "in view 2" in book.complaint
