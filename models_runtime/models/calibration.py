import hashlib
import json

from django.conf import settings
from django.db import models

from annotations.models import GoldVersion, Project
from models_runtime.models.trained import TrainedModel


class Calibration(models.Model):
    """A calibration of the confidences of one backend revision, fitted to gold (domain.calibration).

    `held_out`: fitted to the notes that a model's training held out; otherwise to the notes of a run. `uploaded`: it
    came with a model's file, and its gold version is that of another project or installation. New runs use the newest
    calibration of their backend and revision. It holds counts, never note text.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="calibrations", db_index=False)
    backend = models.CharField(max_length=40, help_text="As in Run.backend.")
    revision = models.CharField(max_length=120)
    model = models.ForeignKey(TrainedModel, models.CASCADE, null=True, related_name="calibrations")
    run = models.ForeignKey("Run", models.SET_NULL, null=True, related_name="+")
    held_out = models.BooleanField(default=False)
    uploaded = models.BooleanField(default=False, db_default=False, help_text="Came with an uploaded model's file.")
    gold_version = models.ForeignKey(GoldVersion, models.SET_NULL, null=True, related_name="+")
    gold_number = models.PositiveIntegerField()
    gold_hash = models.CharField(max_length=64)
    notes = models.PositiveIntegerField()
    own_spans = models.PositiveIntegerField(default=0, help_text="Gold spans that came from the run.")
    left_out = models.JSONField(
        default=dict, help_text="Numbers of notes left out: used in training, or held back as test."
    )
    curves = models.JSONField(help_text="Parameters for all labels and by label.")
    figures = models.JSONField(help_text="Reliability before and after calibration, for all labels and by label.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "backend", "-id"], name="calibration_by_backend")]

    def __str__(self) -> str:
        return f"calibration {self.pk} of {self.backend}"

    @property
    def word(self) -> str:
        """The name of the calibration in a run's revision, a hash of its curves."""
        return f"cal-{hashlib.sha256(json.dumps(self.curves, sort_keys=True).encode()).hexdigest()[:8]}"
