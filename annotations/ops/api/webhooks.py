"""Routes of webhooks: list, add, change, switch, new secret, test, remove, and the log of deliveries."""

from datetime import datetime
from typing import Annotated, Self

from django.utils.translation import gettext_lazy as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import ApiRequest, Body, ProjectRouter, named, shows_once
from annotations.models import Delivery, Webhook
from annotations.ops.selectors.webhooks import deliveries_of, delivery_of, delivery_row, webhook_of
from annotations.ops.services.webhooks import webhooks

router = ProjectRouter(tags=["Webhooks"])
PATH = "/projects/{slug:slug}/webhooks"
ONE = f"{PATH}/{{int:webhook}}"
DELIVERIES = f"{ONE}/deliveries"
One = Annotated[Webhook, webhook_of]
AGAIN = _("Find the webhook in the list of webhooks, and replace its secret with POST …/webhooks/{webhook}/secret.")
RENEW = _("Send the request with a new Idempotency-Key to replace the secret once more.")
FIELDS = {"url": "url", "kinds": "kinds"}


class WebhookItem(Schema):
    """A webhook: its address and the events that it wants. `given_up`: deliveries in a row that were given up."""

    id: int
    url: str
    kinds: list[str]
    state: str
    given_up: int


class WebhookWithSecret(WebhookItem):
    """A webhook with its new secret, which is shown this one time."""

    secret: str

    @classmethod
    def of(cls, row: Webhook, secret: str) -> Self:
        return cls(**WebhookItem.from_orm(row).dict(), secret=secret)


class NewWebhook(Body):
    """`kinds` are events: job.done, job.failed, note.submitted and gold.frozen."""

    url: str = Field(max_length=webhooks.LONGEST)
    kinds: list[str] = Field(max_length=20)


class ChangedWebhook(Body):
    """What to change; the rest stays. `on` switches the webhook on or off."""

    url: str = Field("", max_length=webhooks.LONGEST)
    kinds: list[str] = Field([], max_length=20)
    on: bool = True


class DeliveryItem(Schema):
    """A delivery. `key` is the id that the receiver got; `status`, `reason` and `ms` are those of the last attempt."""

    id: int
    key: str
    kind: str
    state: str
    attempts: int
    status: int | None
    reason: str
    ms: int | None
    at: datetime

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        row = delivery_row(delivery)
        return cls(
            id=delivery.pk, key=str(delivery.key), kind=delivery.kind, state=delivery.state, attempts=delivery.tried,
            status=row["status"] or None, reason=row["reason"], ms=row["ms"], at=delivery.created_at,
        )  # fmt: skip


@router.get(PATH, Can.MANAGE, response=Page[WebhookItem])
def list_webhooks(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the webhooks of a project."""
    rows = Webhook.objects.filter(project=access.project).defer("sealed")
    return paged_rows(request, paging, rows, WebhookItem.from_orm)


@router.post(PATH, Can.MANAGE, response={201: WebhookWithSecret})
@shows_once("secret", AGAIN)
def new_webhook(access: Access, body: NewWebhook) -> WebhookWithSecret:
    """Add a webhook. Only this answer has its secret."""
    with named(FIELDS):
        made = webhooks.add_webhook(project=access.project, url=body.url, kinds=body.kinds, actor=access.user)
    return WebhookWithSecret.of(made.webhook, made.secret)


@router.get(ONE, Can.MANAGE, response=WebhookItem)
def read_webhook(access: Access, webhook: One) -> Webhook:
    """Read a webhook."""
    return webhook


@router.patch(ONE, Can.MANAGE, response=WebhookItem)
def change_webhook_now(access: Access, webhook: One, body: ChangedWebhook) -> Webhook:
    """Change the address or the events of a webhook, or switch it on or off."""
    given = body.dict(exclude_unset=True)
    on = given.pop("on", None)
    if given:
        wanted = {"url": webhook.url, "kinds": webhook.kinds} | given
        with named(FIELDS):
            webhooks.change_webhook(webhook=webhook, actor=access.user, **wanted)
    if on is not None:
        webhooks.switch(webhook=webhook, on=on, actor=access.user)
    return webhook_of(access, webhook.pk)


@router.delete(ONE, Can.MANAGE, response={204: None})
def remove_webhook_now(access: Access, webhook: One) -> None:
    """Remove a webhook with its log."""
    webhooks.remove_webhook(webhook=webhook, actor=access.user)


@router.post(f"{ONE}/secret", Can.MANAGE, response=WebhookWithSecret)
@shows_once("secret", RENEW)
def renew_webhook_secret(access: Access, webhook: One) -> WebhookWithSecret:
    """Replace the secret of a webhook. Only this answer has the new one."""
    return WebhookWithSecret.of(webhook, webhooks.renew_secret(webhook=webhook, actor=access.user))


@router.post(f"{ONE}/test", Can.MANAGE, response={202: DeliveryItem})
def send_webhook_test(access: Access, webhook: One) -> DeliveryItem:
    """Send a test. It is tried once, also if the webhook is off."""
    return DeliveryItem.of(webhooks.send_test(webhook=webhook, actor=access.user))


@router.get(DELIVERIES, Can.MANAGE, response=Page[DeliveryItem])
def list_deliveries(request: ApiRequest, access: Access, webhook: One, paging: Query[Paging]) -> PageAnswer:
    """List the deliveries of a webhook, the newest first."""
    return paged_rows(request, paging, deliveries_of(webhook), DeliveryItem.of, newest_first=True)


@router.post(f"{DELIVERIES}/{{int:delivery}}/resend", Can.MANAGE, response={202: DeliveryItem})
def resend_delivery(access: Access, webhook: One, delivery: int) -> DeliveryItem:
    """Send a delivery again, with the same id."""
    webhooks.send_again(delivery=delivery_of(webhook, delivery), actor=access.user)
    return DeliveryItem.of(delivery_of(webhook, delivery))
