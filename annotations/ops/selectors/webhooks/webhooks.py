"""What webhooks there are and what became of their deliveries, for pages and commands."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404
from django.utils.translation import gettext as _

from annotations.models import Delivery, DeliveryState, Project, Webhook
from annotations.ops.selectors.webhooks.kinds import KINDS
from annotations.ops.selectors.webhooks.reasons import REASONS


@dataclass(frozen=True)
class WebhookRow:
    """A webhook in a list, with its last delivery, if there is one."""

    webhook: Webhook
    last: Delivery | None

    @property
    def events(self) -> list[str]:
        return [str(KINDS[kind]) for kind in self.webhook.kinds if kind in KINDS]


@dataclass(frozen=True)
class DeliveryRow:
    """A delivery in the log. `status`, `reason` and `ms` are those of the last attempt."""

    delivery: Delivery
    status: int
    reason: str
    ms: int | None

    @property
    def event(self) -> str:
        return str(KINDS.get(self.delivery.kind, _("A test")))

    @property
    def can_resend(self) -> bool:
        return self.delivery.state != DeliveryState.WAITING


def webhook_rows(project: Project) -> list[WebhookRow]:
    """List the project's webhooks, with two queries."""
    newest = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    webhooks = list(Webhook.objects.filter(project=project).defer("sealed").annotate(newest=Subquery(newest)))
    last = {row.webhook_id: row for row in Delivery.objects.filter(pk__in=[each.newest for each in webhooks])}
    return [WebhookRow(webhook, last.get(webhook.pk)) for webhook in webhooks]


def webhook_of(project: Project, pk: int) -> Webhook | None:
    return Webhook.objects.filter(project=project, pk=pk).select_related("project").first()


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """The deliveries of a webhook, the newest first."""
    return Delivery.objects.filter(webhook=webhook).order_by("-pk")


def delivery_of(webhook: Webhook, pk: int) -> Delivery:
    """Return a delivery of the webhook. Raises Http404."""
    found = Delivery.objects.filter(webhook=webhook, pk=pk).select_related("webhook").first()
    if found is None:
        raise Http404("This delivery does not exist.")
    return found


def delivery_rows(deliveries: Iterable[Delivery]) -> list[DeliveryRow]:
    return [_row(delivery) for delivery in deliveries]


def _row(delivery: Delivery) -> DeliveryRow:
    if not delivery.tries:
        return DeliveryRow(delivery, 0, "", None)
    last = delivery.tries[-1]
    reason = REASONS.get(last["reason"], "")
    return DeliveryRow(delivery, last["status"], str(reason), last["ms"])


def as_dict(webhook: Webhook) -> dict[str, Any]:
    """Return a webhook as commands print it."""
    return {
        "webhook": webhook.pk,
        "url": webhook.url,
        "events": webhook.kinds,
        "state": webhook.state,
        "failed_in_a_row": webhook.given_up,
    }
