from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models import Author, Document, Project
from annotations.models.job import Job
from models_runtime.models.trained import TrainedModel


class Run(models.Model):
    """One execution of a backend over notes. It writes the annotation sets of `author`; `job` is the current job.

    `revision` is the backend's own name for everything that its output depends on; `params` are its parameters.
    `calibration` was applied to its confidences; None: they are the backend's own.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="runs")
    author = models.OneToOneField(Author, models.CASCADE, related_name="run")
    backend = models.CharField(max_length=40, help_text="A key of models_runtime.core.registry.BACKENDS.")
    model = models.ForeignKey(TrainedModel, models.SET_NULL, null=True, related_name="runs")
    revision = models.CharField(max_length=120, blank=True, help_text="Written by the worker that loaded the backend.")
    params = models.JSONField(default=dict)
    calibration = models.ForeignKey("Calibration", models.SET_NULL, null=True, related_name="runs")
    job = models.OneToOneField(Job, models.CASCADE, null=True, related_name="run")
    spans_without_label = models.PositiveIntegerField(
        default=0, help_text="Spans left out because the project lacks their label."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.backend})"

    @property
    def full_revision(self) -> str:
        """The backend's revision and the name of the calibration, if there is one."""
        return f"{self.revision}+{self.calibration.word}" if self.calibration else self.revision


class RunItemState(models.TextChoices):
    PENDING = "pending", _("To do")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class RunItem(models.Model):
    """One note of a run. The result and `done` are written in one transaction, fenced by the worker's share."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="items", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=RunItemState, default=RunItemState.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, help_text="A sentence for people, without note text.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "document"], name="run_item_once"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="run_item_by_state")]

    def __str__(self) -> str:
        return f"item {self.pk} of run {self.run_id}"
