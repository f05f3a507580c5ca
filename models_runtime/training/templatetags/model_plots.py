"""The reliability diagram: observed precision by confidence. The same figures are in a table on the page."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.templatetags.plots import PlotLine, Scale, lines_plot
from annotations.scores.rules.operating import OperatingPoint

register = template.Library()

Groups = Sequence[Mapping[str, Any]]
LEFT, TOP, SIDE, RIGHT, FOOT = 44, 12, 250, 16, 64
# Distance between grid lines: (maximum length of the scale, distance).
STEPS = ((0.3, 0.05), (0.5, 0.1), (1.0, 0.2))


@register.simple_tag
def reliability_plot(before: Groups, after: Groups, title: str) -> SafeString:
    """Draw groups from `Reliability.as_dict`, raw as hollow and calibrated as filled points.

    On the diagonal, confidence and observed precision are equal.
    """
    lowest = _lowest([*before, *after])
    across, up = Scale(lowest, 1.0, LEFT, LEFT + SIDE), Scale(lowest, 1.0, TOP + SIDE, TOP)
    cut = _("Both axes start at %(start).1f, not at 0.") % {"start": lowest} if lowest > 0 else ""
    text = f"{title}. {_('Raw')}: {_text(before)}. {_('Calibrated')}: {_text(after)}. {cut}".rstrip()
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}{}{}{}</svg>',
        LEFT + SIDE + RIGHT,
        TOP + SIDE + FOOT,
        text,
        _grid(across, up, lowest),
        _names(cut),
        _line(across, up, before, "plot-raw"),
        _line(across, up, after, "plot-calibrated"),
    )


def _lowest(groups: Groups) -> float:
    """Return the lower end of the scales: a multiple of 0.1 below all points."""
    known = [min(group["confidence"], group["share"]) for group in groups]
    return min(0.8, floor(min(known, default=0.0) * 10) / 10)


def _text(groups: Groups) -> str:
    confidence, correct = _("confidence"), _("correct")
    return "; ".join(f"{confidence} {group['confidence']:.3f}, {correct} {group['share']:.3f}" for group in groups)


def _grid(across: Scale, up: Scale, lowest: float) -> SafeString:
    step = next(step for most, step in STEPS if 1 - lowest <= most + 1e-9)
    ticks = [1 - step * n for n in range(int((1 - lowest) / step + 1e-9) + 1)]
    lines = format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="plot-small" x="{3}" y="{4}" text-anchor="end">{5}</text>'
        '<text class="plot-small" x="{6}" y="{7}" text-anchor="middle">{5}</text>',
        ((LEFT, LEFT + SIDE, up(at), LEFT - 8, up(at) + 4, f"{at:.2f}", across(at), TOP + SIDE + 18) for at in ticks),
    )
    return format_html(
        '{}<line class="plot-diagonal" x1="{}" y1="{}" x2="{}" y2="{}"/>', lines, LEFT, TOP + SIDE, LEFT + SIDE, TOP
    )


def _names(cut: str) -> SafeString:
    return format_html(
        '<text class="plot-small" x="{}" y="{}" text-anchor="middle">{}</text>'
        '<text class="plot-small" x="{}" y="{}">{}</text><text class="plot-small" x="{}" y="{}">{}</text>',
        LEFT + SIDE // 2,
        TOP + SIDE + 38,
        _("confidence"),
        LEFT + 6,
        TOP + 12,
        _("share correct"),
        LEFT,
        TOP + SIDE + 58,
        cut,
    )


def _line(across: Scale, up: Scale, groups: Groups, css: str) -> SafeString:
    """Draw the points joined by a line, each with the confidence interval of its share."""
    ends = " ".join(f"{across(group['confidence'])},{up(group['share'])}" for group in groups)
    marks = format_html_join(
        "",
        '<line class="plot-whisker" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
        '<circle class="plot-mark" cx="{0}" cy="{3}" r="4"/>',
        ((across(g["confidence"]), up(g["low"]), up(g["high"]), up(g["share"])) for g in groups),
    )
    return format_html('<g class="{}"><polyline points="{}"/>{}</g>', css, ends, marks)


# Plots of recall and precision of masking: by threshold, with leak-free notes, and by iteration of a training.


# The distance between two thresholds in CSS pixels, so that the plot fits its card. Every second one has room
# for its name. Values have as many digits as in the table.
STEP, NAMED, DIGITS = 21, 2, 4
# The room for all iterations in CSS pixels, and how many of them have a name.
ROOM, NAMES = 560, 10


@register.simple_tag
def threshold_plot(points: Sequence[OperatingPoint], title: str) -> SafeString:
    """Draw the figures of a hold-out without a threshold, then at each threshold, the lowest last."""
    lines = [
        PlotLine(_("Recall"), [point["recall"] for point in points], main=True),
        PlotLine(_("Precision"), [point["precision"] for point in points], dashed=True),
        PlotLine(_("Leak-free notes"), [point["leak_free"] for point in points]),
    ]
    last = len(points) - 1
    names = [
        _("off") if point["threshold"] is None else "" if (last - at) % NAMED else f"{point['threshold']:g}"
        for at, point in enumerate(points)
    ]
    return lines_plot(lines, title, _("Masking threshold"), _("Share"), names, STEP, DIGITS)


@register.simple_tag
def masking_plot(points: Sequence[tuple[float, float]], title: str) -> SafeString:
    """Draw recall and precision on held-out notes after each iteration."""
    lines = [
        PlotLine(_("Recall"), [recall for recall, _precision in points], main=True),
        PlotLine(_("Precision"), [precision for _recall, precision in points], dashed=True),
    ]
    every = -(-len(points) // NAMES)
    names = ["" if at % every else str(at) for at in range(1, len(points) + 1)]
    return lines_plot(lines, title, _("Iteration"), _("Share"), names, max(3, ROOM // len(points)), DIGITS)
