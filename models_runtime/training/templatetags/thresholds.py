"""Plots of recall and precision of masking: by threshold, with leak-free notes, and by iteration of a training."""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.templatetags.plots import PlotLine, lines_plot
from annotations.scores.rules.operating import OperatingPoint

register = template.Library()

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
