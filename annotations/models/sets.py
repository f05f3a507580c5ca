from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotations.models.author import Author
from annotations.models.document import Document
from annotations.models.imports import Import
from annotations.models.label import Label


class AnnotationSetState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    SUBMITTED = "submitted", _("Submitted")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class AnnotationSet(models.Model):
    """One author's spans on one note.

    In agreement, an unmarked token of a submitted set counts as O; a draft or withdrawn set counts as missing.
    `version` counts the changes, so that an outdated page is noticed.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="annotation_sets", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="annotation_sets", db_index=False)
    state = models.CharField(max_length=10, choices=AnnotationSetState, default=AnnotationSetState.DRAFT)
    version = models.PositiveIntegerField(default=0)
    blind = models.BooleanField(default=True, help_text="False where the author could see other annotators' spans.")
    seeded = models.BooleanField(default=False, help_text="The annotator began from a model's spans.")
    imported_by = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="annotation_sets")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "author"], name="one_set_per_author")]
        indexes = [
            models.Index(fields=["author", "state", "document"], name="set_by_author"),
            # For the number of notes that a person submitted today.
            models.Index(fields=["author", "submitted_at"], name="set_by_submission"),
        ]

    def __str__(self) -> str:
        return f"annotation set {self.pk}"


class Span(models.Model):
    """A labeled stretch of the note: code points, end-exclusive, never empty, within the text."""

    annotation_set = models.ForeignKey(AnnotationSet, models.CASCADE, related_name="spans", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.ForeignKey(Label, models.PROTECT, related_name="spans")
    confidence = models.FloatField(null=True)
    raw_confidence = models.FloatField(
        null=True, help_text="The backend's own confidence, where `confidence` is calibrated."
    )
    source = models.CharField(max_length=80, blank=True, help_text="Rule id, model pass or prompt version.")
    provenance = models.JSONField(
        null=True, help_text="For gold: who suggested and who decided. For merged suggestions: their runs."
    )
    string_key = models.BigIntegerField(null=True, help_text="For suggestions: a hash of the string.")
    attributes = models.JSONField(
        null=True, help_text="A choice or true by name of attribute; null without attributes."
    )

    class Meta:
        ordering = ["start", "end", "id"]
        constraints = [
            models.UniqueConstraint(fields=["annotation_set", "start", "end", "label"], name="span_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="span_not_empty"),
        ]
        indexes = [
            models.Index(fields=["string_key", "label"], condition=Q(string_key__isnull=False), name="span_by_string"),
        ]

    def __str__(self) -> str:
        return f"span {self.pk} [{self.start}, {self.end})"
