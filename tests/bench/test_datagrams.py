"""Meshes of datagrams that are measured: everything that is sent arrives, whatever the form."""

import pytest

from antiphon.bench.multicast import measure
from antiphon.bench.packet_cost import packet_cost_us
from antiphon.bench.spec import Form, Senders, Spec, System

pytestmark = pytest.mark.net


@pytest.mark.parametrize("system", ["raw-datagrams", "datagrams"])
@pytest.mark.parametrize(
    ("senders", "payload_bytes", "form"), [("all", 64, "batch"), ("one", 1000, "message")]
)
def test_mesh_loses_nothing_on_loopback(
    system: System, senders: Senders, payload_bytes: int, form: Form
) -> None:
    """Each receiver counts what was sent: one message less, and there is no rate.

    More than several windows' worth, so that senders have to wait for receipts.
    """
    spec = Spec(
        system=system, senders=senders, payload_bytes=payload_bytes, form=form,
        message_count=4_000_000 // payload_bytes, ports=(),
    )  # fmt: skip
    rate = measure(spec)
    assert rate.per_s > 0
    assert rate.cpu_us > 0


def test_parts_of_a_packet_are_measured() -> None:
    """As many items as fit, and every part takes some time."""
    costs = packet_cost_us(1_400, 64)
    assert costs["items"] == 20
    assert min(costs.values()) > 0
