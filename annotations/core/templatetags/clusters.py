"""Clustered bars as SVG, as `plots`: one cluster for each name, with a bar for each series and its number as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString

from annotations.core.templatetags.plots import NOTHING, Scale, svg, text_at

register = template.Library()

BAR, GAP, LENGTH, LEGEND, NUMBER = 14, 12, 200, 24, 50
MOST_NAME = 24
# The width of a character of a name, in pixels. Most names are codes in capitals, of which M and W are the widest.
CHARACTER, CAPITAL, WIDEST = 7.5, 9.2, 12.0


@dataclass(frozen=True)
class Cluster:
    name: str
    values: Sequence[int]


@register.simple_tag
def clustered_bars(clusters: Sequence[Cluster], series: Sequence[str], title: str) -> SafeString:
    """Draw the clusters below each other. `series` names their bars, in order; nothing names a single bar.

    Screen readers get the title: show the numbers in a table beside the plot.
    """
    if not clusters:
        return NOTHING
    left = round(max(_width(_short(cluster.name)) for cluster in clusters)) + 16
    scale = Scale(0, max(1, *(value for cluster in clusters for value in cluster.values)), 0, LENGTH)
    content, y = _legend(series, left), LEGEND if series else 0
    for cluster in clusters:
        content += _cluster(cluster, scale, left, y)
        y += BAR * len(cluster.values) + GAP
    return svg(left + LENGTH + NUMBER, y, content, title=title)


def _short(name: str) -> str:
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"


def _width(name: str) -> float:
    return sum(WIDEST if each in "MW" else CAPITAL if each.isupper() else CHARACTER for each in name)


def _legend(series: Sequence[str], left: int) -> str:
    return "".join(
        f'<rect class="plot-series-{at}" x="{left + 70 * at}" y="3" width="10" height="10"/>'
        f'<text class="plot-small" x="{left + 70 * at + 15}" y="12">{escape(name)}</text>'
        for at, name in enumerate(series)
    )


def _cluster(cluster: Cluster, scale: Scale, left: int, y: int) -> str:
    content = text_at("plot-name", left - 8, y + BAR * len(cluster.values) / 2 + 4, _short(cluster.name), "end")
    for at, n in enumerate(cluster.values):
        top, end = y + BAR * at, scale(n)
        content += (
            f'<rect class="plot-series-{at}" x="{left}" y="{top + 1}" width="{end}" height="{BAR - 2}"/>'
            f'<text class="plot-small" x="{left + end + 6}" y="{top + 11}">{n:,}</text>'
        )
    return content
