"""The measurement of calls measures: four processes each, a latency for every call."""

import pytest

from antiphon.bench.calls import measure_calls

pytestmark = pytest.mark.net


def test_calls_are_measured_beside_a_raw_echo() -> None:
    """All three systems answer, and the ratio is of what the detail says."""
    (figure,) = measure_calls(repeats=1, scale=0.02)
    assert figure.value > 0
    assert figure.detail["raw_p50_us"] > 0
    assert figure.detail["raw-protocol_p50_us"] > 0
    assert figure.detail["antiphon_p50_us"] > 0
