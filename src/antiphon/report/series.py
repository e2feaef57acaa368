"""Figures of several lines, ours beside a paper's, as SVG.

Law: what was measured is a full line with dots, what a paper says is dashed, in the colour of what
it is to be compared with, and broader, so that it is seen where both are the same; lines are named
above the plot. As a file of its own a figure brings its colours along, for light and dark screens.
"""

from collections.abc import Iterator, Sequence

from antiphon.report.plots import HEIGHT, WIDTH, Frame, nice_step, si
from antiphon.trace.claims import FigureData, Series

_STYLES_MAX = 5
_LEGEND_PX = 17
_BARS_LEFT, _BARS_RIGHT = 152, 60
"""Room for the names of categories, and for values."""

_FILE_STYLE = """
.plot { font: 14px system-ui, sans-serif; background: #ffffff; }
text { fill: #1a1f26; } .name, .legend, .tiny { fill: #56606d; font-size: 13px; }
.grid { stroke: #d9dee5; fill: none; } .l0 { stroke: #2563a8; } .l1 { stroke: #b97a00; }
.l2 { stroke: #16754a; } .l3 { stroke: #a8348a; } .l4 { stroke: #6d4fc0; }
.d0 { fill: #2563a8; } .d1 { fill: #b97a00; } .d2 { fill: #16754a; } .d3 { fill: #a8348a; }
.d4 { fill: #6d4fc0; } .line { stroke-width: 2.5; fill: none; stroke-linejoin: round; }
.paper { stroke-width: 6; stroke-opacity: 0.55; stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
.plot { background: #12161c; } text { fill: #e8ecf1; } .name, .legend, .tiny { fill: #a3aebb; }
.grid { stroke: #323b47; } .l0 { stroke: #7db4f0; } .l1 { stroke: #d9a02f; }
.l2 { stroke: #6fce9a; } .l3 { stroke: #ee93d6; } .l4 { stroke: #b9a5ff; }
.d0 { fill: #7db4f0; } .d1 { fill: #d9a02f; } .d2 { fill: #6fce9a; } .d3 { fill: #ee93d6; }
.d4 { fill: #b9a5ff; } }
"""


def series_plot(figure: FigureData) -> str:
    """Return the lines of a figure over a common axis, both from their least or 0 on; or bars.

    A line without points is left out, and those after it keep their colours.
    """
    if figure.categories:
        return _bars_plot(figure)
    points = [point for series in figure.series for point in series.points]
    xs = sorted({x for x, _ in points})
    top = max(y for _, y in points)
    step = nice_step(top * 1.05, 5)
    high = step * -(-top * 1.02 // step)
    above = (sum(bool(series.points) for series in figure.series) + 1) // 2 * _LEGEND_PX
    frame = Frame(figure.title, xs[-1], high, xs[0] if len(xs) > 1 else xs[0] - 1)
    frame.grid_y(step)
    ticks = xs if len(xs) <= 8 else xs[:: -(-len(xs) // 8)]
    frame.ticks_x([(x, si(x)) for x in ticks], figure.x_name)
    for style, series in _drawn(figure.series):
        _draw(frame, style, series)
    frame.text(8, 18, figure.y_name, "start", "name")
    _name(frame, figure.series, 12 - above)
    return _taller(frame.svg(), above)


def _bars_plot(figure: FigureData) -> str:
    """Return a row per category, with a bar for each series that has a value there."""
    longest = max(y for series in figure.series for _, y in series.points)
    frame = Frame(figure.title, longest, 1)
    thick, row = 13, 16 + 13 * len(figure.series)
    scale = (WIDTH - _BARS_LEFT - _BARS_RIGHT) / longest
    for place, (style, series) in enumerate(_by_place(figure.series)):
        frame.add(f'<rect class="{style}" x="{8 + place * 212}" y="2" width="12" height="12"/>')
        frame.text(26 + place * 212, 12, series.name, "start", "legend")
        for category, value in series.points:
            y = 26 + category * row + place * thick
            width = max(value * scale, 1)
            frame.add(
                f'<rect class="{style}" x="{_BARS_LEFT}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{thick - 1}"/>'
            )
            shown = f"{value:.2g} {figure.y_name}"
            frame.text(_BARS_LEFT + width + 5, y + thick - 3, shown, "start", "tiny")
    for number, name in enumerate(figure.categories):
        frame.text(_BARS_LEFT - 8, 26 + number * row + thick * 0.5 + 8, name, "end")
    return frame.svg(26 + row * len(figure.categories))


def _by_place(all_series: Sequence[Series]) -> Iterator[tuple[str, Series]]:
    """Yield the style of each series' bars."""
    return ((f"d{place % _STYLES_MAX}", series) for place, series in enumerate(all_series))


def _styled(all_series: Sequence[Series]) -> Iterator[tuple[int, Series]]:
    """Yield the colour of each line: the first of the paper's has that of the first of ours."""
    seen = {True: 0, False: 0}
    for series in all_series:
        yield seen[series.is_paper] % _STYLES_MAX, series
        seen[series.is_paper] += 1


def _drawn(all_series: Sequence[Series]) -> Iterator[tuple[int, Series]]:
    return ((style, series) for style, series in _styled(all_series) if series.points)


def _draw(frame: Frame, style: int, series: Series) -> None:
    kind = " paper" if series.is_paper else ""
    frame.line(series.points, f"line l{style}{kind}")
    if not series.is_paper:
        for x, y in series.points:
            frame.add(
                f'<circle class="d{style}" cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="3.5"/>'
            )


def _name(frame: Frame, all_series: Sequence[Series], top: float) -> None:
    """Name the lines above the plot, two in a row."""
    for place, (style, series) in enumerate(_drawn(all_series)):
        x, y = 8 + (place % 2) * 212, top + (place // 2) * _LEGEND_PX
        kind = " paper" if series.is_paper else ""
        frame.add(f'<path class="line l{style}{kind}" d="M{x} {y - 4}h22"/>')
        frame.text(x + 28, y, series.name, "start", "legend")


def _taller(svg: str, above: int) -> str:
    """Return a figure with more room above."""
    view = f'viewBox="0 0 {WIDTH} {HEIGHT:g}"'
    return svg.replace(view, f'viewBox="0 {-above} {WIDTH} {HEIGHT + above}"', 1)


def figure_file(figure: FigureData) -> str:
    """Return a figure as a file that stands alone."""
    svg = series_plot(figure).replace(
        "<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" ', 1
    )
    head, end, rest = svg.partition(">")
    return f"{head}{end}<style>{_FILE_STYLE}</style>{rest}\n"
