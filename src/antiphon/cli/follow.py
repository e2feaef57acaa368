"""``antiphon verify --follow``: a run judged while it is written, until it ends or Ctrl-C."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from antiphon.cli.follow_options import EVERY_S, FollowChoices
from antiphon.cli.follow_screen import LiveStanding, alarm_lines, shown
from antiphon.cli.interrupt import ended_by_interrupt, exit_status, handled
from antiphon.cli.screen import output, print_json, progress_bar, verdict_screen
from antiphon.core.errors import UsageError
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Terms, Verdict

if TYPE_CHECKING:
    from antiphon.live.updates import Alarm, Update
    from antiphon.spark.following import Follower

MEMORY_MB = 1024
"""Of Java: what is judged is in Python, and small."""

LOOK_S = 0.5
"""How often the clock, and Ctrl-C, are looked at."""

_DAY_US = 86_400_000_000


def follow(run: Path, choices: FollowChoices, terms: Terms, *, as_json: bool) -> None:
    """Judge a run while it is written; end with status 1 if something is violated."""
    from antiphon.pipeline.session.spark import require_streams

    require_streams()
    with _interrupts() as interrupts:
        watch = _Watch(run, terms, choices.seconds, interrupts, as_json=as_json)
        verdict = _followed(watch, choices)
    raise typer.Exit(1 if verdict.is_violated else 0)


@dataclass(slots=True)
class _Watch:
    """What is followed, and until when."""

    run: Path
    terms: Terms
    seconds: float | None
    interrupts: list[bool]
    """Grows when Ctrl-C is pressed, or this process is told to end."""
    as_json: bool
    until: float | None = None

    def begin(self) -> None:
        """Count the seconds from here: Spark has started."""
        self.until = None if self.seconds is None else time.monotonic() + self.seconds

    def is_over(self) -> bool:
        """Whether somebody has had enough."""
        return bool(self.interrupts) or self.is_late()

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.until is not None and time.monotonic() > self.until

    def only(self, verdict: Verdict) -> Verdict:
        """Return a verdict on what was asked."""
        asked = set(self.terms.asked)
        kept = tuple(item for item in verdict.properties if item.property in asked)
        return msgspec.structs.replace(verdict, properties=kept, terms=self.terms)


def _followed(watch: _Watch, choices: FollowChoices) -> Verdict:
    """Follow a run to its end, and tell the verdict."""
    from antiphon.pipeline.session.cluster import told_plainly
    from antiphon.pipeline.session.spark import QUICK, abandon, spark_session
    from antiphon.spark.following import SETTINGS, Follower, warm

    # What Spark's Python logs when Java is killed under its hands would be printed, in pages.
    logging.getLogger().addHandler(logging.NullHandler())
    follower = Follower(watch.run, choices.folder(watch.run), is_fresh=choices.is_fresh)
    java = {"spark.driver.extraJavaOptions": QUICK["spark.driver.extraJavaOptions"]}
    with told_plainly("this machine"):
        with ended_by_interrupt(abandon), progress_bar("starting Spark"):
            spark = spark_session(
                "antiphon verify --follow",
                choices.cores,
                memory_mb=MEMORY_MB,
                settings={**java, **SETTINGS},
            )
            if not _has_rows(watch.run):  # there is time
                warm(spark)
        try:
            watch.begin()
            _wait_for_folder(watch)
            follower.start(spark, EVERY_S if choices.every_s is None else choices.every_s)
            verdict = _told(follower, watch)
            if not watch.as_json:  # Spark may take a while to end
                output.print(verdict_screen(verdict))
                sys.stdout.flush()
            return verdict
        finally:
            if follower.stop():
                spark.stop()
            else:
                abandon()


def _has_rows(run: Path) -> bool:
    """Whether anybody has written anything."""
    return run.is_dir() and any(file.stat().st_size for file in run.glob("**/*.ndjson"))


def _wait_for_folder(watch: _Watch) -> None:
    """Wait for the run folder; complain if that was in vain: nothing was judged."""
    with progress_bar(f"waiting for {watch.run}"):
        while not watch.run.is_dir():
            if watch.is_over():
                message = (
                    f"{watch.run}: there was no such run folder while it was followed, so nothing "
                    "was judged: correct the path, or have processes join with trace=..."
                )
                raise UsageError(message)
            time.sleep(LOOK_S)


def _told(follower: "Follower", watch: _Watch) -> Verdict:
    """Tell of each update; return the verdict in the end."""
    standing = LiveStanding(watch.run.resolve().name, time.monotonic(), watch.terms.asked)
    latest, finished_rows = follower.record.latest(), -1
    if latest is not None:  # as it was left
        standing.take(msgspec.structs.replace(latest, alarms=[]), time.monotonic(), None)
    standing.raised(alarm.violation for alarm in follower.record.alarms())
    untold = follower.record.untold()
    with shown(standing, is_shown=not watch.as_json) as refresh:
        while True:
            for update in follower.updates(LOOK_S):
                latest = update
                standing.take(update, time.monotonic(), _lag_s(update))
                _tell(follower, watch, standing, update, [*untold, *update.alarms])
                untold = []
                refresh()
            is_finished = latest is not None and latest.is_finished
            rows = -1 if latest is None else latest.rows
            is_awaited = latest is None and not watch.interrupts and _has_rows(watch.run)
            if (watch.is_over() and not is_awaited) or (is_finished and rows == finished_rows):
                break
            finished_rows = rows if is_finished else -1
    if latest is None:
        message = f"{watch.run}: nothing was written while it was followed"
        raise UsageError(message)
    verdict = watch.only(latest.if_over)
    if watch.as_json:
        _print_line(standing.line(latest, verdict, [], is_final=True))
    if latest.is_finished and (watch.run / "run.json").is_file():
        RunFolder.open(watch.run).save_verdict(verdict)
    return verdict


def _tell(
    follower: "Follower",
    watch: _Watch,
    standing: LiveStanding,
    update: "Update",
    alarms: "list[Alarm]",
) -> None:
    """Tell of an update, and of alarms; then note that it was done."""
    asked = set(watch.terms.asked)
    new = [alarm for alarm in alarms if alarm.violation.property in asked]
    if watch.as_json:
        _print_line(standing.line(update, watch.only(update.now), new))
    else:
        alarm_lines([alarm.violation for alarm in new])
    if alarms:
        follower.record.mark_told(alarms[-1].number)


def _lag_s(update: "Update") -> float | None:
    """Return how far behind the newest row is; None: its clock is not this machine's."""
    lag_us = time.time_ns() // 1000 - update.newest_us
    return lag_us / 1e6 if 0 <= lag_us < _DAY_US else None


def _print_line(document: dict[str, object]) -> None:
    print_json(msgspec.json.encode(document))
    sys.stdout.flush()


@contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """Let the first Ctrl-C, or a request to end, end following; and the second this process."""
    has_ended: list[bool] = []

    def end(which: int, _: object) -> None:
        if has_ended:
            from antiphon.pipeline.session.spark import abandon

            abandon()
            os._exit(exit_status(which))
        has_ended.append(True)

    with handled(end):
        yield has_ended
