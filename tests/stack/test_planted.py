"""Planted bugs of the endpoint are noticed by its own tests, not only by random worlds."""

from collections.abc import Callable

import pytest
from tests.membership.hands import C
from tests.mutants.planted import MUTANTS, planted
from tests.stack import (
    test_endpoint,
    test_endpoint_flow,
    test_flow_control,
    test_send_queue,
    test_stalls,
)

from antiphon.stack.inputs import PeerFilled

NOTICED_BY: dict[str, Callable[[], None]] = {
    "queued letter overtakes a queued run": (
        test_endpoint.test_program_order_is_kept_while_a_letter_is_not_acknowledged
    ),
    "runs of different orders are merged in the queue": (
        test_send_queue.test_runs_that_follow_each_other_in_the_same_way_leave_as_one
    ),
    "acknowledgement that nobody asked for is never sent": (
        test_endpoint.test_reply_is_acknowledged_later_or_when_somebody_asks
    ),
    "acknowledgement is never asked for": (
        test_endpoint.test_program_order_is_kept_while_a_letter_is_not_acknowledged
    ),
    "withheld receipts are never said later": (
        test_flow_control.test_withheld_receipts_are_said_when_they_may_be
    ),
    "full channel is never forgotten": lambda: (
        test_endpoint_flow.test_senders_wait_while_a_channel_is_full(PeerFilled(C, is_full=False))
    ),
    "sender is admitted while the view is left": (
        test_endpoint.test_nothing_is_admitted_or_sent_while_a_view_is_left
    ),
    "member that moves is given up anyway": (
        test_stalls.test_only_who_does_not_move_at_all_is_given_up
    ),
}


@pytest.mark.parametrize("name", NOTICED_BY)
def test_planted_bug_is_noticed(name: str) -> None:
    """The test of what was promised fails with the bug, and passes without."""
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]
    notice = NOTICED_BY[name]
    notice()
    with planted(mutant), pytest.raises((AssertionError, ValueError)):
        notice()
