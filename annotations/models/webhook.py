import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class WebhookState(models.TextChoices):
    ON = "on", _("On")
    OFF = "off", _("Off")
    STOPPED = "stopped", _("Stopped after failures")


class Webhook(models.Model):
    """A URL to which a project reports what happened. `kinds` are those that it wants (annotations.ops.kinds).

    `sealed` holds the secret of its signatures, encrypted with the project's key. `given_up` counts the deliveries in a
    row that failed for good; after some of them the webhook is stopped.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    url = models.CharField(max_length=500)
    kinds = models.JSONField(default=list)
    sealed = models.BinaryField()
    state = models.CharField(max_length=7, choices=WebhookState, default=WebhookState.ON)
    given_up = models.PositiveSmallIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Failed")


class Delivery(models.Model):
    """One message to a webhook. Receivers know a repeated message by its `key`.

    `data` holds ids, counts and links, never a name or text. `note` is the note that the message is about. `tries` are
    the last attempts (`webhooks.sending.Try`), `tried` counts those since it was last put in line.
    A sender holds the row by `claim` until `claimed_until`.
    """

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=20)
    note = models.ForeignKey(Document, models.CASCADE, null=True, related_name="+")
    data = models.JSONField(default=dict)
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    tries = models.JSONField(default=list)
    tried = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="delivery_due"),
            models.Index(fields=["created_at"], name="delivery_by_age"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
