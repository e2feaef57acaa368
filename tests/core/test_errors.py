"""Errors: who is to blame is a type, and one name catches them all."""

import pytest

from antiphon.core import errors


@pytest.mark.parametrize(
    "kind",
    [
        errors.UsageError,
        errors.BackPressureError,
        errors.ExcludedError,
        errors.PeerError,
        errors.TraceError,
    ],
)
def test_every_error_is_caught_by_the_root(kind: type[errors.AntiphonError]) -> None:
    """Whoever catches AntiphonError misses none of ours."""
    assert issubclass(kind, errors.AntiphonError)


def test_back_pressure_is_a_kind_of_usage_error() -> None:
    """A caller that multicasts too fast has asked for something that cannot be done."""
    assert issubclass(errors.BackPressureError, errors.UsageError)


def test_peers_and_callers_are_never_confused() -> None:
    """No error blames two parties."""
    assert not issubclass(errors.PeerError, errors.UsageError)
    assert not issubclass(errors.TraceError, errors.UsageError)
    assert not issubclass(errors.PeerError, errors.TraceError)
