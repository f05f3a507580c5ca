from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models import GoldVersion, Project, StoredFile
from annotations.models.job import Job

# How runs and commands name a model as their backend: `model:ID`.
OF_MODEL = "model:"


class TrainedModel(models.Model):
    """A model that learned from this project's gold, or was brought in as a file.

    Ready, it is a backend for runs. `card` says what it learned from and how well it did; `losses` grow while it is
    being trained. Retired, it keeps its card and its runs; its weights are gone.
    """

    class State(models.TextChoices):
        TRAINING = "training", _("In training")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")
        RETIRED = "retired", _("Retired")

    LIVE = (State.TRAINING, State.READY)

    project = models.ForeignKey(Project, models.CASCADE, related_name="trained_models", db_index=False)
    name = models.CharField(max_length=80)
    backend = models.CharField(max_length=40, help_text="A key of models_runtime.core.registry.TRAINABLE.")
    state = models.CharField(max_length=8, choices=State, default=State.TRAINING)
    params = models.JSONField(default=dict, help_text="What the training was asked for: algorithm, iterations.")
    card = models.JSONField(default=dict)
    losses = models.JSONField(default=list, help_text="One per iteration so far.")
    hold_out = models.JSONField(
        default=list, help_text="F1 of exact spans on the notes held out, one per epoch so far."
    )
    enough = models.BooleanField(
        default=False, help_text="Somebody asked to end the training with what it has learned."
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
