"""Runs: numbers, cutting, equality."""

import pytest

from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Letter, Order, Run, SetsOrder


def _run(first: int = 5, payloads: tuple[bytes, ...] = (b"a", b"b", b"c")) -> Run:
    stamp = ((0, 4), (2, 1))
    return Run(GroupNumber(1), ViewNumber(1), Rank(1), first, Order.CAUSAL, stamp, list(payloads))


def test_last_number_follows_from_first_and_count() -> None:
    """Numbers of a run are consecutive."""
    run = _run()
    assert (run.first, run.count, run.last) == (5, 3, 7)


def test_rest_of_a_run_keeps_everything_but_what_was_cut_off() -> None:
    """The rest has the same stamp: it was multicast knowing the same."""
    assert _run().after(5) == _run(6, (b"b", b"c"))
    assert _run().after(6) == _run(7, (b"c",))


def test_rest_of_a_run_asks_for_what_the_run_asked_for() -> None:
    """Uniform delivery, the port and the sets-order list go with every part."""
    order = SetsOrder(3, ((0, 4), (2, 1)), 2)
    run = Run(
        GroupNumber(1), ViewNumber(1), Rank(1), 5, Order.TOTAL, (), [b"a", b"b"],
        uniform=True, port=2, sets_order=order,
    )  # fmt: skip
    rest = run.after(5)
    assert (rest.uniform, rest.port, rest.sets_order) == (True, 2, order)
    assert (rest.order, rest.is_gated, rest.byte_count) == (Order.TOTAL, True, 1)


@pytest.mark.parametrize(
    ("order", "uniform", "is_gated"),
    [
        (Order.FIFO, False, False),
        (Order.CAUSAL, False, False),
        (Order.TOTAL, False, True),
        (Order.FIFO, True, True),
        (Order.CAUSAL, True, True),
        (Order.TOTAL, True, True),
    ],
)
def test_run_is_gated_if_it_may_wait_for_more_than_its_past(
    order: Order, uniform: bool, is_gated: bool
) -> None:
    """Total order waits for turns, uniform delivery for marks; nothing else waits at the gate."""
    run = Run(GroupNumber(1), ViewNumber(1), Rank(1), 1, order, (), [b""], uniform=uniform)
    assert run.is_gated is is_gated


def test_letter_is_a_run_that_can_be_told_apart() -> None:
    """Machines treat it as a run of one message, drivers as a letter."""
    letter = Letter(GroupNumber(1), ViewNumber(1), Rank(1), 5, Order.CAUSAL, (), [b"a"])
    assert isinstance(letter, Run)
    assert type(letter) is not Run
    assert not letter.is_gated


@pytest.mark.parametrize("number", [4, 7])
def test_cut_that_leaves_one_side_empty_is_an_error(number: int) -> None:
    """Nothing and everything are for the caller to tell."""
    with pytest.raises(AssertionError, match="both sides"):
        _run().after(number)


def test_cutting_leaves_the_original_alone() -> None:
    """Processes of one simulation share a run, so nobody may change it."""
    run = _run()
    run.after(5)
    assert run == _run()


@pytest.mark.parametrize("field", Run.__slots__)
def test_runs_that_differ_in_one_field_are_unequal(field: str) -> None:
    """Equality looks at every field."""
    other = _run()
    setattr(other, field, "something else")
    assert other != _run()


def test_run_is_unequal_to_anything_else() -> None:
    """Also to a tuple of the same values."""
    assert _run() != (1, 1, 1, 5)


def test_run_cannot_be_hashed() -> None:
    """It holds a list; by its identity it would be found where an equal one is not."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(_run())


def test_run_shows_who_and_which_numbers() -> None:
    """What a failing test prints is enough to find the run, and no payload floods it."""
    assert repr(_run()) == (
        "Run(group=1, view=1, sender=1, numbers=5..7, order=CAUSAL, stamp=((0, 4), (2, 1)))"
    )
