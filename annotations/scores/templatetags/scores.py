"""Figures of scores as text and as plots. An undefined figure is shown as “undefined”, never as 0 or 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.agreement.templatetags.coefficients import percent
from annotations.scores.rules.published import ON_PAGE

register = template.Library()

HEAD, BAR, GAP, WIDTH, SCALE = 24, 16, 8, 248, 20
TICKS = ((0.0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1"))
RATES = {"precision": "plot-p", "recall": "plot-r", "f1": "plot-f"}


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart: its name, and the length and the number of each of its bars."""

    name: str
    values: Sequence[float | None]
    texts: Sequence[str]


@register.filter
def fig(value: float | None) -> str | SafeString:
    """Format a figure with two digits after the point; routes, commands and files have all of them."""
    if value is None:
        return format_html('<span class="mute">{}</span>', _("undefined"))
    return f"{value:.2f}"


@register.filter
def share(value: float | None) -> str | SafeString:
    """Format a share as `percent` does, and an undefined one as “undefined”."""
    if value is None:
        return format_html('<span class="mute">{}</span>', _("undefined"))
    return percent(value)


@register.filter
def get(values: Mapping[str, Any], key: str) -> Any:
    """Return the item of a mapping whose key is in a template variable."""
    return values.get(key)


@register.simple_tag
def level_bars(levels: Sequence[Mapping[str, Any]], title: str) -> SafeString:
    """Draw precision, recall and F1 of each level as bars with their numbers."""
    rows = [
        ChartRow(level["name"], rates, [_("undefined") if rate is None else f"{rate:.4f}" for rate in rates])
        for level in levels
        for rates in [[level["micro"][key] for key in RATES]]
    ]
    parts = (_("precision"), _("recall"), "F1")
    foot = _height(parts) * len(rows)
    ticks = format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{0}" y1="20" y2="{1}"/>'
        '<text class="plot-small" x="{0}" y="{2}" text-anchor="{3}">{4}</text>',
        ((WIDTH * share, foot, foot + 15, "middle" if share else "start", text) for share, text in TICKS),
    )
    return _chart(rows, title, parts, list(RATES.values()), WIDTH + 56, foot + SCALE, ticks)


@register.simple_tag
def category_bars(rows: Sequence[ChartRow], title: str, *parts: str, whole: bool = True) -> SafeString:
    """Draw a bar for each value of each row, as in figures 4.1 and 4.2 of Catelli 2021. `parts` says what they are.

    A full bar stands for 1, or without `whole` for the highest value.
    """
    most = 1.0 if whole else max((value for row in rows for value in row.values if value), default=1.0)
    return _chart(rows, title, parts, ("plot-p", "plot-f"), WIDTH + 110, _height(parts) * len(rows), most=most)


def _chart(
    rows: Sequence[ChartRow], title: str, parts: Sequence[str], colors: Sequence[str], width: int, height: int,
    behind: SafeString | str = "", most: float = 1.0,
) -> SafeString:  # fmt: skip
    plain = "; ".join(
        f"{row.name}: " + ", ".join(f"{part} {text}" for part, text in zip(parts, row.texts, strict=True))
        for row in rows
    )
    drawn = ((_row(row, at * _height(parts), colors, most),) for at, row in enumerate(rows))
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}{}</svg>',
        width,
        height,
        f"{title}. {plain}",
        behind,
        format_html_join("", "{}", drawn),
    )


def _height(parts: Sequence[str]) -> int:
    return HEAD + BAR * len(parts) + GAP


def _row(row: ChartRow, top: int, colors: Sequence[str], most: float) -> SafeString:
    bars = (
        (_bar(top + HEAD + BAR * at, value, most, text, css),)
        for at, (value, text, css) in enumerate(zip(row.values, row.texts, colors, strict=False))
    )
    return format_html('<text x="0" y="{}">{}</text>{}', top + 16, row.name, format_html_join("", "{}", bars))


def _bar(y: int, value: float | None, most: float, text: str, css: str) -> SafeString:
    """Draw a bar with its number beside it."""
    trough = format_html('<rect class="plot-trough" x="0" y="{}" width="{}" height="10" rx="2"/>', y, WIDTH)
    fill = SafeString("")
    if value:
        width = round(WIDTH * value / most, 1)
        fill = format_html('<rect class="{}" x="0" y="{}" width="{}" height="10" rx="2"/>', css, y, width)
    return format_html('{}{}<text class="plot-small" x="{}" y="{}">{}</text>', trough, fill, WIDTH + 8, y + 9, text)


@register.inclusion_tag("includes/published_tables.html")
def published(page: str) -> dict[str, object]:
    """Show the published tables of a page, one of the names in `ON_PAGE`, folded."""
    return {"tables": ON_PAGE[page]}
