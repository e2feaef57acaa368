"""What comes of judging a trace: tables, and a page for notebooks.

Law: everything is known when the result is there: tables are small, made of what the driver holds,
and stay valid whatever becomes of the trace. Columns are documented in docs/spark.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from pyspark.sql import DataFrame, SparkSession

from antiphon.trace import words
from antiphon.trace.verdict import Link, MessageId, Status, Verdict, Violation

VERDICT_COLUMNS = (
    "run string, property string, status string, violation_count bigint, reason string"
)
_MESSAGE = "struct<sender: string, number: bigint, group: string, view: bigint, id: string>"
_LINK = "struct<process: string, index: bigint, text: string, file: string, line: bigint>"
VIOLATION_COLUMNS = (
    f"run string, property string, process string, message {_MESSAGE}, earlier {_MESSAGE}, "
    f"text string, chain array<{_LINK}>"
)
MEASURE_COLUMNS = "run string, process string, measure string, value bigint"

Measure = tuple[str, str, str, int]
"""Run, process, what is measured, value."""

# Colours that are read on white and on black: a notebook may be either.
_STYLE = {"holds": "color:#2e8b3a", "violated": "color:#e5383b;font-weight:bold"}
_UNKNOWN_STYLE = "color:#7d7d7d"


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """The verdict on each run of a trace."""

    runs: dict[str, Verdict]
    """By name."""
    _session: SparkSession
    _measures: list[Measure]

    @property
    def is_violated(self) -> bool:
        """Whether any property of any run is broken."""
        return any(verdict.is_violated for verdict in self.runs.values())

    @property
    def verdicts(self) -> DataFrame:
        """A row per run and property."""
        rows = [
            (run, item.property.value, item.status.value, item.violation_count, item.reason)
            for run, verdict in self.runs.items()
            for item in verdict.properties
        ]
        return self._session.createDataFrame(rows, VERDICT_COLUMNS)

    @property
    def violations(self) -> DataFrame:
        """A row per violation that is explained, with its witness: the chain of events."""
        rows = [
            (
                run,
                item.property.value,
                item.process,
                _message(item.message),
                _message(item.earlier),
                item.text,
                [_link(link) for link in item.chain],
            )
            for run, item in self._explained()
        ]
        return self._session.createDataFrame(rows, VIOLATION_COLUMNS)

    @property
    def measures(self) -> DataFrame:
        """A row per run, process and measure."""
        return self._session.createDataFrame(self._measures, MEASURE_COLUMNS)

    def __repr__(self) -> str:
        """As a prompt shows it: a line per run."""
        return "\n".join(map(_run_line, self.runs.values()))

    def _explained(self) -> Iterable[tuple[str, Violation]]:
        for run, verdict in self.runs.items():
            for item in verdict.properties:
                for violation in item.violations:
                    yield run, violation

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(_run_html(verdict) for verdict in self.runs.values())


def _message(message: MessageId | None) -> tuple[str, int, str, int, str | None] | None:
    if message is None:
        return None
    return message.sender, message.number, message.group, message.view, message.id or None


def _link(link: Link) -> tuple[str, int | None, str, str | None, int | None]:
    index = link.index if link.index >= 0 else None
    place = (link.file, link.line) if link.file else (None, None)
    return link.process, index, link.text, *place


def _run_line(verdict: Verdict) -> str:
    by_status = {
        status: [item.property.value for item in verdict.properties if item.status is status]
        for status in Status
    }
    told = ", ".join(by_status[Status.VIOLATED]) or "nothing"
    return (
        f"{verdict.run}: violated: {told}; {len(by_status[Status.HOLDS])} hold, "
        f"{len(by_status[Status.UNKNOWN])} unknown ({_summary(verdict)})"
    )


def _summary(verdict: Verdict) -> str:
    return words.extent(
        verdict.event_count, verdict.process_count, verdict.message_count, verdict.delivery_count
    )


def _run_html(verdict: Verdict) -> str:
    rows = "".join(
        f"<tr><td>{escape(item.property)}</td>"
        f'<td style="white-space:nowrap;{_STYLE.get(item.status.value, _UNKNOWN_STYLE)}">'
        f"{escape(item.status)}"
        f"{f' ({item.violation_count:,})' if item.violation_count else ''}</td>"
        f'<td style="text-align:left">{escape(item.reason)}</td></tr>'
        for item in verdict.properties
    )
    witnesses = "".join(
        f"<li><b>{escape(item.property)}</b>: {escape(violation.text)}"
        f"<ol>{''.join(map(_link_html, violation.chain))}</ol></li>"
        for item in verdict.properties
        for violation in item.violations
    )
    return (
        f"<p><b>{escape(verdict.run)}</b>: {_summary(verdict)}</p>"
        f"<table><tr><th>property</th><th>verdict</th><th></th></tr>{rows}</table>"
        + (f"<ul>{witnesses}</ul>" if witnesses else "")
    )


def _link_html(link: Link) -> str:
    place = f"{link.file}:{link.line}" if link.file else f"row {link.index} of {link.process}"
    return f"<li>{escape(link.text)} <code>{escape(place)}</code></li>"
