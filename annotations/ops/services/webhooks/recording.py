"""Put deliveries in line when something happens, in the transaction in which it happens."""

from typing import cast

from django.utils import timezone

from annotations.gold.events import GoldFrozen as FrozenVersion
from annotations.models import Delivery, Event, Job, JobState, Span, Webhook, WebhookState
from annotations.ops.selectors.webhooks.kinds import (
    GOLD_FROZEN,
    JOB_DONE,
    JOB_FAILED,
    NOTE_SUBMITTED,
    Data,
    GoldFrozen,
    JobEnded,
    NoteSubmitted,
    link_to,
)


def job_ended(job_id: int, state: str) -> None:
    """A job is done or has failed (annotations.jobs.hooks.ENDED)."""
    kind = JOB_DONE if state == JobState.DONE else JOB_FAILED
    job = Job.objects.only("project_id", "number", "kind", "done", "total").get(pk=job_id)
    if not (wanting := _wanting(job.project_id, kind)):
        return
    slug = _slug(wanting)
    data = JobEnded(
        project=slug, job=job.number, kind=job.kind, done=job.done, total=job.total,
        link=link_to(slug, "jobs", job.number),
    )  # fmt: skip
    put_in_line(wanting, kind, data)


def note_submitted(event: Event) -> None:
    """An annotator has submitted a note (annotations.annotate.events.SET_SUBMITTED)."""
    note, annotation_set, project = event.document_id, event.annotation_set_id, event.project_id
    if note is None or annotation_set is None or not (wanting := _wanting(project, NOTE_SUBMITTED)):
        return
    slug = _slug(wanting)
    data = NoteSubmitted(
        project=slug,
        note=note,
        annotation_set=annotation_set,
        spans=Span.objects.filter(annotation_set=annotation_set).order_by().count(),
        link=link_to(slug, "notes", note),
    )
    put_in_line(wanting, NOTE_SUBMITTED, data, note=note)


def gold_frozen(event: Event) -> None:
    """A gold version is frozen (annotations.gold.events.GOLD_FROZEN)."""
    if not (wanting := _wanting(event.project_id, GOLD_FROZEN)):
        return
    slug = _slug(wanting)
    # The type of the data of this verb's events; the column has JSON of all verbs.
    version = cast(FrozenVersion, event.data)
    data = GoldFrozen(
        project=slug,
        version=version["version"],
        hash=version["hash"],
        notes=version["notes"],
        link=link_to(slug, "gold", version["version"]),
    )
    put_in_line(wanting, GOLD_FROZEN, data)


def put_in_line(webhooks: list[Webhook], kind: str, data: Data, *, note: int | None = None) -> list[Delivery]:
    """Make a delivery for each webhook. The relay sends them at once."""
    rows = [
        Delivery(webhook=webhook, kind=kind, note_id=note, data=data, due_at=timezone.now()) for webhook in webhooks
    ]
    return Delivery.objects.bulk_create(rows)


def _wanting(project_id: int | None, kind: str) -> list[Webhook]:
    rows = Webhook.objects.filter(project=project_id, state=WebhookState.ON)
    return [webhook for webhook in rows.select_related("project").defer("sealed") if kind in webhook.kinds]


def _slug(webhooks: list[Webhook]) -> str:
    """The short name of the project of these webhooks."""
    return webhooks[0].project.slug
