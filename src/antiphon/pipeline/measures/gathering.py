"""Measures per run, from what files and streams tell.

Law: everything here is small: a few numbers per process, view and file. Delays, lags and durations
of a run are left out where its record contradicts itself, with the number of rows that do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from antiphon.core.errors import TraceError
from antiphon.pipeline.measures.rows import FileSummary, KindCount, ProcessSummary, digest
from antiphon.pipeline.measures.streams import StreamSums
from antiphon.trace import measures
from antiphon.trace.continuity import check_spans
from antiphon.trace.distribution import Distribution
from antiphon.trace.view_changes import AbsenceSign, Installation, ViewChange, view_changes

SAME_TIME = "all rows have the same time"
EARLY = "rows deliver what, by the clocks, was not multicast yet: clocks differ"


@dataclass(slots=True)
class RunMeasures:
    """What one run tells."""

    run: str
    processes: dict[str, ProcessSummary] = field(default_factory=dict)
    distributions: dict[str, dict[str, Distribution]] = field(default_factory=dict)
    """By the name of the measure, then by process; what nobody counted is not in it."""
    early_count: int = 0
    unstable_count: int = 0
    changes: list[ViewChange] = field(default_factory=list)

    @property
    def duration_us(self) -> int:
        """Return the time from the first row to the last."""
        begin_us = min(each.begin_us for each in self.processes.values())
        return max(each.end_us for each in self.processes.values()) - begin_us

    @property
    def incomparable(self) -> str:
        """Return why times of different processes cannot be compared; empty: nothing is known."""
        if not self.duration_us:
            return SAME_TIME
        return f"{self.early_count} {EARLY}" if self.early_count else ""

    def of(self, name: str) -> Distribution:
        """Return the distribution of a measure over the whole run."""
        whole = Distribution()
        for part in self.distributions.get(name, {}).values():
            whole.include(part)
        return whole

    def count_of(self, kind: str) -> KindCount:
        """Return how many rows and messages of a kind there are, at all processes."""
        whole = KindCount()
        for process in self.processes.values():
            for key, count in process.kinds.items():
                if key.partition(" ")[0] == kind:
                    add_count(whole, count)
        return whole


def add_count(whole: KindCount, part: KindCount) -> None:
    """Add what another file counted."""
    whole.rows += part.rows
    whole.messages += part.messages
    whole.payload_bytes += part.payload_bytes
    whole.overhead_bytes += part.overhead_bytes


def check(summaries: Iterable[FileSummary], where: str) -> list[FileSummary]:
    """Return summaries in the order of files; raise what the first bad file had to say."""
    ordered = sorted(summaries, key=lambda summary: summary.number)
    for summary in ordered:
        if summary.error:
            raise TraceError(summary.error)
    if not any(summary.processes for summary in ordered):
        message = f"{where}:1: the trace is empty: no process wrote any row"
        raise TraceError(message)
    check_spans(span for summary in ordered for span in summary.spans)
    return ordered


def members_of(summaries: Iterable[FileSummary]) -> dict[int, tuple[int, ...]]:
    """Return who is to have the messages of each stream: members of the view, if a row lists them.

    Otherwise, whoever recorded any message of that view of the group.
    """
    summaries = list(summaries)
    listed: dict[tuple[str, str, int], list[str]] = {}
    for summary in summaries:
        for row in summary.installed:
            if not row.is_sign and row.members:
                listed.setdefault((row.run, row.group, row.view), row.members)
    present: dict[tuple[str, str, int], set[int]] = {}
    streams: dict[tuple[str, str, int], set[int]] = {}
    for summary in summaries:
        for scope in summary.scopes:
            key = (scope.run, scope.group, scope.view)
            present.setdefault(key, set()).update(scope.present)
            streams.setdefault(key, set()).update(scope.streams)
    found: dict[int, tuple[int, ...]] = {}
    for key, of_scope in streams.items():
        members = [digest(key[0], name) for name in listed[key]] if key in listed else present[key]
        found.update(dict.fromkeys(of_scope, tuple(sorted(members))))
    return found


def gather(
    summaries: Iterable[FileSummary], streams: Mapping[int, StreamSums]
) -> dict[str, RunMeasures]:
    """Return the measures of each run."""
    summaries = list(summaries)
    runs: dict[str, RunMeasures] = {}
    for summary in summaries:
        for part in summary.processes:
            run = runs.setdefault(part.run, RunMeasures(part.run))
            _include(run.processes, part)
    for run in runs.values():
        _take_streams(run, streams)
        rows = [row for summary in summaries for row in summary.installed if row.run == run.run]
        if not run.incomparable:
            begin_us = min(each.begin_us for each in run.processes.values())
            run.changes = view_changes(
                [
                    Installation(row.run, row.group, row.view, row.time_us, row.members)
                    for row in rows
                    if not row.is_sign
                ],
                [AbsenceSign(row.run, row.members[0], row.time_us) for row in rows if row.is_sign],
                begin_us,
            )
            for change in run.changes:
                _distribution(run, measures.VIEW_CHANGE.name, "").add(change.duration_us)
    return runs


def _include(processes: dict[str, ProcessSummary], part: ProcessSummary) -> None:
    whole = processes.setdefault(part.process, part)
    if whole is part:
        return
    whole.begin_us, whole.end_us = (
        min(whole.begin_us, part.begin_us),
        max(whole.end_us, part.end_us),
    )
    whole.queue_length.include(part.queue_length)
    whole.header_bytes.include(part.header_bytes)
    whole.header_messages += part.header_messages
    for key, count in part.kinds.items():
        add_count(whole.kinds.setdefault(key, KindCount()), count)


def _take_streams(run: RunMeasures, streams: Mapping[int, StreamSums]) -> None:
    own = {name: streams.get(digest(run.run, name), StreamSums()) for name in run.processes}
    run.early_count = sum(sums.early_count for sums in own.values())
    run.unstable_count = sum(sums.unstable_count for sums in own.values())
    for name, summary in run.processes.items():
        sums = own[name]
        for measure, distribution in (
            (measures.DELIVERY_DELAY, sums.delivery_delay),
            (measures.HOLD_TIME, sums.hold_time),
            (measures.QUEUE_LENGTH, summary.queue_length),
            (measures.HEADER_BYTES, summary.header_bytes),
            (measures.STABILITY_LAG, sums.stability_lag),
        ):
            is_left_out = measure.unit == "us" and not run.duration_us
            is_left_out = is_left_out or (measure.compares_clocks and bool(run.incomparable))
            if distribution.total and not is_left_out:
                _distribution(run, measure.name, name).include(distribution)


def _distribution(run: RunMeasures, measure: str, process: str) -> Distribution:
    by_process = run.distributions.setdefault(measure, {})
    return by_process.setdefault(process, Distribution())
