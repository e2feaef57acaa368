"""What a process waits for on its way into a group is logged, after a second and then seldom."""

from itertools import pairwise

import pytest
from tests.net.harness import QUICK, LoopFactory, free_addresses, play

from antiphon import Process, UsageError, join
from antiphon.net.process import founding

pytestmark = pytest.mark.net


def told(caplog: pytest.LogCaptureFixture, who: str) -> list[str]:
    """Return what was logged of somebody that waits: not too soon, not too often."""
    records = [record for record in caplog.records if f"{who} waits to join" in record.message]
    assert all(later.created - sooner.created > 0.15 for sooner, later in pairwise(records))
    assert 1 <= len(records) <= 3
    return [record.message for record in records]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell it every 0.2 s."""
    monkeypatch.setattr(founding, "TELL_S", 0.2)


def test_joiner_with_dead_seeds_logs_where_nobody_answers(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """While it waits, with the default timing as well."""
    seeds = list(free_addresses(["x", "y"]).values())

    async def scene() -> None:
        for connect_s in (0.8, 1.5):
            with pytest.raises(UsageError):
                async with join(
                    "choir", me="dave", at="127.0.0.1:0", seeds=seeds, connect_s=connect_s
                ):
                    pass
            assert bool(caplog.records) == (connect_s > 1)

    play(loop_factory, scene())
    said = f"dave waits to join group choir: nobody answers at {seeds[0]} or {seeds[1]}"
    assert set(told(caplog, "dave")) == {said}


def test_joiner_of_an_unknown_group_logs_who_answers(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """With what to look at."""

    async def scene() -> None:
        addresses = free_addresses(["alice", "bob"])
        seeds = [addresses["alice"]]
        async with (
            Process("alice", at=addresses["alice"], timing=QUICK) as alice,
            alice.join("room"),
            Process("bob", at=addresses["bob"], seeds=seeds, timing=QUICK) as bob,
        ):
            with pytest.raises(UsageError):
                async with bob.join("rome", connect_s=1.5):
                    pass

    play(loop_factory, scene())
    for message in told(caplog, "bob"):
        assert message.startswith("bob waits to join group rome: nobody who answers (alice at ")
        assert "is its name right?" in message


def test_who_joins_through_a_process_in_no_group_is_told_that_it_runs(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not called silent."""

    async def scene() -> str:
        async with Process("alice", at="127.0.0.1:0", timing=QUICK) as alice:
            with pytest.raises(UsageError):
                async with join(
                    "room", me="bob", at="127.0.0.1:0", seeds=[alice.address], connect_s=1.5
                ):
                    pass
            return alice.address

    place = play(loop_factory, scene())
    said = f"bob waits to join group room: who listens at {place} is in no group (it hangs up)"
    assert set(told(caplog, "bob")) == {said}


def test_who_is_taken_in_soon_logs_nothing(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is amiss."""

    async def scene() -> None:
        at = free_addresses(["alice"])["alice"]
        async with (
            join("choir", me="alice", at=at),
            join("choir", me="bob", at="127.0.0.1:0", seeds=[at]),
        ):
            pass

    play(loop_factory, scene())
    assert not caplog.records
