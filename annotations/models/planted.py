from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.review import Review
from annotations.models.sets import Span


class PlantedLeak(models.Model):
    """A known identifier that is left out of a note's proposals until the first reader closes the note.

    While `result` is empty it is hidden: no page of review, no list and no bulk act shows, counts or decides it. Then
    it is a proposal like any other, and where the reading did not mark it, it is open until a person has decided on it.
    """

    class Known(models.TextChoices):
        """How it is known to be an identifier, as far as that can be known before somebody looks."""

        PEOPLE = "people", _("People accepted the same words as the same label in other notes, and nobody otherwise")
        RUNS = "runs", _("Most runs that have read the note propose exactly it")

    class Result(models.TextChoices):
        FOUND = "found", _("Marked by the reading")
        PARTLY = "partly", _("Marked in part")
        MISSED = "missed", _("Not marked")
        ELSEWHERE = "elsewhere", _("In gold by other means, so it says nothing")

    review = models.ForeignKey(Review, models.CASCADE, related_name="planted")
    # Not known to the database, as for decisions: a deletion of spans need not look here.
    proposal = models.OneToOneField(Span, models.DO_NOTHING, db_constraint=False, related_name="planted")
    known = models.CharField(max_length=6, choices=Known)
    result = models.CharField(max_length=9, choices=Result, blank=True)
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+",
        help_text="Who marked it, or closed the note without.",
    )  # fmt: skip
    drawn_at = models.DateTimeField(auto_now_add=True)
    revealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["result", "proposal"], name="planted_by_result")]

    def __str__(self) -> str:
        return f"planted leak {self.pk}: {self.result or 'hidden'}"
