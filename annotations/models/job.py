from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class JobState(models.TextChoices):
    QUEUED = "queued", _("Waiting for a worker")
    RUNNING = "running", _("Running")
    PAUSED = "paused", _("Paused")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELED = "canceled", _("Canceled")


class Job(models.Model):
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
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
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

    def __str__(self) -> str:
        return f"job {self.pk} ({self.kind})"

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
