"""Points in time and days, in one format and in the person's time zone (`deidreview.middleware.time_zone`).

static/js/core/moments.js writes the same format.
"""

from datetime import date, datetime

from django import template
from django.utils.dateformat import format as formatted
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone, localtime

from annotations.core.templatetags.rows import EMPTY, fill

register = template.Library()

DAY, MOMENT = "j M Y", "j M Y, H:i"


@register.simple_tag
def time_zone() -> str:
    """The name of the zone in which this page shows times, such as Europe/Rome."""
    return str(get_current_timezone())


@register.filter
def moment(at: datetime | str | None, shape: str = MOMENT) -> SafeString:
    """Show a point in time, also from ISO text: 23 Nov 2026, 14:05. The title has the seconds and the time zone."""
    if not at:
        return EMPTY
    local = localtime(datetime.fromisoformat(at) if isinstance(at, str) else at)
    title = f"{formatted(local, MOMENT)}:{local:%S} ({time_zone()})"
    return fill(
        '<time datetime="{}" title="{}">{}</time>', local.isoformat(timespec="seconds"), title, formatted(local, shape)
    )


@register.filter
def day(at: datetime | str | None) -> SafeString:
    """Show the day of a point in time: 23 Nov 2026."""
    return moment(at, DAY)


@register.filter
def moment_text(at: datetime | None) -> str:
    """A point in time as text, for attributes, options and hidden text."""
    return formatted(localtime(at), MOMENT) if at else ""


@register.filter
def day_text(at: datetime | None) -> str:
    """The day of a point in time as text, for attributes, options and stored text."""
    return formatted(localtime(at), DAY) if at else ""


@register.filter
def calendar_day(on: date | None) -> str:
    """A day that is the same in all time zones, such as the last day of a certificate: 23 Nov 2026."""
    return formatted(on, DAY) if on else ""
