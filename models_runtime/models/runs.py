import hashlib
import json
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models import Author, Document, GoldVersion, Project, Release, StoredFile
from annotations.models.job import Job
from annotations.models.project import Created, Table

if TYPE_CHECKING:  # The types need the backends and the scores, which most processes never load.
    from models_runtime.models.cards import ModelCard, TrainingParams

# How runs and commands name a model as their backend: `model:ID`.
OF_MODEL = "model:"


class TrainedModelState(models.TextChoices):
    TRAINING = "training", _("In training")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")
    RETIRED = "retired", _("Retired")


class TrainedModel(Created):
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
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "-id"], name="model_by_project")]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(state__in=["training", "ready"]), name="model_name_once"
            )
        ]


class Run(Created):
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

    class Meta:
        ordering = ["-id"]

    @property
    def full_revision(self) -> str:
        """The backend's revision and the name of the calibration, if there is one."""
        return f"{self.revision}+{self.calibration.word}" if self.calibration else self.revision


class RunItemState(models.TextChoices):
    PENDING = "pending", _("To do")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class RunItem(Table):
    """One note of a run. The result and `done` are written in one transaction, fenced by the worker's share."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="items", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=RunItemState, default=RunItemState.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, help_text="A sentence for people, without note text.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run", "document"], name="run_item_once")]
        indexes = [models.Index(fields=["run", "state", "id"], name="run_item_by_state")]


class LlmAnswer(Table):
    """A cached answer of a language model about a piece of a note: offsets and labels, verdicts, or a rewritten text.

    `key` is a hash of server, model, prompt, settings and piece. Deleting the note deletes the row, so that erasing a
    patient does too. An answer about surrogates has a row for each note that its question shows, and a keyed hash; it
    is encrypted in one of these rows, and deleted with any of the notes
    (models_runtime.refining.services.relexicalizing).
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    found = models.JSONField(
        help_text="[start, end, label] in code points of the piece, a judge's verdicts, or the piece rewritten."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "key"], name="llm_answer_once")]
        indexes = [models.Index(fields=["key"], name="llm_answer_by_key")]


class ServerCapacity(Table):
    """The workers that currently use a listed server, by its name, so that they share its limit of requests.

    `seats`: by worker token, how many requests the worker may have under way, and when the entry expires (seconds of
    the database's clock since 1970) if the worker is lost.
    """

    server = models.CharField(max_length=40, unique=True)
    seats = models.JSONField(default=dict)

    class Meta:
        db_table = "models_runtime_serverroom"


class LlmUsage(Table):
    """A use of a language model, with counts of the errors in its answers: by a run, a judge, a release that lets it
    make surrogates, or a project whose index of surrogates was filled without a release.

    It grows with every answer. There is one row per currency; an empty currency means that no price is known.
    """

    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="usage", db_index=False)
    judge = models.ForeignKey("Judge", models.CASCADE, null=True, related_name="usage", db_index=False)
    release = models.ForeignKey(Release, models.CASCADE, null=True, related_name="usage", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="surrogate_usage", db_index=False)
    requests = models.PositiveIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0, help_text="Answers taken from the cache.")
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    hallucinated = models.PositiveIntegerField(
        default=0, help_text="Mentions that are not in the text, or were not asked about."
    )
    ambiguous = models.PositiveIntegerField(default=0, help_text="Mentions whose position or verdict is unclear.")
    broken = models.PositiveIntegerField(default=0, help_text="Entries that could not be read.")
    unknown = models.PositiveIntegerField(default=0, help_text="Types or verdicts that were not requested.")
    too_long = models.PositiveIntegerField(default=0, help_text="Mentions that are too long for an entity.")
    cut = models.PositiveIntegerField(default=0, help_text="Answers that were cut off.")
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, help_text="Null: no price is known.")
    currency = models.CharField(max_length=3, blank=True)

    WRONG = ("hallucinated", "ambiguous", "broken", "unknown", "too_long", "cut")
    COUNTS = ("requests", "retries", "kept", "tokens_in", "tokens_out", *WRONG)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=False, judge__isnull=True, release__isnull=True, project__isnull=True)
                | Q(run__isnull=True, judge__isnull=False, release__isnull=True, project__isnull=True)
                | Q(run__isnull=True, judge__isnull=True, release__isnull=False, project__isnull=True)
                | Q(run__isnull=True, judge__isnull=True, release__isnull=True, project__isnull=False),
                name="usage_of_one",
            ),
            models.UniqueConstraint(fields=["run", "currency"], name="usage_of_run_once"),
            models.UniqueConstraint(fields=["judge", "currency"], name="usage_of_judge_once"),
            models.UniqueConstraint(fields=["release", "currency"], name="usage_of_release_once"),
            models.UniqueConstraint(fields=["project", "currency"], name="usage_of_project_once"),
        ]


class Calibration(Created):
    """A calibration of the confidences of one backend revision, fitted to gold (models_runtime.training.rules).

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
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "backend", "-id"], name="calibration_by_backend")]

    @property
    def word(self) -> str:
        """The name of the calibration in a run's revision, a hash of its curves."""
        return f"cal-{hashlib.sha256(json.dumps(self.curves, sort_keys=True).encode()).hexdigest()[:8]}"


class ReviewSkill(Created):
    """A version of a project's own text of a skill: guidance of a refining agent for a group of labels.

    The newest version of a name counts. It replaces the shipped skill of the name; an empty text switches it off.
    `labels` are codes, or `["*"]` for every label. Rows are never changed, so that all versions can be read.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="skills", db_index=False)
    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    labels = models.JSONField(default=list)
    text = models.TextField(blank=True)

    class Meta:
        ordering = ["project", "name", "-version"]
        constraints = [models.UniqueConstraint(fields=["project", "name", "version"], name="review_skill_version_once")]
