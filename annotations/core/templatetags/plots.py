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
from django.utils.html import format_html, format_html_join
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
    around: SafeString = NOTHING
    if low is not None and high is not None:
        width = max(scale(high) - scale(low), 1)
        around = format_html('<rect class="plot-around" x="{}" y="4" width="{}" height="6" rx="3"/>', scale(low), width)
    return format_html(
        '<svg class="plot plot-bar" width="{}" height="{}" aria-hidden="true" focusable="false">'
        '<line class="plot-axis" x1="4" x2="{}" y1="7" y2="7"/>{}{}{}</svg>',
        BAR,
        BAR_HEIGHT,
        BAR - 4,
        _bar_ticks(),
        around,
        _bar_mark(scale, value),
    )


def _bar_mark(scale: Scale, value: float) -> SafeString:
    x = scale(value)
    if scale.start <= value <= scale.end:
        return format_html('<circle class="plot-dot" cx="{}" cy="7" r="4"/>', x)
    tip = -5 if value < scale.start else 5
    return format_html('<path class="plot-dot" d="M{} 7 l{} -5 v10 z"/>', x + tip / 2, -tip)


def _bar_ticks() -> SafeString:
    marks = ((x,) for x in (4, BAR // 2, BAR - 4))
    return format_html_join("", '<line class="plot-axis" x1="{0}" x2="{0}" y1="4" y2="10"/>', marks)


@register.simple_tag
def bar_scale(start: str = "0", middle: str = "0.5", end: str = "1") -> SafeString:
    """Draw the scale of the bars below it, for the head of their column. Screen readers skip it, as the bars."""
    texts = ((0, "start", start), (BAR // 2, "middle", middle), (BAR, "end", end))
    return format_html(
        '<svg class="plot plot-bar" width="{}" height="{}" aria-hidden="true" focusable="false">{}</svg>',
        BAR,
        BAR_HEIGHT,
        format_html_join("", '<text class="plot-small" x="{}" y="11" text-anchor="{}">{}</text>', texts),
    )


@register.simple_tag
def share_bar(value: float | None) -> SafeString:
    """Draw a share as a filled bar. Screen readers skip it: show the figure beside it."""
    if value is None:
        return NOTHING
    return format_html(
        '<svg class="plot plot-bar" width="{}" height="{}" aria-hidden="true" focusable="false">'
        '<rect class="plot-trough" x="0" y="4" width="{}" height="6" rx="3"/>'
        '<rect class="plot-fill" x="0" y="4" width="{}" height="6" rx="3"/></svg>',
        BAR,
        BAR_HEIGHT,
        BAR,
        round(BAR * min(max(value, 0.0), 1.0), 1),
    )


LEFT, RIGHT, TOP, HEIGHT, FOOT = 56, 20, 40, 170, 66
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
    scale = Scale(fitted.start, fitted.end, TOP + HEIGHT, TOP)
    positions = [(round(LEFT + room * (at + 0.5) / len(points), 1), point) for at, point in enumerate(points)]
    marks = (
        (_mark(scale, x, point, digits, named=(len(points) - 1 - at) % every == 0),)
        for at, (x, point) in enumerate(positions)
    )
    return format_html(
        '<svg class="plot" width="{0}" height="{1}" role="img" aria-label="{2}">{3}{4}{5}{6}</svg>',
        LEFT + room + RIGHT,
        TOP + HEIGHT + FOOT,
        _summary(points, title, digits, fitted),
        _grid(scale, fitted, LEFT, LEFT + room),
        _names(LEFT + room / 2, FOOT - 8, across, up, fitted),
        _line(scale, positions),
        format_html_join("", "{}", marks),
    )


def _room(points: Sequence[Point], digits: int) -> tuple[int, int]:
    """Return the width for the points, and that each n-th of them has room for its texts."""
    texts = [text for p in points for text in (p.name, p.detail, _value(p, digits))]
    longest = max((len(text) for text in texts), default=0) * CHARACTER + 14
    room = round(min(max(longest * len(points), LEAST_ROOM), MOST_ROOM))
    return room, max(1, ceil(longest * len(points) / room - 1e-6))


def _value(point: Point, digits: int) -> str:
    return _("undefined") if point.value is None else f"{point.value:,.{digits}f}"


def _summary(points: Iterable[Point], title: str, digits: int, fitted: Axis) -> str:
    text = f"{title}: " + "; ".join(f"{p.name} {_value(p, digits)}" for p in points)
    return f"{text}. {fitted.cut}" if fitted.cut else text


def _grid(scale: Scale, fitted: Axis, first: int | str, last: int | str, away: int = 8) -> SafeString:
    """Draw the ticks of the vertical axis as lines from `first` to `last`, and their texts beside them."""
    return format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="plot-small" x="{0}" dx="-{3}" y="{4}" text-anchor="end">{5}</text>',
        (
            (first, last, scale(tick), away, scale(tick) + 4, text)
            for tick, text in zip(fitted.ticks, fitted.texts, strict=True)
        ),
    )


def _names(middle: float | str, below: int, across: str, up: str, fitted: Axis) -> SafeString:
    """Write the names of the axes, and whether the vertical one starts at 0."""
    return format_html(
        '<text class="plot-small" x="0" y="12">{}</text><text class="plot-small" x="0" y="27">{}</text>'
        '<text class="plot-small" x="{}" y="{}" text-anchor="middle">{}</text>',
        up,
        fitted.cut,
        middle,
        TOP + HEIGHT + below,
        across,
    )


def _line(scale: Scale, positions: Sequence[tuple[float, Point]]) -> SafeString:
    """Draw a line through the points with a value."""
    ends = " ".join(f"{x},{scale(point.value)}" for x, point in positions if point.value is not None)
    return format_html('<polyline class="plot-line" points="{}"/>', ends)


def _mark(scale: Scale, x: float, point: Point, digits: int, *, named: bool) -> SafeString:
    foot = TOP + HEIGHT
    around: SafeString = NOTHING
    if point.value is not None and point.low is not None and point.high is not None:
        around = format_html(
            '<line class="plot-whisker" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>', x, scale(point.low), scale(point.high)
        )
    dot: SafeString = NOTHING
    if point.value is not None:
        dot = format_html('<circle class="plot-dot" cx="{}" cy="{}" r="4"/>', x, scale(point.value))
    if not named:
        return around + dot
    highest = point.value if point.high is None else point.high
    texts = [
        ("plot-small" if highest is None else "plot-value", foot - 8 if highest is None else scale(highest) - 9),
        ("plot-name", foot + 18),
        ("plot-small", foot + 34),
    ]
    words = (_value(point, digits), point.name, point.detail)
    return format_html(
        "{}{}{}",
        around,
        dot,
        format_html_join(
            "",
            '<text class="{}" x="{}" y="{}" text-anchor="middle">{}</text>',
            ((css, x, y, word) for (css, y), word in zip(texts, words, strict=True) if word),
        ),
    )


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
    scale = Scale(fitted.start, fitted.end, TOP + HEIGHT, TOP)
    room = width * max(steps - 1, 1)
    across_scale = Scale(1, max(steps, 2), LEFT, LEFT + room)
    named = _apart([(scale(line.values[-1] or 0.0), line) for line in drawn])
    longest = min(max(len(_at_end(line, digits)) for line in drawn) * CHARACTER, NAME_MOST)
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}{}{}{}</svg>',
        round(LEFT + room + 24 + longest),
        TOP + HEIGHT + 46,
        _lines_summary(drawn, title, fitted, digits),
        _grid(scale, fitted, LEFT, LEFT + room),
        _names(LEFT + room / 2, 38, across, up, fitted),
        format_html_join(
            "",
            '<text class="plot-small" x="{}" y="{}" text-anchor="middle">{}</text>',
            ((across_scale(at), TOP + HEIGHT + 20, name) for at, name in enumerate(names or range(1, steps + 1), 1)),
        ),
        format_html_join("", "{}", ((_one_line(line, y, scale, across_scale, steps, digits),) for y, line in named)),
    )


def _apart(ends: Sequence[tuple[float, PlotLine]]) -> list[tuple[float, PlotLine]]:
    """The vertical positions of the lines' names, moved so that none covers another. The main line is drawn last."""
    placed: list[tuple[float, PlotLine]] = []
    for y, line in sorted(ends, key=lambda end: end[0]):
        placed.append((max(y, placed[-1][0] + NAME_HEIGHT) if placed else y, line))
    below = placed[-1][0] - (TOP + HEIGHT)
    if below > 0:
        lowest = float(TOP + HEIGHT + NAME_HEIGHT)
        for at in range(len(placed) - 1, -1, -1):
            lowest = min(placed[at][0], lowest - NAME_HEIGHT)
            placed[at] = (lowest, placed[at][1])
    return sorted(placed, key=lambda each: each[1].main)


def _one_line(line: PlotLine, name_at: float, scale: Scale, across: Scale, steps: int, digits: int) -> SafeString:
    points = [(across(step), scale(value)) for step, value in enumerate(line.values, start=1) if value is not None]
    end, edge = points[-1], across(steps)
    return format_html(
        '<g class="{}"><polyline class="plot-line" points="{}"/>{}'
        '<line class="plot-axis" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="plot-end" x="{}" y="{}">{}</text></g>',
        ("plot-main" if line.main else "plot-other") + (" plot-dashed" if line.dashed else ""),
        " ".join(f"{x},{y}" for x, y in points),
        format_html_join("", '<circle class="plot-dot" cx="{}" cy="{}" r="4"/>', points),
        edge + 6,
        edge + 18,
        end[1],
        round(name_at, 1),
        edge + 22,
        round(name_at + 4, 1),
        _at_end(line, digits),
    )


def _at_end(line: PlotLine, digits: int) -> str:
    return f"{line.name} {_line_value(line.values[-1], digits)}"


def _line_value(value: float | None, digits: int) -> str:
    return _("undefined") if value is None else f"{value:.{digits}f}"


def _lines_summary(lines: Iterable[PlotLine], title: str, fitted: Axis, digits: int) -> str:
    text = f"{title}: " + "; ".join(
        f"{line.name} {', '.join(_line_value(value, digits) for value in line.values)}" for line in lines
    )
    return f"{text}. {fitted.cut}" if fitted.cut else text


# Shares of the width of a curve: where it starts and ends.
CURVE_START, CURVE_END = 15, 97
# Up to so many steps, a curve needs little room.
SHORT_CURVE = 8


@register.simple_tag
def loss_curve(losses: Sequence[float], title: str, across: str, up: str) -> SafeString:
    """Draw a loss or another figure for each step of a training, from 1. `across` and `up` name the axes.

    Screen readers get the title and the first and last values.
    """
    known = [loss for loss in losses if isfinite(loss)]
    if len(known) < 2:
        return NOTHING
    fitted = axis(known)
    down = Scale(fitted.start, fitted.end, TOP + HEIGHT, TOP)
    area = Scale(1, len(known), 0, 1000)
    text = f"{title}: {known[0]:.4g} → {known[-1]:.4g} ({len(known)})"
    return format_html(
        '<svg class="plot plot-fit{0}" width="100%" height="{1}" role="img" aria-label="{2}">{3}{4}{5}'
        '<svg x="{6}%" y="{7}" width="{8}%" height="{9}" viewBox="0 {7} 1000 {9}" preserveAspectRatio="none">'
        '<polyline class="plot-line" points="{10}" vector-effect="non-scaling-stroke"/></svg>'
        '<circle class="plot-dot" cx="{11}%" cy="{12}" r="4"/></svg>',
        " is-short" if len(known) <= SHORT_CURVE else "",
        TOP + HEIGHT + 46,
        f"{text}. {fitted.cut}" if fitted.cut else text,
        _grid(down, fitted, f"{CURVE_START}%", f"{CURVE_END}%"),
        _steps(len(known)),
        _names(f"{(CURVE_START + CURVE_END) / 2}%", 38, across, up, fitted),
        CURVE_START,
        TOP,
        CURVE_END - CURVE_START,
        HEIGHT,
        " ".join(f"{area(at)},{down(loss)}" for at, loss in enumerate(known, start=1)),
        CURVE_END,
        down(known[-1]),
    )


def _steps(last: int) -> SafeString:
    """Write round numbers of steps below a curve, with the first and the last."""
    step = max(1, round(_step(last)))
    shown = [1, *(at for at in range(step, last, step) if at > step / 2 and last - at > step / 2 and at > 1), last]
    across = Scale(1, last, CURVE_START, CURVE_END)
    return format_html_join(
        "",
        '<line class="plot-axis" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/>'
        '<text class="plot-small" x="{0}%" y="{3}" text-anchor="middle">{4}</text>',
        ((across(at), TOP + HEIGHT, TOP + HEIGHT + 5, TOP + HEIGHT + 20, f"{at:,}") for at in shown),
    )


@register.simple_tag
def heat(value: float | None) -> str:
    """Return the class of a heat map cell for a value from 0 to 1: five steps of the accent color."""
    if value is None:
        return "heat-none"
    return f"heat-{min(max(int(value * 5), 0), 4)}"
