"""Random worlds of groups with a protocol of their own keep every promise; more in `make soak`."""

import pytest
from tests.adversary.dissemination.author import examine

from antiphon import Overlay
from antiphon.stack.blocks import Blocks
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.overlay import ViewFlooding

KINDS = [Overlay(), Overlay("ring"), Overlay("tree"), Blocks()]
MORE = 1_000


@pytest.mark.parametrize("protocol", KINDS, ids=str)
def test_worlds_keep_their_promises(protocol: GroupProtocol) -> None:
    """A few of each kind."""
    assert [said for seed in range(6) if (said := examine(seed, protocol))] == []


@pytest.mark.slow
@pytest.mark.parametrize("protocol", KINDS, ids=str)
def test_many_worlds_keep_their_promises(protocol: GroupProtocol) -> None:
    """Many of each kind."""
    said = {seed: examine(seed, protocol) for seed in range(1_000, 1_000 + MORE)}
    assert {seed: text for seed, text in said.items() if text} == {}


def test_judge_sees_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who forwards to all neighbours but one breaks a promise that the judge knows of."""

    def forward(self: ViewFlooding, peer: object, run: object) -> None:
        self._out.relay([who for who in self.neighbours if who != peer][1:], [run])  # type: ignore[list-item]

    monkeypatch.setattr(ViewFlooding, "_forward", forward)
    assert any(examine(seed, Overlay()) for seed in range(3))
