import uuid
from typing import Any, NoReturn

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Document
from annotations.models.project import Created, Project, Table


class JobState(models.TextChoices):
    QUEUED = "queued", _("Waiting for a worker")
    RUNNING = "running", _("Running")
    PAUSED = "paused", _("Paused")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELED = "canceled", _("Canceled")


class Job(Created):
    """A job. The row is the truth; Redis only notifies workers (docs/architecture.md).

    A worker claims the row by a conditional update and holds it by a lease; `lease_token` keeps a worker whose
    lease has expired from writing. `params` holds ids, never note text. People see `number`, which counts the project's
    jobs from 1.
    """

    class Queue(models.TextChoices):
        CPU = "cpu", "cpu"
        GPU = "gpu", "gpu"
        LLM = "llm", "llm"

    kind = models.CharField(max_length=40, help_text="One of the registered kinds (annotations.jobs.registry).")
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs", db_index=False)
    number = models.PositiveIntegerField(editable=False)
    params = models.JSONField(default=dict)
    key = models.CharField(
        max_length=120, unique=True, help_text="Idempotency key: a second request with it returns the same job."
    )
    queue = models.CharField(max_length=4, choices=Queue, default=Queue.CPU)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    pushed_at = models.DateTimeField(null=True)
    cancel_requested = models.BooleanField(default=False)
    pause_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, help_text="A sentence for people, without note text.")
    result = models.JSONField(default=dict)
    started_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(
        null=True, help_text="When the present workers began. With `claimed_done` it gives the rate."
    )
    claimed_done = models.PositiveIntegerField(default=0, help_text="How much was done at `claimed_at`.")
    finished_at = models.DateTimeField(null=True)
    no_help_until = models.DateTimeField(
        null=True, help_text="A helper failed; no other helper joins before this time."
    )

    class Meta:
        # The table was created when the model belonged to another app.
        db_table = "models_runtime_job"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="job_number_once")]
        indexes = [
            models.Index(fields=["project", "-id"], name="job_by_project"),
            models.Index(fields=["state", "id"], condition=Q(state__in=["queued", "running"]), name="job_live"),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Give a new job the project's next number. The project's row stays locked until the transaction ends."""
        with transaction.atomic():
            if self._state.adding:
                rows = Project.objects.filter(pk=self.project_id)
                # An outdated copy of the project that was saved whole may have set the count back.
                newest = Job.objects.filter(project=self.project_id).order_by("-number").values("number")[:1]
                rows.update(last_job_number=Greatest(F("last_job_number"), Coalesce(Subquery(newest), 0)) + 1)
                self.number = rows.values_list("last_job_number", flat=True).get()
            super().save(*args, **kwargs)


class Share(Table):
    """The part of a shared job that one worker works on: the job's rows with ids from `first` to `last`.

    A worker has one share at a time and holds it by a lease, like a job. Live shares never overlap. The share of a dead
    worker goes to the others when its lease expires.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="shares")
    token = models.UUIDField(unique=True, help_text="The worker's token; for the leading worker, that of the job.")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    lease_until = models.DateTimeField()

    class Meta:
        # The table was created when the model belonged to another app.
        db_table = "models_runtime_share"
        ordering = ["id"]


class AppendOnly(models.QuerySet["Event"]):
    def update(self, **kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")

    def delete(self) -> NoReturn:
        raise TypeError("Events are append-only.")


class Event(Table):
    """One act or read of a person. Rows are append-only (a database trigger refuses changes).

    Events hold ids, not foreign keys, because they are kept after the rows they refer to are deleted. `data` holds ids,
    offsets, labels and counts: never note text or text that a person typed, since nothing can be erased here. Undo
    uses the events: `change_id` comes from the client and makes a replay harmless; `reverts` is the event that an undo
    or redo reverts.
    """

    project_id = models.BigIntegerField(null=True)
    document_id = models.BigIntegerField(null=True)
    annotation_set_id = models.BigIntegerField(null=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    verb = models.CharField(max_length=24)
    data = models.JSONField(default=dict)
    change_id = models.UUIDField(null=True)
    reverts = models.BigIntegerField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = AppendOnly.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotation_set_id", "change_id"], condition=Q(change_id__isnull=False), name="change_once"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "id"], name="event_by_project"),
            models.Index(fields=["document_id", "id"], name="event_by_document"),
            models.Index(fields=["annotation_set_id", "id"], name="event_by_set"),
            models.Index(fields=["actor", "project_id", "at"], name="event_by_person"),
            models.Index(fields=["project_id", "verb", "id"], name="event_by_verb"),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("Events are append-only.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")


class WebhookState(models.TextChoices):
    ON = "on", _("On")
    OFF = "off", _("Off")
    STOPPED = "stopped", _("Stopped after failures")


class Webhook(Created):
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

    class Meta:
        ordering = ["id"]


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Failed")


class Delivery(Table):
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
