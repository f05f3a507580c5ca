"""Plots as SVG, without scripts and style attributes; every number in them is text.

Text is never scaled, so that it stays readable. A curve is as wide as its box, up to a width that fits its data; its
horizontal positions are percentages. A trend has a width in CSS pixels, and scrolls where its box is narrower. Both
have axes with names and round ticks. Where a vertical axis doesn't start at 0, the plot says so. Classes in
static/css/figures.css set the colors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

NOTHING = SafeString("")


@dataclass(frozen=True)
class Point:
    """A point of a trend plot: name, value (None: undefined), interval, and a second line of text (`detail`)."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    detail: str = ""


class Scale:
    """A linear scale from values to coordinates; values outside it stay at its ends."""

    def __init__(self, start: float, end: float, first: float, last: float) -> None:
        self.start, self.end, self.first, self.last = start, end, first, last

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.start), self.end) - self.start) / (self.end - self.start)
        return round(self.first + share * (self.last - self.first), 1)


MOST_TICKS = 5
# A vertical axis starts at 0 if the values differ by at least this share of the highest.
FROM_ZERO = 0.5
# Otherwise it covers at least this share of the highest value, so that noise doesn't fill the plot.
LEAST_RANGE = 0.1


@dataclass(frozen=True)
class Axis:
    """Ticks from the lowest to the highest end of an axis, with their text."""

    ticks: list[float]
    texts: list[str]

    @property
    def start(self) -> float:
        return self.ticks[0]

    @property
    def end(self) -> float:
        return self.ticks[-1]

    @property
    def cut(self) -> str:
        """A note for an axis that doesn't contain 0, else an empty text."""
        if self.start <= 0 <= self.end:
            return ""
        return _("The axis starts at %(start)s, not at 0.") % {"start": self.texts[0]}


def axis(values: Iterable[float], *, whole: bool = False) -> Axis:
    """Fit an axis with a few round ticks to the values. With `whole`, the ticks are whole numbers."""
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high == 0:
        high = 1.0
    if low >= 0 and (high - low >= FROM_ZERO * high or len(known) < 2):
        low = 0.0
    low = min(low, high - LEAST_RANGE * abs(high))
    step = _step(high - low or 1.0)
    step = max(step, 1.0) if whole else step
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = [round(step * n, 12) + 0.0 for n in range(first, max(last, first + 1) + 1)]
    decimals = next(n for n in range(12) if all(abs(round(tick, n) - tick) < step * 1e-6 for tick in ticks))
    return Axis(ticks, [f"{tick:,.{decimals}f}".replace("-", "−") for tick in ticks])


def _step(span: float) -> float:
    """The distance between ticks: 1, 2, 2.5 or 5 times a power of ten."""
    raw = span / MOST_TICKS
    power = 10.0 ** floor(log10(raw))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if raw <= power * factor * (1 + 1e-9))


BAR = 140
BAR_HEIGHT = 14


def svg(width: object, height: int, content: str, *, title: str = "", classes: str = "") -> SafeString:
    """Return a drawing. Screen readers get its title, and skip a drawing without one. `content` is escaped already."""
    told = f'role="img" aria-label="{escape(title)}"' if title else 'aria-hidden="true" focusable="false"'
    return SafeString(f'<svg class="plot{classes}" width="{width}" height="{height}" {told}>{content}</svg>')


def _bar(content: str) -> SafeString:
    return svg(BAR, BAR_HEIGHT, content, classes=" plot-bar")


@register.simple_tag
def interval_bar(
    value: float | None, low: float | None = None, high: float | None = None, start: float = 0.0, end: float = 1.0
) -> SafeString:
    """Draw a value and its interval, from `start` to `end`. Screen readers skip it: show the figures beside it.

    `bar_scale` draws the scale. A triangle at its edge stands for a value outside it.
    """
    if value is None:
        return NOTHING
    scale = Scale(start, end, 4, BAR - 4)
    content = f'<line class="plot-axis" x1="4" x2="{BAR - 4}" y1="7" y2="7"/>'
    for x in (4, BAR // 2, BAR - 4):
        content += f'<line class="plot-axis" x1="{x}" x2="{x}" y1="4" y2="10"/>'
    if low is not None and high is not None:
        width = max(scale(high) - scale(low), 1)
        content += f'<rect class="plot-around" x="{scale(low)}" y="4" width="{width}" height="6" rx="3"/>'
    return _bar(content + _bar_mark(scale, value))


def _bar_mark(scale: Scale, value: float) -> str:
    x = scale(value)
    if scale.start <= value <= scale.end:
        return f'<circle class="plot-dot" cx="{x}" cy="7" r="4"/>'
    tip = -5 if value < scale.start else 5
    return f'<path class="plot-dot" d="M{x + tip / 2} 7 l{-tip} -5 v10 z"/>'


@register.simple_tag
def bar_scale(start: str = "0", middle: str = "0.5", end: str = "1") -> SafeString:
    """Draw the scale of the bars below it, for the head of their column. Screen readers skip it, as the bars."""
    texts = ((0, "start", start), (BAR // 2, "middle", middle), (BAR, "end", end))
    return _bar("".join(text_at("plot-small", x, 11, text, anchor) for x, anchor, text in texts))


@register.simple_tag
def share_bar(value: float | None) -> SafeString:
    """Draw a share as a filled bar. Screen readers skip it: show the figure beside it."""
    if value is None:
        return NOTHING
    widths = {"plot-trough": BAR, "plot-fill": round(BAR * min(max(value, 0.0), 1.0), 1)}
    rect = '<rect class="{}" x="0" y="4" width="{}" height="6" rx="3"/>'
    return _bar("".join(rect.format(*pair) for pair in widths.items()))


def text_at(css: str, x: object, y: float, text: object, anchor: str = "middle") -> str:
    """Return an escaped text."""
    return f'<text class="{css}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


LEFT, RIGHT, TOP, HEIGHT, FOOT = 56, 20, 40, 170, 66
BOTTOM = TOP + HEIGHT
# The room for the points of a trend, and the width of a character of their texts.
LEAST_ROOM, MOST_ROOM, CHARACTER = 230, 640, 6.6


@register.simple_tag
def trend_plot(points: Sequence[Point], title: str, across: str, up: str, digits: int = 2) -> SafeString:
    """Draw values with intervals, joined by a line. `across` and `up` name the axes.

    Where the points are many, only some have texts, the last among them. Screen readers get the title and all values.
    """
    fitted = axis(
        (n for p in points for n in (p.value, p.low, p.high) if n is not None and p.value is not None), whole=not digits
    )
    room, every = _room(points, digits)
    scale = Scale(fitted.start, fitted.end, BOTTOM, TOP)
    positions = [(round(LEFT + room * (at + 0.5) / len(points), 1), point) for at, point in enumerate(points)]
    ends = " ".join(f"{x},{scale(point.value)}" for x, point in positions if point.value is not None)
    content = _grid(scale, fitted, LEFT, LEFT + room) + _names(LEFT + room / 2, FOOT - 8, across, up, fitted)
    content += f'<polyline class="plot-line" points="{ends}"/>'
    for at, (x, point) in enumerate(positions):
        content += _mark(scale, x, point, digits, named=(len(points) - 1 - at) % every == 0)
    summary = f"{title}: " + "; ".join(f"{p.name} {_value(p.value, digits)}" for p in points)
    return svg(LEFT + room + RIGHT, BOTTOM + FOOT, content, title=_told(summary, fitted))


def _room(points: Sequence[Point], digits: int) -> tuple[int, int]:
    """Return the width for the points, and that each n-th of them has room for its texts."""
    texts = [text for p in points for text in (p.name, p.detail, _value(p.value, digits))]
    longest = max((len(text) for text in texts), default=0) * CHARACTER + 14
    room = round(min(max(longest * len(points), LEAST_ROOM), MOST_ROOM))
    return room, max(1, ceil(longest * len(points) / room - 1e-6))


def _value(value: float | None, digits: int) -> str:
    return _("undefined") if value is None else f"{value:,.{digits}f}"


def _told(text: str, fitted: Axis) -> str:
    """Return what screen readers get: the values, and whether the axis starts at 0."""
    return f"{text}. {fitted.cut}" if fitted.cut else text


def _grid(scale: Scale, fitted: Axis, first: int | str, last: int | str) -> str:
    """Draw the ticks of the vertical axis as lines from `first` to `last`, and their texts beside them."""
    return "".join(
        f'<line class="plot-grid" x1="{first}" x2="{last}" y1="{scale(tick)}" y2="{scale(tick)}"/>'
        f'<text class="plot-small" x="{first}" dx="-8" y="{scale(tick) + 4}" text-anchor="end">{text}</text>'
        for tick, text in zip(fitted.ticks, fitted.texts, strict=True)
    )


def _names(middle: float | str, below: int, across: str, up: str, fitted: Axis) -> str:
    """Write the names of the axes, and whether the vertical one starts at 0."""
    left = ((12, up), (27, fitted.cut))
    content = "".join(f'<text class="plot-small" x="0" y="{y}">{escape(text)}</text>' for y, text in left)
    return content + text_at("plot-small", middle, BOTTOM + below, across)


def _mark(scale: Scale, x: float, point: Point, digits: int, *, named: bool) -> str:
    content = ""
    if point.value is not None:
        if point.low is not None and point.high is not None:
            ends = f'y1="{scale(point.low)}" y2="{scale(point.high)}"'
            content += f'<line class="plot-whisker" x1="{x}" x2="{x}" {ends}/>'
        content += f'<circle class="plot-dot" cx="{x}" cy="{scale(point.value)}" r="4"/>'
    if not named:
        return content
    highest = point.value if point.high is None else point.high
    above = ("plot-small", BOTTOM - 8) if highest is None else ("plot-value", scale(highest) - 9)
    texts = [
        (*above, _value(point.value, digits)),
        ("plot-name", BOTTOM + 18, point.name),
        ("plot-small", BOTTOM + 34, point.detail),
    ]
    return content + "".join(text_at(css, x, y, text) for css, y, text in texts if text)


@dataclass(frozen=True)
class PlotLine:
    """A line of a plot with several lines: its name and its values, from 1. `main`: it is drawn in the accent color.

    `dashed` tells a line from another one of the same color.
    """

    name: str
    values: list[float | None]
    main: bool = False
    dashed: bool = False


# The distance between points of lines, the room for their names, and the height of a name.
LINE_STEP, NAME_MOST, NAME_HEIGHT = 90, 200, 16


@register.simple_tag
def lines_plot(
    lines: Sequence[PlotLine],
    title: str,
    across: str,
    up: str,
    names: Sequence[str] = (),
    width: int = LINE_STEP,
    digits: int = 2,
) -> SafeString:
    """Draw several lines over the same steps, each with its name and last value at its end.

    `names`: those of the steps, by default their numbers; an empty one is left out. `width`: the distance between
    two steps. `digits`: those of the values after the point.
    Screen readers get the title and all values. Show the other values in a table beside the plot.
    """
    steps = max((len(line.values) for line in lines), default=0)
    drawn = [line for line in lines if line.values and line.values[-1] is not None]
    if not drawn:
        return NOTHING
    fitted = axis(value for line in drawn for value in line.values if value is not None)
    scale = Scale(fitted.start, fitted.end, BOTTOM, TOP)
    room = width * max(steps - 1, 1)
    along = Scale(1, max(steps, 2), LEFT, LEFT + room)
    content = _grid(scale, fitted, LEFT, LEFT + room) + _names(LEFT + room / 2, 38, across, up, fitted)
    for at, name in enumerate(names or range(1, steps + 1), 1):
        content += text_at("plot-small", along(at), BOTTOM + 20, name)
    for y, line in _apart([(scale(line.values[-1] or 0.0), line) for line in drawn]):
        content += _one_line(line, y, scale, along, steps, digits)
    longest = min(max(len(_at_end(line, digits)) for line in drawn) * CHARACTER, NAME_MOST)
    values = (f"{line.name} {', '.join(_line_value(value, digits) for value in line.values)}" for line in drawn)
    told = _told(f"{title}: {'; '.join(values)}", fitted)
    return svg(round(LEFT + room + 24 + longest), BOTTOM + 46, content, title=told)


def _apart(ends: Sequence[tuple[float, PlotLine]]) -> list[tuple[float, PlotLine]]:
    """The vertical positions of the lines' names, moved so that none covers another. The main line is drawn last."""
    placed: list[tuple[float, PlotLine]] = []
    for y, line in sorted(ends, key=lambda end: end[0]):
        placed.append((max(y, placed[-1][0] + NAME_HEIGHT) if placed else y, line))
    below = placed[-1][0] - BOTTOM
    if below > 0:
        lowest = float(BOTTOM + NAME_HEIGHT)
        for at in range(len(placed) - 1, -1, -1):
            lowest = min(placed[at][0], lowest - NAME_HEIGHT)
            placed[at] = (lowest, placed[at][1])
    return sorted(placed, key=lambda each: each[1].main)


def _one_line(line: PlotLine, name_at: float, scale: Scale, along: Scale, steps: int, digits: int) -> str:
    points = [(along(step), scale(value)) for step, value in enumerate(line.values, start=1) if value is not None]
    end, edge, y = points[-1][1], along(steps), round(name_at, 1)
    css = ("plot-main" if line.main else "plot-other") + (" plot-dashed" if line.dashed else "")
    dots = "".join(f'<circle class="plot-dot" cx="{x}" cy="{y}" r="4"/>' for x, y in points)
    return (
        f'<g class="{css}"><polyline class="plot-line" points="{" ".join(f"{x},{y}" for x, y in points)}"/>{dots}'
        f'<line class="plot-axis" x1="{edge + 6}" x2="{edge + 18}" y1="{end}" y2="{y}"/>'
        f'<text class="plot-end" x="{edge + 22}" y="{round(name_at + 4, 1)}">{escape(_at_end(line, digits))}</text></g>'
    )


def _at_end(line: PlotLine, digits: int) -> str:
    return f"{line.name} {_line_value(line.values[-1], digits)}"


def _line_value(value: float | None, digits: int) -> str:
    return _("undefined") if value is None else f"{value:.{digits}f}"


# Shares of the width of a curve: where it starts and ends.
CURVE_START, CURVE_END = 15, 97
# Up to so many steps, a curve needs little room.
SHORT_CURVE = 8


@register.simple_tag
def loss_curve(losses: Sequence[float], title: str, across: str, up: str, best: str = "") -> SafeString:
    """Draw a loss or another figure for each step of a training, from 1. `across` and `up` name the axes.

    `best`: mark the `highest` or the `lowest` value. Screen readers get the title, this and the first and last values.
    """
    known = [loss for loss in losses if isfinite(loss)]
    if len(known) < 2:
        return NOTHING
    fitted = axis(known)
    down = Scale(fitted.start, fitted.end, BOTTOM, TOP)
    area = Scale(1, len(known), 0, 1000)
    points = " ".join(f"{area(at)},{down(loss)}" for at, loss in enumerate(known, start=1))
    content = (
        _grid(down, fitted, f"{CURVE_START}%", f"{CURVE_END}%")
        + _steps(len(known))
        + _names(f"{(CURVE_START + CURVE_END) / 2}%", 38, across, up, fitted)
        + f'<svg x="{CURVE_START}%" y="{TOP}" width="{CURVE_END - CURVE_START}%" height="{HEIGHT}" '
        f'viewBox="0 {TOP} 1000 {HEIGHT}" preserveAspectRatio="none">'
        f'<polyline class="plot-line" points="{points}" vector-effect="non-scaling-stroke"/></svg>'
        f'<circle class="plot-dot" cx="{CURVE_END}%" cy="{down(known[-1])}" r="4"/>'
    )
    told = f"{title}: {known[0]:.4g} → {known[-1]:.4g} ({len(known)})"
    if best:
        value = max(known) if best == "highest" else min(known)
        at = known.index(value) + 1
        x, name = f"{Scale(1, len(known), CURVE_START, CURVE_END)(at)}%", _("best: %(value).2f") % {"value": value}
        content += f'<circle class="plot-dot" cx="{x}" cy="{down(value)}" r="5"/>'
        content += text_at("plot-value", x, down(value) - 10, name, "end" if at > len(known) / 2 else "start")
        told += f"; {name} ({at})"
    told = _told(told, fitted)
    classes = " plot-fit is-short" if len(known) <= SHORT_CURVE else " plot-fit"
    return svg("100%", BOTTOM + 46, content, title=told, classes=classes)


def _steps(last: int) -> str:
    """Write round numbers of steps below a curve, with the first and the last."""
    step = max(1, round(_step(last)))
    shown = [1, *(at for at in range(step, last, step) if at > step / 2 and last - at > step / 2 and at > 1), last]
    along = Scale(1, last, CURVE_START, CURVE_END)
    return "".join(
        f'<line class="plot-axis" x1="{along(at)}%" x2="{along(at)}%" y1="{BOTTOM}" y2="{BOTTOM + 5}"/>'
        + text_at("plot-small", f"{along(at)}%", BOTTOM + 20, f"{at:,}")
        for at in shown
    )


@register.simple_tag
def heat(value: float | None) -> str:
    """Return the class of a heat map cell for a value from 0 to 1: five steps of the accent color."""
    if value is None:
        return "heat-none"
    return f"heat-{min(max(int(value * 5), 0), 4)}"
