"""A stopped webhook, as something that waits for a manager on the project's overview."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Webhook, WebhookState
from annotations.ops.services.archives.staging import imported_self

POSITION = 90


@overview.needs.part(POSITION, Can.MANAGE)
def stopped(access: Access) -> Iterable[overview.Need]:
    """The webhooks that stopped because their deliveries failed."""
    count = Webhook.objects.filter(project=access.project, state=WebhookState.STOPPED).count()
    if count:
        text = ngettext(
            "%(count)d webhook was stopped after repeated failures.",
            "%(count)d webhooks were stopped after repeated failures.",
            count,
        ) % {"count": count}
        yield overview.Need(text, access.url("webhooks"), _("Open webhooks"))


# What a project's overview says of imported work.


@overview.own.part(5, Can.ANNOTATE)
def imported(access: Access) -> list[overview.OverviewCard]:
    found = imported_self(access.project, access.user)
    return [overview.OverviewCard("ops/archives/overview_imported.html", found)] if found else []
