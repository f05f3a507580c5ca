from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class Resolution(models.Model):
    """What an adjudicator decided for one place of a note where its annotators differ (or all agree).

    The adjudicated spans themselves are an annotation set of the author kind `adjudicated`; this row says which place
    (code points, end-exclusive) is decided, how, and what the annotators said there at that moment (`heard`): after a
    reading was reopened, the decision stays, and is shown again where an annotator now says something else.
    """

    class Choice(models.TextChoices):
        MAJORITY = "majority", _("The majority's version")
        UNANIMOUS = "unanimous", _("What all said")
        READER = "reader", _("One annotator's version")
        OWN = "own", _("The adjudicator's own version")
        NOTHING = "nothing", _("Nothing personal")
        RULE = "rule", _("What all said, by the project's rule")

    document = models.ForeignKey(Document, models.CASCADE, related_name="resolutions", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    choice = models.CharField(max_length=10, choices=Choice)
    reader = models.BigIntegerField(null=True, help_text="The author whose version was taken.")
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
    """A note whose adjudication was ended: nothing was open then.

    `heard` is the hash of the readings it was ended on (Comparison.heard), empty while labels of them are being merged.
    """

    document = models.OneToOneField(Document, models.CASCADE, related_name="adjudication")
    heard = models.CharField(max_length=64)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    closed_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


class Cause(models.Model):
    """Why annotators differ at a place: 002, table 3.4's categories."""

    class Kind(models.TextChoices):
        ABBREVIATION = "AB", _("Abbreviation")
        AMBIGUITY = "AM", _("Ambiguity")
        DEBATABLE = "D", _("Debatable annotation")
        SCARCITY = "S", _("Scarcity")

    document = models.ForeignKey(Document, models.CASCADE, related_name="causes", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    kind = models.CharField(max_length=2, choices=Kind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["start", "end"]
        constraints = [models.UniqueConstraint(fields=["document", "start", "end"], name="cause_once")]

    def __str__(self) -> str:
        return f"cause {self.pk}: {self.kind}"


class Amendment(models.Model):
    """A rule added to the guidelines on a day; readings handed in after it are the next round."""

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
    """Figures that took long to compute. `key` is a hash of all that went in, so that they are never stale."""

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
