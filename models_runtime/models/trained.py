from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models import GoldVersion, Project, StoredFile
from annotations.models.job import Job
from models_runtime.models.cards import ModelCard, TrainingParams

# How runs and commands name a model as their backend: `model:ID`.
OF_MODEL = "model:"


class TrainedModelState(models.TextChoices):
    TRAINING = "training", _("In training")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")
    RETIRED = "retired", _("Retired")


class TrainedModel(models.Model):
    """A model trained on this project's gold, or uploaded as a file.

    A ready model can be the backend of runs. `card` describes its training data and scores; `losses` grow during
    training. A retired model keeps its card and its runs, but its weights are deleted.
    """

    LIVE = (TrainedModelState.TRAINING, TrainedModelState.READY)

    project = models.ForeignKey(Project, models.CASCADE, related_name="trained_models", db_index=False)
    name = models.CharField(max_length=80)
    backend = models.CharField(max_length=40, help_text="A key of models_runtime.core.registry.TRAINABLE.")
    state = models.CharField(max_length=8, choices=TrainedModelState, default=TrainedModelState.TRAINING)
    params: "models.JSONField[TrainingParams, TrainingParams]" = models.JSONField(
        default=dict, help_text="The requested parameters: algorithm, iterations and others."
    )
    card: "models.JSONField[ModelCard, ModelCard]" = models.JSONField(default=dict)
    losses: "models.JSONField[list[float], list[float]]" = models.JSONField(
        default=list, help_text="The loss of each iteration so far."
    )
    hold_out: "models.JSONField[list[float], list[float]]" = models.JSONField(
        default=list, help_text="F1 of exact spans on the held-out notes after each epoch so far."
    )
    enough = models.BooleanField(
        default=False, help_text="A person asked to end the training early and keep the model."
    )
    gold_version = models.ForeignKey(GoldVersion, models.SET_NULL, null=True, related_name="+")
    stored_file = models.OneToOneField(StoredFile, models.SET_NULL, null=True, related_name="trained_model")
    job = models.OneToOneField(Job, models.SET_NULL, null=True, related_name="trained_model")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "-id"], name="model_by_project")]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(state__in=["training", "ready"]), name="model_name_once"
            )
        ]

    def __str__(self) -> str:
        return f"model {self.pk} ({self.backend})"
