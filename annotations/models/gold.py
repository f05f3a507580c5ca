from django.conf import settings
from django.db import models

from annotations.models.document import Document
from annotations.models.project import Project


class GoldVersion(models.Model):
    """A frozen snapshot of the gold standard. `content_hash` covers names, text hashes and spans (domain.hashing)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="gold_versions", db_index=False)
    number = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    note_count = models.PositiveIntegerField()
    span_count = models.PositiveIntegerField()
    erased_count = models.PositiveIntegerField(
        default=0, help_text="Notes erased since then: a patient's, or a deleted note."
    )
    split_seed = models.CharField(
        max_length=40, blank=True, help_text="Seed of the split by patient; empty without a split."
    )
    split_shares = models.JSONField(null=True, help_text="Percent of the notes by split: train, dev, test.")
    reason = models.CharField(max_length=300, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="gold_version_once")]

    def __str__(self) -> str:
        return f"gold version {self.number}"


class GoldVersionNote(models.Model):
    """One note in a frozen version: `spans` is a sorted list of [start, end, label code, provenance or null].

    A span with attributes has them as a fifth item: a choice or true by name.
    """

    version = models.ForeignKey(GoldVersion, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    spans = models.JSONField()
    split = models.CharField(
        max_length=5, blank=True, help_text="train, dev or test, the same for all notes of a patient."
    )

    class Meta:
        ordering = ["document"]
        constraints = [models.UniqueConstraint(fields=["version", "document"], name="gold_version_note_once")]

    def __str__(self) -> str:
        return f"gold version note {self.pk}"
