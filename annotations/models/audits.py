from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.project import SigningKey
from annotations.models.release import LeakFinding, Release, ReleasedNote
from annotations.models.table import Created, Table


class AuditPlanState(models.TextChoices):
    OPEN = "open", _("Being read")
    MET = "met", _("Target met")
    UNMET = "unmet", _("Target not met")


class AuditPlan(Created):
    """The audit of a release: a random sample of its notes, which auditors read for leaks.

    A release has one audit, because with several the best one could be chosen. `strata` holds released notes and
    whether their sample is a simple one ({"name": {"notes", "simple"}}), `looks` the numbers of notes by stratum until
    the end of each look (annotations.release.rules.audits.looks). Shares are from 0 to 1.
    """

    class By(models.TextChoices):
        NONE = "", _("Not stratified")
        TYPE = "type", _("Note type")
        SITE = "site", _("Site")
        LANGUAGE = "language", _("Language")

    release = models.OneToOneField(Release, models.CASCADE, related_name="audit")
    by = models.CharField(max_length=8, choices=By, blank=True)
    confidence = models.FloatField()
    target = models.FloatField()
    planted_share = models.FloatField()
    leaks_allowed = models.PositiveSmallIntegerField(help_text="Notes with a leak after which reading goes on.")
    seed = models.CharField(max_length=32, help_text="Anybody can repeat the draw with it.")
    strata = models.JSONField()
    looks = models.JSONField()
    drawn = models.PositiveIntegerField()
    erased_count = models.PositiveIntegerField(default=0, help_text="Notes of the sample that were erased since.")
    state = models.CharField(max_length=5, choices=AuditPlanState, default=AuditPlanState.OPEN)


class AuditNoteState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    READING = "reading", _("Being read")
    DONE = "done", _("Read")


class AuditNote(Table):
    """A note of an audit's sample, deleted with the note.

    `planted_start` and `planted_end` are the bounds in the original of the identifier that the auditor sees in place of
    its replacement. No page shows whether there is one before the audit has ended.
    """

    plan = models.ForeignKey(AuditPlan, models.CASCADE, related_name="notes", db_index=False)
    note = models.ForeignKey(ReleasedNote, models.CASCADE, related_name="+")
    position = models.PositiveIntegerField(help_text="The order in which notes are read, from 1.")
    look = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=7, choices=AuditNoteState, default=AuditNoteState.WAITING)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    leased_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    planted_start = models.PositiveIntegerField(null=True)
    planted_end = models.PositiveIntegerField(null=True)
    planted_found = models.BooleanField(null=True)

    class Meta:
        ordering = ["plan", "position"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "position"], name="audit_position_once"),
            models.UniqueConstraint(fields=["plan", "note"], name="audit_note_once"),
        ]
        indexes = [models.Index(fields=["plan", "state", "position"], name="audit_note_by_state")]


class AuditMark(Table):
    """A stretch that an auditor marked as a leak, in code points of the original note.

    `leak` is unknown until the note is finished; False if only a planted leak was marked. `finding` is the finding of
    the release, about which a manager decides; a manager may also have said that the stretch identifies nobody.
    """

    note = models.ForeignKey(AuditNote, models.CASCADE, related_name="marks", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.CharField(max_length=60)
    leak = models.BooleanField(null=True)
    finding = models.ForeignKey(LeakFinding, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    dismissed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["note", "start", "id"]
        constraints = [
            models.UniqueConstraint(fields=["note", "start", "end"], name="audit_mark_once"),
            models.CheckConstraint(condition=Q(end__gt=models.F("start")), name="audit_mark_not_empty"),
        ]


class Certificate(Table):
    """A signed certificate of a release, as the bytes that everybody gets. Certificates never change.

    `number` counts the certificates of a release from 1; a newer one supersedes the older ones. `sha256` is that of the
    JSON, by which a file is found again.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="certificates", db_index=False)
    number = models.PositiveIntegerField()
    key = models.ForeignKey(SigningKey, models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64, db_index=True)
    json = models.BinaryField()
    pdf = models.BinaryField()
    note_count = models.PositiveIntegerField()
    expires_on = models.DateField(null=True)
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    signed_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["release", "number"], name="certificate_number_once")]

    def __str__(self) -> str:
        return f"certificate {self.number}"


class ReleaseErasure(Table):
    """Notes that were erased from a prepared or signed release: how many, and of how many patients, but not which.

    `patients` is 1 where a patient was erased, and 0 where a single note was deleted.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="erasures")
    notes = models.PositiveIntegerField()
    patients = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
