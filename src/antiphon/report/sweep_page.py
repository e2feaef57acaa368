"""A sweep as one page: how measures change with parameters, what went wrong, how to run it again.

Law: as ``page``. A point of a figure is the median over seeds; a line is a combination of the other
parameters. The axis is the parameter with the most values among those that are numbers.
"""

import statistics
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

from antiphon.report.page import cut, digest_of, figure_html, filled, script_of, template
from antiphon.report.plots import duration
from antiphon.report.series import series_plot
from antiphon.trace.claims import FigureData, Series
from antiphon.trace.sweep_folder import CellResult, SweepRecord

_LINES_MAX = 5
_ROWS_MAX = 500
_BAD_MAX = 50
_NAME_MAX = 60
_TEXT_MAX = 1_200


class _Quantity(NamedTuple):
    """Something that a cell tells, as a figure and a column."""

    title: str
    column: str
    unit: str
    value: Callable[[CellResult], float | None]


def _measure(name: str, part: str, scale: float = 1.0) -> Callable[[CellResult], float | None]:
    def value(cell: CellResult) -> float | None:
        found = cell.measures.get(name)
        return None if found is None else found[part] * scale

    return value


def _header_bytes(cell: CellResult) -> float | None:
    count = cell.counts.get("messages", 0)
    return cell.counts["header_bytes"] / count if count and cell.counts["header_bytes"] else None


_QUANTITIES = (
    _Quantity("Delivery delay, median", "delay p50", "ms", _measure("delivery_delay", "p50", 1e-3)),
    _Quantity("Delivery delay, 99 %", "delay p99", "ms", _measure("delivery_delay", "p99", 1e-3)),
    _Quantity("Held back, 99 %", "held p99", "ms", _measure("hold_time", "p99", 1e-3)),
    _Quantity("Stability lag, median", "lag p50", "ms", _measure("stability_lag", "p50", 1e-3)),
    _Quantity("Delay queue, 99 %", "queue p99", "runs", _measure("queue_length", "p99")),
    _Quantity("View change, median", "view p50", "ms", _measure("view_change", "p50", 1e-3)),
    _Quantity("Header bytes per message", "header", "bytes", _header_bytes),
)


def sweep_page(record: SweepRecord, results: Sequence[CellResult]) -> str:
    """Return the page."""
    script = script_of("figures")
    bad = [each for each in results if each.status == "failed" or each.violated]
    done = [each for each in results if each.status == "done"]
    about = [
        _counted(len(record.cells), "cell"),
        _counted(len(record.seeds), "seed"),
        " times ".join(f"{len(values)} of {escape(cut(name, _NAME_MAX))}" for name, values in
                   record.grid.items()) or "one combination",
        f"{sum(each.seconds for each in results):,.0f} s of work",
        f"antiphon {escape(cut(record.antiphon, _NAME_MAX))}",
    ]  # fmt: skip
    content = _bad(bad) + _figures(record, done) + _table(record, results) + _again(record)
    return filled(
        "summary.html",
        {
            "kind": "Antiphon sweep report",
            "title": escape(cut(record.name, _NAME_MAX)),
            "digest": digest_of(script),
            "style": template("page.css") + template("summary.css"),
            "script": script,
            "headline": _headline(record, results, bad),
            "about": " · ".join(about),
            "content": content,
        },
    )


def _headline(record: SweepRecord, results: Sequence[CellResult], bad: Sequence[CellResult]) -> str:
    left = len(record.cells) - len(results)
    if bad:
        failed = sum(each.status == "failed" for each in bad)
        broken = len(bad) - failed
        breaks = "breaks a promise" if broken == 1 else "break a promise"
        parts = ((broken, breaks), (failed, "failed"))
        words = ", ".join(f"{_counted(count, 'cell')} {what}" for count, what in parts if count)
        return f'<p class="headline violated"><b aria-hidden="true">✗</b> {words}</p>'
    if left:
        whole = _counted(len(record.cells), "cell")
        words = f"{left:,} of {whole} {'is' if left == 1 else 'are'} not finished"
        return f'<p class="headline unknown"><b aria-hidden="true">?</b> {words}</p>'
    words = "All cells are finished, and no promise was broken"
    return f'<p class="headline holds"><b aria-hidden="true">✓</b> {words}</p>'


def _bad(bad: Sequence[CellResult]) -> str:
    if not bad:
        return ""
    shown = "".join(
        f'<div class="bad"><p>{_text(each.error or "violated: " + ", ".join(each.violated))}</p>'
        f"<pre tabindex=0><code>{_text(each.replay)}</code></pre></div>"
        for each in bad[:_BAD_MAX]
    )
    more = f'<p class="quiet">And {len(bad) - _BAD_MAX:,} more.</p>' if len(bad) > _BAD_MAX else ""
    return (
        '<section aria-labelledby="bad"><h2 id="bad">Cells to look at</h2>' + shown + more
        + "</section>"
    )  # fmt: skip


def _figures(record: SweepRecord, done: Sequence[CellResult]) -> str:
    axis = _axis(record)
    if axis is None or not done:
        return ""
    others = [name for name in record.grid if name != axis]
    lines: dict[str, list[CellResult]] = {}
    for each in done:
        lines.setdefault(_label(each, others) or "all cells", []).append(each)
    note = ""
    if len(lines) > _LINES_MAX:
        lines = _merged(done, others)
        note = "Medians over the parameters that are not named."
    pictures = []
    for quantity in _QUANTITIES:
        series = [
            Series(name=cut(name, 26), points=_points(cells, axis, quantity))
            for name, cells in lines.items()
        ]
        if any(each.points for each in series):
            figure = FigureData(
                title=quantity.title, x_name=axis, y_name=quantity.unit, series=series
            )
            title = f"{quantity.title} ({quantity.unit})"
            pictures.append(figure_html(escape(title), series_plot(figure), note))
    name = escape(cut(axis, _NAME_MAX))
    said = (
        f"Each point is the median over {len(record.seeds):,} seeds."
        if len(record.seeds) > 1
        else "Each point is one cell, of the one seed."
    )
    return (
        f'<section aria-labelledby="figures"><h2 id="figures">By {name}</h2>'
        f'<p class="quiet">{said}</p>'
        f'<div class="figures">{"".join(pictures)}</div></section>'
    )


def _axis(record: SweepRecord) -> str | None:
    """Return the number that varies most."""
    found = [
        (len(values), name)
        for name, values in record.grid.items()
        if len(values) > 1
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    return max(found, key=lambda item: item[0])[1] if found else None


def _merged(done: Sequence[CellResult], others: Sequence[str]) -> dict[str, list[CellResult]]:
    """Return few enough lines: by the first of the other parameters alone, its first values."""
    lines: dict[str, list[CellResult]] = {}
    for each in done:
        lines.setdefault(_label(each, others[:1]), []).append(each)
    return dict(list(lines.items())[:_LINES_MAX])


def _label(cell: CellResult, names: Sequence[str]) -> str:
    return ", ".join(_named(name, cell.parameters[name]) for name in names)


def _named(name: str, value: Any) -> str:  # noqa: ANN401 - as the file has it
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if name.endswith(("_us", "_us_min")):
        return f"{name.partition('_us')[0]} {duration(value)}"
    return f"{name.replace('_', ' ')} {value:,}"


def _points(
    cells: Sequence[CellResult], axis: str, quantity: _Quantity
) -> list[tuple[float, float]]:
    by_value: dict[float, list[float]] = {}
    for each in cells:
        found = quantity.value(each)
        if found is not None:
            by_value.setdefault(each.parameters[axis], []).append(found)
    return [(x, statistics.median(found)) for x, found in sorted(by_value.items())]


def _table(record: SweepRecord, results: Sequence[CellResult]) -> str:
    points: dict[tuple[str, ...], list[CellResult]] = {}
    for each in results:
        key = tuple(str(each.parameters[name]) for name in record.grid)
        points.setdefault(key, []).append(each)
    heads = [*record.grid, "seeds", *(f"{each.column}, {each.unit}" for each in _QUANTITIES), "bad"]
    rows = "".join(_row(key, cells) for key, cells in list(points.items())[:_ROWS_MAX])
    shown = "".join(
        f'<th scope="col"{" class=text" if head in record.grid else ""}>'
        f"{escape(cut(head, _NAME_MAX))}</th>"
        for head in heads
    )
    return (
        '<section aria-labelledby="numbers"><h2 id="numbers">Numbers</h2>'
        '<p class="quiet">Medians over seeds; every cell is in results.parquet.</p>'
        f'<div class="wide"><table class="numbers"><thead><tr>{shown}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _row(key: tuple[str, ...], cells: Sequence[CellResult]) -> str:
    words = [f'<td class="text">{escape(cut(part, _NAME_MAX))}</td>' for part in key]
    words.append(f"<td>{len(cells)}</td>")
    for quantity in _QUANTITIES:
        found = [value for each in cells if (value := quantity.value(each)) is not None]
        words.append(f"<td>{_number(statistics.median(found))}</td>" if found else "<td>-</td>")
    wrong = sum(each.status == "failed" or bool(each.violated) for each in cells)
    words.append(f"<td>{wrong or ''}</td>")
    return f"<tr>{''.join(words)}</tr>"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _again(record: SweepRecord) -> str:
    shared = ", ".join(f"{name} {value}" for name, value in record.fixed.items())
    return (
        '<section aria-labelledby="again"><h2 id="again">Again</h2>'
        f"<pre tabindex=0><code>{_text(record.replay)}</code></pre>"
        f'<p class="quiet">All cells share: {_text(shared)}.</p></section>'
    )


def _text(words: str) -> str:
    return escape(cut(words, _TEXT_MAX))
