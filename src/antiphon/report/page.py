"""A run as one page: verdict, space-time diagram, measures, and the command that replays it.

Law: the page is one file without a link to any other; its policy lets the browser load nothing
and run only the script that came with this version. Text from the trace is escaped, or passes
``packing.embedded``; long names are cut, so that no trace makes a page of any size.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from antiphon.report import plots
from antiphon.report.diagram import Diagram
from antiphon.report.measures import Measures
from antiphon.report.moments import Witness
from antiphon.report.packing import embedded, packed
from antiphon.report.record import KINDS
from antiphon.trace.run_folder import RunRecord
from antiphon.trace.verdict import PropertyVerdict, Status, Terms, Verdict, Violation

_MARKS = {Status.HOLDS: "✓", Status.VIOLATED: "✗", Status.UNKNOWN: "?"}
_SCRIPTS = ("data", "painters", "picture", "window", "figures", "controls")
_NAME_MAX = 60
_GROUP_MAX = 24
_TEXT_MAX = 600
_ROWS_MAX = 200
"""Rows of a table: beyond, a page is no place to read them."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything that a page is made of."""

    name: str
    verdict: Verdict
    witnesses: Sequence[Witness]
    measures: Measures
    diagram: Diagram
    record: RunRecord | None
    """How the run came about; None: the trace does not say."""


def page_of(run: PageContent) -> str:
    """Return the page."""
    script, style = script_of(*_SCRIPTS), template("page.css")
    parts = {
        "title": escape(cut(run.name, _NAME_MAX)),
        "digest": digest_of(script),
        "style": style,
        "script": script,
        "headline": _headline(run.verdict),
        "about": _about(run),
        "verdicts": _verdicts(run.verdict),
        "violations": _violations(run.verdict),
        "diagram_note": _diagram_note(run.diagram),
        "measures": _measures(run.measures),
        "replay": _replay(run.record),
        "data": embedded(diagram_data(run.diagram, run.witnesses, run.measures)),
    }
    return filled("page.html", parts)


def filled(name: str, parts: Mapping[str, str]) -> str:
    """Return a template with its places filled."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template(name))


def diagram_data(
    diagram: Diagram, witnesses: Sequence[Witness], measures: Measures
) -> dict[str, Any]:
    """Return what the script draws."""
    columns = {
        "kind": diagram.kinds, "level": diagram.levels, "stream": diagram.stream_of,
        "first": diagram.firsts, "count": diagram.counts, "depth": diagram.depths,
        "file": diagram.file_of, "line": diagram.lines, "hold": diagram.holds,
        "from": [source for source, _ in diagram.arrows],
        "to": [target for _, target in diagram.arrows],
    }  # fmt: skip
    if diagram.times_us is not None:
        columns["time"] = diagram.times_us
    return {
        "kinds": KINDS,
        "lanes": [cut(name, _NAME_MAX) for name in diagram.lanes],
        "sizes": diagram.lane_sizes,
        "streams": [
            (cut(sender, _NAME_MAX), lane, cut(group, _NAME_MAX), view)
            for sender, lane, group, view in diagram.streams
        ],
        "files": [cut_front(file, _NAME_MAX) for file in diagram.files],
        "columns": {name: packed(column) for name, column in columns.items()},
        "details": diagram.details,
        "gaps": diagram.gaps,
        "cut_off": diagram.cut_off,
        "witnesses": [
            {
                "title": witness.violation.property.value,
                "text": cut(witness.violation.text, _TEXT_MAX),
                "chain": chain,
                "late": late,
                "never": _without(witness.violation),
            }
            for witness, chain, late in zip(
                witnesses, diagram.chains, diagram.lates, strict=True
            )
        ],
        "moments": [
            (what, cut(label, 2 * _NAME_MAX), event) for what, label, event in diagram.moments
        ],
        "axis": "time" if measures.is_comparable and diagram.times_us is not None else "order",
    }  # fmt: skip


def cut(text: str, length: int) -> str:
    """Return text of at most ``length`` characters, its beginning."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def cut_front(text: str, length: int) -> str:
    """Return text of at most ``length`` characters, its end."""
    return text if len(text) <= length else f"…{text[1 - length :]}"


def digest_of(script: str) -> str:
    """Return what a page's policy calls its script by."""
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


def template(name: str) -> str:
    """Return a file that pages are made of."""
    return files("antiphon.report").joinpath("templates", name).read_text(encoding="utf-8")


def script_of(*names: str) -> str:
    """Return a page's one script: its parts share a function, and nothing with the page."""
    parts = "\n".join(template(f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _headline(verdict: Verdict) -> str:
    broken = [item.property.value for item in verdict.properties if item.status is Status.VIOLATED]
    held = sum(item.status is Status.HOLDS for item in verdict.properties)
    if broken:
        words = f"Violated: {', '.join(broken)}"
        return f'<p class="headline violated"><b aria-hidden="true">✗</b> {escape(words)}</p>'
    if not held:
        return '<p class="headline unknown"><b aria-hidden="true">?</b> Nothing could be judged</p>'
    hold = "property holds" if len(verdict.properties) == 1 else "properties hold"
    words = f"{held} of {len(verdict.properties)} {hold}, and none is violated"
    return f'<p class="headline holds"><b aria-hidden="true">✓</b> {words}</p>'


def _about(run: PageContent) -> str:
    verdict, measures = run.verdict, run.measures
    facts = [
        f"{count:,} {one if count == 1 else many}"
        for count, one, many in (
            (verdict.process_count, "process", "processes"),
            (verdict.event_count, "event", "events"),
            (verdict.message_count, "message", "messages"),
            (verdict.delivery_count, "delivery", "deliveries"),
        )
    ]
    if measures.has_times:
        facts.append(plots.duration(measures.duration_us))
    if run.record is not None:
        seed = "" if run.record.seed is None else f", seed {run.record.seed}"
        facts.append(f"antiphon {escape(cut(run.record.what, _NAME_MAX))}{seed}")
    return " · ".join(facts)


def _verdicts(verdict: Verdict) -> str:
    rows = "".join(
        f'<tr class="{item.status.value}"><th scope="row">{item.property.value}</th>'
        f'<td class="mark"><b aria-hidden="true">{_MARKS[item.status]}</b> {item.status.value}</td>'
        f"<td>{escape(cut(_remark(item), _TEXT_MAX))}</td></tr>"
        for item in verdict.properties
    )
    return (
        '<table class="verdicts"><thead><tr><th scope="col">property</th>'
        '<th scope="col">verdict</th><th scope="col">remarks</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f'<p class="quiet">Judged by {escape(cut(verdict.engine, _NAME_MAX))}, from who sent and '
        f"delivered what, in which local order; clocks are not trusted.{_terms(verdict.terms)}</p>"
    )


def _terms(terms: Terms) -> str:
    """Say on which terms a trace was judged, if on any."""
    said = [f"only {', '.join(terms.only)}"] if terms.only else []
    for names, what in ((terms.begins_late, "begin late"), (terms.ends_early, "end early")):
        if names:
            said.append(f"the records of {', '.join(names)} {what}")
    if terms.subscriptions:
        said.append(f"subscriptions to {', '.join(terms.subscriptions)} were given")
    if terms.domains:
        said.append(f"groups that name no domain: {terms.domains}")
    return f" Judged on terms: {escape(cut('; '.join(said), _TEXT_MAX))}." if said else ""


def _remark(item: PropertyVerdict) -> str:
    if item.status is not Status.VIOLATED:
        return item.reason
    times = "once" if item.violation_count == 1 else f"{item.violation_count:,} times"
    return f"{times}; {item.reason}" if item.reason else times


def _violations(verdict: Verdict) -> str:
    found = [violation for item in verdict.properties for violation in item.violations]
    if not found:
        return ""
    shown = "".join(_violation(number, violation) for number, violation in enumerate(found))
    return f'<section aria-labelledby="wrong"><h2 id="wrong">What went wrong</h2>{shown}</section>'


def _violation(number: int, violation: Violation) -> str:
    last = len(violation.chain)
    rows = "".join(
        f'<tr{" class=wrong" if place == last else ""}><td class="step">{place}</td>'
        f'<td class="who">{escape(cut(link.process, _NAME_MAX))}</td>'
        f"<td>{escape(cut(link.text, _TEXT_MAX))}</td>"
        f'<td class="where">{escape(_where(link.file, link.line, link.index))}</td></tr>'
        for place, link in enumerate(violation.chain, start=1)
    )
    text = escape(cut(violation.text, _TEXT_MAX))
    return (
        f'<article class="violation"><h3>{violation.property.value}</h3>{_route(violation)}'
        f"<p>{text}</p>"
        f'<div class="wide"><table class="chain"><caption>The events that show it, in causal '
        'order</caption><thead><tr><th scope="col">step</th><th scope="col">process</th>'
        '<th scope="col">event</th><th scope="col">evidence</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        f'<p><button type="button" class="show" data-witness="{number}">Show in the diagram'
        "</button></p></article>"
    )


def _route(violation: Violation) -> str:
    """Return the chain over several groups in one line: who told whom, in which group."""
    if not violation.route:
        return ""
    told = _name(violation.route[0].sender)
    for hop in violation.route:
        own = hop.sender == hop.to
        told += f" {_hop(hop.group, 'then' if own else '→')} {_name(hop.to)}"
    first = violation.route[0]
    missed = (
        f"{_name(first.sender)} {_hop(first.group, '→')} {_name(violation.process)} "
        f"{escape(violation.missed())}"
    )
    return f'<p class="route">{told} <span class="missed">but {missed}</span></p>'


def _hop(group: str, mark: str) -> str:
    named = f"<i>{escape(cut(group, _GROUP_MAX))}</i>" if group else ""
    return f'<span class="hop">{named}{mark}</span>'


def _name(process: str) -> str:
    return f"<b>{escape(cut(process, _NAME_MAX))}</b>"


def _without(violation: Violation) -> str:
    """Say what a process never delivered, where that is of another group."""
    if not violation.route or violation.earlier is None or violation.property != "no-orphan":
        return ""
    earlier = violation.earlier
    return cut(f"never {earlier} · {earlier.group}", 2 * _NAME_MAX)


def _where(file: str, line: int, index: int) -> str:
    return f"{cut_front(file, 4 * _NAME_MAX)}:{line}" if file else f"row {index}"


def _diagram_note(diagram: Diagram) -> str:
    if not diagram.left_out:
        return ""
    return (
        f'<p class="quiet">{len(diagram.kinds):,} rows are in this picture, around what matters; '
        f"{diagram.left_out:,} are not: a dotted line stands for them.</p>"
    )


def figure_html(title: str, picture: str, caption: str) -> str:
    """Return a figure with its title, its caption and a button."""
    return (
        f"<figure><h3>{title}</h3>{picture}<figcaption>{caption}</figcaption>"
        '<button type="button" class="save" hidden>Save as SVG</button></figure>'
    )


def _measures(measures: Measures) -> str:
    figures = [
        figure_html(
            "Messages by process",
            plots.count_plot(measures.processes),
            _more(len(measures.processes), "processes"),
        )
    ]
    left_out = []
    if not measures.has_times:
        left_out.append("The trace has no times: delays, depths and durations are left out.")
    elif measures.early_count:
        left_out.append(
            f"{measures.early_count:,} deliveries are earlier than their multicast by the clocks: "
            "clocks of different processes cannot be compared, so delays and durations are "
            "left out."
        )
    elif measures.delays.total:
        middle, late = measures.delays.quantile(0.5), measures.delays.quantile(0.99)
        caption = f"Median {plots.duration(middle)}, 99 % within {plots.duration(late)}."
        picture = plots.delay_plot(measures.delays, measures.held)
        figures.append(figure_html("Delivery delay", picture, caption))
    figures += _queue_and_headers(measures)
    if measures.changes:
        longest = max(change.duration_us for change in measures.changes)
        caption = f"The longest took {plots.duration(longest)}."
        caption += " " + _more(len(measures.changes), "view changes")
        figures.append(figure_html("View changes", plots.change_plot(measures.changes), caption))
    notes = "".join(f'<p class="quiet">{note}</p>' for note in left_out)
    return f'{notes}<div class="figures">{"".join(figures)}</div>{_table(measures)}'


def _queue_and_headers(measures: Measures) -> list[str]:
    figures = []
    if measures.has_times and any(measures.depths.deepest):
        caption = f"Runs held back; at most {max(measures.depths.deepest):,} at one process."
        figures.append(figure_html("Delay queues", plots.depth_plot(measures.depths), caption))
    headers = measures.headers
    if headers.message_count:
        mean = headers.byte_count / headers.message_count
        caption = f"{mean:.3g} bytes per message in the mean"
        if headers.payload_bytes:
            caption += f", {100 * headers.byte_count / headers.payload_bytes:.3g} % of the payload"
        picture = plots.header_plot(headers)
        figures.append(figure_html("Header bytes per message", picture, f"{caption}."))
    return figures


def _more(count: int, what: str) -> str:
    return f"The first {plots.BARS_MAX} of {count:,} {what}." if count > plots.BARS_MAX else ""


def _table(measures: Measures) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(cut(item.name, _NAME_MAX))}</th>'
        f"<td>{item.multicast_runs:,}</td><td>{item.multicast_messages:,}</td>"
        f"<td>{item.delivered_runs:,}</td><td>{item.delivered_messages:,}</td>"
        f"<td>{item.held_runs:,}</td><td>{item.depth_max:,}</td></tr>"
        for item in measures.processes[:_ROWS_MAX]
    )
    heads = "".join(
        f'<th scope="col"{"" if place else " class=text"}>{head}</th>'
        for place, head in enumerate((
            "process", "runs multicast", "messages", "runs delivered", "messages", "held back",
            "deepest queue",
        ))
    )  # fmt: skip
    return (
        '<details><summary>Numbers by process</summary><div class="wide"><table class="numbers">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _replay(record: RunRecord | None) -> str:
    if record is None:
        return ""
    return (
        '<section aria-labelledby="again"><h2 id="again">Again</h2>'
        f"<pre tabindex=0><code>{escape(cut(record.replay, _TEXT_MAX * 2))}</code></pre>"
        f'<p class="quiet">Made with antiphon {escape(cut(record.antiphon, _NAME_MAX))} on Python '
        f"{escape(cut(record.python, _NAME_MAX))}.</p></section>"
    )
