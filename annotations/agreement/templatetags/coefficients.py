"""Coefficients, shares and intervals on pages of figures. An undefined value is shown as such, never as a number."""

from typing import Any
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.agreement.rules.coefficients import in_words as landis_koch
from annotations.core.templatetags.reasons import reason

register = template.Library()

NOTHING = SafeString("")


@register.simple_tag
def coefficient(figure: dict[str, Any], url: str = "", digits: int = 2, name: str = "") -> SafeString:
    """Show the value, linked where there is a `url`; `name` describes the link for screen readers."""
    shown = undefined(figure) if figure["value"] is None else SafeString(plain(figure["value"], digits))
    if not url:
        return shown
    hidden = format_html('<span class="sr-only"> {}</span>', name) if name else NOTHING
    return format_html('<a href="{}">{}{}</a>', url, shown, hidden)


@register.simple_tag(takes_context=True)
def differing(context: dict[str, Any], **chosen: object) -> str:
    """Return the address of the disagreements behind a figure; empty where a filter has no value."""
    return "" if "" in chosen.values() else f"{context['disagreements_url']}&{urlencode(chosen)}"


def undefined(figure: dict[str, Any]) -> SafeString:
    return format_html('<span class="mute" title="{}">{}</span>', reason(figure["why"]), _("undefined"))


@register.simple_tag
def around(figure: dict[str, Any], digits: int = 2) -> SafeString:
    """Show the interval of a coefficient, or nothing without one."""
    if figure.get("low") is None or figure.get("high") is None:
        return NOTHING
    return format_html(
        '<span class="interval"><span class="sr-only">{} </span>[{}, {}]</span>',
        _("95% interval"),
        plain(figure["low"], digits),
        plain(figure["high"], digits),
    )


@register.filter
def plain(value: float | None, digits: int = 2) -> str:
    """Format a number with a real minus sign; empty for None."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


@register.filter
def percent(share: float | None) -> str:
    """Format a share: 94%, 99.6%. Only a share of 1 gives 100%, and only a share of 0 gives 0%."""
    if share is None:
        return ""
    if share in (0, 1) or 0.005 <= share < 0.985:
        return f"{100 * share:.0f}%"
    digits = 1 if share < 0.9985 else 2
    return f"{min(max(100 * share, 0.1), 99.99):.{digits}f}%"


WORDS = {
    "poor": gettext_lazy("poor"),
    "slight": gettext_lazy("slight"),
    "fair": gettext_lazy("fair"),
    "moderate": gettext_lazy("moderate"),
    "substantial": gettext_lazy("substantial"),
    "almost perfect": gettext_lazy("almost perfect"),
}


@register.filter
def in_words(value: float | None) -> str:
    """Return the word for a coefficient (Landis and Koch 1977); empty for None."""
    return "" if value is None else str(WORDS[landis_koch(value)])
