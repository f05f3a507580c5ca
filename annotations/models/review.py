from django.conf import settings
from django.db import models

from annotations.models.author import Author
from annotations.models.document import Document


class Review(models.Model):
    """A run's reading of one note under review. Closed: no proposal is open, and a person has read the note."""

    document = models.ForeignKey(Document, models.CASCADE, related_name="reviews", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="reviews", db_index=False)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)
    found_empty = models.BooleanField(default=False, help_text="Read to the end, and nothing personal was in it.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "author"], name="review_once")]
        indexes = [models.Index(fields=["author", "closed_at", "document"], name="review_by_author")]

    def __str__(self) -> str:
        return f"review {self.pk}"


class Decision(models.Model):
    """What a person decided on one proposal (a run's span). The gold span it led to carries the provenance."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    # No foreign key: it would make every deletion of a span, reviewed or not, look here first.
    proposal_id = models.BigIntegerField(unique=True)
    review = models.ForeignKey(Review, models.CASCADE, related_name="decisions")
    verdict = models.CharField(max_length=8, choices=Verdict)
    # Where the accepted span stands in gold; differs from the proposal where it was corrected.
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    label_id = models.BigIntegerField(null=True)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"decision {self.pk}: {self.verdict}"
