from django.db import models
from django.db.models import Q

from annotations.models import Document, Project, Release
from models_runtime.models.run import Run


class LlmAnswer(models.Model):
    """A cached answer of a language model about a piece of a note: offsets and labels, verdicts, or a rewritten text.

    `key` is a hash of server, model, prompt, settings and piece. Deleting the note deletes the row, so that erasing a
    patient does too. An answer about surrogates has a row for each note that its question shows, and a keyed hash; it
    is encrypted in one of these rows, and deleted with any of the notes
    (models_runtime.refining.services.relexicalizing.answers).
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

    def __str__(self) -> str:
        return f"answer {self.pk}"


class ServerCapacity(models.Model):
    """The workers that currently use a listed server, by its name, so that they share its limit of requests.

    `seats`: by worker token, how many requests the worker may have under way, and when the entry expires (seconds of
    the database's clock since 1970) if the worker is lost.
    """

    server = models.CharField(max_length=40, unique=True)
    seats = models.JSONField(default=dict)

    class Meta:
        db_table = "models_runtime_serverroom"

    def __str__(self) -> str:
        return f"capacity of {self.server}"


class LlmUsage(models.Model):
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

    def __str__(self) -> str:
        return f"usage {self.pk}"
