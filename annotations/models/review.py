import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.author import Author
from annotations.models.document import Document
from annotations.models.project import Project
from annotations.models.sets import Span


class Review(models.Model):
    """A run's reading of one note under review. Closed: no proposal is open, and a person has read the note."""

    class Drawn(models.TextChoices):
        INFORMATION = "information", _("For what it tells")
        CHANCE = "chance", _("By chance")

    document = models.ForeignKey(Document, models.CASCADE, related_name="reviews", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="reviews", db_index=False)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)
    found_empty = models.BooleanField(default=False, help_text="Read to the end, and nothing personal was in it.")
    drawn = models.CharField(
        max_length=11, choices=Drawn, blank=True, help_text="How the note was chosen; empty: by the order of the notes."
    )
    # The note is drawn for planted leaks once, when it is first opened while the project has the option on.
    planted_share = models.PositiveSmallIntegerField(
        null=True, help_text="The project's share when the note was drawn for planted leaks; 0: begun before that."
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "author"], name="review_once")]
        indexes = [models.Index(fields=["author", "closed_at", "document"], name="review_by_author")]

    def __str__(self) -> str:
        return f"review {self.pk}"


class BulkAct(models.Model):
    """Many decisions as one act, by one rule, to be undone as one. It decides what is open and nothing else, and skips
    notes that already have gold unless the rule says otherwise.

    `rule` says which proposals (review.selectors.bulk_rules); counts are written as the work goes on. Its key is its
    address.
    """

    class Act(models.TextChoices):
        ACCEPT = "accept", _("Accept")
        REJECT = "reject", _("Reject")

    class State(models.TextChoices):
        PLANNED = "planned", _("Planned")
        WORKING = "working", _("At work")
        DONE = "done", _("Done")
        UNDOING = "undoing", _("Being taken back")
        UNDONE = "undone", _("Taken back")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    act = models.CharField(max_length=8, choices=Act)
    rule = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State, default=State.PLANNED)
    planned = models.PositiveIntegerField(default=0)
    decided = models.PositiveIntegerField(default=0)
    left = models.PositiveIntegerField(default=0, help_text="Somebody else was first, or the note's review was closed.")
    beside = models.PositiveIntegerField(default=0, help_text="Rivals of what was accepted, rejected in the same act.")
    skipped = models.PositiveIntegerField(default=0, help_text="Open, in notes that already have gold.")
    skipped_notes = models.PositiveIntegerField(default=0, help_text="The notes where `skipped` lie.")
    conflicts = models.PositiveIntegerField(
        default=0, help_text="Left open: they overlap gold, or each other, with other ends."
    )
    taken_back = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0, help_text="Not taken back: decided otherwise or closed since.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"], name="bulk_by_project")]

    def __str__(self) -> str:
        return f"bulk act {self.pk}: {self.state}"


class ProposedString(models.Model):
    """One string that a run proposes as one label: how often, and how much of it is open. Kept by the run's writes.

    `uncertainty` is that of its mean confidence. `sample` is a span that shows the text, which is stored nowhere else.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="+", db_index=False)
    string_key = models.BigIntegerField()
    label_id = models.BigIntegerField()
    count = models.IntegerField(default=0)
    open = models.IntegerField(default=0, help_text="Not decided by a person.")
    scored = models.IntegerField(default=0, help_text="How many have a confidence.")
    confidence_sum = models.FloatField(default=0.0)
    uncertainty = models.FloatField(default=1.0)
    sample = models.BigIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["author", "string_key", "label_id"], name="string_once")]
        indexes = [
            models.Index(fields=["author", "-open", "id"], name="string_by_open"),
            models.Index(fields=["author", "-uncertainty", "id"], name="string_by_uncertainty"),
        ]

    def __str__(self) -> str:
        return f"proposed string {self.pk}"


class ProposedNote(models.Model):
    """A note that a run has read: how much its review was to tell, in bits, and its place in an order by chance."""

    author = models.ForeignKey(Author, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    information = models.FloatField()
    place = models.FloatField(help_text="From 0 to 1, by chance.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["author", "document"], name="proposed_note_once")]
        indexes = [
            models.Index(fields=["author", "-information", "id"], name="note_by_information"),
            models.Index(fields=["author", "place", "id"], name="note_by_chance"),
        ]

    def __str__(self) -> str:
        return f"proposed note {self.pk}"


class ProposedLabel(models.Model):
    """A label that a run proposes in a note from one source: the confidence of its least sure proposal, and how near to
    one half the most doubtful one is. None counts as one half.

    Of all proposals, decided or not: an open one is never less sure, nor more doubtful. Orders of review begin here.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    label_id = models.BigIntegerField()
    source = models.CharField(max_length=80, blank=True)
    lowest = models.FloatField()
    nearest = models.FloatField()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["author", "nearest", "document"], name="label_by_doubt"),
            models.Index(fields=["author", "label_id", "source", "lowest", "document"], name="label_by_sureness"),
            models.Index(fields=["author", "label_id", "nearest", "document"], name="label_by_own_doubt"),
            models.Index(fields=["author", "label_id", "document"], name="label_by_note"),
        ]

    def __str__(self) -> str:
        return f"proposed label {self.pk}"


class Decision(models.Model):
    """What a person decided on one proposal (a run's span). The gold span it led to carries the provenance."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")

    # Not known to the database: a key there would make every deletion of a span, reviewed or not, look here first.
    proposal = models.OneToOneField(Span, models.DO_NOTHING, db_constraint=False, related_name="decision")
    review = models.ForeignKey(Review, models.CASCADE, related_name="decisions")
    verdict = models.CharField(max_length=8, choices=Verdict)
    # Where the accepted span stands in gold; differs from the proposal where it was corrected.
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    label_id = models.BigIntegerField(null=True)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    # The bulk act that it came from; none where a person decided on this very proposal.
    cause = models.ForeignKey(BulkAct, models.CASCADE, null=True, related_name="decisions")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"decision {self.pk}: {self.verdict}"
