"""What comparing a note's readings gave, kept so that a page over ten thousand notes needs no comparing.

A trigger (migration 0007) adds a `Stale` row in the very transaction that changes a submitted reading; who needs the
comparisons brings those notes up to date first (agreement.services.comparing). So they are never out of date unseen.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class Stale(models.Model):
    """A note whose submitted readings changed since they were compared. No foreign key: a trigger writes these."""

    document_id = models.BigIntegerField(primary_key=True)

    class Meta:
        ordering = ["document_id"]

    def __str__(self) -> str:
        return f"stale: note {self.document_id}"


class Comparison(models.Model):
    """One note's submitted readings by annotators, compared."""

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="comparison")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    readers = models.PositiveSmallIntegerField()
    blind_readers = models.PositiveSmallIntegerField(help_text="Those whose readings count in agreement figures.")
    disputed = models.PositiveIntegerField(help_text="Places where they differ, all readers counted.")
    agreed = models.PositiveIntegerField(help_text="Places where all say the same.")
    agreement = models.FloatField(null=True, help_text="Observed agreement over the marked tokens; none: nothing is.")
    heard = models.CharField(max_length=64, help_text="A hash of the readings.")
    last_at = models.DateTimeField(null=True, help_text="When the last of the blind readings was handed in.")

    class Meta:
        ordering = ["document"]
        indexes = [
            models.Index(fields=["project", "agreement", "document"], name="comparison_by_agreement"),
            models.Index(fields=["project", "last_at"], name="comparison_by_time"),
        ]

    def __str__(self) -> str:
        return f"comparison of note {self.document_id}"


class Difference(models.Model):
    """A place (code points, end-exclusive) where annotators differ.

    `kinds` and `labels` are words and label ids between commas, `pairs` author ids as `,3-5,3-5:missed,`, so that a
    filter is one LIKE. `scope` says among whom: blind readings, all submitted ones, or both alike.
    """

    class Scope(models.IntegerChoices):
        BLIND = 1, _("Blind readings")
        ALL = 2, _("All submitted readings")
        EITHER = 3, _("Both")

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="differences")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    scope = models.PositiveSmallIntegerField(choices=Scope)
    kinds = models.CharField(max_length=40)
    tokens = models.BooleanField(help_text="Whether any token has other labels, and not only spans other ends.")
    labels = models.TextField()
    pairs = models.TextField()

    class Meta:
        ordering = ["document", "start"]
        indexes = [models.Index(fields=["project", "document", "start"], name="difference_in_order")]

    def __str__(self) -> str:
        return f"difference {self.pk}"
