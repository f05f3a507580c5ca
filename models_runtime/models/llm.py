from django.db import models
from django.db.models import Q

from annotations.models import Document
from models_runtime.models.run import Run


class LlmAnswer(models.Model):
    """What a language model was once found to say of a piece of a note: offsets and labels, or verdicts; never text.

    `key` is a hash of server, model, prompt and piece. The row goes with its note, so an erased patient's goes too.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    found = models.JSONField(
        help_text="[start, end, label] in code points of the piece, or a judge's verdicts by number."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "key"], name="llm_answer_once")]
        indexes = [models.Index(fields=["key"], name="llm_answer_by_key")]

    def __str__(self) -> str:
        return f"answer {self.pk}"


class ServerRoom(models.Model):
    """Who asks a listed server at present, by the name of the server: what workers share, they share by this row.

    `seats`: by a worker's token how many requests it may have under way, and until when it counts (seconds of the
    database's clock since 1970), should the worker be lost.
    """

    server = models.CharField(max_length=40, unique=True)
    seats = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"room of {self.server}"


class LlmUsage(models.Model):
    """What a run, or a judge, has asked of a language model, and what was wrong with the answers.

    It grows with every answer. One row for each currency that was paid in; an empty one: no price was known.
    """

    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="usage", db_index=False)
    judge = models.ForeignKey("Judge", models.CASCADE, null=True, related_name="usage", db_index=False)
    requests = models.PositiveIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0, help_text="Answers that were kept from before.")
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    hallucinated = models.PositiveIntegerField(default=0, help_text="Mentions of what was not in the text, or asked.")
    ambiguous = models.PositiveIntegerField(default=0, help_text="Mentions of which the place, or verdict, is unclear.")
    broken = models.PositiveIntegerField(default=0, help_text="Entries that could not be read.")
    unknown = models.PositiveIntegerField(default=0, help_text="Types, or verdicts, that were not asked for.")
    too_long = models.PositiveIntegerField(default=0, help_text="Mentions that are no entity but a stretch of text.")
    cut = models.PositiveIntegerField(default=0, help_text="Answers that ended in the middle.")
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, help_text="None: no price is known.")
    currency = models.CharField(max_length=3, blank=True)

    WRONG = ("hallucinated", "ambiguous", "broken", "unknown", "too_long", "cut")
    COUNTS = ("requests", "retries", "kept", "tokens_in", "tokens_out", *WRONG)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(run__isnull=True) ^ Q(judge__isnull=True), name="usage_of_one"),
            models.UniqueConstraint(fields=["run", "currency"], name="usage_of_run_once"),
            models.UniqueConstraint(fields=["judge", "currency"], name="usage_of_judge_once"),
        ]

    def __str__(self) -> str:
        return f"usage {self.pk}"
