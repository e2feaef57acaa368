"""What is measured of causal blocks comes to an end, with everything delivered."""

import pytest

from antiphon.bench.loss import measure_loss
from antiphon.bench.multicast import measure
from antiphon.bench.spec import Spec

pytestmark = pytest.mark.net


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_curve_has_a_rate_and_delays(loss: float) -> None:
    """Each member reads all that was multicast, also where a tenth is lost."""
    found = measure_loss(loss, 150, 1)
    assert found.per_s > 0
    assert 0 < found.p50_ms <= found.p99_ms
    assert not found.violations


@pytest.mark.parametrize("packet_bytes", [1_400, 60_000])
def test_processes_lose_nothing_on_loopback(packet_bytes: int) -> None:
    """Several windows' worth from each of four processes."""
    spec = Spec(
        system="antiphon-blocks", senders="all", payload_bytes=1000, form="batch",
        message_count=3_000, ports=(), packet_bytes=packet_bytes,
    )  # fmt: skip
    assert measure(spec).per_s > 0
