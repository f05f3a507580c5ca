"""Add, change and remove webhooks, send a test, and send a delivery again."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.sealing import project_key
from annotations.core.services import ServiceError, check_open
from annotations.models import Delivery, DeliveryState, Event, Job, JobState, Project, Span, User, Webhook, WebhookState
from annotations.ops import events
from annotations.ops.rules import HostError, read_target
from annotations.ops.selectors.webhooks import GOLD_FROZEN, JOB_DONE, JOB_FAILED, KINDS, NOTE_SUBMITTED, TEST, link_to
from annotations.ops.services.webhooks.sending import SECRET

# Put deliveries in line when something happens, in the transaction in which it happens.


def job_ended(job_id: int, state: str) -> None:
    """A job is done or has failed (annotations.core.hooks.job_ended).

    `job` is the number of the job in its project, `kind` the key of its kind; `done` and `total` count its units.
    """
    kind = JOB_DONE if state == JobState.DONE else JOB_FAILED
    job = Job.objects.only("project_id", "number", "kind", "done", "total").get(pk=job_id)
    data = {"job": job.number, "kind": job.kind, "done": job.done, "total": job.total}
    put_in_line(_wanting(job.project_id, kind), kind, data, ("jobs", job.number))


def note_submitted(event: Event) -> None:
    """An annotator has submitted a note (annotations.annotate.events.SET_SUBMITTED)."""
    note, annotation_set = event.document_id, event.annotation_set_id
    if note is not None and (wanting := _wanting(event.project_id, NOTE_SUBMITTED)):
        spans = Span.objects.filter(annotation_set=annotation_set).order_by().count()
        data = {"note": note, "annotation_set": annotation_set, "spans": spans}
        put_in_line(wanting, NOTE_SUBMITTED, data, ("notes", note), note=note)


def gold_frozen(event: Event) -> None:
    """A gold version is frozen (annotations.gold.events.GOLD_FROZEN)."""
    data = {key: event.data[key] for key in ("version", "hash", "notes")}
    put_in_line(_wanting(event.project_id, GOLD_FROZEN), GOLD_FROZEN, data, ("gold", data["version"]))


def put_in_line(
    webhooks: list[Webhook], kind: str, data: dict[str, Any], page: tuple[str, int], *, note: int | None = None
) -> list[Delivery]:
    """Make a delivery for each webhook of a project, with a link to a page. The relay sends them at once.

    `data` are ids and counts, never a name or text.
    """
    if not webhooks:
        return []
    slug = webhooks[0].project.slug
    data = {"project": slug, **data, "link": link_to(slug, *page)}
    rows = [
        Delivery(webhook=webhook, kind=kind, note_id=note, data=data, due_at=timezone.now()) for webhook in webhooks
    ]
    return Delivery.objects.bulk_create(rows)


def _wanting(project_id: int | None, kind: str) -> list[Webhook]:
    rows = Webhook.objects.filter(project=project_id, state=WebhookState.ON)
    return [webhook for webhook in rows.select_related("project").defer("sealed") if kind in webhook.kinds]


MOST: Final = 20
LONGEST: Final = 500


@dataclass(frozen=True)
class WebhookWithSecret:
    """A webhook and its new secret, which is shown this one time."""

    webhook: Webhook
    secret: str


def add_webhook(*, project: Project, url: str, kinds: Sequence[str], actor: User | None) -> WebhookWithSecret:
    """Add a webhook with a new secret. Raises ServiceError `url`, `kinds` or `many`."""
    checked_url(url)
    wanted = _checked_kinds(kinds)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if Webhook.objects.filter(project=project).count() >= MOST:
            message = _("This project has %(most)d webhooks, which is the limit. Remove one first.")
            raise ServiceError(message % {"most": MOST}, code="many")
        sealed, secret = _new_secret(project)
        webhook = Webhook.objects.create(project=project, url=url, kinds=wanted, sealed=sealed, created_by=actor)
        events.WEBHOOK_ADDED.record(actor=actor, project_id=project.pk, data={"webhook": webhook.pk, "kinds": wanted})
    return WebhookWithSecret(webhook, secret)


def change_webhook(*, webhook: Webhook, url: str, kinds: Sequence[str], actor: User | None) -> None:
    """Change the address and the kinds. Waiting deliveries go to the new address. Raises ServiceError."""
    checked_url(url)
    wanted = _checked_kinds(kinds)
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook.pk).update(url=url, kinds=wanted)
        events.WEBHOOK_CHANGED.record(
            actor=actor, project_id=webhook.project_id, data={"webhook": webhook.pk, "kinds": wanted}
        )


def renew_secret(*, webhook: Webhook, actor: User | None) -> str:
    """Replace the secret, and return the new one. The old one signs nothing from now on."""
    with transaction.atomic():
        sealed, secret = _new_secret(webhook.project)
        Webhook.objects.filter(pk=webhook.pk).update(sealed=sealed)
        events.WEBHOOK_SECRET.record(actor=actor, project_id=webhook.project_id, data={"webhook": webhook.pk})
    return secret


def switch(*, webhook: Webhook, on: bool, actor: User | None) -> None:
    """Switch a webhook on or off. Safe to repeat. What happens while it is off is not sent later."""
    state, verb = (WebhookState.ON, events.WEBHOOK_ON) if on else (WebhookState.OFF, events.WEBHOOK_OFF)
    with transaction.atomic():
        rows = Webhook.objects.filter(pk=webhook.pk).exclude(state=state)
        if rows.update(state=state, given_up=0):
            verb.record(actor=actor, project_id=webhook.project_id, data={"webhook": webhook.pk})


def remove_webhook(*, webhook: Webhook, actor: User | None) -> None:
    """Remove a webhook with its deliveries."""
    with transaction.atomic():
        pk = webhook.pk
        if Webhook.objects.filter(pk=pk).delete()[0]:
            events.WEBHOOK_REMOVED.record(actor=actor, project_id=webhook.project_id, data={"webhook": pk})


def send_test(*, webhook: Webhook, actor: User | None) -> Delivery:
    """Send a test, also to a webhook that is off. It is tried once."""
    with transaction.atomic():
        check_open(webhook.project_id)
        (delivery,) = put_in_line([webhook], TEST, {}, ("webhooks", webhook.pk))
        events.WEBHOOK_TESTED.record(
            actor=actor, project_id=webhook.project_id, data={"webhook": webhook.pk, "delivery": delivery.pk}
        )
    return delivery


def send_again(*, delivery: Delivery, actor: User | None) -> None:
    """Put a delivery in line again, with the same id. Raises ServiceError `off` or `waiting`."""
    webhook = delivery.webhook
    if webhook.state != WebhookState.ON and delivery.kind != TEST:
        raise ServiceError(_("This webhook is off. Switch it on first."), code="off")
    with transaction.atomic():
        ended = Delivery.objects.filter(pk=delivery.pk).exclude(state=DeliveryState.WAITING)
        if not ended.update(
            state=DeliveryState.WAITING, tried=0, due_at=timezone.now(), claim=None, claimed_until=None
        ):
            raise ServiceError(_("This delivery is waiting to be sent already."), code="waiting")
        events.WEBHOOK_RESENT.record(
            actor=actor, project_id=webhook.project_id, data={"webhook": webhook.pk, "delivery": delivery.pk}
        )


def checked_url(url: str) -> None:
    """Raise ServiceError `url` unless this is the address of a listed host."""
    if len(url) > LONGEST:
        raise ServiceError(
            _("The address is too long. It may have at most %(most)d characters.") % {"most": LONGEST}, code="url"
        )
    try:
        target = read_target(url)
    except HostError as error:
        raise ServiceError(str(error), code="url") from None
    if not settings.WEBHOOK_HOSTS:
        message = _("This instance lists no hosts for webhooks. Ask the administrator to set DEIDREVIEW_WEBHOOK_HOSTS.")
        raise ServiceError(message, code="url")
    if not settings.WEBHOOK_HOSTS.lists(target.host, target.port):
        message = _("The host %(host)s is not on the list of this instance. Ask the administrator to add it.")
        raise ServiceError(message % {"host": target.authority}, code="url")


def _checked_kinds(kinds: Sequence[str]) -> list[str]:
    if unknown := sorted(set(kinds) - set(KINDS)):
        message = _("There is no event %(unknown)s. Choose from: %(choices)s.")
        raise ServiceError(message % {"unknown": ", ".join(unknown), "choices": ", ".join(KINDS)}, code="kinds")
    if not kinds:
        raise ServiceError(_("Choose at least one event."), code="kinds")
    return [kind for kind in KINDS if kind in kinds]


def _new_secret(project: Project) -> tuple[bytes, str]:
    """A random secret of 32 bytes: sealed, and as people get it."""
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    return project_key(project).seal(secret), SECRET + secret
