from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Author, Document
from annotations.models.project import Project, Table


class PublishedState(models.TextChoices):
    NEW = "new", _("Not compared yet")
    NONE = "none", _("No clear note")
    AMBIGUOUS = "ambiguous", _("Waits for a manager’s choice")
    PAIRED = "paired", _("Paired")


class PublishedDecision(Table):
    """The published version of a decision, in which OMISSIS hides what is personal. It is never annotated.

    `document` is the clear note that belongs to it, and `author` the author of the annotation set that the pair gave
    this note. `number` and `office` come from the heading. `parameters` are those of the search and the alignment.
    `outside`, `begin` and `inside` count the tokens of the clear note by BIO tag. `text` is the last column, as in
    `Document`.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    number = models.CharField(max_length=200, blank=True)
    office = models.CharField(max_length=200, blank=True)
    document = models.OneToOneField(Document, models.CASCADE, null=True, related_name="published")
    state = models.CharField(max_length=9, choices=PublishedState, default=PublishedState.NEW)
    author = models.ForeignKey(Author, models.SET_NULL, null=True, related_name="+")
    method = models.CharField(max_length=6, blank=True)
    parameters = models.JSONField(default=dict)
    aligned = models.FloatField(null=True, help_text="Share of the clear note's tokens that matched, from 0 to 1.")
    outside = models.PositiveIntegerField(default=0)
    begin = models.PositiveIntegerField(default=0)
    inside = models.PositiveIntegerField(default=0)
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    settled_at = models.DateTimeField(null=True)
    text = models.TextField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "sha256"], name="published_decision_once")]
        indexes = [models.Index(fields=["project", "state", "aligned"], name="published_by_state")]


class PairCandidate(Table):
    """A clear note that may belong to a published decision. `fits`: number and office are the same, too."""

    published = models.ForeignKey(PublishedDecision, models.CASCADE, related_name="candidates", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    similarity = models.FloatField(help_text="Exact Jaccard similarity, from 0 to 1.")
    fits = models.BooleanField(default=False)

    class Meta:
        ordering = ["-fits", "-similarity", "id"]
        constraints = [models.UniqueConstraint(fields=["published", "document"], name="pair_candidate_once")]
