from django.conf import settings
from django.db import models

from annotations.models import Author, Document, GoldVersion, Project
from annotations.models.job import Job
from annotations.scores.rules.judging import RULES, STANDARD, Rules


class Judging(models.Model):
    """A judging of an author's annotation sets by language models against a gold version. `job` is the current job.

    `prompt` and `labels` ([code, placeholder]) are copied at the start. It stores offsets, verdicts and counts, never
    note text.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="judgings")
    author = models.ForeignKey(Author, models.CASCADE, related_name="judgings")
    gold_version = models.ForeignKey(GoldVersion, models.CASCADE, related_name="judgings")
    split = models.CharField(max_length=10, blank=True)
    most_notes = models.PositiveIntegerField(null=True, help_text="At most this many notes, drawn by hash; null: all.")
    rules = models.CharField(max_length=20, default=STANDARD.key, help_text="annotations.scores.rules.judging")
    unit = models.CharField(
        max_length=20, default=STANDARD.unit.value, help_text="What one entity is: a Unit of the rules."
    )
    temperature = models.FloatField(default=STANDARD.temperature)
    threshold = models.FloatField(help_text="An entity counts where more than this share of the judges agree.")
    language = models.CharField(max_length=8)
    prompt = models.TextField()
    prompt_version = models.CharField(max_length=20)
    labels = models.JSONField(default=list)
    frozen_at = models.DateTimeField(null=True, help_text="When the judged notes and entities were fixed.")
    job = models.OneToOneField(Job, models.CASCADE, null=True, related_name="judging")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"judging {self.pk}"

    @property
    def placeholder_of(self) -> dict[str, str]:
        return dict(self.labels)

    @property
    def counted_by(self) -> Rules:
        return RULES[self.rules]


class Judge(models.Model):
    """One model of a judging. `stopped`: why it gets no more requests, as a sentence."""

    judging = models.ForeignKey(Judging, models.CASCADE, related_name="judges")
    position = models.PositiveSmallIntegerField()
    server = models.CharField(max_length=40)
    model = models.CharField(max_length=200)
    stopped = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["judging", "position"], name="judge_once")]

    def __str__(self) -> str:
        return f"judge {self.pk}"

    @property
    def name(self) -> str:
        return f"{self.server}/{self.model}"


class JudgedNote(models.Model):
    """A note of a judging. Deleting the note deletes this row and its verdicts.

    `entities` are [start, end, label, gold, [further occurrences]]; `hidden` are the spans replaced by placeholders in
    the de-identified text.
    `beside` holds the counts of the deterministic scores by label: correct, missed, spurious. It also says whether the
    note has no usable answer of the judged model, and the hash of the text that a model rewrote (RewrittenNote).
    """

    judging = models.ForeignKey(Judging, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    entities = models.JSONField()
    hidden = models.JSONField()
    beside = models.JSONField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["judging", "document"], name="judged_note_once")]

    def __str__(self) -> str:
        return f"judged note {self.pk}"


class Judgment(models.Model):
    """One judge's verdicts on one note: a verdict or null for each entity; null with an error if the judge failed."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="judgments", db_index=False)
    note = models.ForeignKey(JudgedNote, models.CASCADE, related_name="judgments")
    verdicts = models.JSONField(null=True)
    error = models.CharField(max_length=300, blank=True, help_text="A sentence for people, without note text.")

    class Meta:
        # The table was named before the model was renamed.
        db_table = "models_runtime_judgement"
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["judge", "note"], name="judgment_once")]

    def __str__(self) -> str:
        return f"judgment {self.pk}"
