"""Curves on a plane of two shares as SVG, as `plots`: a curve for each name, and its point at the chosen step.

The points of all steps are in the drawing, and all but those of one step hidden, so that a slider needs no request
(static/js/core/steps.js). The same figures belong into a table beside the plot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django import template
from django.utils.safestring import SafeString

from annotations.core.templatetags.plots import NOTHING, Axis, Scale, axis, svg, text_at

register = template.Library()

LEFT, TOP, ACROSS, UP, RIGHT, FOOT = 40, 44, 250, 220, 16, 60
PlanePoint = tuple[float, float]


@dataclass(frozen=True)
class PlaneCurve:
    """`name` is drawn beside the point, so it is short. `line` are all points of the curve, `at` those of the steps.

    A point is None where one of its figures is undefined.
    """

    name: str
    line: Sequence[PlanePoint | None]
    at: dict[int, PlanePoint | None]


@register.simple_tag
def plane_plot(curves: Sequence[PlaneCurve], step: int, title: str, across: str, up: str) -> SafeString:
    """Draw the curves with their points at `step`. `across` and `up` name the axes. Screen readers get the title."""
    points = [point for curve in curves for point in curve.line if point]
    if not points:
        return NOTHING
    axes = axis(x for x, _y in points), axis(y for _x, y in points)
    scale_x = Scale(axes[0].start, axes[0].end, LEFT, LEFT + ACROSS)
    scale_y = Scale(axes[1].start, axes[1].end, TOP + UP, TOP)
    content = _grid(axes, scale_x, scale_y, across, up)
    for curve in curves:
        ends = " ".join(f"{scale_x(point[0])},{scale_y(point[1])}" for point in curve.line if point)
        content += f'<g class="plot-other"><polyline class="plot-line" points="{ends}"/></g>'
    for each in curves[0].at:
        marks: dict[PlanePoint, list[str]] = {}
        for curve in curves:
            if point := curve.at[each]:
                marks.setdefault((scale_x(point[0]), scale_y(point[1])), []).append(curve.name)
        drawn = "".join(_mark(", ".join(names), *place) for place, names in marks.items())
        content += f'<g data-step="{each}"{"" if each == step else " hidden"}>{drawn}</g>'
    return svg(LEFT + ACROSS + RIGHT, TOP + UP + FOOT, content, title=title)


def _mark(name: str, x: float, y: float) -> str:
    return f'<circle class="plot-dot" cx="{x}" cy="{y}" r="5"/>' + text_at("plot-value", x, y - 9, name)


def _grid(axes: tuple[Axis, Axis], scale_x: Scale, scale_y: Scale, across: str, up: str) -> str:
    foot = TOP + UP
    content = text_at("plot-small", 0, 12, up, "start") + text_at("plot-small", 0, 27, axes[1].cut, "start")
    content += text_at("plot-small", LEFT + ACROSS / 2, foot + 38, across)
    content += text_at("plot-small", LEFT + ACROSS / 2, foot + 54, axes[0].cut)
    for tick, text in zip(axes[0].ticks, axes[0].texts, strict=True):
        x = scale_x(tick)
        content += f'<line class="plot-grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{foot}"/>'
        content += text_at("plot-small", x, foot + 18, text)
    for tick, text in zip(axes[1].ticks, axes[1].texts, strict=True):
        y = scale_y(tick)
        content += f'<line class="plot-grid" x1="{LEFT}" x2="{LEFT + ACROSS}" y1="{y}" y2="{y}"/>'
        content += text_at("plot-small", LEFT - 8, y + 4, text, "end")
    return content
