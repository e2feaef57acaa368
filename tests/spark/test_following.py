"""Following a run on Spark: real streams, real journals that grow, real crashes of the follower."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.rows import NAMES, stop
from tests.spark.growing import GrowingRun

from antiphon.cli.engines import Engine, judge
from antiphon.trace.verdict import Property, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from antiphon.live.updates import Update
    from antiphon.spark.following import Follower

pytestmark = pytest.mark.spark

PATIENCE_S = 240.0
Line = dict[str, Any]


def updates_until(follower: "Follower", is_enough: Callable[["Update"], bool]) -> "list[Update]":
    """Wait for an update."""
    found: list[Update] = []
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found += follower.updates(1.0)
        if found and is_enough(found[-1]):
            return found
    raise AssertionError(found)


def test_violation_is_raised_while_the_run_goes_on(spark: "SparkSession", tmp_path: Path) -> None:
    """Nothing at first; then C hears an answer before its question, and that is told."""
    from antiphon.spark.following import following

    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(20)
    with following(spark, run.path, tmp_path / "checkpoint", 0.2) as follower:
        before = updates_until(follower, lambda update: update.messages == 40)
        assert not any(update.alarms for update in before)
        assert before[-1].now.of(Property.CAUSAL).status is Status.HOLDS
        run.break_causal_order()
        told = updates_until(follower, lambda update: update.alarm_count > 0)
        [alarm] = [alarm for update in told for alarm in update.alarms]
        run.write([stop(name) for name in NAMES])
        last = updates_until(follower, lambda update: update.is_finished)[-1]
        assert follower.record.alarms() == [alarm]
    expected = judge(run.path, Engine.ORACLE)
    assert [alarm.violation] == list(expected.of(Property.CAUSAL).violations)
    for one, two in zip(expected.properties, last.if_over.properties, strict=True):
        assert one == two
    assert last.rows == expected.event_count


def batches(folder: Path) -> set[str]:
    """Return the batches that Spark has noted in a folder."""
    return {file.name for file in folder.iterdir() if file.name.isdigit()}


def test_clock_is_looked_at_after_a_restart_though_nothing_is_written(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Else who was killed meanwhile would never be taken for gone, and following not end."""
    from antiphon.spark.following import following

    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(3)
    with following(spark, run.path, tmp_path / "checkpoint", 0.2) as follower:
        before = updates_until(follower, lambda update: update.messages == 6)[-1]
        query = follower.record.query
        until = time.monotonic() + PATIENCE_S
        while batches(query / "offsets") != batches(query / "commits"):  # else one is done again
            assert time.monotonic() < until
            time.sleep(0.02)
    with following(spark, run.path, tmp_path / "checkpoint", 0.2) as follower:
        until = time.monotonic() + 30
        found: list[Update] = []
        while len(found) < 2 and time.monotonic() < until:
            found += follower.updates(1.0)
    assert [update.rows for update in found[:2]] == [before.rows, before.rows]
    assert found[1].read_ms > found[0].read_ms > before.read_ms


def test_state_is_bounded_by_stability_and_views(spark: "SparkSession", tmp_path: Path) -> None:
    """However long the run and however many its views, what Spark keeps does not grow."""
    from antiphon.spark.following import following

    run = GrowingRun(tmp_path / "run", segment_bytes=4_000)
    run.begin()
    rows, sizes = [], []
    with following(spark, run.path, tmp_path / "checkpoint", 0.2) as follower:
        for ended in range(1, 6):
            run.talk(50)
            run.change_view()
            update = updates_until(follower, lambda update, n=ended: update.ended_views == n)[-1]  # type: ignore[misc]
            assert (update.open_views, update.remembered) == (1, 0)
            updates_until(follower, lambda later, then=update: later.read_ms > then.read_ms)  # type: ignore[misc]
            [state] = follower.progress()["stateOperators"]
            rows.append(state["numRowsTotal"])
            sizes.append((tmp_path / "checkpoint" / "latest.msgpack").stat().st_size)
    assert max(rows) <= 3  # the run, its view, and a timer
    assert max(sizes) <= sizes[0] + 200
    assert len(list((run.path / "events" / "A").iterdir())) > 5  # segments came and went


def command(run: Path, *options: str, stderr: int | None = None) -> "subprocess.Popen[str]":
    """Follow a run in a process of its own, and of its own group."""
    return subprocess.Popen(
        [sys.executable, "-m", "antiphon", "verify", "--follow", "--json", str(run), *options],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


def lines_of(follower: "subprocess.Popen[str]") -> Iterator[Line]:
    """Yield what it tells."""
    assert follower.stdout is not None, "it is a pipe"
    for line in follower.stdout:
        yield json.loads(line)


@pytest.mark.long
def test_killed_follower_neither_loses_nor_repeats_an_alarm(tmp_path: Path) -> None:
    """Killed before one violation and after another; each is told once, by who was there."""
    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(10)
    with command(run.path) as first:
        told = lines_of(first)
        assert next(told)["alarms"] == []
        run.break_causal_order()
        [one] = next(line["alarms"] for line in told if line["alarms"])
        wait_for_file(tmp_path / "run.live" / "told")  # who dies before that is not known to have
        os.killpg(first.pid, signal.SIGKILL)
    run.break_causal_order()
    run.talk(10)
    run.write([stop(name) for name in NAMES])
    with command(run.path) as second:
        lines = list(lines_of(second))
    [two] = [alarm for line in lines for alarm in line["alarms"]]
    assert second.returncode == 1
    assert (one["number"], two["number"]) == (1, 2)
    assert one["violation"]["message"]["number"] == 11
    assert two["violation"]["message"]["number"] == 12
    recorded = (tmp_path / "run.live" / "alarms.ndjson").read_text().splitlines()
    assert [json.loads(line)["number"] for line in recorded] == [1, 2]
    expected = judge(run.path, Engine.ORACLE)
    last = lines[-1]
    assert last["is_final"]
    assert [
        (item["property"], item["status"], item["violation_count"])
        for item in last["verdict"]["properties"]
    ] == [(item.property, item.status, item.violation_count) for item in expected.properties]


@pytest.mark.long
def test_clean_run_with_a_killed_process_raises_nothing(tmp_path: Path) -> None:
    """Real nodes on loopback, one killed half-way, are followed from before they begin."""
    out = tmp_path / "demo"
    demo = [sys.executable, "-m", "antiphon", "demo", "--out", str(out), "--engine", "local"]
    with command(out) as follower:
        wait_for_file(tmp_path / "demo.live" / "run.json")
        subprocess.run([*demo, "--seconds", "4", "--json"], check=True, stdout=subprocess.DEVNULL)
        lines = list(lines_of(follower))
    assert follower.returncode == 0
    assert not any(line["alarms"] for line in lines)
    expected = judge(out)
    found = lines[-1]["verdict"]["properties"]
    assert [(item["property"], item["status"], item["reason"]) for item in found] == [
        (item.property, item.status, item.reason) for item in expected.properties
    ]


@pytest.mark.long
def test_follower_that_is_told_to_end_tells_the_verdict(tmp_path: Path) -> None:
    """As at Ctrl-C; meanwhile a second one is refused at once."""
    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(10)
    with command(run.path) as follower:
        told = lines_of(follower)
        assert not next(told)["is_final"]
        with command(run.path) as second:
            assert list(lines_of(second)) == []
        assert second.returncode == 2
        follower.send_signal(signal.SIGTERM)
        assert list(told)[-1]["is_final"]
    assert follower.returncode == 0


@pytest.mark.long
def test_what_is_there_is_read_however_short_the_time(tmp_path: Path) -> None:
    """Spark takes longer to start than some would follow."""
    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(10)
    with command(run.path, "--for", "0.1") as follower:
        last = list(lines_of(follower))[-1]
    assert (last["is_final"], last["messages"], follower.returncode) == (True, 20, 0)


@pytest.mark.long
def test_folder_that_never_comes_is_no_verdict(tmp_path: Path) -> None:
    """A name that is misspelt must not end like a run in which nothing is violated."""
    with command(tmp_path / "rnu", "--for", "0.1", stderr=subprocess.PIPE) as follower:
        assert list(lines_of(follower)) == []
        assert follower.stderr is not None, "it is a pipe"
        said = follower.stderr.read()
    assert follower.returncode == 2
    assert "rnu: there was no such run folder while it was followed" in said
    assert said.count("\n") == 1


@pytest.mark.long
def test_java_that_is_killed_ends_following_with_a_sentence(tmp_path: Path) -> None:
    """Nothing is waited for, no traceback is shown, and the same command goes on."""
    run = GrowingRun(tmp_path / "run")
    run.begin()
    run.talk(10)
    with command(run.path, stderr=subprocess.PIPE) as follower:
        assert follower.stderr is not None, "it is a pipe"
        next(lines_of(follower))
        children = Path(f"/proc/{follower.pid}/task/{follower.pid}/children").read_text().split()
        [java] = [each for each in children if "java" in Path(f"/proc/{each}/comm").read_text()]
        os.kill(int(java), signal.SIGKILL)
        said = follower.stderr.read()
    assert follower.returncode == 2
    assert said.startswith("antiphon: Spark's Java has ended, killed or short of memory")
    assert said.count("\n") == 1


def wait_for_file(file: Path) -> None:
    """Wait until somebody has made a file."""
    until = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < until, file
        time.sleep(0.1)
