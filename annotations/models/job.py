from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class Job(models.Model):
    """Long work. The row is the truth; Redis only rings the bell (docs/architecture.md).

    A worker claims the row by a conditional update and holds it by a lease; `lease_token` fences off a worker that was
    frozen past its lease. `params` holds ids, never note text.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting for a worker")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    class Queue(models.TextChoices):
        CPU = "cpu", "cpu"
        GPU = "gpu", "gpu"
        LLM = "llm", "llm"

    kind = models.CharField(max_length=40, help_text="One of the registered kinds (annotations.jobs.registry).")
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs", db_index=False)
    params = models.JSONField(default=dict)
    key = models.CharField(
        max_length=120, unique=True, help_text="Idempotency: a second request with it is the same job."
    )
    queue = models.CharField(max_length=4, choices=Queue, default=Queue.CPU)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    pushed_at = models.DateTimeField(null=True)
    cancel_requested = models.BooleanField(default=False)
    pause_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, help_text="In plain words, without note text.")
    result = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(
        null=True, help_text="Since when these workers are at it; with the next, the rate."
    )
    claimed_done = models.PositiveIntegerField(default=0, help_text="How much was done by then.")
    finished_at = models.DateTimeField(null=True)
    no_help_until = models.DateTimeField(null=True, help_text="A helper failed at it: no other joins before.")

    class Meta:
        # The table is older than this place for it.
        db_table = "models_runtime_job"
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["project", "-id"], name="job_by_project"),
            models.Index(fields=["state", "id"], condition=Q(state__in=["queued", "running"]), name="job_live"),
        ]

    def __str__(self) -> str:
        return f"job {self.pk} ({self.kind})"
