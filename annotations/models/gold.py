import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Author, Document
from annotations.models.project import Created, Project, Table


class GoldVersion(Created):
    """A frozen snapshot of the gold standard. `content_hash` covers names, text hashes and spans (text.hashes)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="gold_versions", db_index=False)
    number = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    note_count = models.PositiveIntegerField()
    span_count = models.PositiveIntegerField()
    erased_count = models.PositiveIntegerField(
        default=0, help_text="Notes erased since then: a patient's, or a deleted note."
    )
    split_seed = models.CharField(
        max_length=40, blank=True, help_text="Seed of the split by patient; empty without a split."
    )
    split_shares = models.JSONField(null=True, help_text="Percent of the notes by split: train, dev, test.")
    reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="gold_version_once")]

    def __str__(self) -> str:
        return f"gold version {self.number}"


class GoldVersionNote(Table):
    """One note in a frozen version: `spans` is a sorted list of [start, end, label code, provenance or null].

    A span with attributes has them as a fifth item: a choice or true by name. `gold` and `gold_number` are the id of
    the gold set and its version when it was frozen: while it has them, the gold has these spans. They are null in a
    version that came with an archive.
    """

    version = models.ForeignKey(GoldVersion, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    spans = models.JSONField()
    gold = models.BigIntegerField(null=True)
    gold_number = models.PositiveIntegerField(null=True)
    split = models.CharField(
        max_length=5, blank=True, help_text="train, dev or test, the same for all notes of a patient."
    )

    class Meta:
        ordering = ["document"]
        constraints = [models.UniqueConstraint(fields=["version", "document"], name="gold_version_note_once")]
        # All that is compared with the current gold, so that the spans of a large version are not read for it.
        indexes = [models.Index(fields=["version", "document", "gold", "gold_number"], name="frozen_gold")]

    def __str__(self) -> str:
        return f"gold version note {self.pk}"


class ChangedGold(Table):
    """A note whose submitted gold was added, changed or removed since the last version, once for each change.

    A trigger adds rows in the transaction of the change: no foreign keys. Freezing deletes them before it reads the
    gold. Nobody updates a row, so that neither of both waits for the other.
    """

    project_id = models.BigIntegerField()
    document_id = models.BigIntegerField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["project_id", "document_id"], name="changed_gold_by_note")]


class Resolution(Table):
    """An adjudicator's decision on one location of a note, where annotators differ or all agree.

    The adjudicated spans are in an annotation set of the author kind `adjudicated`. This row holds the location (code
    points, end-exclusive), the choice, and the annotators' spans at that moment (`heard`). If an annotator reopens the
    note and changes spans there, the decision stays, and the location is shown again.
    """

    class Choice(models.TextChoices):
        MAJORITY = "majority", _("The majority's version")
        UNANIMOUS = "unanimous", _("Unanimous version")
        ANNOTATOR = "annotator", _("One annotator's version")
        OWN = "own", _("The adjudicator's own version")
        NOTHING = "nothing", _("No personal data")
        RULE = "rule", _("Unanimous version, by the project's rule")

    document = models.ForeignKey(Document, models.CASCADE, related_name="resolutions", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    choice = models.CharField(max_length=10, choices=Choice)
    author = models.BigIntegerField(null=True, help_text="The author whose version was chosen.")
    spans = models.JSONField(help_text="The outcome: a sorted list of [start, end, label id].")
    heard = models.JSONField(default=dict, help_text="Sorted lists of [start, end, label id] by author id.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        ordering = ["start", "end"]
        constraints = [models.UniqueConstraint(fields=["document", "start", "end"], name="resolution_once")]


class Adjudication(Table):
    """A note whose adjudication is finished: every disagreement was decided.

    `heard` is the hash of the annotation sets at that moment (Comparison.heard); empty while their labels are merged.
    """

    document = models.OneToOneField(Document, models.CASCADE, related_name="adjudication")
    heard = models.CharField(max_length=64)
    finished_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    finished_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]


class ActState(models.TextChoices):
    """The state of an act on many notes. Only bulk acts of review are planned first."""

    PLANNED = "planned", _("Planned")
    WORKING = "working", _("Running")
    DONE = "done", _("Done")
    UNDOING = "undoing", _("Being undone")
    UNDONE = "undone", _("Undone")


class MajorityAct(Table):
    """A majority vote over many notes, made by one person and undone together.

    Notes without a tie became gold. The counts grow while the job runs. The primary key is part of the URL.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=ActState.choices[1:], default=ActState.WORKING)
    planned = models.PositiveIntegerField(default=0, help_text="The notes of the preview.")
    gold = models.PositiveIntegerField(default=0, help_text="Notes that became gold.")
    spans = models.PositiveIntegerField(default=0, help_text="Their gold spans.")
    tied = models.PositiveIntegerField(default=0, help_text="Notes with ties, left for adjudication.")
    ties = models.PositiveIntegerField(default=0, help_text="Their locations without a majority.")
    has_gold = models.PositiveIntegerField(default=0, help_text="Skipped: notes that already had gold.")
    in_review = models.PositiveIntegerField(default=0, help_text="Skipped: notes with an open review.")
    begun = models.PositiveIntegerField(default=0, help_text="Skipped: notes whose adjudication was begun or finished.")
    pending = models.PositiveIntegerField(default=0, help_text="Skipped: notes that an assigned annotator still has.")
    left = models.PositiveIntegerField(default=0, help_text="Planned, but changed by somebody before their turn.")
    undone = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0, help_text="Not undone because they were changed since.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"], name="majority_by_project")]


class MajorityNote(Table):
    """A note that a majority act decided, with the versions of its sets then, so that undoing notices later changes.

    `adjudicated_version` is null where all locations of the note were ties. `gold_version` is null with any tie.
    """

    act = models.ForeignKey(MajorityAct, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    adjudicated_version = models.PositiveIntegerField(null=True)
    gold_version = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["document"]
        constraints = [models.UniqueConstraint(fields=["act", "document"], name="majority_note_once")]


class Amendment(Table):
    """A rule added to the guidelines. Annotation sets submitted after it belong to the next round."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="amendments", db_index=False)
    number = models.PositiveIntegerField()
    text = models.TextField(max_length=4000)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, related_name="+")
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    guidelines_version = models.PositiveIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="amendment_once")]

    def __str__(self) -> str:
        return f"amendment {self.number}"


class Figures(Table):
    """Cached figures that take long to compute. `key` is a hash of all inputs, so that they are never out of date."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="figures", db_index=False)
    kind = models.CharField(max_length=30)
    key = models.CharField(max_length=64)
    value = models.JSONField()
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["project", "kind", "key"], name="figures_once")]


# Stored comparisons of notes' annotation sets, so that a page over ten thousand notes need not compare them.
#
# A trigger (migration 0007) adds a `Stale` row in the transaction that changes a submitted annotation set. Code that
# reads comparisons updates stale notes first (agreement.services.comparing), so that it never sees outdated ones.


class Stale(Table):
    """A note whose submitted annotation sets changed since their comparison. A trigger adds rows: no foreign key."""

    document_id = models.BigIntegerField(primary_key=True)

    class Meta:
        ordering = ["document_id"]


class Comparison(Table):
    """The comparison of one note's submitted annotation sets by annotators.

    Locations where only attributes of spans differ count as `disputed`; they don't change the `agreement`.
    """

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="comparison")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    annotators = models.PositiveSmallIntegerField()
    authors = models.TextField(help_text="The author ids of all annotators, between commas.")
    blind_annotators = models.PositiveSmallIntegerField(help_text="Annotators whose sets count in agreement figures.")
    disputed = models.PositiveIntegerField(help_text="Locations where any annotators differ.")
    tied = models.PositiveIntegerField(default=0, help_text="Locations that a majority of the annotators leaves open.")
    agreed = models.PositiveIntegerField(help_text="Locations where all annotators agree.")
    agreement = models.FloatField(
        null=True, help_text="Observed agreement over marked tokens; null without marked tokens."
    )
    heard = models.CharField(max_length=64, help_text="A hash of the annotation sets.")
    last_at = models.DateTimeField(null=True, help_text="When the last blind annotation set was submitted.")

    class Meta:
        ordering = ["document"]
        indexes = [
            models.Index(fields=["project", "agreement", "document"], name="comparison_by_agreement"),
            models.Index(fields=["project", "last_at"], name="comparison_by_time"),
        ]


class Difference(Table):
    """A location (code points, end-exclusive) where annotators differ.

    `kinds` and `labels` hold words and label ids between commas, `pairs` author ids as `,3-5,3-5:missed,`, so that each
    filter is one LIKE. `scope`: whether blind annotation sets differ here, all submitted ones, or both.
    """

    class Scope(models.IntegerChoices):
        BLIND = 1, _("Blind annotation sets")
        ALL = 2, _("All submitted annotation sets")
        EITHER = 3, _("Both")

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="differences")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    scope = models.PositiveSmallIntegerField(choices=Scope)
    kinds = models.CharField(max_length=40)
    tokens = models.BooleanField(help_text="Whether the labels of any token differ, not only the bounds of spans.")
    labels = models.TextField()
    pairs = models.TextField()

    class Meta:
        ordering = ["document", "start"]
        indexes = [models.Index(fields=["project", "document", "start"], name="difference_in_order")]


# Why annotators differ, and why a system errs: the sources of errors of Catelli 2021, section 4.1.2.


class CauseKind(models.TextChoices):
    ABBREVIATION = "AB", _("Abbreviation")
    AMBIGUITY = "AM", _("Ambiguity")
    DEBATABLE = "D", _("Debatable annotation")
    SCARCITY = "S", _("Scarcity")


class Cause(Table):
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


class ErrorCause(Table):
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
