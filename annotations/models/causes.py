"""Why annotators differ, and why a system errs: the sources of errors of Catelli 2021, section 4.1.2."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.author import Author
from annotations.models.document import Document


class CauseKind(models.TextChoices):
    ABBREVIATION = "AB", _("Abbreviation")
    AMBIGUITY = "AM", _("Ambiguity")
    DEBATABLE = "D", _("Debatable annotation")
    SCARCITY = "S", _("Scarcity")


class Cause(models.Model):
    """A cause why annotators differ at a location (code points, end-exclusive). A location may have several."""

    document = models.ForeignKey(Document, models.CASCADE, related_name="causes", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    kind = models.CharField(max_length=2, choices=CauseKind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["start", "end", "kind"]
        constraints = [models.UniqueConstraint(fields=["document", "start", "end", "kind"], name="cause_once")]

    def __str__(self) -> str:
        return f"cause {self.pk}: {self.kind}"


class ErrorCause(models.Model):
    """A cause of an error that an author made against gold. An error may have several.

    An error is a pair of spans of one note (code points, end-exclusive; label codes): the gold span and the author's
    span, in the labels of the project or of the label set `labels_of`. A span that the error lacks is 0 to 0, without a
    label. A cause counts in every score that has exactly this error. A score without this error ignores it.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="error_causes", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="error_causes")
    labels_of = models.CharField(max_length=40, blank=True)
    gold_start = models.PositiveIntegerField()
    gold_end = models.PositiveIntegerField()
    gold_label = models.CharField(max_length=60, blank=True)
    predicted_start = models.PositiveIntegerField()
    predicted_end = models.PositiveIntegerField()
    predicted_label = models.CharField(max_length=60, blank=True)
    kind = models.CharField(max_length=2, choices=CauseKind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("document", "author", "labels_of"),
                    *("gold_start", "gold_end", "gold_label"),
                    *("predicted_start", "predicted_end", "predicted_label"),
                    "kind",
                ],
                name="error_cause_once",
            )
        ]

    def __str__(self) -> str:
        return f"error cause {self.pk}: {self.kind}"
