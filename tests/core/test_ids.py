"""Names and incarnations of processes."""

import pytest

from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId, check_name


@pytest.mark.parametrize("name", ["a", "A-1.b_c", "_x", "0", "x" * 64])
def test_plain_name_is_returned_unchanged(name: str) -> None:
    """What can be a folder and a column passes."""
    assert check_name(name, "process") == name


@pytest.mark.parametrize(
    "name", ["", ".hidden", "-option", "a b", "a/b", "../up", "x" * 65, "ä", "a\n", "a~2"]
)
def test_odd_name_is_refused(name: str) -> None:
    """The sentence says what was meant by it, shows it, and says what would do."""
    with pytest.raises(UsageError, match=r"^process '.*' is not usable: use 1 to 64 letters"):
        check_name(name, "process")


def test_first_incarnation_goes_by_the_bare_name() -> None:
    """Most processes live once, and their number would only be noise."""
    assert str(ProcessId("alice")) == "alice"


def test_later_incarnation_shows_its_number() -> None:
    """A process that came back is another one, and is seen to be."""
    assert str(ProcessId("alice", 2)) == "alice~2"
    assert ProcessId("alice", 2) != ProcessId("alice")
