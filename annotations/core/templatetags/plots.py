"""Plots as SVG, without scripts and style attributes; every number in them is text.

Sizes are in CSS pixels and are not scaled, so that the text stays readable; a wide plot scrolls in its box. Classes in
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


BAR = 140
BAR_HEIGHT = 14


@register.simple_tag
def interval_bar(
    value: float | None, low: float | None = None, high: float | None = None, start: float = 0.0, end: float = 1.0
) -> SafeString:
    """Draw a value and its interval, from `start` to `end`. Screen readers skip it: show the figures beside it."""
    if value is None:
        return NOTHING
    scale = Scale(start, end, 4, BAR - 4)
    around: SafeString = NOTHING
    if low is not None and high is not None:
        width = max(scale(high) - scale(low), 1)
        around = format_html('<rect class="plot-around" x="{}" y="4" width="{}" height="6" rx="3"/>', scale(low), width)
    return format_html(
        '<svg class="plot plot-bar" width="{}" height="{}" aria-hidden="true" focusable="false">'
        '<line class="plot-axis" x1="4" x2="{}" y1="7" y2="7"/>{}<circle class="plot-dot" cx="{}" cy="7" r="4"/></svg>',
        BAR,
        BAR_HEIGHT,
        BAR - 4,
        around,
        scale(value),
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


LEFT, RIGHT, TOP, HEIGHT, FOOT, STEP = 44, 24, 22, 170, 44, 96


@register.simple_tag
def trend_plot(points: Sequence[Point], title: str, digits: int = 2, top: float = 1.0) -> SafeString:
    """Draw values with intervals, joined by a line, on a scale up to `top`. Screen readers get the title and values."""
    known = [n for p in points for n in (p.value, p.low) if n is not None]
    lowest = min([0.0, *(floor(n / top * 5) / 5 * top for n in known)])
    width = LEFT + RIGHT + STEP * max(len(points), 3)
    scale = Scale(lowest, top, TOP + HEIGHT, TOP)
    positions = [(LEFT + STEP * at + STEP // 2, point) for at, point in enumerate(points)]
    return format_html(
        '<svg class="plot" width="{0}" height="{1}" role="img" aria-label="{2}">{3}{4}{5}</svg>',
        width,
        TOP + HEIGHT + FOOT,
        _summary(points, title, digits),
        _grid(scale, lowest, width, top),
        _line(scale, positions),
        format_html_join("", "{}", ((_mark(scale, x, point, digits),) for x, point in positions)),
    )


def _summary(points: Iterable[Point], title: str, digits: int) -> str:
    return f"{title}: " + "; ".join(
        f"{p.name} {_('undefined') if p.value is None else format(p.value, f',.{digits}f')}" for p in points
    )


def nice_top(values: Iterable[float]) -> float:
    """Return the end of a scale for the values: the next 1, 2 or 5 times a power of ten."""
    most = max(values, default=0.0)
    if most <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(most))
    return next(unit * step for step in (1, 2, 5, 10) if most <= unit * step * (1 + 1e-9))


def _grid(scale: Scale, lowest: float, width: int, top: float) -> SafeString:
    lines = [round(lowest + top / 5 * n, 9) + 0.0 for n in range(round((top - lowest) / top * 5) + 1)]
    decimals = max(0, ceil(-log10(top / 5)))
    return format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="plot-small" x="{3}" y="{4}" text-anchor="end">{5}</text>',
        ((LEFT, width - RIGHT, scale(at), LEFT - 8, scale(at) + 4, f"{at:,.{decimals}f}") for at in lines),
    )


def _line(scale: Scale, positions: Sequence[tuple[int, Point]]) -> SafeString:
    """Draw a line through the points with a value."""
    ends = " ".join(f"{x},{scale(point.value)}" for x, point in positions if point.value is not None)
    return format_html('<polyline class="plot-line" points="{}"/>', ends)


def _mark(scale: Scale, x: int, point: Point, digits: int) -> SafeString:
    foot = TOP + HEIGHT
    around: SafeString = NOTHING
    if point.low is not None and point.high is not None:
        around = format_html(
            '<line class="plot-whisker" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>', x, scale(point.low), scale(point.high)
        )
    value = (
        format_html(
            '<text class="plot-small" x="{}" y="{}" text-anchor="middle">{}</text>', x, foot - 8, _("undefined")
        )
        if point.value is None
        else format_html(
            '<circle class="plot-dot" cx="{0}" cy="{1}" r="4"/>'
            '<text class="plot-value" x="{0}" y="{2}" text-anchor="middle">{3}</text>',
            x,
            scale(point.value),
            scale(point.value if point.high is None else point.high) - 9,
            f"{point.value:,.{digits}f}",
        )
    )
    return format_html(
        '{}{}<text class="plot-name" x="{}" y="{}" text-anchor="middle">{}</text>'
        '<text class="plot-small" x="{}" y="{}" text-anchor="middle">{}</text>',
        around,
        value,
        x,
        foot + 20,
        point.name,
        x,
        foot + 37,
        point.detail,
    )


CURVE_LEFT, CURVE_WIDTH, CURVE_TICKS = 72, 560, 4


@register.simple_tag
def loss_curve(losses: Sequence[float], title: str, top: float = 0.0) -> SafeString:
    """Draw a loss or another figure for each iteration, on a scale up to `top`, else up to the highest value.

    Screen readers get the title and the first and last values.
    """
    known = [loss for loss in losses if isfinite(loss)]
    if len(known) < 2:
        return NOTHING
    top = top or max(known) or 1.0
    down, across = Scale(0.0, top, TOP + HEIGHT, TOP), Scale(1, len(known), CURVE_LEFT, CURVE_WIDTH - RIGHT)
    lines = [top * step / CURVE_TICKS for step in range(CURVE_TICKS + 1)]
    grid = format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="plot-small" x="{3}" y="{4}" text-anchor="end">{5}</text>',
        ((CURVE_LEFT, CURVE_WIDTH - RIGHT, down(at), CURVE_LEFT - 8, down(at) + 4, f"{at:,.4g}") for at in lines),
    )
    ends = " ".join(f"{across(at)},{down(loss)}" for at, loss in enumerate(known, start=1))
    return format_html(
        '<svg class="plot" width="{0}" height="{1}" role="img" aria-label="{2}">{3}'
        '<polyline class="plot-line" points="{4}"/><circle class="plot-dot" cx="{5}" cy="{6}" r="4"/>'
        '<text class="plot-small" x="{7}" y="{8}">1</text>'
        '<text class="plot-small" x="{9}" y="{8}" text-anchor="end">{10}</text></svg>',
        CURVE_WIDTH,
        TOP + HEIGHT + 28,
        f"{title}: {known[0]:.4g} → {known[-1]:.4g} ({len(known)})",
        grid,
        ends,
        across(len(known)),
        down(known[-1]),
        CURVE_LEFT,
        TOP + HEIGHT + 20,
        CURVE_WIDTH - RIGHT,
        len(known),
    )


@register.simple_tag
def heat(value: float | None) -> str:
    """Return the class of a heat map cell for a value from 0 to 1: five steps of the accent color."""
    if value is None:
        return "heat-none"
    return f"heat-{min(max(int(value * 5), 0), 4)}"
