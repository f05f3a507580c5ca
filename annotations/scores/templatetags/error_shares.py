"""Charts of errors by category: figures 4.1 and 4.2 of Catelli 2021 for the score of a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotations.scores.templatetags.scores import WIDTH, bar

register = template.Library()

HEAD, BAR, GAP, NUMBER = 24, 16, 8, 110
COLORS = ("plot-p", "plot-f")


@register.simple_tag
def category_bars(rows: Sequence[Mapping[str, Any]], title: str, *parts: str, whole: bool = True) -> SafeString:
    """Draw a bar for each value of each row, with its number. `parts` says what the values of a row are, in order.

    A full bar stands for 1, or without `whole` for the highest value.
    """
    most = 1.0 if whole else max((value for row in rows for value in row["values"] if value), default=1.0)
    height = HEAD + BAR * len(parts) + GAP
    return format_html(
        '<svg class="plot" width="{}" height="{}" role="img" aria-label="{}">{}</svg>',
        WIDTH + NUMBER,
        height * len(rows),
        f"{title}. {'; '.join(_plain(row, parts) for row in rows)}",
        format_html_join("", "{}", ((_row(row, at * height, most),) for at, row in enumerate(rows))),
    )


def _plain(row: Mapping[str, Any], parts: Sequence[str]) -> str:
    return f"{row['name']}: " + ", ".join(f"{part} {text}" for part, text in zip(parts, row["texts"], strict=True))


def _row(row: Mapping[str, Any], top: int, most: float) -> SafeString:
    bars = enumerate(zip(row["values"], row["texts"], COLORS, strict=False))
    return format_html(
        '<text x="0" y="{}">{}</text>{}',
        top + 16,
        row["name"],
        format_html_join(
            "",
            "{}",
            (
                (bar(top + HEAD + BAR * at, None if value is None else value / most, text, css),)
                for at, (value, text, css) in bars
            ),
        ),
    )
