"""Stored comparisons of notes' annotation sets, so that a page over ten thousand notes need not compare them.

A trigger (migration 0007) adds a `Stale` row in the transaction that changes a submitted annotation set. Code that
reads comparisons updates stale notes first (agreement.services.comparing), so that it never sees outdated ones.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class Stale(models.Model):
    """A note whose submitted annotation sets changed since their comparison. A trigger adds rows: no foreign key."""

    document_id = models.BigIntegerField(primary_key=True)

    class Meta:
        ordering = ["document_id"]

    def __str__(self) -> str:
        return f"stale: note {self.document_id}"


class Comparison(models.Model):
    """The comparison of one note's submitted annotation sets by annotators.

    Locations where only attributes of spans differ count as `disputed`; they don't change the `agreement`.
    """

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="comparison")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    annotators = models.PositiveSmallIntegerField()
    blind_annotators = models.PositiveSmallIntegerField(help_text="Annotators whose sets count in agreement figures.")
    disputed = models.PositiveIntegerField(help_text="Locations where any annotators differ.")
    tied = models.PositiveIntegerField(default=0, help_text="Locations that a majority of the annotators leaves open.")
    agreed = models.PositiveIntegerField(help_text="Locations where all annotators agree.")
    agreement = models.FloatField(
        null=True, help_text="Observed agreement over marked tokens; null without marked tokens."
    )
    heard = models.CharField(max_length=64, help_text="A hash of the annotation sets.")
    last_at = models.DateTimeField(null=True, help_text="When the last blind annotation set was submitted.")

    class Meta:
        ordering = ["document"]
        indexes = [
            models.Index(fields=["project", "agreement", "document"], name="comparison_by_agreement"),
            models.Index(fields=["project", "last_at"], name="comparison_by_time"),
        ]

    def __str__(self) -> str:
        return f"comparison of note {self.document_id}"


class Difference(models.Model):
    """A location (code points, end-exclusive) where annotators differ.

    `kinds` and `labels` hold words and label ids between commas, `pairs` author ids as `,3-5,3-5:missed,`, so that each
    filter is one LIKE. `scope`: whether blind annotation sets differ here, all submitted ones, or both.
    """

    class Scope(models.IntegerChoices):
        BLIND = 1, _("Blind annotation sets")
        ALL = 2, _("All submitted annotation sets")
        EITHER = 3, _("Both")

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="differences")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    scope = models.PositiveSmallIntegerField(choices=Scope)
    kinds = models.CharField(max_length=40)
    tokens = models.BooleanField(help_text="Whether the labels of any token differ, not only the bounds of spans.")
    labels = models.TextField()
    pairs = models.TextField()

    class Meta:
        ordering = ["document", "start"]
        indexes = [models.Index(fields=["project", "document", "start"], name="difference_in_order")]

    def __str__(self) -> str:
        return f"difference {self.pk}"
