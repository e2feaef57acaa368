"""How a run looks on a terminal while it is followed.

Law: what is wrong is seen first, in the words that the verdict will have; then what holds so far,
and one line for all that cannot be known yet. A terminal's screen is taken over, and given back at
the end, when the verdict is printed; elsewhere, alarms are printed as they are raised.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from antiphon.cli.screen import output, progress_output, verdict_mark, violation_screen
from antiphon.report.plots import duration
from antiphon.trace import words
from antiphon.trace.distribution import Distribution
from antiphon.trace.verdict import ALL, Property, PropertyVerdict, Status, Verdict, Violation

if TYPE_CHECKING:
    from antiphon.live.updates import Alarm, Update

RATE_S = 10.0
"""Rows per second are those of the last so many seconds."""

_ALARMS_SHOWN = 1


class LiveStanding:
    """What is shown."""

    def __init__(self, run: str, begun_s: float, asked: Sequence[Property] = ALL.asked) -> None:
        """Begin with nothing; no other property is shown than those that are asked for."""
        self._run, self._asked = run, frozenset(asked)
        self._begun_s = self._now_s = begun_s
        self._update: Update | None = None
        self._lag_s: float | None = None
        self._counts: list[tuple[float, int, Distribution]] = []
        self.alarms: list[Violation] = []

    def take(self, update: "Update", now_s: float, lag_s: float | None) -> None:
        """Take an update."""
        kept = [item for item in update.now.properties if item.property in self._asked]
        now = msgspec.structs.replace(update.now, properties=tuple(kept))
        self._update, self._now_s = msgspec.structs.replace(update, now=now), now_s
        has_grown = not self._counts or update.rows > self._counts[-1][1]
        self._lag_s = lag_s if has_grown else 0.0
        self._counts.append((now_s, update.rows, update.delays))
        while len(self._counts) > 2 and self._counts[1][0] < now_s - RATE_S:
            del self._counts[0]
        self.raised(alarm.violation for alarm in update.alarms)

    def raised(self, alarms: Iterable[Violation]) -> None:
        """Take what was found to be wrong."""
        self.alarms += [alarm for alarm in alarms if alarm.property in self._asked]

    @property
    def rows_per_s(self) -> float:
        """Return how many rows were followed per second, of late."""
        (then_s, before, _), (now_s, rows, _) = self._counts[0], self._counts[-1]
        return (rows - before) / (now_s - then_s) if now_s > then_s else 0.0

    @property
    def delays(self) -> Distribution:
        """Return delays of late, in microseconds."""
        found = Distribution()
        for _, _, delays in self._counts:
            found.include(delays)
        return found

    def line(
        self,
        update: "Update",
        verdict: Verdict,
        alarms: "list[Alarm]",
        *,
        is_final: bool = False,
    ) -> dict[str, object]:
        """Return an update as one JSON object (docs/live.md)."""
        delays = self.delays
        return {
            "run": update.run,
            "time_ms": update.read_ms,
            "elapsed_s": round(self._now_s - self._begun_s, 3),
            "rows": update.rows,
            "rows_per_s": round(self.rows_per_s) if self._counts else 0,
            "lag_s": None if self._lag_s is None else round(self._lag_s, 3),
            "messages": update.messages,
            "deliveries": update.deliveries,
            "delay_us": None
            if update.is_skewed or not delays.total
            else {"p50": delays.quantile(0.5), "p95": delays.quantile(0.95)},
            "processes": update.processes,
            "remembered": update.remembered,
            "open_views": update.open_views,
            "ended_views": update.ended_views,
            "alarm_count": update.alarm_count,
            "alarms": alarms,
            "verdict": verdict,
            "is_final": is_final,
        }

    def screen(self) -> RenderableType:
        """Return what there is to see."""
        update = self._update
        if update is None:
            return Text(f"{self._run}  nothing has been read yet", style="dim")
        parts: list[RenderableType] = [self._head(update), Text()]
        if self.alarms:
            parts.append(_table(update.now, is_wrong=True))
            parts += [violation_screen(violation) for violation in self.alarms[-_ALARMS_SHOWN:]]
            more = len(self.alarms) - _ALARMS_SHOWN
            if more > 0:
                parts.append(Text(f"\nand {more:,} raised before", style="dim"))
            parts.append(Text())
        parts.append(_table(update.now, is_wrong=False))
        parts += [Text(line, style="dim") for line in _rest(update.now)]
        return Group(*parts)

    def _head(self, update: "Update") -> Text:
        ended = sum(bool(process.ended) for process in update.processes)
        count = len(update.processes)
        head = Text(self._run, style="bold")
        head.append(f"  followed for {_clock(self._now_s - self._begun_s)}", style="dim")
        head.append("\n")
        facts = [
            words.counted(count, "process", "processes") + (f", {ended} ended" if ended else ""),
            f"{update.rows:,} rows",
            f"{self.rows_per_s:,.0f} rows/s",
        ]
        if self._lag_s is not None:
            facts.append(f"{self._lag_s:.1f} s behind")
        head.append(" · ".join(facts))
        head.append("\n")
        facts = [f"{update.messages:,} messages", f"{update.deliveries:,} deliveries"]
        delays = self.delays
        if update.is_skewed:
            facts.append("clocks differ: no delays")
        elif delays.total:
            p50, p95 = duration(delays.quantile(0.5)), duration(delays.quantile(0.95))
            facts.append(f"delay p50 {p50}, p95 {p95}")
        views = words.counted(update.open_views, "view", "views")
        facts.append(f"{update.remembered:,} messages remembered in {views}")
        head.append(" · ".join(facts))
        return head


@contextmanager
def shown(standing: LiveStanding, *, is_shown: bool) -> Iterator[Callable[[], None]]:
    """Show how things stand, on a terminal; the function redraws it."""
    if not is_shown or not progress_output.is_terminal:
        yield lambda: None
        return
    with Live(standing.screen(), console=progress_output, auto_refresh=False, screen=True) as live:
        yield lambda: live.update(standing.screen(), refresh=True)


def alarm_lines(alarms: list[Violation]) -> None:
    """Print alarms as they are raised, where there is no screen to show them on."""
    if not progress_output.is_terminal:
        for alarm in alarms:
            output.print(violation_screen(alarm))


def _table(verdict: Verdict, *, is_wrong: bool) -> Table:
    """Return what is known to be wrong, or to hold so far."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", style="dim")
    wanted = Status.VIOLATED if is_wrong else Status.HOLDS
    for item in verdict.properties:
        if item.status is wanted:
            table.add_row(item.property.value, _mark(item), _remark(item))
    return table


def _mark(item: PropertyVerdict) -> Text:
    mark = verdict_mark(item.status)
    if item.status is Status.HOLDS:
        mark.append(" so far")
    return mark


def _remark(item: PropertyVerdict) -> str:
    if item.status is not Status.VIOLATED:
        return item.reason
    count = item.violation_count
    return words.together("once" if count == 1 else f"{count:,} times", item.reason)


def _rest(verdict: Verdict) -> Iterator[str]:
    """Yield a line per reason why something is not known."""
    reasons: dict[str, list[str]] = {}
    for item in verdict.properties:
        if item.status is Status.UNKNOWN:
            why = "not asked for" if item.reason in words.NOT_ASKED else item.reason
            reasons.setdefault(why, []).append(item.property.value)
    for why, properties in reasons.items():
        yield f"{', '.join(properties)}: {why}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
