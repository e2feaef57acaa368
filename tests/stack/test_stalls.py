"""Stalls: who does not move at all while something waits is given up."""

from antiphon.core.ids import ProcessId
from antiphon.stack.stalls import Awaited, Stalls

B = ProcessId("b")
SECOND_US = 1_000_000


def test_only_who_does_not_move_at_all_is_given_up() -> None:
    """A debtor that acknowledges now and then, however little, has its time begun anew."""
    stall = Stalls(30_000_000)
    debt: Awaited = (B, "letter")
    for second in range(0, 100, 20):
        assert stall.look(second * SECOND_US, {debt: second}) == []
    assert stall.look(109 * SECOND_US, {debt: 80}) == []
    assert stall.look(110 * SECOND_US, {debt: 80}) == [
        (B, "it has not acknowledged a letter for 30 s")
    ]
    assert stall.look(111 * SECOND_US, {}) == []
    assert stall.look(112 * SECOND_US, {debt: 80}) == [], "nobody has waited in between"
