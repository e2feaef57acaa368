"""What a follower keeps beside Spark's checkpoint: each alarm once, whatever is told twice."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.live.playing import Play
from tests.live.rows import begin, deliver, sent

from antiphon.core.errors import UsageError
from antiphon.live.updates import update_of
from antiphon.spark.following import RESTARTS_MAX, Follower


class Frame:
    """What Spark hands over at the end of a batch."""

    def __init__(self, *updates: bytes) -> None:
        """Hold updates."""
        self._rows = [{"update": update} for update in updates]

    def collect(self) -> list[Any]:
        """Return them."""
        return self._rows


def wrong_update() -> bytes:
    """Return an update with an alarm: a delivery that is repeated."""
    play = Play()
    rows = [[*begin("A"), *sent("A", 1)], [*begin("B"), deliver("B", "A", 1), deliver("B", "A", 1)]]
    return msgspec.msgpack.encode(update_of(play.judge, play.batch(*rows)))


def follower_of(folder: Path) -> Follower:
    """Return a follower of an empty run."""
    (folder / "run").mkdir(exist_ok=True)
    return Follower(folder / "run", folder / "checkpoint")


def crash_after_alarm(folder: Path) -> None:
    """Leave an alarm on record; nobody was told of it."""
    follower = follower_of(folder)
    follower._take(Frame(wrong_update()), 1)  # type: ignore[arg-type]
    follower.stop()


class Query:
    """A streaming query that has ended."""

    isActive = False  # noqa: N815 - Spark's name

    def __init__(self, failure: Exception | None) -> None:
        """Take why."""
        self._failure = failure

    def exception(self) -> Exception | None:
        """Return why it ended."""
        return self._failure

    def stop(self) -> None:
        """It has."""


class GoneQuery(Query):
    """A query whose Java is gone."""

    @property
    def isActive(self) -> bool:  # type: ignore[override] # noqa: N802 - Spark's name
        """Nobody answers."""
        raise ConnectionRefusedError

    def stop(self) -> None:
        """Nobody answers."""
        raise ConnectionRefusedError


def test_batch_that_is_done_again_raises_nothing_again(tmp_path: Path) -> None:
    """Neither in the same process nor, after a crash, in the next."""
    frame: Any = Frame(wrong_update())
    follower = follower_of(tmp_path)
    follower._take(frame, 1)
    follower._take(frame, 1)
    assert [len(update.alarms) for update in follower.updates(0)] == [1, 0]
    follower.stop()
    again = follower_of(tmp_path)
    again._take(frame, 1)
    assert [len(update.alarms) for update in again.updates(0)] == [0]
    assert [alarm.number for alarm in again.record.alarms()] == [1]
    latest = again.record.latest()
    assert latest is not None
    assert latest.alarm_count == 1


def test_alarm_that_nobody_was_told_of_is_told_after_a_crash(tmp_path: Path) -> None:
    """It is on record before it is told: who comes next looks there."""
    crash_after_alarm(tmp_path)
    again = follower_of(tmp_path)
    assert [alarm.number for alarm in again.record.untold()] == [1]
    again.record.mark_told(1)
    again.stop()
    assert follower_of(tmp_path).record.untold() == []


def test_alarm_that_was_cut_short_by_a_crash_is_recorded_anew(tmp_path: Path) -> None:
    """Half a line is none."""
    crash_after_alarm(tmp_path)
    record = tmp_path / "checkpoint" / "alarms.ndjson"
    record.write_bytes(record.read_bytes()[:-9])
    again = follower_of(tmp_path)
    assert again.record.alarms() == []
    again._take(Frame(wrong_update()), 1)  # type: ignore[arg-type]
    assert [alarm.number for alarm in again.record.alarms()] == [1]


def test_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    """A run folder that was replaced says so in its run.json; a foreign folder has none of ours."""
    (tmp_path / "run").mkdir()
    run_file = tmp_path / "run" / "run.json"
    follower_of(tmp_path).stop()  # before the run has said what it is
    run_file.write_text('{"name": "one"}')
    follower_of(tmp_path).stop()
    run_file.write_text('{"name": "two"}')
    with pytest.raises(UsageError, match="is the checkpoint of another run"):
        follower_of(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="has files that are no checkpoint's"):
        Follower(tmp_path / "run", tmp_path / "other")


def test_checkpoint_is_for_one_follower_at_a_time(tmp_path: Path) -> None:
    """Two would read each other's offsets, and both would fail; nor may one forget the other's."""
    first = follower_of(tmp_path)
    with pytest.raises(UsageError, match=f"process {os.getpid()} follows this run with it"):
        follower_of(tmp_path)
    with pytest.raises(UsageError, match="follows this run with it"):
        Follower(tmp_path / "run", tmp_path / "checkpoint", is_fresh=True)
    assert (tmp_path / "checkpoint" / "run.json").exists()
    assert first.stop()
    assert follower_of(tmp_path).stop()


def test_fresh_follower_forgets_what_was_there(tmp_path: Path) -> None:
    """Alarms, offsets, and which run it was."""
    crash_after_alarm(tmp_path)
    (tmp_path / "checkpoint" / "query").mkdir()
    other = tmp_path / "other"
    other.mkdir()
    fresh = Follower(other, tmp_path / "checkpoint", is_fresh=True)
    assert (fresh.record.alarms(), fresh.record.latest()) == ([], None)
    assert not fresh.record.query.exists()


def failing(folder: Path, failure: Exception | None) -> tuple[Follower, list[int]]:
    """Return a follower whose query ends so, each time; and how often it was begun again."""
    follower = follower_of(folder)
    begun: list[int] = []

    def begin_again() -> Any:
        begun.append(1)
        return Query(failure)

    follower._begun = begin_again  # type: ignore[method-assign]
    follower._query = Query(failure)  # type: ignore[assignment]
    return follower, begun


def test_batch_that_fails_at_its_end_each_time_is_given_up(tmp_path: Path) -> None:
    """It tells what it did before: that is no progress, and would go on for ever."""
    follower, begun = failing(tmp_path, RuntimeError("java.io.IOException: no such luck"))
    frame: Any = Frame(wrong_update())
    for _ in range(RESTARTS_MAX):
        follower._take(frame, 7)
        list(follower.updates(0))
    follower._take(frame, 7)
    with pytest.raises(UsageError, match=r"failed 6 times in a row \(java.io.IOException: no such"):
        list(follower.updates(0))
    assert len(begun) == RESTARTS_MAX


def test_batches_in_between_are_progress(tmp_path: Path) -> None:
    """A busy machine may fail now and then, for weeks."""
    follower, begun = failing(tmp_path, RuntimeError("too slow"))
    for batch in range(3 * RESTARTS_MAX):
        follower._take(Frame(), batch)  # type: ignore[arg-type]
        list(follower.updates(0))
    assert len(begun) == 3 * RESTARTS_MAX


def test_query_that_others_stopped_is_not_waited_for(tmp_path: Path) -> None:
    """It has not failed, and tells no more."""
    follower, begun = failing(tmp_path, None)
    with pytest.raises(UsageError, match="was stopped by somebody else"):
        list(follower.updates(0))
    assert not begun


def test_java_that_is_gone_is_said(tmp_path: Path) -> None:
    """Killed for its memory, say: everything is in the checkpoint."""
    follower = follower_of(tmp_path)
    follower._query = GoneQuery(None)  # type: ignore[assignment]
    with pytest.raises(UsageError, match="Spark's Java has ended"):
        list(follower.updates(0))
    assert not follower.stop()
