"""The person's time zone: static/js/core/base.js stores the browser's in a cookie, and pages show times in it.

Without the cookie, or if it names no known zone, pages show times in the server's zone. Answers with times are never
cached (`deidreview.middleware.response_headers`), so they need no Vary.
"""

from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

GetResponse = Callable[[HttpRequest], HttpResponse]
COOKIE = "deidreview-timezone"


@cache
def known() -> frozenset[str]:
    """The names of all zones. A name from outside is compared with them, and never becomes a path of a file."""
    return frozenset(available_timezones())


def zone_of(request: HttpRequest) -> ZoneInfo | None:
    """The zone that the browser named, or None for the server's."""
    name = request.COOKIES.get(COOKIE, "")
    return ZoneInfo(name) if name in known() else None


def time_zone(get_response: GetResponse) -> GetResponse:
    """Show the times of a page in the person's time zone."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with timezone.override(zone_of(request)):
            return get_response(request)

    return middleware
