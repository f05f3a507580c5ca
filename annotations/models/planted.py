from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.review import Review
from annotations.models.sets import Span


class PlantedLeak(models.Model):
    """A known or likely identifier that is hidden from a run's suggestions until the first reviewer finishes the note.

    While `result` is empty, no review page, list or bulk act shows, counts or decides it. Afterwards it is an ordinary
    suggestion: if the reviewer did not mark it, it is open until a person has decided on it.
    """

    class Known(models.TextChoices):
        """Why it is believed to be an identifier before a person has checked it."""

        PEOPLE = "people", _("Reviewers always accepted the same words with this label in other notes")
        RUNS = "runs", _("Most runs over the note suggest exactly this span")
        # Only likely. As on every planted leak that was not marked, a person decides after it was shown.
        STRING = "string", _("The run suggests the same words with this label in other notes")

    class Result(models.TextChoices):
        FOUND = "found", _("Marked by the reviewer")
        PARTLY = "partly", _("Marked in part")
        MISSED = "missed", _("Not marked")
        ELSEWHERE = "elsewhere", _("Already in gold; not counted")

    review = models.ForeignKey(Review, models.CASCADE, related_name="planted")
    # No database constraint, as for decisions: deleting spans would have to check this table.
    suggestion = models.OneToOneField(Span, models.DO_NOTHING, db_constraint=False, related_name="planted")
    known = models.CharField(max_length=6, choices=Known)
    result = models.CharField(max_length=9, choices=Result, blank=True)
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+",
        help_text="Who marked it, or finished the note without marking it.",
    )  # fmt: skip
    drawn_at = models.DateTimeField(auto_now_add=True)
    revealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["result", "suggestion"], name="planted_by_result")]

    def __str__(self) -> str:
        return f"planted leak {self.pk}: {self.result or 'hidden'}"
