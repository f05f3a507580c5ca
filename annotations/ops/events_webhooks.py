"""Events of webhooks. Their data are ids and counts, never an address or a secret."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class WebhookChanged(TypedDict):
    """The id of the webhook, and the kinds that it wants."""

    webhook: int
    kinds: list[str]


class WebhookNamed(TypedDict):
    webhook: int


class DeliveryNamed(TypedDict):
    webhook: int
    delivery: int


WEBHOOK_ADDED = Verb[WebhookChanged]("webhook.added", _("added a webhook"))
WEBHOOK_CHANGED = Verb[WebhookChanged]("webhook.changed", _("changed a webhook"))
WEBHOOK_SECRET = Verb[WebhookNamed]("webhook.secret", _("made a new secret for a webhook"))
WEBHOOK_ON = Verb[WebhookNamed]("webhook.on", _("switched a webhook on"))
WEBHOOK_OFF = Verb[WebhookNamed]("webhook.off", _("switched a webhook off"))
WEBHOOK_REMOVED = Verb[WebhookNamed]("webhook.removed", _("removed a webhook"))
WEBHOOK_TESTED = Verb[DeliveryNamed]("webhook.tested", _("sent a test to a webhook"))
WEBHOOK_RESENT = Verb[DeliveryNamed]("webhook.resent", _("sent a delivery of a webhook again"))
# Nobody does this: the webhook stopped because its deliveries failed.
WEBHOOK_STOPPED = Verb[WebhookNamed]("webhook.stopped", _("stopped a webhook after repeated failures"), reading=True)
