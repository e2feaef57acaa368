"""What a follower keeps beside Spark's checkpoint: each alarm once, whatever is told twice."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.live.playing import Play
from tests.live.rows import begin, deliver, sent

from antiphon.core.errors import UsageError
from antiphon.live.updates import update_of
from antiphon.spark.following import Follower


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


def test_batch_that_is_done_again_raises_nothing_again(tmp_path: Path) -> None:
    """Neither in the same process nor, after a crash, in the next."""
    frame: Any = Frame(wrong_update())
    follower = follower_of(tmp_path)
    follower._take(frame, 1)
    follower._take(frame, 1)
    assert [len(update.alarms) for update in follower.updates(0)] == [1, 0]
    again = follower_of(tmp_path)
    again._take(frame, 1)
    assert [len(update.alarms) for update in again.updates(0)] == [0]
    assert [alarm.number for alarm in again.alarms()] == [1]
    latest = again.latest()
    assert latest is not None
    assert latest.alarm_count == 1


def test_alarm_that_nobody_was_told_of_is_told_after_a_crash(tmp_path: Path) -> None:
    """It is on record before it is told: who comes next looks there."""
    follower_of(tmp_path)._take(Frame(wrong_update()), 1)  # type: ignore[arg-type]
    again = follower_of(tmp_path)
    assert [alarm.number for alarm in again.untold()] == [1]
    again.mark_told(1)
    assert follower_of(tmp_path).untold() == []


def test_alarm_that_was_cut_short_by_a_crash_is_recorded_anew(tmp_path: Path) -> None:
    """Half a line is none."""
    follower_of(tmp_path)._take(Frame(wrong_update()), 1)  # type: ignore[arg-type]
    record = tmp_path / "checkpoint" / "alarms.ndjson"
    record.write_bytes(record.read_bytes()[:-9])
    again = follower_of(tmp_path)
    assert again.alarms() == []
    again._take(Frame(wrong_update()), 1)  # type: ignore[arg-type]
    assert [alarm.number for alarm in again.alarms()] == [1]


def test_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    """A run folder that was replaced says so in its run.json; a foreign folder has none of ours."""
    (tmp_path / "run").mkdir()
    run_file = tmp_path / "run" / "run.json"
    follower_of(tmp_path)  # before the run has said what it is
    run_file.write_text('{"name": "one"}')
    follower_of(tmp_path)
    run_file.write_text('{"name": "two"}')
    with pytest.raises(UsageError, match="is the checkpoint of another run"):
        follower_of(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="has files that are no checkpoint's"):
        Follower(tmp_path / "run", tmp_path / "other")
