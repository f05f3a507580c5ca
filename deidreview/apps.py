from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register("start")
def proxies_named(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Warn if HTTPS is on without a proxy. HTTPS needs a proxy, since the app's own server has no certificate."""
    if not settings.HTTPS or settings.PROXIES:
        return []
    return [
        Warning(
            "DEIDREVIEW_PROXIES: HTTPS is on and the number of proxies is 0. All people seem to have the proxy's "
            "address, so one person's wrong passwords can lock a colleague out.",
            hint="Set DEIDREVIEW_PROXIES to the number of proxies, usually 1. See docs/operations.md.",
            id="deidreview.W001",
        )
    ]


class DeidreviewConfig(AppConfig):
    name = "deidreview"
