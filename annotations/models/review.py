import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.gold import ActState
from annotations.models.notes import Author, Document, Span
from annotations.models.project import Project, Table


class Review(Table):
    """The review of a run's suggestions on a note. Finished: no suggestion is open, and a person has read the note."""

    class Drawn(models.TextChoices):
        INFORMATION = "information", _("By expected information")
        CHANCE = "chance", _("At random")
        ORDER = "order", _("By an order of suggestions")
        NOTE = "note", _("In the order of the notes, and reopened")

    document = models.ForeignKey(Document, models.CASCADE, related_name="reviews", db_index=False)
    author = models.ForeignKey(Author, models.CASCADE, related_name="reviews", db_index=False)
    finished_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    finished_at = models.DateTimeField(null=True)
    found_empty = models.BooleanField(
        default=False, help_text="The reviewer read the note to its end and found no personal data."
    )
    drawn = models.CharField(
        max_length=11,
        choices=Drawn,
        blank=True,
        help_text="How the note was chosen first; empty: in the order of the notes.",
    )
    # Planted leaks are drawn once per note, when the run's suggestions are stored while the option is on.
    planted_share = models.PositiveSmallIntegerField(
        null=True, help_text="The project's share when planted leaks were drawn; 0: the review began before."
    )
    ahead = models.BooleanField(null=True, help_text="Created with the suggestions, before anybody began the review.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "author"], name="review_once")]
        indexes = [models.Index(fields=["author", "finished_at", "document"], name="review_by_author")]


class BulkAct(Table):
    """Many decisions by one rule, undone together. It decides only open suggestions, and skips notes that already have
    gold and doubtful suggestions unless the rule includes them.

    `rule` selects the suggestions (review.selectors.bulk_rules). The counts grow while the job runs. The primary key is
    part of the URL.
    """

    class Act(models.TextChoices):
        ACCEPT = "accept", _("Accept")
        REJECT = "reject", _("Reject")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    act = models.CharField(max_length=8, choices=Act)
    rule = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=ActState, default=ActState.PLANNED)
    planned = models.PositiveIntegerField(default=0)
    decided = models.PositiveIntegerField(default=0)
    left = models.PositiveIntegerField(default=0, help_text="Decided by somebody else first, or in a finished review.")
    beside = models.PositiveIntegerField(
        default=0, help_text="Suggestions in conflict with accepted ones, rejected by the same act."
    )
    skipped = models.PositiveIntegerField(default=0, help_text="Open suggestions in notes that already have gold.")
    skipped_notes = models.PositiveIntegerField(default=0, help_text="The notes with skipped suggestions.")
    doubtful = models.PositiveIntegerField(default=0, help_text="Skipped doubtful suggestions in other notes.")
    conflicts = models.PositiveIntegerField(
        default=0, help_text="Left open because they overlap gold or each other with different bounds."
    )
    undone = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(
        default=0, help_text="Not undone because they were decided again or finished since."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"], name="bulk_by_project")]


class SuggestedString(Table):
    """A string that a run suggests with one label, with counts that every write to suggestions updates.

    `uncertainty` is that of the mean confidence. `sample` is the id of a span with the text, which isn't stored here.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="+", db_index=False)
    string_key = models.BigIntegerField()
    label_id = models.BigIntegerField()
    count = models.IntegerField(default=0)
    open = models.IntegerField(default=0, help_text="Suggestions without a decision.")
    scored = models.IntegerField(default=0, help_text="Suggestions with a confidence.")
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


class SuggestedNote(Table):
    """A note of a run: the information expected from its review, in bits, and `random_order`, for orders by chance."""

    author = models.ForeignKey(Author, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    information = models.FloatField()
    random_order = models.FloatField(help_text="A random number from 0 to 1.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["author", "document"], name="suggested_note_once")]
        indexes = [
            models.Index(fields=["author", "-information", "id"], name="note_by_information"),
            models.Index(fields=["author", "random_order", "id"], name="note_by_chance"),
        ]


class SuggestedLabel(Table):
    """A label that a run suggests in a note from one source: its lowest confidence, and the smallest distance of a
    confidence from one half. No confidence counts as one half.

    They cover all suggestions, decided or not, so they are bounds for the open ones. Review orders begin with them.
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
            models.Index(fields=["author", "label_id", "source", "lowest", "document"], name="label_by_confidence"),
            models.Index(fields=["author", "label_id", "nearest", "document"], name="label_by_own_doubt"),
            models.Index(fields=["author", "label_id", "document"], name="label_by_note"),
        ]


class Decision(Table):
    """A person's decision on one suggestion (a run's span). The resulting gold span holds the provenance."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")

    # No database constraint: with one, every deletion of a span would have to check this table.
    suggestion = models.OneToOneField(Span, models.DO_NOTHING, db_constraint=False, related_name="decision")
    review = models.ForeignKey(Review, models.CASCADE, related_name="decisions")
    verdict = models.CharField(max_length=8, choices=Verdict)
    # The accepted span in gold. It differs from the suggestion where a person corrected it.
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    label_id = models.BigIntegerField(null=True)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    # The bulk act that made the decision; null for a decision on this suggestion alone.
    cause = models.ForeignKey(BulkAct, models.CASCADE, null=True, related_name="decisions")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]


class RemovalDecision(Table):
    """A person's decision on an annotation that a refiner proposes to remove.

    Accepted: the reviewer agrees that it is not an identifier. Rejected: it stays, and gold has it. The gold span's
    provenance names the removal by `number`, which is the refiner's number of the annotation in the note. These are no
    decisions on suggestions, so precision, lists by string and bulk acts leave them out.
    """

    review = models.ForeignKey(Review, models.CASCADE, related_name="removal_decisions", db_index=False)
    number = models.PositiveIntegerField()
    verdict = models.CharField(max_length=8, choices=Decision.Verdict)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["review", "number"]
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="removal_decision_once")]


class PlantedLeak(Table):
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


class HandoverState(models.TextChoices):
    WAITING = "waiting", _("Waiting for the second reviewer")
    RESOLVING = "resolving", _("The second reviewer resolves differences")
    DONE = "done", _("Finished by both reviewers")
    UNDONE = "undone", _("Continued by the first reviewer")


class Handover(Table):
    """A review passed from the first reviewer, who has finished it, to a second one (the two-person rule).

    `outcome` holds the first reviewer's decisions: `{suggestions: {id: [start, end, label], null if rejected}, others:
    [bounds]}`. `kept` holds what a blind second reviewer must not see; it is restored if the first reviewer continues.
    """

    ACTIVE = (HandoverState.WAITING, HandoverState.RESOLVING)

    review = models.ForeignKey(Review, models.CASCADE, related_name="handovers", db_index=False)
    state = models.CharField(max_length=9, choices=HandoverState, default=HandoverState.WAITING)
    blind = models.BooleanField(
        help_text="The second reviewer doesn't see the first one's decisions until both have finished."
    )
    first = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)
    first_at = models.DateTimeField(auto_now_add=True)
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", help_text="Everybody who took part in the first review."
    )
    outcome = models.JSONField()
    kept = models.JSONField(null=True)
    second = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    second_at = models.DateTimeField(null=True)
    # Counts from the second review before differences were resolved: items compared, and items decided equally.
    compared = models.PositiveIntegerField(default=0)
    equal = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["review"], condition=Q(state__in=["waiting", "resolving"]), name="handed_over_once"
            )
        ]
        indexes = [models.Index(fields=["review", "state"], name="handover_by_review")]


class RewrittenNote(Table):
    """A note as a language model rewrote it with placeholders. The text is derived from the note and deleted with it.

    A note that the model changed in other ways has a row too, but its author has no annotation set there.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="rewritten_notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    unmapped = models.JSONField(
        default=list, help_text="[start, end, placeholder, source, doubt or null] of spans without a label."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "document"], name="rewritten_note_once")]
