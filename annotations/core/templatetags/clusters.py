"""Clustered bars as SVG, as `plots`: one cluster for each name, with a bar for each series and its number as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotations.core.templatetags.plots import NOTHING, Scale

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
    top = LEGEND if series else 0
    rows, y = [], top
    for cluster in clusters:
        rows.append(_cluster(cluster, scale, left, y))
        y += BAR * len(cluster.values) + GAP
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}{}</svg>',
        left + LENGTH + NUMBER,
        y,
        title,
        _legend(series, left),
        format_html_join("", "{}", ((row,) for row in rows)),
    )


def _short(name: str) -> str:
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"


def _width(name: str) -> float:
    return sum(WIDEST if each in "MW" else CAPITAL if each.isupper() else CHARACTER for each in name)


def _legend(series: Sequence[str], left: int) -> SafeString:
    return format_html_join(
        "",
        '<rect class="plot-series-{0}" x="{1}" y="3" width="10" height="10"/>'
        '<text class="plot-small" x="{2}" y="12">{3}</text>',
        ((at, left + 70 * at, left + 70 * at + 15, name) for at, name in enumerate(series)),
    )


def _cluster(cluster: Cluster, scale: Scale, left: int, y: int) -> SafeString:
    middle = y + BAR * len(cluster.values) / 2 + 4
    bars = format_html_join(
        "",
        '<rect class="plot-series-{}" x="{}" y="{}" width="{}" height="{}"/>'
        '<text class="plot-small" x="{}" y="{}">{}</text>',
        (
            (at, left, y + BAR * at + 1, scale(n), BAR - 2, left + scale(n) + 6, y + BAR * at + 11, f"{n:,}")
            for at, n in enumerate(cluster.values)
        ),
    )
    return format_html(
        '<text class="plot-name" x="{}" y="{}" text-anchor="end">{}</text>{}',
        left - 8,
        middle,
        _short(cluster.name),
        bars,
    )
