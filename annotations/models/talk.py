from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document


class Comment(models.Model):
    """A comment on a note, a span or a disagreement. It is not an annotation and never counts as one.

    `annotator` is the annotator whose annotation set the comment is about. Only that annotator and people who may read
    every note see it, so that annotators stay blind to each other. A comment without `annotator` is about the note
    itself: people who may see everyone's spans see it, and each annotator once the note is adjudicated and they have
    submitted. The bounds (code points, end-exclusive) stay when the span is deleted.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="comments", db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    # No foreign key: an undo restores a deleted span under the same id, with its comments.
    span_id = models.BigIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    answers = models.ForeignKey("self", models.CASCADE, null=True, related_name="answered_by")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    text = models.TextField(max_length=4000)
    change_id = models.UUIDField(
        null=True, help_text="From the client, so that a repeated request adds no second comment."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "change_id"], condition=Q(change_id__isnull=False), name="comment_once"
            )
        ]
        indexes = [models.Index(fields=["document", "annotator", "id"], name="comment_by_note")]

    def __str__(self) -> str:
        return f"comment {self.pk}"


class Flag(models.Model):
    """A person's request to have a note checked, with a reason. One open flag for each person and note."""

    class Reason(models.TextChoices):
        UNSURE = "unsure", _("I am not sure how to label it")
        TEXT = "text", _("The text is damaged or incomplete")
        LANGUAGE = "language", _("It is in a language I don't read")
        NOT_A_NOTE = "not_a_note", _("It is the wrong type of note")
        SENSITIVE = "sensitive", _("It contains unusually sensitive information")
        OTHER = "other", _("Something else")

    document = models.ForeignKey(Document, models.CASCADE, related_name="flags", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    reason = models.CharField(max_length=12, choices=Reason)
    text = models.CharField(max_length=500, blank=True)
    raised_at = models.DateTimeField(auto_now_add=True)
    cleared_at = models.DateTimeField(null=True)
    cleared_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "user"], condition=Q(cleared_at__isnull=True), name="flag_open_once"
            )
        ]
        indexes = [models.Index(fields=["document", "cleared_at"], name="flag_by_note")]

    def __str__(self) -> str:
        return f"flag {self.pk}: {self.reason}"
