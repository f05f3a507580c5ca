import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class Resolution(models.Model):
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

    def __str__(self) -> str:
        return f"resolution {self.pk}: {self.choice}"


class Adjudication(models.Model):
    """A note whose adjudication is finished: every disagreement was decided.

    `heard` is the hash of the annotation sets at that moment (Comparison.heard); empty while their labels are merged.
    """

    document = models.OneToOneField(Document, models.CASCADE, related_name="adjudication")
    heard = models.CharField(max_length=64)
    finished_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    finished_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


class MajorityActState(models.TextChoices):
    WORKING = "working", _("Running")
    DONE = "done", _("Done")
    UNDOING = "undoing", _("Being undone")
    UNDONE = "undone", _("Undone")


class MajorityAct(models.Model):
    """A majority vote over many notes, made by one person and undone together.

    Notes without a tie became gold. The counts grow while the job runs. The primary key is part of the URL.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=MajorityActState, default=MajorityActState.WORKING)
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

    def __str__(self) -> str:
        return f"majority act {self.pk}: {self.state}"


class MajorityNote(models.Model):
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

    def __str__(self) -> str:
        return f"majority note {self.pk}"


class Amendment(models.Model):
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


class Figures(models.Model):
    """Cached figures that take long to compute. `key` is a hash of all inputs, so that they are never out of date."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="figures", db_index=False)
    kind = models.CharField(max_length=30)
    key = models.CharField(max_length=64)
    value = models.JSONField()
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["project", "kind", "key"], name="figures_once")]

    def __str__(self) -> str:
        return f"figures {self.pk}: {self.kind}"
