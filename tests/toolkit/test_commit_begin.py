"""Beginning a transaction: what is refused at once, at no cost, and whom it may need."""

from typing import Any

import pytest
from tests.toolkit.test_commit import A, Group

from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.toolkit.commit import OPEN_MAX, Commit, Multicast, Outcome

ODD: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "one name": "anna",
    "bytes": b"anna",
    "a number in a list": [5],
    "nobody": [None],
    "no letters": ["\udc80"],
    "empty": [""],
    "too long": ["x" * 65],
    "a space": ["anna ben"],
    "incarnation 1, which shows no number": ["anna~1"],
    "incarnation 0": ["anna~0"],
    "an incarnation in words": ["anna~two"],
    "other digits": ["anna~\u0662"],
    "no name": ["~2"],
    "two incarnations": ["anna~2~3"],
    "one of several": ["anna", "ben", ""],
}


@pytest.mark.parametrize("what", ODD)
def test_needs_that_name_nobody_are_refused_and_count_for_nothing(what: str) -> None:
    """However often that is tried, as many transactions may be open as before."""
    machine = Commit(A)
    for _ in range(OPEN_MAX + 1):
        with pytest.raises(UsageError, match=r"names nobody: give the names|give a list of names"):
            machine.begin(b"", ODD[what])
    transaction, _ = machine.begin(b"", ["anna", "anna~2", "anna~4294967295", "x" * 64])
    assert transaction.number == 1


def test_beginning_above_the_limit_of_a_message_is_refused_and_counts_for_nothing() -> None:
    """Body and names together are measured as they go out; just below, they do."""
    machine = Commit(A)
    names = [f"n{number:02}" + "x" * 60 for number in range(100)]
    (least,) = machine.begin(b"", names)[1]
    assert isinstance(least, Multicast)
    room = PAYLOAD_BYTES_MAX - len(least.payload) - 3  # the length of a long body takes three more
    for _ in range(3):
        with pytest.raises(UsageError, match="at most 16777216 can be multicast, so shorten them"):
            machine.begin(bytes(room + 1), names)
    transaction, (most,) = machine.begin(bytes(room), names)
    assert isinstance(most, Multicast)
    assert len(most.payload) == PAYLOAD_BYTES_MAX
    assert transaction.number == 2


def test_single_incarnation_of_a_process_can_be_needed() -> None:
    """A later incarnation is not the one that is asked for; a bare name means any."""
    second = ProcessId("b", 2)
    group = Group(A, second)
    group.votes = {A: True, second: True}
    group.begin(A, needs=("a", "b~2"))
    assert group.decided[A].outcome is Outcome.COMMIT
    group.begin(A, needs=("b~3",))
    assert group.decided[A].why == "b~3 is needed, and is not in the group"
