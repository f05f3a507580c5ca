"""What a start warns of: settings that work, and protect less than whoever made them may think."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register("start")
def proxies_named(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """HTTPS always comes through a proxy: the product's own server has no certificate."""
    if not settings.HTTPS or settings.PROXIES:
        return []
    return [
        Warning(
            "DEIDREVIEW_PROXIES: HTTPS is on and no proxy is named. Everybody seems to come from the proxy's address, "
            "so one person's wrong passwords can lock a colleague out.",
            hint="Set it to the number of proxies in front, usually 1; see docs/operations.md.",
            id="deidreview.W001",
        )
    ]
