import hashlib
import json

from django.conf import settings
from django.db import models

from annotations.models import GoldVersion, Project
from models_runtime.models.trained import TrainedModel


class Calibration(models.Model):
    """How the confidences of one revision of a backend are to be read, learned from gold (domain.calibration).

    `held_out`: from the notes that a model's training held out; else from a run's notes. Runs that start while it is
    the newest of their backend and revision have their confidences calibrated by it. It holds counts, never note text.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="calibrations", db_index=False)
    backend = models.CharField(max_length=40, help_text="As in Run.backend.")
    revision = models.CharField(max_length=120)
    model = models.ForeignKey(TrainedModel, models.CASCADE, null=True, related_name="calibrations")
    run = models.ForeignKey("Run", models.SET_NULL, null=True, related_name="+")
    held_out = models.BooleanField(default=False)
    gold_version = models.ForeignKey(GoldVersion, models.SET_NULL, null=True, related_name="+")
    gold_number = models.PositiveIntegerField()
    gold_hash = models.CharField(max_length=64)
    notes = models.PositiveIntegerField()
    own_spans = models.PositiveIntegerField(default=0, help_text="Gold spans that were taken over from the run.")
    left_out = models.JSONField(default=dict, help_text="Notes that don't count: learned from, held back as test.")
    curves = models.JSONField(help_text="Parameters: of all labels, and by label.")
    figures = models.JSONField(help_text="Reliability before and after, over all labels and by label.")
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
        """How a run's revision names it: the same curves, the same word."""
        return f"cal-{hashlib.sha256(json.dumps(self.curves, sort_keys=True).encode()).hexdigest()[:8]}"
