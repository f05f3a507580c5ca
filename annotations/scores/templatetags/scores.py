"""Figures of scores as text and as plots. An undefined figure is shown as “undefined”, never as 0 or 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.agreement.templatetags.coefficients import percent

register = template.Library()

ROW, WIDTH, VALUE, SCALE = 80, 248, 56, 20
TICKS = ((0.0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1"))
BARS = (("precision", "plot-p"), ("recall", "plot-r"), ("f1", "plot-f"))


@register.filter
def fig(value: float | None) -> str | SafeString:
    """Format a figure with four digits after the point, as publications do."""
    if value is None:
        return format_html('<span class="mute">{}</span>', _("undefined"))
    return f"{value:.4f}"


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
    rows = [(index, level["name"], level["micro"]) for index, level in enumerate(levels)]
    text = "; ".join(f"{name}: {_plain(micro)}" for _index, name, micro in rows)
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}{}</svg>',
        WIDTH + VALUE,
        ROW * len(rows) + SCALE,
        f"{title}. {text}",
        _ticks(ROW * len(rows)),
        format_html_join("", "{}", ((_level(index, name, micro),) for index, name, micro in rows)),
    )


def _ticks(foot: int) -> SafeString:
    """Draw the scale of the bars, from 0 to 1, as lines behind them."""
    return format_html_join(
        "",
        '<line class="plot-grid" x1="{0}" x2="{0}" y1="20" y2="{1}"/>'
        '<text class="plot-small" x="{0}" y="{2}" text-anchor="{3}">{4}</text>',
        ((WIDTH * share, foot, foot + 15, "middle" if share else "start", text) for share, text in TICKS),
    )


def _plain(micro: Mapping[str, float | None]) -> str:
    names = {"precision": _("precision"), "recall": _("recall"), "f1": "F1"}
    values = ((names[key], micro[key]) for key, _class in BARS)
    return ", ".join(f"{name} {_figure(value)}" for name, value in values)


def _level(index: int, name: str, micro: Mapping[str, float | None]) -> SafeString:
    top = index * ROW
    bars = format_html_join(
        "",
        "{}",
        ((bar(top + 24 + 16 * row, micro[key], _figure(micro[key]), css),) for row, (key, css) in enumerate(BARS)),
    )
    return format_html('<text x="0" y="{}">{}</text>{}', top + 16, name, bars)


def _figure(value: float | None) -> str:
    return _("undefined") if value is None else f"{value:.4f}"


def bar(y: int, share: float | None, text: str, css: str) -> SafeString:
    """Draw a bar that is filled up to a share, with its number beside it."""
    trough = format_html('<rect class="plot-trough" x="0" y="{}" width="{}" height="10" rx="2"/>', y, WIDTH)
    fill: SafeString = SafeString("")
    if share:
        width = round(WIDTH * share, 1)
        fill = format_html('<rect class="{}" x="0" y="{}" width="{}" height="10" rx="2"/>', css, y, width)
    return format_html('{}{}<text class="plot-small" x="{}" y="{}">{}</text>', trough, fill, WIDTH + 8, y + 9, text)
