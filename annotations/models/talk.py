from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document


class Comment(models.Model):
    """What somebody says about a note, a span or a disagreement. Never an annotation, and never counted as one.

    `reader` is the annotator whose reading it is about: they and whoever may read every note see it, so that readings
    stay blind to each other. Without a reader it is about the note itself, for those who may see everyone's spans, and
    for each of its annotators once it is adjudicated and they have submitted. The place (code points, end-exclusive)
    stays when a span goes.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="comments", db_index=False)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    # No foreign key: an undo brings a deleted span back under its id, and its comments with it.
    span_id = models.BigIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    answers = models.ForeignKey("self", models.CASCADE, null=True, related_name="answered_by")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    text = models.TextField(max_length=4000)
    change_id = models.UUIDField(null=True, help_text="From the client: a replay makes no second comment.")
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
        indexes = [models.Index(fields=["document", "reader", "id"], name="comment_by_note")]

    def __str__(self) -> str:
        return f"comment {self.pk}"


class Flag(models.Model):
    """A note that one person wants looked at, and why. One open flag for each person and note."""

    class Reason(models.TextChoices):
        UNSURE = "unsure", _("I am not sure how to label it")
        TEXT = "text", _("The text is damaged or incomplete")
        LANGUAGE = "language", _("It is in a language I don't read")
        NOT_A_NOTE = "not_a_note", _("It is not a note of the kind wanted")
        SENSITIVE = "sensitive", _("It holds something unusually sensitive")
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
