"""The plot of recall, precision and leak-free notes by masking threshold. The same figures are in a table."""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.templatetags.plots import Line, lines_plot
from annotations.domain.scoring.operating import OperatingPoint

register = template.Library()

# The distance between two thresholds in CSS pixels, so that the plot fits its card. Every second one has room
# for its name. Values have as many digits as in the table.
STEP, NAMED, DIGITS = 21, 2, 4


@register.simple_tag
def threshold_plot(points: Sequence[OperatingPoint], title: str) -> SafeString:
    """Draw the figures of a hold-out without a threshold, then at each threshold, the lowest last."""
    lines = [
        Line(_("Recall"), [point["recall"] for point in points], main=True),
        Line(_("Precision"), [point["precision"] for point in points], dashed=True),
        Line(_("Leak-free notes"), [point["leak_free"] for point in points]),
    ]
    last = len(points) - 1
    names = [
        _("off") if point["threshold"] is None else "" if (last - at) % NAMED else f"{point['threshold']:g}"
        for at, point in enumerate(points)
    ]
    return lines_plot(lines, title, _("Masking threshold"), _("Share"), names, STEP, DIGITS)
