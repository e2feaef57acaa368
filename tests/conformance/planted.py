"""The mistake that the conformance test must find on every arm: deliver on receipt."""

from antiphon.ordering import vector_clock


def plant() -> None:
    """Break the machine of this process for good."""
    vector_clock.VectorClock.lack = lacks_nothing  # type: ignore[method-assign, assignment]


def lacks_nothing(_group: object, _run: object) -> None:
    """Say that no run waits for anything."""
