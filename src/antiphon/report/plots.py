"""Figures, as pieces of SVG that take their colours from the page.

Law: a figure stands alone on a slide: a title, axes with their units, ticks at round numbers, few
lines, each named where it runs. No number is invented: what is plotted is what was measured.
Everything from the trace is escaped.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from antiphon.report.measures import Depths, Headers, ProcessCounts
from antiphon.trace.distribution import Distribution
from antiphon.trace.view_changes import ViewChange

WIDTH, HEIGHT = 440, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 26, 32, 46
BARS_MAX = 16
_NAME_MAX = 14

Point = tuple[float, float]


def nice_step(span: float, ticks: int = 5) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that cuts ``span`` into few pieces."""
    raw = max(span, 1e-9) / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)


def si(value: float) -> str:
    """Return a number as people write it, short."""
    for bound, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= bound:
            scale = 1e3 if letter == "k" else bound
            return f"{value / scale:.3g}{letter}"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def duration(us: float) -> str:
    """Return a time with the unit that suits it."""
    if us < 1_000:
        return f"{us:.3g} µs"
    if us < 1_000_000:
        return f"{us / 1_000:.3g} ms"
    return f"{us / 1_000_000:.3g} s" if us < 1e9 else f"{us / 1_000_000:,.0f} s"


def shortened(name: str, length: int = _NAME_MAX) -> str:
    """Return a name that fits."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


class Frame:
    """Axes: turns values into places, and collects what is drawn."""

    def __init__(self, title: str, x_max: float, y_max: float, x_min: float = 0.0) -> None:
        """Draw on an area of these values."""
        self._x_min, self._x_max, self._y_max = x_min, max(x_max, x_min + 1e-9), max(y_max, 1e-9)
        self._parts: list[str] = []
        self._title = title

    def x(self, value: float) -> float:
        """Return where a value is across."""
        part = (value - self._x_min) / (self._x_max - self._x_min)
        return _LEFT + part * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """Return where a value is from above."""
        return HEIGHT - _BOTTOM - value / self._y_max * (HEIGHT - _TOP - _BOTTOM)

    def grid_y(self, step: float, form: str = "", unit: str = "") -> None:
        """Draw lines across, with their values."""
        value = 0.0
        while value <= self._y_max * 1.001:
            y = self.y(value)
            right = WIDTH - _RIGHT
            shown = form.format(value) if form else si(value)
            self.add(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
            self.text(_LEFT - 6, y + 4, shown + unit, "end")
            value += step

    def ticks_x(self, ticks: Iterable[tuple[float, str]], name: str) -> None:
        """Write values below, and what they are."""
        for value, label in ticks:
            self.text(self.x(value), HEIGHT - _BOTTOM + 17, label, "middle")
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        self.text(middle, HEIGHT - 8, name, "middle", "name")

    def line(self, points: Iterable[Point], style: str, *, is_area: bool = False) -> None:
        """Draw a curve through points; or the area below it."""
        places = [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points]
        if not places:
            return
        path = "M" + "L".join(places)
        if is_area:
            last, first = places[-1].split()[0], places[0].split()[0]
            base = f"{self.y(0):.1f}"
            path += f"L{last} {base}L{first} {base}Z"
        self.add(f'<path class="{style}" d="{path}"/>')

    def text(self, x: float, y: float, words: str, anchor: str = "start", style: str = "") -> None:
        """Write words."""
        kind = f' class="{style}"' if style else ""
        self.add(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(words)}</text>'
        )

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Name the lines, above."""
        for place, (style, words) in enumerate(entries):
            x = _LEFT + place * 200
            self.add(f'<path class="{style}" d="M{x} 10h16"/>')
            self.text(x + 21, 14, words, "start", "legend")

    def add(self, part: str) -> None:
        """Draw a piece of SVG."""
        self._parts.append(part)

    def svg(self, height: float = HEIGHT) -> str:
        """Return the figure."""
        return (
            f'<svg class="plot" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label="{escape(self._title)}">{"".join(self._parts)}</svg>'
        )


def delay_plot(delays: Distribution, held: Distribution) -> str:
    """Return which share of deliveries took at most how long, on a scale of powers of ten."""
    curves = [(list(delays.curve()), "s1", "multicast to delivery")]
    if held.total:
        curves.append((list(held.curve()), "s2", "of it in delay queue"))
    values = [max(value, 1.0) for curve, _, _ in curves for value, _ in curve]
    low = math.floor(math.log10(max(min(delays.quantile(0.001), delays.quantile(0.5)), 1.0)))
    high = max(math.ceil(math.log10(max(values)) * 10) / 10, low + 1)
    frame = Frame("Share of deliveries by delay", high, 100, low)
    frame.grid_y(25, "{:.0f}", " %")
    frame.ticks_x(
        [(power, duration(10.0**power)) for power in range(low, math.floor(high) + 1)],
        "delay at most",
    )
    for curve, style, _ in curves:
        frame.line(_steps(curve, low, high), style)
    median = delays.quantile(0.5)
    at = min(max(math.log10(max(median, 1.0)), low), high)
    frame.add(f'<circle class="dot1" cx="{frame.x(at):.1f}" cy="{frame.y(50):.1f}" r="4"/>')
    frame.legend([(style, words) for _, style, words in curves])
    return frame.svg()


def _steps(curve: Sequence[Point], low: float, high: float) -> list[Point]:
    """Return a distribution as points: from its share at the left edge to all at the right."""
    points: list[Point] = []
    begin = 0.0
    for value, share in curve:
        at = math.log10(max(value, 1e-3))
        if at <= low:
            begin = share
            continue
        points.append((at, share * 100))
    return [(low, begin * 100), *points, (high, 100.0)]


def depth_plot(depths: Depths) -> str:
    """Return how deep delay queues were, over time."""
    deepest, span_us = max(depths.deepest), depths.step_us * len(depths.deepest)
    step = max(nice_step(deepest, 6), 1.0)
    frame = Frame(
        "Depth of delay queues over time", span_us, math.ceil(deepest * 1.15 / step) * step
    )
    frame.grid_y(step)
    frame.ticks_x(_time_ticks(span_us), "time")
    middle = [(slot + 0.5) * depths.step_us for slot in range(len(depths.deepest))]
    frame.line(zip(middle, depths.deepest, strict=True), "area2", is_area=True)
    frame.line(zip(middle, depths.deepest, strict=True), "s2 thin")
    frame.line(zip(middle, depths.mean, strict=True), "s1")
    frame.legend([("s2", "deepest at any process"), ("s1", "mean over rows")])
    return frame.svg()


def _time_ticks(span_us: float) -> list[tuple[float, str]]:
    step = nice_step(span_us, 4)
    return [(step * n, duration(step * n) if n else "0") for n in range(int(span_us / step) + 1)]


def count_plot(processes: Sequence[ProcessCounts]) -> str:
    """Return what each process multicast and delivered: bars of messages."""
    shown = processes[:BARS_MAX]
    longest = max((item.delivered_messages for item in shown), default=0)
    longest = max(longest, *(item.multicast_messages for item in shown), 1)
    row = 34 if len(shown) <= 8 else 22
    height, left, right = 30 + row * len(shown), 104, 64
    frame = Frame("Messages multicast and delivered, by process", longest, 1)
    for line, item in enumerate(shown):
        y = 28 + line * row
        frame.text(left - 8, y + row * 0.36 + 3, shortened(item.name), "end")
        pairs = ((item.multicast_messages, "bar1"), (item.delivered_messages, "bar2"))
        for place, (value, style) in enumerate(pairs):
            width = value / longest * (WIDTH - left - right)
            thick = row * 0.36
            at = y - 2 + place * thick
            frame.add(
                f'<rect class="{style}" x="{left}" y="{at:.1f}" width="{width:.1f}" '
                f'height="{thick - 1:.1f}"/>'
            )
            if row > 22 or place:
                frame.text(left + width + 5, at + thick / 2 + 4, si(value), "start", "tiny")
    for style, words, x in (("bar1", "multicast", left), ("bar2", "delivered", left + 110)):
        frame.add(f'<rect class="{style}" x="{x}" y="4" width="12" height="12"/>')
        frame.text(x + 18, 14, words, "start", "legend")
    return frame.svg(height + 4)


def header_plot(headers: Headers) -> str:
    """Return header bytes per message, by how many messages share a header."""
    means = [
        (f"{low}" if low == 1 else f"{low}-{2 * low - 1}", byte_count / count)
        for low, (byte_count, count) in sorted(headers.by_length.items())
    ][:BARS_MAX]
    top = max(mean for _, mean in means)
    step = nice_step(top, 5)
    high = math.ceil(top * 1.1 / step) * step
    frame = Frame("Header bytes per message, by length of run", len(means), high)
    frame.grid_y(step)
    frame.ticks_x(
        [(place + 0.5, label) for place, (label, _) in enumerate(means)], "messages in the run"
    )
    for place, (_, mean) in enumerate(means):
        x, wide = frame.x(place + 0.2), frame.x(0.6) - frame.x(0)
        wide, x = (wide, x) if wide < 64 else (64.0, frame.x(place + 0.5) - 32)
        tall = frame.y(0) - frame.y(mean)
        frame.add(
            f'<rect class="bar1" x="{x:.1f}" y="{frame.y(mean):.1f}" width="{wide:.1f}" '
            f'height="{tall:.1f}"/>'
        )
        frame.text(x + wide / 2, frame.y(mean) - 5, f"{mean:.3g}", "middle", "small")
    return frame.svg()


def change_plot(changes: Sequence[ViewChange]) -> str:
    """Return view changes, the longest first, each from its first sign to its last installation."""
    shown = sorted(changes, key=lambda change: -change.duration_us)[:BARS_MAX]
    shown.sort(key=lambda change: change.first_us)
    longest = max(*(change.duration_us for change in shown), 1)
    left, right, row = 116, 70, 24
    height = 34 + row * len(shown)
    frame = Frame("View changes, from the first sign to the last installation", longest, 1)
    scale = (WIDTH - left - right) / longest
    for line, change in enumerate(shown):
        y = 30 + line * row
        begin_us = change.first_us if change.sign_us is None else change.sign_us
        waiting = (change.first_us - begin_us) * scale
        spread = max((change.last_us - change.first_us) * scale, 2)
        frame.text(left - 8, y + 11, shortened(change.name, 15), "end")
        frame.add(
            f'<rect class="bar2" x="{left}" y="{y}" width="{max(waiting, 0):.1f}" height="14"/>'
        )
        at = left + max(waiting, 0)
        frame.add(f'<rect class="bar1" x="{at:.1f}" y="{y}" width="{spread:.1f}" height="14"/>')
        frame.text(at + spread + 6, y + 11, duration(change.duration_us), "start", "tiny")
    legend = (("bar2", "since a suspicion", left - 60), ("bar1", "first to last member", left + 90))
    for style, words, x in legend:
        frame.add(f'<rect class="{style}" x="{x}" y="4" width="12" height="12"/>')
        frame.text(x + 18, 14, words, "start", "legend")
    return frame.svg(height)
