"""The kinds of messages, and the data of each: ids, counts and links, never a name or text."""

from typing import Any, Final

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access
from annotations.models import Delivery, DeliveryState, Project, Webhook

JOB_DONE: Final = "job.done"
JOB_FAILED: Final = "job.failed"
NOTE_SUBMITTED: Final = "note.submitted"
GOLD_FROZEN: Final = "gold.frozen"
TEST: Final = "test"

KINDS: Final = {
    JOB_DONE: _("A job is done"),
    JOB_FAILED: _("A job has failed"),
    NOTE_SUBMITTED: _("An annotator has submitted a note"),
    GOLD_FROZEN: _("A gold version is frozen"),
}
"""What a webhook can want, by key. A test is sent on request only."""


def link_to(slug: str, page: str, number: int) -> str:
    """The address of a page of a project; only its path where the settings name no origin.

    It is written without Django's `reverse`: workers and the relay, which never load the pages, make links, too.
    """
    origin = next((each for each in settings.CSRF_TRUSTED_ORIGINS if "*" not in each), "")
    return f"{origin}/projects/{slug}/{page}/{number}/"


# Why an attempt failed, as a sentence for people.


REASONS: Final = {
    "host": _("The host is not on the list of this instance. Ask the administrator."),
    "name": _("The name of the host can't be resolved. Check the address."),
    "address": _("The host has an address that is not public and not listed. Ask the administrator."),
    "connection": _("The server doesn't accept the connection, or ended it. Check that it runs."),
    "tls": _("The encrypted connection (TLS) failed. Check the server's certificate."),
    "time": _("The server took too long. It must answer within 10 seconds."),
    "answer": _("The server's answer is not HTTP."),
    "redirect": _("The server redirects, which is never followed. Enter its exact address."),
    "status": _("The server refused the message."),
    "interrupted": _("The attempt was interrupted before its result was stored. The message may have arrived."),
    "secret": _("The secret can't be read with the key of this instance. Make a new secret."),
}


# What webhooks there are and what became of their deliveries, for pages and commands.


def webhook_rows(project: Project) -> list[dict[str, Any]]:
    """List the project's webhooks, each with its events and its last delivery, if there is one, with two queries."""
    newest = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    webhooks = list(Webhook.objects.filter(project=project).defer("sealed").annotate(newest=Subquery(newest)))
    last = {row.webhook_id: row for row in Delivery.objects.filter(pk__in=[each.newest for each in webhooks])}
    return [
        {
            "webhook": webhook,
            "last": last.get(webhook.pk),
            "events": [str(KINDS[kind]) for kind in webhook.kinds if kind in KINDS],
        }
        for webhook in webhooks
    ]


def webhook_of(access: Access, pk: int) -> Webhook:
    """Return a webhook of the project. Raises Http404."""
    return get_object_or_404(Webhook.objects.select_related("project"), project=access.project, pk=pk)


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """The deliveries of a webhook, the newest first."""
    return Delivery.objects.filter(webhook=webhook).order_by("-pk")


def delivery_of(webhook: Webhook, pk: int) -> Delivery:
    """Return a delivery of the webhook. Raises Http404."""
    return get_object_or_404(Delivery.objects.select_related("webhook"), webhook=webhook, pk=pk)


def delivery_row(delivery: Delivery) -> dict[str, Any]:
    """A delivery in the log. `status`, `reason` and `ms` are those of the last attempt."""
    last: dict[str, Any] = delivery.tries[-1] if delivery.tries else {"status": 0, "reason": "", "ms": None}
    return {
        "delivery": delivery,
        "event": str(KINDS.get(delivery.kind, _("A test"))),
        "can_resend": delivery.state != DeliveryState.WAITING,
        "status": last["status"],
        "reason": str(REASONS.get(last["reason"], "")),
        "ms": last["ms"],
    }
